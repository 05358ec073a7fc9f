"""A cluster with all that belongs to it comes up, is changed and goes, under the real engine."""

import json
import ssl
import subprocess

import httpx
import pulumi
import pytest
import yaml
from pulumi import automation
from pulumi_aws import ec2

from tests.engine.clouds.aws.table import TABLE
from tests.engine.clouds.aws_cluster import cluster_program
from tests.engine.clouds.conftest import aws_provider

STACK = "pulumi:pulumi:Stack"


def changed(steps):
    return {(step.op, step.name) for step in steps if step.type != STACK}


def nodes(plane):
    items = plane.client.get("/api/v1/nodes").json()["items"]
    return {item["metadata"]["name"]: item["metadata"]["labels"] for item in items}


def namespaces(cluster, plane):
    """Ask the API server with what `aws eks get-token` prints."""
    command = ["aws", "--region", "eu-central-1", "eks", "get-token", "--cluster-name", cluster]
    printed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    headers = {"Authorization": f"Bearer {printed['status']['token']}"}
    authority = ssl.create_default_context(cafile=plane.directory / "ca.crt")
    url = f"{plane.client.base_url}/api/v1/namespaces"
    return httpx.get(url, headers=headers, verify=authority, trust_env=False).status_code


def test_a_cluster_comes_up_stays_as_it_is_and_leaves_nothing(aws, aws_stack, cloud_plane):
    previewed = aws_stack.preview(cluster_program())
    assert aws.left() == []
    assert {step.type for step in previewed} > TABLE.keys()

    assert aws_stack.up(cluster_program()) == previewed
    outputs = {name: output.value for name, output in aws_stack.automation.outputs().items()}
    assert outputs["endpoint"] == yaml.safe_load(cloud_plane.kubeconfig)["clusters"][0]["cluster"]["server"]
    assert outputs["tags"] == {"owner": "me", "Name": "lab"}
    assert outputs["group"].startswith("sg-")
    assert {labels["pool"] for labels in nodes(cloud_plane).values()} == {"system"}
    assert len(nodes(cloud_plane)) == 2
    assert namespaces("lab", cloud_plane) == 200
    assert namespaces("of-others", cloud_plane) == 401

    assert aws_stack.up(cluster_program()) == set()
    aws_stack.automation.refresh()
    assert aws_stack.up(cluster_program()) == set()

    aws_stack.destroy()
    assert aws.left() == []
    assert nodes(cloud_plane) == {}


def test_what_can_be_changed_in_place_is_and_the_rest_is_replaced(aws, aws_stack, cloud_plane):
    aws_stack.up(cluster_program())
    wider = {"nodes": 3, "labels": {"zone": "a"}}
    assert changed(aws_stack.up(cluster_program(**wider))) == {("update", "nodes")}
    assert len(nodes(cloud_plane)) == 3
    assert all(labels["zone"] == "a" for labels in nodes(cloud_plane).values())

    newer = {**wider, "version": "1.35"}
    assert changed(aws_stack.up(cluster_program(**newer))) == {("update", "cluster")}

    # The launch template has a new version then, and the node group takes it.
    bigger = {**newer, "disk": 40}
    before = len(aws.changes())
    assert changed(aws_stack.up(cluster_program(**bigger))) == {("update", "nodes")}
    assert aws.changes()[before:] == [
        "ec2:CreateLaunchTemplateVersion",
        "ec2:ModifyLaunchTemplate",
        "eks:UpdateNodegroupVersion",
    ]

    replaced = changed(aws_stack.up(cluster_program(**bigger, instance_type="m7i.large")))
    assert replaced >= {("replace", "nodes"), ("create-replacement", "nodes"), ("delete-replaced", "nodes")}

    tagged = changed(aws_stack.up(cluster_program(**bigger, instance_type="m7i.large", owner="you")))
    assert tagged >= {("update", "vpc"), ("update", "cluster"), ("update", "key"), ("update", "lab-control")}
    assert aws_stack.automation.outputs()["tags"].value["owner"] == "you"
    aws_stack.destroy()
    assert aws.left() == []


def test_a_change_behind_pulumis_back_is_seen_by_a_refresh(aws, aws_stack):
    aws_stack.up(cluster_program())
    scaling = {"minSize": 1, "maxSize": 5, "desiredSize": 4}
    aws.ask("eks:UpdateNodegroupConfig", clusterName="lab", nodegroupName="system", scalingConfig=scaling)
    aws.ask("kms:DeleteAlias", AliasName="alias/lab")
    aws.left()  # awaits the update
    refreshed = aws_stack.automation.refresh()
    assert refreshed.summary.resource_changes["update"] == 1
    assert refreshed.summary.resource_changes["delete"] == 1
    assert changed(aws_stack.preview(cluster_program())) == {("update", "nodes"), ("create", "key")}


def test_secrets_stay_secret(aws_stack):
    def program():
        opts = pulumi.ResourceOptions(provider=aws_provider())
        tags = pulumi.Output.secret({"word": "s3cr3t"})
        vpc = ec2.Vpc("vpc", cidr_block="10.0.0.0/16", tags=tags, opts=opts)
        pulumi.export("tags", vpc.tags)

    aws_stack.up(program)
    assert aws_stack.automation.outputs()["tags"].secret
    assert aws_stack.up(program) == set()


def test_default_providers_are_not_needed(aws_stack):
    def program():
        ec2.Vpc("vpc", cidr_block="10.0.0.0/16")

    aws_stack.automation.set_config(
        "pulumi:disable-default-providers", automation.ConfigValue('["*"]'), path=False
    )
    with pytest.raises(automation.CommandError, match="Default provider for 'aws' disabled"):
        aws_stack.up(program)
