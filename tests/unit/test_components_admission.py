"""What Kubernetes refuses is explained in the words of the configuration."""

import pytest

from components.admission import explain

FORBIDDEN = 'Server-side apply failed: pods "echo" is forbidden: '


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            FORBIDDEN
            + "exceeded quota: small, requested: limits.cpu=1,pods=1, used: limits.cpu=4,pods=5, limited: "
            "limits.cpu=4,pods=5",
            (
                "quota small of the namespace is used up (asked for: limits.cpu=1,pods=1; "
                "in use: limits.cpu=4,pods=5; limit: limits.cpu=4,pods=5)"
            ),
        ),
        (
            FORBIDDEN + "failed quota: gpus: must specify requests.nvidia.com/gpu for: environment",
            "quota gpus of the namespace wants requests.nvidia.com/gpu to be given",
        ),
        (
            FORBIDDEN + 'violates PodSecurity "restricted:latest": privileged (container "environment" must '
            "not set securityContext.privileged=true)",
            "Pod Security restricted:latest of the namespace does not allow it: privileged",
        ),
        (
            FORBIDDEN + "maximum cpu usage per Container is 500m, but limit is 1",
            "a LimitRange of the namespace does not allow it: maximum cpu usage per Container is 500m",
        ),
        (
            'admission webhook "validate.kyverno.svc" denied the request: images must be signed',
            "the cluster's policy validate.kyverno.svc does not allow it: images must be signed",
        ),
        (
            FORBIDDEN + "ValidatingAdmissionPolicy 'no-echo' with binding 'all' denied request: no echo here",
            "the cluster's policy no-echo does not allow it: no echo here",
        ),
        (
            FORBIDDEN + 'pod rejected: RuntimeClass "gvisor" not found',
            "the cluster has no RuntimeClass gvisor: write another runtime_class",
        ),
        (
            FORBIDDEN + "no PriorityClass with name high was found",
            "the cluster has no PriorityClass high: write another priority_class",
        ),
        (
            FORBIDDEN + 'error looking up service account rl/me: serviceaccount "me" not found',
            "the namespace has no service account me: write another service_account",
        ),
        (
            FORBIDDEN + "unable to create new content in namespace rl because it is being terminated",
            "the namespace is being deleted: try again when it is gone",
        ),
    ],
)
def test_a_refusal_names_what_to_change(error, expected):
    assert explain(error).startswith(expected)


def test_what_is_not_known_is_left_to_pulumi():
    assert explain("connection refused") is None
