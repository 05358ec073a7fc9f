import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from .conftest import NAMESPACE, TOKEN, KubernetesStub


@pytest.fixture
def process(kubeconfig: Path) -> Iterator[tuple[subprocess.Popen, str]]:
    """The server as its image starts it, with proxies set that lead nowhere, and its base URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(sys.path),
        "ENVFLEET_NAMESPACE": NAMESPACE,
        "ENVFLEET_KUBECONFIG": str(kubeconfig),
        "PORT": str(port),
        "LOG_LEVEL": "debug",
        "ALL_PROXY": "socks5://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "example.org",
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "envfleet_server"], env=environment, stderr=subprocess.PIPE, text=True
    )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_alive(server, url)
        yield server, url
    finally:
        server.kill()
        server.wait()


def _wait_until_alive(server: subprocess.Popen, url: str) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and server.poll() is None:
        try:
            httpx.get(f"{url}/healthz", trust_env=False)
        except httpx.ConnectError:
            time.sleep(0.05)
        else:
            return
    pytest.fail(f"the server did not come up: {server.communicate(timeout=5)[1]}")


def test_proxies_of_the_outside_world_do_not_break_calls_to_the_cluster(
    process: tuple[subprocess.Popen, str],
) -> None:
    _, url = process
    assert httpx.get(f"{url}/readyz", trust_env=False).status_code == 200


def test_sigterm_ends_the_process_within_seconds(process: tuple[subprocess.Popen, str]) -> None:
    server, _ = process
    server.send_signal(signal.SIGTERM)
    _, log = server.communicate(timeout=3)
    assert "Application shutdown complete" in log


@pytest.mark.parametrize("token", [TOKEN, f"{TOKEN}\n"], ids=["refused", "malformed"])
def test_a_token_that_fails_is_neither_answered_nor_logged(
    process: tuple[subprocess.Popen, str], stub: KubernetesStub, kubeconfig: Path, token: str
) -> None:
    server, url = process
    stub.forbidden = {"pods"}
    kubeconfig.write_text(kubeconfig.read_text().replace(f"token: {TOKEN}", f"token: {json.dumps(token)}"))
    answer = httpx.get(f"{url}/v1/environments", trust_env=False)
    server.terminate()
    _, log = server.communicate(timeout=3)
    assert answer.status_code == 503
    assert answer.json()["detail"] in log
    assert TOKEN not in answer.text + log
