"""`envfleet up` that is killed, and what is on the control plane then."""

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import psutil

from live.ownership import KINDS
from tests.engine.cli_stack import CliStack
from toolchain.progress import StepError

ORPHAN_SECONDS = 3
# What the API server, the scheduler and the kubelets add, which no two runs have in common.
_OF_ONE_RUN = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "namespace")
_FILLED_IN = ("nodeName", "clusterIP", "clusterIPs")


@dataclass(frozen=True)
class KilledFleet:
    """A fleet, as it is on the control plane."""

    stack: CliStack
    client: httpx.Client

    def up_killed(self, after: int, delay_seconds: float) -> bool:
        """Run `envfleet up`, and SIGKILL `pulumi` once so many objects have changed.

        Returns whether it was still running then.
        """
        before, ended, hits = self.versions(), threading.Event(), []
        orphans: list[psutil.Process] = []

        def kill() -> None:
            while not ended.wait(0.02):
                if len(before.items() ^ self.versions().items()) >= after:
                    time.sleep(delay_seconds)
                    engines = [p for p in psutil.Process().children() if p.name() == "pulumi"]
                    for engine in engines:
                        orphans.extend(engine.children(recursive=True))
                        engine.kill()
                        hits.append(engine.pid)
                    return

        with self.stack.selected() as stack:
            killer = threading.Thread(target=kill)
            killer.start()
            try:
                stack.up()
            except StepError:
                assert hits
            finally:
                ended.set()
                killer.join()
                # The Kubernetes plugin outlives `pulumi`, and finishes what it was at.
                _, left = psutil.wait_procs(orphans, timeout=ORPHAN_SECONDS)
                for orphan in left:
                    orphan.kill()
        return bool(hits)

    def objects(self) -> dict[str, dict[str, Any]]:
        """All objects of the fleet, by kind and name."""
        labels = {"labelSelector": f"app.kubernetes.io/instance={self.stack.name}"}
        return {
            f"{kind.kind} {item['metadata']['name']}": item
            for kind in KINDS.values()
            for item in self.client.get(_path(kind, self.stack.name), params=labels)
            .raise_for_status()
            .json()["items"]
            if "ownerReferences" not in item["metadata"]
        }

    def versions(self) -> dict[str, str]:
        """The uid of every object and how often its specification has changed."""
        return {
            name: f"{item['metadata']['uid']} {item['metadata'].get('generation', 0)}"
            for name, item in self.objects().items()
        }

    def pods(self) -> dict[str, str]:
        """The uid of each environment's pod."""
        return {
            name.removeprefix("Pod "): item["metadata"]["uid"]
            for name, item in self.objects().items()
            if name.startswith("Pod ")
        }

    def inventory(self) -> dict[str, Any]:
        """All objects, as far as two runs make them the same."""
        return {name: _comparable(item, self.stack.name) for name, item in self.objects().items()}


def _path(kind: Any, namespace: str) -> str:
    root = "/api" if "/" not in kind.version else "/apis"
    return f"{root}/{kind.version}/namespaces/{namespace}/{kind.plural}"


def _comparable(item: Mapping[str, Any], own: str) -> Any:
    metadata = {key: value for key, value in item["metadata"].items() if key not in _OF_ONE_RUN}
    annotations = metadata.get("annotations", {})
    metadata["annotations"] = {key: annotations[key] for key in annotations if key.startswith("pulumi.com/")}
    spec = {key: value for key, value in item.get("spec", {}).items() if key not in _FILLED_IN}
    rest = {key: value for key, value in item.items() if key not in {"metadata", "spec", "status"}}
    return json.loads(json.dumps({**rest, "metadata": metadata, "spec": spec}).replace(own, "OWN"))
