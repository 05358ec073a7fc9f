"""Which container engine is used, and our own: started once, found by all clones, stopped without a trace."""

import json
import os
import shutil
import subprocess
import sys
import time
from shutil import which as shutil_which

import psutil
import pytest

from toolchain import daemon, debian, engine, traces
from toolchain.progress import StepError

# Serves what `toolchain/daemon.py` asks of a docker daemon, and ends when it is told to.
DOCKERD = f"""#!{sys.executable}
import http.server, os, socketserver, sys
options = dict(word.lstrip("-").split("=", 1) for word in sys.argv[1:])
path = options["host"].removeprefix("unix://")
os.makedirs(options["exec-root"], exist_ok=True)
open(options["pidfile"], "x").write(str(os.getpid()))

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"OK" if self.path == "/_ping" else b"[]")
    def address_string(self):
        return "a client"

if os.path.exists(path):
    os.unlink(path)
socketserver.UnixStreamServer(path, Handler).serve_forever()
"""
# Answers where a daemon has its socket.
CLIENT = '#!/bin/sh\n[ "$1" = --host ] && [ -S "${2#unix://}" ]'

UNDO = traces.undo


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch):
    """A machine of its own: root, Debian, no engine, no docker client; returns its folder."""
    run, home = tmp_path / "run", tmp_path / "home"
    files = {"SOCKET": "docker.sock", "PIDFILE": "dockerd.pid", "EXEC_ROOT": "exec", "BEFORE": "before.json"}
    files["LOCK"] = "lock"
    for name, file in files.items():
        monkeypatch.setattr(daemon, name, run / file)
    monkeypatch.setattr(daemon, "RUN", run)
    monkeypatch.setattr(daemon, "HOST", f"unix://{daemon.SOCKET}")
    monkeypatch.setattr(daemon, "OTHER_SOCKET", tmp_path / "other.sock")
    monkeypatch.setattr(traces, "observe", lambda environ: {"observed": time.time()})
    monkeypatch.setattr(traces, "undo", lambda before, environ: None)
    monkeypatch.setattr(debian, "available", lambda: True)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", f"{tmp_path}/path:/usr/bin:/bin")
    monkeypatch.setattr(shutil, "which", lambda name: shutil_which(name, path=tmp_path / "path"))
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT", "HOME"):
        monkeypatch.delenv(name, raising=False)
    be_clone(home, monkeypatch)
    yield tmp_path
    assert daemon.RUN.is_relative_to(tmp_path), "what is killed now must be of this test"
    engine.docker_host.cache_clear()
    daemon.use.cache_clear()
    for process in daemon._processes("dockerd"):
        process.kill()


def be_clone(home, monkeypatch):
    """Be another clone on the machine: one with this `.envfleet/`."""
    root = home / "debian" / "root"

    def unpack(title, *packages):
        program(root / "usr" / "sbin" / "dockerd", DOCKERD)
        program(root / "usr" / "bin" / "docker", CLIENT)

    monkeypatch.setattr(daemon, "HOME", home)
    monkeypatch.setattr(debian, "PREFIX", root)
    monkeypatch.setattr(debian, "unpack", unpack)
    monkeypatch.setattr(engine, "BIN", home / "bin")
    engine.docker_host.cache_clear()


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def daemons():
    return daemon._processes("dockerd")


def kill_daemon():
    (process,) = daemons()
    process.kill()
    process.wait()


def test_every_clone_shares_one_engine(machine, monkeypatch):
    engine.ensure()
    first = daemons()
    be_clone(machine / "second", monkeypatch)
    engine.ensure()
    assert engine.docker_host() == daemon.HOST
    assert daemons() == first
    assert (machine / "second" / "bin" / "docker").exists()


def test_a_killed_engine_is_started_again_and_still_knows_how_the_machine_was(machine, monkeypatch):
    engine.ensure()
    before = daemon.BEFORE.read_text()
    kill_daemon()
    be_clone(machine / "second", monkeypatch)
    engine.ensure()
    (again,) = daemons()
    assert f"--data-root={machine}/home/engine/data" in again.cmdline(), (
        "the containers are in the first clone"
    )
    assert daemon.BEFORE.read_text() == before


def test_a_killed_engine_is_taken_over_if_its_clone_is_gone(machine, monkeypatch):
    engine.ensure()
    observed = json.loads(daemon.BEFORE.read_text())["observed"]
    kill_daemon()
    shutil.rmtree(machine / "home")
    be_clone(machine / "second", monkeypatch)
    engine.ensure()
    assert json.loads(daemon.BEFORE.read_text()) == {"home": str(machine / "second"), "observed": observed}


@pytest.mark.parametrize("killed", [False, True])
def test_any_clone_stops_the_engine_with_the_programs_of_the_one_that_started_it(
    machine, monkeypatch, killed
):
    undone = []
    monkeypatch.setattr(traces, "undo", lambda before, environ: undone.append((before, environ)))
    engine.ensure()
    before = json.loads(daemon.BEFORE.read_text())
    if killed:
        kill_daemon()
    be_clone(machine / "second", monkeypatch)
    assert engine.stop()
    ((seen, environ),) = undone
    assert seen == before
    assert environ["PATH"].startswith(f"{machine}/home/debian/root/")
    assert not daemons()
    assert not daemon.RUN.exists()


def test_the_next_stop_goes_on_where_one_failed(monkeypatch):
    def fail(before, environ):
        raise StepError("left traces")

    engine.ensure()
    with monkeypatch.context() as failing:
        failing.setattr(traces, "undo", fail)
        with pytest.raises(StepError, match="left traces"):
            engine.stop()
    assert engine.stop()
    assert not daemon.RUN.exists()


