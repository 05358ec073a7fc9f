"""The control plane itself: others rely on its pods' fates, and on it leaving no process behind."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.engine.control_plane import PROGRAMS, ControlPlane, ControlPlaneError, run_control_plane


def processes_in(directory: Path) -> dict[str, psutil.Process]:
    """Return the running processes whose working directory is `directory`, by their command."""
    return {
        process.info["cmdline"][0]: process
        for process in psutil.process_iter(["cwd", "cmdline", "status"])
        # One that is ending has no command any more, and then is a zombie.
        if process.info["cwd"] == str(directory)
        and process.info["cmdline"]
        and process.info["status"] != psutil.STATUS_ZOMBIE
    }


def wait_for_pod(control_plane: ControlPlane, name: str) -> dict:
    """Return the status of a pod of namespace `default` once a node has reported on it."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        pod = control_plane.client.get(f"/api/v1/namespaces/default/pods/{name}").raise_for_status().json()
        if "containerStatuses" in pod["status"]:
            return pod["status"]
        time.sleep(0.1)
    raise AssertionError(f"no node has reported on pod {name}: {pod['status']}")


@pytest.mark.parametrize(
    ("fate", "phase", "is_ready", "waiting"),
    [
        (None, "Running", "True", None),
        ("image-pull-error", "Pending", "False", "ImagePullBackOff"),
        ("crash-loop", "Running", "False", "CrashLoopBackOff"),
        ("never-ready", "Running", "False", None),
    ],
)
def test_a_pod_meets_the_fate_that_its_label_names(control_plane, fate, phase, is_ready, waiting):
    name = f"fate-{fate or 'good'}"
    labels = {"envfleet.test/fate": fate} if fate else {}
    pod = {
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "main", "image": "x:1"}]},
    }
    control_plane.client.post("/api/v1/namespaces/default/pods", json=pod).raise_for_status()
    try:
        status = wait_for_pod(control_plane, name)
    finally:
        control_plane.client.delete(f"/api/v1/namespaces/default/pods/{name}").raise_for_status()

    conditions = {condition["type"]: condition["status"] for condition in status["conditions"]}
    (container,) = status["containerStatuses"]
    assert status["phase"] == phase
    assert conditions["Ready"] == is_ready
    assert container["state"].get("waiting", {}).get("reason") == waiting


def test_a_start_that_fails_half_way_stops_what_it_has_started(toolchain, tmp_path):
    binaries = tmp_path / "bin"
    binaries.mkdir()
    for name in PROGRAMS[:-1]:
        (binaries / name).symlink_to(toolchain / "bin" / name)
    (binaries / PROGRAMS[-1]).symlink_to("/bin/false")
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    with (
        pytest.raises(ControlPlaneError, match="kwok ended with exit code 1"),
        run_control_plane(scratch, binaries),
    ):
        pass

    assert (scratch / "kube-apiserver.log").stat().st_size  # it did run
    assert processes_in(scratch) == {}


def test_a_killed_test_run_takes_its_control_plane_with_it(toolchain, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    script = (
        "import pathlib, sys, time\n"
        "from tests.engine.control_plane import run_control_plane\n"
        "with run_control_plane(*map(pathlib.Path, sys.argv[1:])):\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(scratch), str(toolchain / "bin")],
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout.readline() == "ready\n"
        assert processes_in(scratch).keys() == set(PROGRAMS)
        run.send_signal(signal.SIGKILL)

    deadline = time.monotonic() + 5
    while processes_in(scratch) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = processes_in(scratch)
    for process in left.values():
        process.kill()
    assert left == {}
