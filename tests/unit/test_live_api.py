import asyncio
import stat
import tempfile
import threading
from base64 import b64encode
from pathlib import Path

import pytest
import yaml

from live.api import ClusterError, connect
from live.objects import Query, read
from tests.engine import pki
from tests.unit.live_cluster import ClusterStub, kubeconfig_for, make_node, serve


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


async def names_of_nodes(kubeconfig: str) -> list[str]:
    async with connect(kubeconfig) as api:
        listing = await read(api, Query("nodes"))
        return [node["metadata"]["name"] for node in listing.items.values()]


async def test_keys_are_private_and_gone_when_the_connection_ends(kubeconfig: str, scratch: Path) -> None:
    authority = pki.authority()
    admin = pki.issue(authority, "admin", group="system:masters")
    url = kubeconfig.split("server: ")[1].split(maxsplit=1)[0]
    user = {
        "client-certificate-data": b64encode(admin.certificate_pem).decode(),
        "client-key-data": b64encode(admin.key_pem).decode(),
    }
    authority_data = {"certificate-authority-data": b64encode(authority.certificate_pem).decode()}
    async with connect(kubeconfig_for(url, user, **authority_data)):
        (folder,) = scratch.iterdir()
        files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
        assert files == dict.fromkeys(["certificate-authority", "client-certificate", "client-key"], 0o600)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not list(scratch.iterdir())


async def test_neither_proxies_nor_the_current_kubeconfig_are_used(
    kubeconfig: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text(kubeconfig_for("http://127.0.0.1:1"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    for variable in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert await names_of_nodes(kubeconfig) == ["worker"]


def test_connections_of_different_threads_and_times_do_not_mix(kubeconfig: str) -> None:
    other = ClusterStub()
    other.objects["nodes"] = {"uid": make_node("other")}
    found: dict[int, list[str]] = {}

    def ask(number: int, config: str) -> None:
        found[number] = [*asyncio.run(names_of_nodes(config)), *asyncio.run(names_of_nodes(config))]

    with serve(other) as second:
        threads = [
            threading.Thread(target=ask, args=(number, second if number % 2 else kubeconfig))
            for number in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {0: ["worker"] * 2, 1: ["other"] * 2, 2: ["worker"] * 2, 3: ["other"] * 2}


@pytest.mark.parametrize(
    ("kubeconfig", "message"),
    [
        ("{", "the kubeconfig is not YAML"),
        ("", "the kubeconfig is incomplete"),
        ("{contexts: [], current-context: dev}", "the kubeconfig is incomplete: it lacks 'context dev'"),
        (kubeconfig_for(""), "it lacks the cluster's server"),
        (
            kubeconfig_for("http://x", {"client-key-data": "%"}),
            "client-key-data of the kubeconfig is not base64",
        ),
        (
            kubeconfig_for("http://x", {"client-key-data": "eA==", "client-certificate-data": "eA=="}),
            "a certificate or key of the kubeconfig is not usable",
        ),
        (kubeconfig_for("http://127.0.0.1:1"), "no connection to the Kubernetes API: it is not reachable"),
        (
            kubeconfig_for(
                "http://127.0.0.1:1",
                {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/nonexistent/plugin"}},
            ),
            "the kubeconfig gives no credentials: .*/nonexistent/plugin",
        ),
    ],
)
async def test_what_is_wrong_with_a_kubeconfig_is_said_in_plain_words(kubeconfig: str, message: str) -> None:
    with pytest.raises(ClusterError, match=message):
        async with connect(kubeconfig):
            pass


async def test_a_token_that_can_not_be_sent_is_not_quoted(kubeconfig: str) -> None:
    url = yaml.safe_load(kubeconfig)["clusters"][0]["cluster"]["server"]
    with pytest.raises(ClusterError, match=r"^the token of the kubeconfig is malformed$"):
        async with connect(kubeconfig_for(url, {"token": "the\ntoken"})):
            pass


@pytest.mark.parametrize(
    ("status", "message", "is_transient"),
    [
        (401, "does not accept the credentials", False),
        (403, "does not allow it", False),
        (503, "answers 503", True),
        (429, "answers 429", True),
    ],
)
async def test_what_the_api_server_refuses_is_said_in_plain_words(
    kubeconfig: str,
    stub: ClusterStub,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    message: str,
    is_transient: bool,
) -> None:
    async with connect(kubeconfig) as api:
        monkeypatch.setattr(stub, "answer", lambda path, query: (status, {"message": "no"}))
        with pytest.raises(ClusterError, match=f"listing nodes: the Kubernetes API {message}") as error:
            await read(api, Query("nodes"))
    assert error.value.is_transient == is_transient


async def test_long_lists_are_read_page_by_page(
    kubeconfig: str, stub: ClusterStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def page(path: str, query: dict[str, str]) -> tuple[int, dict]:
        number = int(query.get("continue", "1"))
        metadata = {"resourceVersion": "7", "continue": str(number + 1) if number < 3 else ""}
        return 200, {"metadata": metadata, "items": [make_node(f"node-{number}")]}

    async with connect(kubeconfig) as api:
        monkeypatch.setattr(stub, "answer", page)
        listing = await read(api, Query("nodes"))
    assert list(listing.items) == ["node-node-1", "node-node-2", "node-node-3"]
    assert listing.version == "7"
