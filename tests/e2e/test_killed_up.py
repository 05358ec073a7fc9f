"""`make up` after a `make up` that was killed: nobody has to clean up by hand."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest
import yaml

from tests.e2e.clone import Clone, Result
from tests.e2e.kind_support import nodes, wait_until


@pytest.fixture
def stack(clone: Clone, up: Result) -> Iterator[str]:
    """A second stack beside the first, with one environment."""
    up.succeeded()
    settings = yaml.safe_load((clone.folder / "Pulumi.dev.yaml").read_text())
    settings.pop("encryptionsalt")
    del settings["config"]["envfleet:environments"][1:]
    file = clone.folder / "Pulumi.killed.yaml"
    file.write_text(yaml.safe_dump(settings))
    yield "killed"
    clone.run("make down STACK=killed").succeeded()
    file.unlink()


def test_up_recovers_by_itself_after_all_its_processes_were_killed(clone: Clone, stack: str) -> None:
    cluster = f"{clone.prefix}-{stack}"
    command = ["make", "up", f"STACK={stack}"]
    with (
        (clone.root / "killed.log").open("w") as log,
        subprocess.Popen(
            command, cwd=clone.folder, env=clone.environ, stdout=log, stderr=log, start_new_session=True
        ) as make,
    ):
        wait_until(lambda: "running" in nodes(clone.pulumi_environ, cluster).values(), 120, "a node runs")
        family = psutil.Process(make.pid).children(recursive=True)
        for process in (make, *family):
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
    half_made = nodes(clone.pulumi_environ, cluster)
    assert half_made
    again = clone.run(f"make up STACK={stack}").succeeded()
    assert re.search(r"│ Ready +│", again)
    assert "pending operations" not in again
    assert nodes(clone.pulumi_environ, cluster).keys().isdisjoint(half_made)
    assert list((clone.folder / ".envfleet" / "tmp").glob("*-*")) == []
