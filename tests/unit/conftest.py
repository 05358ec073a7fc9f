"""Pulumi programs without an engine, and everything they ask of it; a cluster that is a stub."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import kr8s.asyncio
import pulumi
import pytest
from pulumi.runtime.mocks import MockMonitor

from live.api import connect
from tests.unit.live_cluster import ClusterStub, serve


class Resources(pulumi.runtime.Mocks):
    """Every resource comes to be as it was asked for."""

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        return f"{args.name}-id", args.inputs

    def call(self, args: pulumi.runtime.MockCallArgs) -> dict[str, Any]:
        raise AssertionError(f"unexpected call of {args.token}")


class NoResources(Resources):
    """No resource may be asked for."""

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        raise AssertionError(f"unexpected resource {args.name}")


class Recorder(MockMonitor):
    """Keeps the requests themselves: mocks are told nothing of a resource's options."""

    def __init__(self) -> None:
        super().__init__(Resources())
        self.requests: list[Any] = []
        self.outputs: dict[str, list[str]] = {}

    def RegisterResource(self, request):  # noqa: N802 - named by the protocol
        self.requests.append(request)
        return super().RegisterResource(request)

    def RegisterResourceOutputs(self, request):  # noqa: N802
        self.outputs[request.urn.split("::", 2)[2]] = sorted(request.outputs)
        return super().RegisterResourceOutputs(request)


@pytest.fixture(scope="session")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """The only one that Pulumi gets: gRPC, which hooks need, keeps to its first, and crashes in another."""
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def event_loop_for_pulumi(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Pulumi wants a current event loop; asynchronous tests of other modules leave none."""
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)


@pytest.fixture(scope="module")
def set_config(event_loop_for_pulumi: None) -> Callable[..., None]:
    """Be a program of stack `dev` with this configuration, that must create nothing."""

    def set_all(values: dict[str, str], secret_keys: Sequence[str] = ()) -> None:
        pulumi.runtime.set_mocks(NoResources(), "envfleet", "dev")
        pulumi.runtime.set_all_config(values, list(secret_keys))

    return set_all


@pytest.fixture
def run_program(event_loop_for_pulumi: None) -> Callable[[Callable[[], object]], Recorder]:
    """Run a program to its end; returns what it asked for."""

    def run(program: Callable[[], object]) -> Recorder:
        recorder = Recorder()
        pulumi.runtime.set_mocks(recorder.mocks, "envfleet", "dev", monitor=recorder)

        @pulumi.runtime.test
        def wait() -> None:
            program()

        wait()
        return recorder

    return run


@pytest.fixture
def stub() -> ClusterStub:
    """A cluster of the test's own making; `kubeconfig` leads to it, and `api` asks it."""
    return ClusterStub()


@pytest.fixture
def kubeconfig(stub: ClusterStub) -> Iterator[str]:
    with serve(stub) as kubeconfig:
        yield kubeconfig


@pytest.fixture
async def api(kubeconfig: str) -> AsyncIterator[kr8s.asyncio.Api]:
    async with connect(kubeconfig) as api:
        yield api
