"""The objects that `components` describes, as the Kubernetes API takes them."""

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import httpx
from pulumi.runtime import rpc

# Where each kind that an environment consists of is served.
RESOURCES = {
    "Namespace": "/api/v1/namespaces",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies",
    "Pod": "/api/v1/namespaces/{namespace}/pods",
    "Secret": "/api/v1/namespaces/{namespace}/secrets",
    "Service": "/api/v1/namespaces/{namespace}/services",
}
_NOT_IN_YAML = re.compile("[\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff]")  # unlike in JSON, unless escaped
VERSIONS = {"NetworkPolicy": "networking.k8s.io/v1"}


def manifest(build: Callable[..., object], *arguments: object) -> dict[str, Any]:
    """Return what a builder's result, such as PodInitArgs, means to Kubernetes; secrets included."""

    async def serialized() -> dict[str, Any]:
        made = build(*arguments)  # here, since outputs want an event loop
        kind = type(made).__name__.removesuffix("InitArgs")
        properties = await rpc.serialize_property(made, [], None, typ=type(made))
        return {"apiVersion": VERSIONS.get(kind, "v1"), "kind": kind, **properties}

    return asyncio.run(serialized())


def apply(
    client: httpx.Client, item: dict[str, Any], *, manager: str = "pulumi-envfleet", dry: bool = False
) -> httpx.Response:
    """Create or update an object in the way of Pulumi's Kubernetes provider, server-side apply."""
    metadata = item["metadata"]
    return client.patch(
        f"{RESOURCES[item['kind']].format_map(metadata)}/{metadata['name']}",
        params={"fieldManager": manager, "fieldValidation": "Strict", **({"dryRun": "All"} if dry else {})},
        headers={"content-type": "application/apply-patch+yaml"},
        content=_NOT_IN_YAML.sub(
            lambda found: f"\\u{ord(found[0]):04x}", json.dumps(item, ensure_ascii=False)
        ),
    )
