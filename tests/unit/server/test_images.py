import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]


def _pins(requirements: Path) -> dict[str, str]:
    """The version of each package of a compiled requirements file."""
    lines = (line.split(" ")[0] for line in requirements.read_text().splitlines() if "==" in line)
    return dict(line.split("==") for line in lines)


def test_the_servers_pins_satisfy_its_declared_dependencies() -> None:
    project = tomllib.loads((ROOT / "server/pyproject.toml").read_text())["project"]
    pins = _pins(ROOT / "server/requirements.txt")
    for dependency in map(Requirement, project["dependencies"]):
        assert pins[dependency.name] in dependency.specifier


def test_environments_pin_the_same_packages_so_that_nodes_store_one_layer_for_all() -> None:
    files = sorted((ROOT / "environments").glob("*/requirements.txt"))
    assert len(files) > 1
    assert len({file.read_bytes() for file in files}) == 1
