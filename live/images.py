"""Why an image can't be pulled, from what kubelet and the container runtimes say about it."""

import re

from live.events import Object, latest
from live.fleet import Cause
from live.view import Finding, View, shown

# The first pattern that is found in the message of containerd 1.6 or 2, CRI-O or Docker decides: a platform
# that is missing is also "not found", and a registry that can't be reached also fails to "authorize".
_CAUSES = [
    (
        r"no match for platform|no matching manifest|no image found in .* for architecture|exec format error",
        Cause.WRONG_ARCHITECTURE,
        "has no variant for the architecture of its node",
    ),
    (
        r"invalid reference format|couldn't parse image|failed to parse image",
        Cause.IMAGE_NAME_INVALID,
        "is not a valid image name",
    ),
    (
        (
            r"dial tcp|no such host|timeout|connection re(fused|set)|misbehaving|EOF|deadline exceeded|x509"
            r"|HTTP response to HTTPS client|no route to host|unreachable"
        ),
        Cause.REGISTRY_UNREACHABLE,
        "can't be pulled: the node does not reach its registry",
    ),
    (
        r"\b(429|5\d\d) [A-Z]|toomanyrequests|status: (429|5\d\d)",
        Cause.REGISTRY_UNREACHABLE,
        "can't be pulled: its registry refuses to answer for now",
    ),
    (
        r"may require authorization",
        Cause.IMAGE_FORBIDDEN,
        "does not exist, or may not be pulled without credentials",
    ),
    (
        r"\b40[13]\b|unauthorized|authorization failed|failed to authorize|denied|no basic auth credentials",
        Cause.IMAGE_FORBIDDEN,
        "may not be pulled: its registry refuses the node's credentials",
    ),
    (r"not found|manifest unknown|name unknown|\b404\b", Cause.IMAGE_NOT_FOUND, "is not in its registry"),
    (r"", Cause.IMAGE_NOT_PULLED, "can't be pulled"),
]
_FAILING = ("ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "SignatureValidationFailed")
_MAY_PASS = (Cause.REGISTRY_UNREACHABLE, Cause.IMAGE_NOT_PULLED)


def image_not_pulled(view: View) -> Finding | None:
    """The image of a container that waits for it in vain."""
    for container in view.containers:
        waiting = container["state"].get("waiting") or {}
        image = container["image"]
        match waiting.get("reason"):
            case "ErrImageNeverPull":
                return Finding(
                    Cause.IMAGE_NEVER_PULLED,
                    f"image {image} is not on node {view.pod['spec'].get('nodeName')}, and is never pulled",
                )
            case "InvalidImageName":
                return Finding(Cause.IMAGE_NAME_INVALID, f"{image} is not a valid image name")
            case reason if reason in _FAILING:
                return _pull_failure(view, image, waiting)
    return None


def pulling_for(view: View) -> float | None:
    """For how many seconds an image has been pulled; None if none is, as far as was heard."""
    waits = any("waiting" in container["state"] for container in view.containers)
    last = latest(view.events, "Pulling", "Failed", "BackOff")
    if not waits or last is None or last.reason != "Pulling":
        return None
    return (view.now - last.last).total_seconds()


def _pull_failure(view: View, image: str, waiting: Object) -> Finding:
    text = waiting.get("message") or ""
    if waiting["reason"] == "ImagePullBackOff" and "ErrImagePull" not in text:  # kubelets before 1.32
        failed = [event for event in view.events if event.message.startswith("Failed to pull image")]
        text = failed[-1].message if failed else text
    cause, words = next((cause, words) for pattern, cause, words in _CAUSES if re.search(pattern, text))
    has_been_retried = waiting["reason"] == "ImagePullBackOff" or latest(view.events, "BackOff") is not None
    return Finding(
        cause,
        f"image {image} {words} ({shown(_innermost(text))})",
        is_definite=cause not in _MAY_PASS or has_been_retried,
    )


def _innermost(text: str) -> str:
    """The last cause of a chain of errors, without what names the image again and again."""
    return re.split(r'(?:failed to|Failed to|Back-off) [^"]*"[^"]*": (?:ErrImagePull: )?', text)[-1]