def test_an_engine_with_containers_keeps_running(monkeypatch):
    engine.ensure()
    monkeypatch.setattr(daemon, "containers", lambda: 1)
    assert not engine.stop()
    assert daemon.runs()


def test_what_another_docker_uses_is_not_undone(machine, monkeypatch):
    monkeypatch.setattr(traces, "undo", lambda before, environ: pytest.fail("the other one's rules are gone"))
    engine.ensure()
    monkeypatch.setattr(daemon, "_answers", lambda path: path == daemon.OTHER_SOCKET or path.exists())
    assert engine.stop()
    assert not daemon.RUN.exists()


def test_an_engine_that_does_not_start_leaves_no_trace(monkeypatch):
    undone = []
    monkeypatch.setattr(traces, "undo", lambda before, environ: undone.append(before))
    monkeypatch.setattr(
        debian,
        "unpack",
        lambda *_: program(debian.PREFIX / "usr/sbin/dockerd", "#!/bin/sh\necho broken; exit 1"),
    )
    with pytest.raises(StepError, match=r"dockerd did not start.*\nbroken"):
        engine.ensure()
    assert undone
    assert not daemon.RUN.exists()


def test_our_running_engine_goes_before_a_docker_that_was_started_later(machine):
    engine.ensure()
    program(machine / "path" / "docker", "#!/bin/sh\nexit 0")
    engine.docker_host.cache_clear()
    assert engine.docker_host() == daemon.HOST


def test_the_engine_that_the_user_named_goes_before_ours(machine, monkeypatch):
    engine.ensure()
    program(machine / "path" / "docker", "#!/bin/sh\nexit 0")
    monkeypatch.setenv("DOCKER_HOST", "tcp://192.0.2.7:2375")
    engine.docker_host.cache_clear()
    assert engine.docker_host() is None


@pytest.mark.parametrize("name", ["DOCKER_HOST", "DOCKER_CONTEXT"])
def test_no_engine_is_started_in_place_of_the_one_that_the_user_named(machine, monkeypatch, name):
    program(machine / "path" / "docker", "#!/bin/sh\necho 'error: no route' >&2; exit 1")
    monkeypatch.setenv(name, "tcp://192.0.2.7:2375")
    with pytest.raises(StepError, match=rf"{name}=tcp://192\.0\.2\.7:2375 .*no route"):
        engine.ensure()
    assert not daemon.started()


def test_a_shell_with_our_environment_may_start_our_engine_again(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", daemon.HOST)
    engine.ensure()
    assert daemon.runs()


def test_a_docker_that_refuses_the_user_is_not_to_be_installed_again(machine, monkeypatch):
    refused = (
        "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock"
    )
    program(machine / "path" / "docker", f"#!/bin/sh\necho '{refused}' >&2; exit 1")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(StepError, match="group docker") as error:
        engine.ensure()
    assert refused in str(error.value)
    assert "Install" not in str(error.value)


def test_others_firewall_rules_survive(monkeypatch):
    ours = [
        ":DOCKER - [0:0]",
        "-A FORWARD -j DOCKER-USER",
        "-A POSTROUTING -s 172.18.0.0/16 ! -o br-0123456789ab -j MASQUERADE",
    ]
    others = ["*filter", ":FORWARD DROP [0:0]", "-A INPUT -i br-lan -j ACCEPT", "COMMIT"]
    commands = []

    def run(*command, env, stdin=None):
        commands.append((command, stdin))
        return "\n".join([*others[:2], *ours, *others[2:]]) if command[0] == "iptables-save" else ""

    monkeypatch.setattr(traces, "run", run)
    traces._undo_firewall("ACCEPT", {})
    assert (("iptables-restore",), "\n".join([*others, ""])) in commands
    assert commands[-1][0] == ("iptables", "-P", "FORWARD", "ACCEPT")


def test_settings_and_folders_are_put_back_also_where_the_firewall_can_not(tmp_path, monkeypatch):
    setting = tmp_path / "net" / "ipv4" / "ip_forward"
    setting.parent.mkdir(parents=True)
    setting.write_text("1\n")
    monkeypatch.setattr(traces, "PROC_SYS", tmp_path)
    empty, used = tmp_path / "empty", tmp_path / "used"
    for folder in (empty, used):
        folder.mkdir()
    (used / "daemon.json").touch()
    before = {
        "sysctls": {"net/ipv4/ip_forward": "0", "net/gone": "1"},
        "links": list(psutil.net_if_stats()),
        "forward_policy": "ACCEPT",
        "absent": [str(empty), str(used), str(tmp_path / "missing")],
    }
    with pytest.raises(StepError, match="iptables-save is not installed"):
        UNDO(before, {"PATH": str(tmp_path)})
    assert setting.read_text() == "0"
    assert not empty.exists()
    assert used.exists(), "it has a file of someone else"


def test_a_clone_does_not_stop_the_engine_that_another_prepares_to_use(machine):
    engine.ensure()
    code = (
        f"import fcntl, sys; file = open({str(daemon.LOCK)!r}, 'w'); fcntl.flock(file, fcntl.LOCK_SH);"
        "print(flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    other.stdout.readline()
    engine.keep()
    assert not engine.stop()
    assert daemon.runs()
    other.communicate()
    assert engine.stop()
    assert not daemon.RUN.exists()
