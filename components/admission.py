"""Why Kubernetes refused to create an object, in the words of the configuration."""

import re

import pulumi

_QUOTA = (
    r"exceeded quota: (?P<quota>[^,]+), requested: (?P<asked>.+), used: (?P<used>.+), limited: (?P<limit>\S+)"
)
# What the API server says, and what that means. The first that is found counts.
_REFUSALS = (
    (
        _QUOTA,
        (
            "quota {quota} of the namespace is used up (asked for: {asked}; in use: {used}; limit: {limit}): "
            "ask for less under resources, remove another environment, or have the quota raised"
        ),
    ),
    (
        r"failed quota: (?P<quota>[^:]+): must specify (?P<missing>[\w.,/-]+)",
        "quota {quota} of the namespace wants {missing} to be given: add it under resources",
    ),
    (
        r"violates PodSecurity \"(?P<level>[^\"]+)\": (?P<why>.+)",
        "Pod Security {level} of the namespace does not allow it: {why}. Change it under security",
    ),
    (
        r"(?P<what>(?:minimum|maximum) \S+ usage per \S+ is .+)",
        "a LimitRange of the namespace does not allow it: {what}. Change it under resources",
    ),
    (
        r"admission webhook \"(?P<policy>[^\"]+)\" denied the request: (?P<why>.+)",
        "the cluster's policy {policy} does not allow it: {why}",
    ),
    (
        r"ValidatingAdmissionPolicy '(?P<policy>[^']+)'.* denied request: (?P<why>.+)",
        "the cluster's policy {policy} does not allow it: {why}",
    ),
    (
        r"RuntimeClass \"(?P<name>[^\"]+)\" not found",
        "the cluster has no RuntimeClass {name}: write another runtime_class, or have it installed",
    ),
    (
        r"no PriorityClass with name (?P<name>\S+) was found",
        "the cluster has no PriorityClass {name}: write another priority_class, or have it made",
    ),
    (
        r"serviceaccount \"(?P<name>[^\"]+)\" not found",
        "the namespace has no service account {name}: write another service_account, or make it",
    ),
    (
        r"because it is being terminated",
        "the namespace is being deleted: try again when it is gone",
    ),
)


def explain(error: str) -> str | None:
    """What an error of the API server means for the configuration; None if that is not known."""
    for pattern, meaning in _REFUSALS:
        if found := re.search(pattern, error):
            return meaning.format_map(found.groupdict())
    return None


def _say_why(args: pulumi.ErrorHookArgs) -> bool:
    if meaning := explain(args.errors[0]):
        pulumi.log.error(f"{args.name}: {meaning}")
    return False  # trying again would not help


def explained(name: str) -> pulumi.ResourceHookBinding:
    """For objects that admission may refuse; the name is this binding's alone in a program."""
    return pulumi.ResourceHookBinding(on_error=[pulumi.ErrorHook(f"explain-{name}", _say_why)])
