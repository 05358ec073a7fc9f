"""The checker of inputs itself: whatever the SDK doesn't declare is found, by its path."""

import pytest

from tests.engine.clouds.schema import as_given, failures, inputs
from tests.engine.clouds.wire import UNKNOWN

CLUSTER = "aws:eks/cluster:Cluster"
RIGHT = {
    "roleArn": "arn",
    "vpcConfig": {"subnetIds": ["a", "b"], "endpointPublicAccess": True},
    "tags": {"any": "thing"},
}


def problems(values, token=CLUSTER):
    return {failure.path: failure.reason for failure in failures(inputs(token), values)}


def test_what_the_sdk_declares_is_accepted():
    assert problems(RIGHT) == {}
    assert problems({**RIGHT, "vpcConfig": {"subnetIds": UNKNOWN}, "version": UNKNOWN}) == {}


@pytest.mark.parametrize(
    ("wrong", "path", "reason"),
    [
        ({"role": "arn"}, "role", "no such property"),
        ({"role_arn": "arn"}, "role_arn", "no such property"),
        ({"vpcConfig": {"subnetIds": [], "subnets": []}}, "vpcConfig.subnets", "no such property"),
        (
            {"vpcConfig": {"subnetIds": [], "public_access_cidrs": []}},
            "vpcConfig.public_access_cidrs",
            "no such",
        ),
        ({"vpcConfig": {}}, "vpcConfig.subnetIds", "missing"),
        ({"vpcConfig": {"subnetIds": "a"}}, "vpcConfig.subnetIds", "must be a list"),
        ({"vpcConfig": {"subnetIds": ["a", 1]}}, "vpcConfig.subnetIds[1]", "must be str"),
        ({"vpcConfig": [{"subnetIds": []}]}, "vpcConfig", "must be an object"),
        (
            {"vpcConfig": {"subnetIds": [], "endpointPublicAccess": "yes"}},
            "vpcConfig.endpointPublicAccess",
            "bool",
        ),
        ({"version": 1.34}, "version", "must be str"),
        ({"tags": ["a"]}, "tags", "must be an object"),
        ({"tags": {"a": 1}}, "tags.a", "must be str"),
        ({"encryptionConfig": {"provider": {"keyArn": "k"}}}, "encryptionConfig.resources", "missing"),
        (
            {"encryptionConfig": {"provider": {}, "resources": []}},
            "encryptionConfig.provider.keyArn",
            "missing",
        ),
    ],
)
def test_what_it_does_not_is_found(wrong, path, reason):
    found = problems({**RIGHT, **wrong})
    assert list(found) == [path]
    assert reason in found[path]


def test_one_of_several_types_is_enough():
    role = "aws:iam/role:Role"
    assert problems({"assumeRolePolicy": "{}"}, role) == {}
    assert problems({"assumeRolePolicy": {"Version": "2012-10-17", "Statement": []}}, role) == {}
    assert list(problems({"assumeRolePolicy": 1}, role)) == ["assumeRolePolicy"]


def test_a_number_is_no_truth_and_the_other_way_round():
    assert list(problems({"rotationPeriodInDays": True}, "aws:kms/key:Key")) == ["rotationPeriodInDays"]
    assert list(problems({"enableKeyRotation": 1}, "aws:kms/key:Key")) == ["enableKeyRotation"]


@pytest.mark.parametrize(
    ("name", "given", "actual", "same"),
    [
        ("vpcConfig", {"subnetIds": ["a", "b"]}, {"subnetIds": ["b", "a"], "vpcId": "v"}, True),
        ("vpcConfig", {"subnetIds": ["a"]}, {"subnetIds": ["b"]}, False),
        ("tags", {"a": "1"}, {"a": "1", "b": "2"}, False),
        ("tags", {}, None, True),
        ("deletionProtection", False, None, True),
        ("deletionProtection", True, None, False),
    ],
)
def test_what_the_cloud_adds_is_no_change_and_what_differs_is(name, given, actual, same):
    assert (as_given(inputs(CLUSTER)[name].type, given, actual) == given) is same
