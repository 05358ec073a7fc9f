"""Fixtures for tests that run the real Pulumi engine and Kubernetes provider against a real API server.

    def test_something(stack, kubernetes_provider, namespace, control_plane):
        def program():
            opts = pulumi.ResourceOptions(provider=kubernetes_provider())
            kubernetes.core.v1.Namespace("n", metadata={"name": namespace}, opts=opts)

        assert Step("create", "kubernetes:core/v1:Namespace", "n") in stack.up(program)
        assert control_plane.client.get(f"/api/v1/namespaces/{namespace}").is_success

- `control_plane`: one per session; `.client` is httpx as the administrator. `kubeconfig`: its YAML text.
- `namespace`: a name that no other test uses. What a stack creates there is gone after the test.
- `stack`: a PulumiStack of its own, destroyed after the test. `new_stack()` is the same as a context
  manager, for fixtures of a wider scope. `stack.automation` is the whole Automation API.
- `kubernetes_provider()`: inside a program, the provider of `control_plane`.
- `fleet_program(raw)`: a program that builds a Fleet on that provider, from raw configuration.
- `deployed_fleet`: one fleet for the whole session. Look at it and preview changes; never update it.
- `decoy`: where $KUBECONFIG and ~/.kube/config lead to in every test; its `.requests` must stay empty.
- `toolchain`: the directory with `bin/pulumi` and the other tools, and `pulumi/plugins`.

A pod labelled `envfleet.test/fate: image-pull-error | crash-loop | never-ready` meets that fate.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pulumi
import pulumi_kubernetes as kubernetes
import pytest

from components.fleet import Fleet, FleetArgs
from config import parse
from tests.engine.control_plane import PROGRAMS, ControlPlane, run_control_plane
from tests.engine.decoy import Decoy, run_decoy
from tests.engine.fleets import SIMULATED, DeployedFleet, small_fleet
from tests.engine.pulumi_stack import STACK, Program, PulumiStack, run_stack
from toolchain import layout, tools

NewStack = Callable[[], AbstractContextManager[PulumiStack]]
KubernetesProvider = Callable[[], kubernetes.Provider]
FleetProgram = Callable[[Mapping[str, object]], Program]


@pytest.fixture(scope="session")
def toolchain() -> Path:
    tools.ensure("pulumi", "pulumi-resource-kubernetes", *PROGRAMS)
    return layout.HOME


@pytest.fixture(scope="session")
def control_plane(toolchain: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with run_control_plane(tmp_path_factory.mktemp("control-plane"), toolchain / "bin") as running:
        yield running


@pytest.fixture(scope="session")
def kubeconfig(control_plane: ControlPlane) -> str:
    return control_plane.kubeconfig


@pytest.fixture(autouse=True)
def _control_plane_is_alive(request: pytest.FixtureRequest) -> None:
    """Say which process died, rather than let the next test time out."""
    if "control_plane" in request.fixturenames:
        request.getfixturevalue("control_plane").check()


@pytest.fixture(scope="session")
def decoy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Decoy]:
    with run_decoy(tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest.fixture(autouse=True)
def _programs_see_the_decoy(decoy: Decoy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inline programs run in this process, and `kubernetes.Provider` reads its environment."""
    monkeypatch.setenv("KUBECONFIG", str(decoy.kubeconfig))


@pytest.fixture(scope="session")
def new_stack(toolchain: Path, decoy: Decoy, tmp_path_factory: pytest.TempPathFactory) -> NewStack:
    environment = {"HOME": str(decoy.home), "KUBECONFIG": str(decoy.kubeconfig)}
    return lambda: run_stack(tmp_path_factory.mktemp("stack"), toolchain, environment)


@pytest.fixture
def stack(new_stack: NewStack) -> Iterator[PulumiStack]:
    with new_stack() as running:
        yield running


@pytest.fixture(scope="session")
def kubernetes_provider(kubeconfig: str) -> KubernetesProvider:
    def provider() -> kubernetes.Provider:
        secret = pulumi.Output.secret(kubeconfig)
        return kubernetes.Provider("cluster", kubeconfig=secret, cluster_identifier="control-plane")

    return provider


@pytest.fixture(scope="session")
def new_namespace() -> Callable[[], str]:
    numbers = itertools.count(1)
    return lambda: f"test-{next(numbers)}"


@pytest.fixture
def namespace(new_namespace: Callable[[], str]) -> str:
    return new_namespace()


@pytest.fixture(scope="session")
def fleet_program(kubernetes_provider: KubernetesProvider, kubeconfig: str) -> FleetProgram:
    def program_of(raw: Mapping[str, object]) -> Program:
        config = parse({**SIMULATED, **raw}, STACK, {"secrets"})

        def program() -> None:
            opts = pulumi.ResourceOptions(providers=[kubernetes_provider()])
            secret = pulumi.Output.secret(kubeconfig)
            Fleet("fleet", FleetArgs(config, STACK, secret, image=lambda reference: reference), opts)

        return program

    return program_of


@pytest.fixture(scope="session")
def deployed_fleet(
    new_stack: NewStack, new_namespace: Callable[[], str], fleet_program: FleetProgram
) -> Iterator[DeployedFleet]:
    raw = small_fleet(new_namespace())
    with new_stack() as running:
        yield DeployedFleet(running, running.up(fleet_program(raw)), raw)
