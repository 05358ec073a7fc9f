"""One container engine for all end-to-end tests, and one clone in which README is followed.

- `machine_before`: what was there. From then on a container engine runs; afterwards, if it ran before.
- `clone`: a clean copy of this repository. `walk.take(step)` takes a step of README there, once.
- `up`: the result of README's first `make up`. Its cluster stays until `test_teardown.py`, the last module.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.clone import Clone, Result, user_environ
from tests.e2e.machine import engine_runs, inventory
from tests.e2e.readme import STEPS, Walk, shorten
from tests.engine.decoy import Decoy, run_decoy
from toolchain import engine, images, tools

CLONES = pytest.StashKey[Clone]()
SLOW_SECONDS = 5


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds all that the clone's user has."""
    return tmp_path_factory.mktemp("user")


@pytest.fixture(autouse=True, scope="session")
def machine_before(root: Path) -> Iterator[set[str]]:
    if engine_runs():
        # Any container keeps `make down` of a clone from stopping an engine of ours.
        keeper = engine.docker("create", images.node()).strip()
        yield inventory(root, prefix="")
        engine.docker("rm", keeper)
    else:
        before = inventory(root, prefix="")
        engine.ensure()
        yield before
        engine.stop()


@pytest.fixture(scope="session")
def decoy(root: Path) -> Iterator[Decoy]:
    """The home of the clone's user, whose kubeconfig leads to a cluster that must never be contacted."""
    home = root / "home"
    home.mkdir()
    with run_decoy(home) as running:
        yield running


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tools for the clone: the toolchain cache if there is one, else those of this clone."""
    if folder := tools.cache():
        return folder
    folder = tmp_path_factory.mktemp("cache")
    tools.ensure("pulumi", "pulumi-resource-kubernetes", "kind", "kubectl")
    tools.export(folder)
    return folder


@pytest.fixture(scope="session")
def kubeconfigs(decoy: Decoy) -> dict[Path, bytes]:
    """What the user has before: ~/.kube/config, and another one for $KUBECONFIG."""
    text = decoy.kubeconfig.read_bytes()
    other = decoy.home / "kubeconfig"
    other.write_bytes(text)
    return {decoy.kubeconfig: text, other: text}


@pytest.fixture(scope="session")
def clone(
    root: Path,
    machine_before: set[str],
    kubeconfigs: dict[Path, bytes],
    cache: Path,
    request: pytest.FixtureRequest,
) -> Clone:
    temporary = root / "tmp"
    temporary.mkdir()
    (_, kubeconfig) = kubeconfigs
    made = Clone(root, user_environ(root / "home", temporary, kubeconfig, cache))
    made.copy()
    request.config.stash[CLONES] = made
    return made


@pytest.fixture(scope="session")
def walk(clone: Clone) -> Iterator[Walk]:
    walk = Walk(clone)
    yield walk
    *_, down = STEPS
    finished = {"dev"} if down in walk.taken and walk.taken[down].code == 0 else set()
    for stack in {file.name.split(".")[1] for file in clone.folder.glob("Pulumi.*.yaml")} - finished:
        clone.run(f"make down STACK={stack}").succeeded()
    clone.run("make clean").succeeded()


@pytest.fixture(scope="session")
def up(walk: Walk) -> Result:
    first, *_ = STEPS
    return walk.take(first)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print how long the commands in the clone took."""
    clone = config.stash.get(CLONES, None)
    for result in clone.results if clone else ():
        if result.seconds >= SLOW_SECONDS:
            terminalreporter.write_line(f"{result.seconds:6.1f}s {shorten(result.command)}")
