import base64
import json
from urllib.parse import quote

import kr8s
import pytest

from live.fleet import Cause, Expected
from live.logs import last_lines, shortened
from live.secrets import Mask, masks
from live.watch import look
from tests.unit.live_cluster import (
    INSTANCE,
    NAMESPACE,
    ClusterStub,
    make_pod,
    ready_status,
    unready_status,
)

VALUE = 'pä/ss "word"'
PEM = "-----BEGIN KEY-----\nMIIEvQIBADANBg\n}\n-----END KEY-----\n"
CRASHED = {"terminated": {"exitCode": 3, "reason": "Error"}}


def pod_with_secrets(*names: str, status: dict | None = None) -> dict:
    """A pod whose first Secret is for one variable, the second for many, the third a volume."""
    pod = make_pod(status=status or ready_status())
    container = pod["spec"]["containers"][0]
    container["env"] = [
        {"name": "PLAIN", "value": "x"},
        *({"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": name, "key": "a"}}} for name in names[:1]),
    ]
    container["envFrom"] = [{"secretRef": {"name": name}} for name in names[1:2]]
    pod["spec"]["volumes"] = [{"secret": {"secretName": name}} for name in names[2:]]
    return pod


def put_secret(stub: ClusterStub, name: str, *values: str) -> None:
    data = {str(number): base64.b64encode(value.encode()).decode() for number, value in enumerate(values)}
    stub.objects["secrets"][name] = {"data": data}


@pytest.mark.parametrize(
    "printed",
    [
        VALUE,
        quote(VALUE),
        quote(VALUE, safe=""),
        json.dumps(VALUE)[1:-1],
        json.dumps(VALUE, ensure_ascii=False)[1:-1],
        base64.b64encode(VALUE.encode()).decode(),
        base64.urlsafe_b64encode(VALUE.encode()).decode().rstrip("="),
    ],
)
async def test_a_secret_is_hidden_in_each_form_in_which_it_may_be_printed(
    api: kr8s.asyncio.Api, stub: ClusterStub, printed: str
) -> None:
    put_secret(stub, "one", VALUE)
    (mask,) = await masks(api, [pod_with_secrets("one")])
    assert mask.text(f"token={printed};") == "token=***;"


async def test_each_line_of_a_secret_is_hidden(api: kr8s.asyncio.Api, stub: ClusterStub) -> None:
    put_secret(stub, "one", PEM)
    (mask,) = await masks(api, [pod_with_secrets("one")])
    assert [mask.text(line) for line in PEM.splitlines()] == ["***", "***", "}", "***"]
    assert mask.text(json.dumps({"key": PEM})) == '{"key": "***"}'


async def test_secrets_of_variables_and_volumes_are_hidden_and_each_is_read_once(
    api: kr8s.asyncio.Api, stub: ClusterStub
) -> None:
    for name in ("one", "two", "three"):
        put_secret(stub, name, f"value of {name}")
    found = await masks(api, [pod_with_secrets("one", "two", "three"), pod_with_secrets("two"), make_pod()])
    assert [mask.text("value of one, value of two") for mask in found] == [
        "***, ***",
        "value of one, ***",
        "value of one, value of two",
    ]
    assert len([path for path, _ in stub.requests if "/secrets/" in path]) == 3


@pytest.mark.parametrize(
    ("values", "refused", "reason"),
    [
        (["abc"], set(), "a value of Secret one is too short to be hidden in it"),
        ([VALUE], {"secrets"}, "Secret one, whose values it may hold, can't be read"),
        (None, set(), "Secret one, whose values it may hold, is gone"),
    ],
    ids=["short", "refused", "gone"],
)
async def test_a_log_in_which_a_secret_can_not_be_hidden_is_not_shown(
    api: kr8s.asyncio.Api, stub: ClusterStub, values: list[str] | None, refused: set[str], reason: str
) -> None:
    if values:
        put_secret(stub, "one", *values)
    stub.refused = refused
    stub.logs["echo-a"] = f"abc {VALUE}"
    pod = pod_with_secrets("one")
    (mask,) = await masks(api, [pod])
    assert await last_lines(api, pod, mask) == (f"(not shown: {reason})",)


async def test_what_kubernetes_quotes_of_a_pod_is_without_secrets(
    api: kr8s.asyncio.Api, stub: ClusterStub
) -> None:
    quoted = {"waiting": {"reason": "RunContainerError", "message": f'exec: "{VALUE}": permission denied'}}
    stub.run("echo-a", pod_with_secrets("one", status=unready_status(quoted)))
    put_secret(stub, "one", VALUE)
    (status,) = await look(api, NAMESPACE, INSTANCE, [Expected("echo-a")])
    hidden = 'can\'t run: its command is not executable (exec: "***": permission denied)'
    assert status.detail == status.problem.message == hidden
    stub.refused = {"secrets"}
    (status,) = await look(api, NAMESPACE, INSTANCE, [Expected("echo-a")])
    assert status.problem.cause is Cause.COMMAND_NOT_RUNNABLE
    assert VALUE not in status.detail


@pytest.mark.parametrize(
    ("state", "last", "previous"),
    [
        ({"running": {}}, CRASHED, "true"),
        ({"running": {}}, {}, "false"),
        ({"waiting": {"reason": "CrashLoopBackOff"}}, CRASHED, "false"),
        (CRASHED, CRASHED, "false"),
    ],
    ids=["runs again", "runs", "waits", "just ended"],
)
async def test_the_log_is_that_of_the_run_which_ended(
    api: kr8s.asyncio.Api, stub: ClusterStub, state: dict, last: dict, previous: str
) -> None:
    stub.logs["echo-a"] = "one\ntwo\n"
    pod = make_pod(status=unready_status(state, last))
    assert await last_lines(api, pod, Mask()) == ("one", "two")
    path, query = stub.requests[-1]
    assert path == f"/api/v1/namespaces/{NAMESPACE}/pods/echo-a/log"
    assert (query["container"], query["tailLines"], query["previous"]) == ("environment", "10", previous)


async def test_a_log_that_can_not_be_read_says_why(api: kr8s.asyncio.Api, stub: ClusterStub) -> None:
    stub.away = True
    (line,) = await last_lines(api, make_pod(), Mask())
    assert line.startswith("(not shown: reading the log: the connection to the Kubernetes API broke")


def test_a_log_is_cut_to_what_fits_on_a_screen() -> None:
    long = "x" * 1000
    assert shortened(f"first\n{long}\n") == ("first", "x" * 299 + "…")
    assert len(shortened("\n".join([long] * 10))) == 6
    assert shortened("") == ()


def test_the_last_line_of_a_log_that_was_cut_may_hold_half_a_secret() -> None:
    assert shortened("one\ntwo\nhalf-a-sec", is_cut=True) == ("one", "two")


def test_a_log_can_not_command_the_terminal() -> None:
    assert shortened("\x1b[31mred\x1b[0m\r\n\x1b]0;title\x07\ttab\x9b2J\n") == ("red", "]0;title\ttab2J")
