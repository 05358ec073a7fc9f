"""Everything that is in a cluster, whatever its kind."""

import re
from collections.abc import Iterator
from typing import Any

import httpx

# They come and go by themselves.
VOLATILE_KINDS = {"ComponentStatus", "Event", "Lease"}


def resource_types(client: httpx.Client) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each resource type that the API server has: the path of its group, and its description."""
    groups = client.get("/apis").raise_for_status().json()["groups"]
    for path in ["/api/v1", *(f"/apis/{group['preferredVersion']['groupVersion']}" for group in groups)]:
        for resource in client.get(path).raise_for_status().json()["resources"]:
            yield path, resource


def all_objects(client: httpx.Client, namespace: str | None = None) -> dict[str, dict[str, Any]]:
    """Return every object, or those of one namespace, by `Kind namespace/name`."""
    objects = {}
    for path, resource in resource_types(client):
        if "list" not in resource["verbs"] or resource["kind"] in VOLATILE_KINDS:
            continue
        for item in client.get(f"{path}/{resource['name']}").raise_for_status().json()["items"]:
            place = item["metadata"].get("namespace", "")
            if namespace in {None, place}:
                type_ = {"apiVersion": re.sub("^/apis?/", "", path), "kind": resource["kind"]}
                objects[f"{resource['kind']} {place}/{item['metadata']['name']}"] = type_ | item
    return objects
