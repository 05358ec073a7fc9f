"""What an interrupted run leaves in the state is cleared, and only that."""

import json
import os
import pwd
import socket
import subprocess
from pathlib import Path

import psutil
import pytest

from cli import stack as stacks
from cli import unsaved
from cli.unsaved import Intent
from toolchain import scratch, tools
from toolchain.checkpoints import REFUSAL
from toolchain.progress import StepError


@pytest.fixture
def stack(tmp_path, monkeypatch):
    """A stack `dev` with a local backend in a scratch folder."""
    monkeypatch.setattr(stacks, "ROOT", tmp_path)
    monkeypatch.setattr(unsaved, "HOME", tmp_path)
    monkeypatch.setattr(stacks, "environ", lambda: {"PULUMI_BACKEND_URL": f"file://{tmp_path}"})
    (tmp_path / "Pulumi.dev.yaml").write_text("config:\n  envfleet:cluster:\n    provider: kind\n")
    return stacks.Stack("dev")


def lock(stack, pid, hostname=None, backend=None):
    folder = (backend or stack.file.parent) / ".pulumi" / "locks" / "organization" / "envfleet" / "dev"
    folder.mkdir(parents=True)
    file = folder / "1.json"
    file.write_text(json.dumps({"pid": pid, "hostname": hostname or socket.gethostname()}))
    return file


def test_the_lock_of_a_killed_run_is_removed(stack):
    ended = subprocess.Popen(["true"])
    ended.wait()
    file = lock(stack, ended.pid)
    stack.clear_stale_lock()
    assert not file.exists()


def test_the_lock_of_a_process_number_that_was_used_again_is_removed(stack):
    file = lock(stack, os.getpid())
    stack.clear_stale_lock()
    assert not file.exists()


def test_the_lock_of_a_running_pulumi_stays(stack, monkeypatch):
    file = lock(stack, os.getpid())
    monkeypatch.setattr(psutil.Process, "name", lambda self: "pulumi")
    stack.clear_stale_lock()
    assert file.exists()


def test_the_lock_of_another_machine_stays(stack):
    file = lock(stack, 1, hostname="elsewhere")
    stack.clear_stale_lock()
    assert file.exists()


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("file://~", "home"),
        ("file://~/state", "home/state"),
        ("file://state", "state"),
        ("file://./a/state", "a/state"),
        ("file://{root}/a%20b", "a b"),
        ("file://{root}/state?no_tmp_dir=true", "state"),
    ],
)
def test_the_lock_is_found_wherever_pulumi_keeps_its_state(stack, tmp_path, monkeypatch, url, folder):
    user = pwd.struct_passwd(["user", "x", 1, 1, "", str(tmp_path / "home"), "/bin/sh"])
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: user)
    monkeypatch.setenv("HOME", "/nowhere")  # Pulumi does not look at it
    monkeypatch.setattr(stacks, "environ", lambda: {"PULUMI_BACKEND_URL": url.format(root=tmp_path)})
    file = lock(stack, os.getpid(), backend=tmp_path / folder)
    stack.clear_stale_lock()
    assert not file.exists()


def test_a_shared_backend_has_no_lock_to_clear(stack, monkeypatch):
    file = lock(stack, os.getpid())
    monkeypatch.setattr(stacks, "environ", lambda: {"PULUMI_BACKEND_URL": "s3://bucket"})
    stack.clear_stale_lock()
    assert file.exists()


def test_a_stack_that_was_never_made_is_known_without_fetching_pulumi(stack, monkeypatch):
    monkeypatch.setattr(tools, "ensure", lambda *names: pytest.fail(f"fetched {names}"))
    other = stack.file.parent / ".pulumi" / "stacks" / "envfleet" / "other.json"
    assert not stack.exists()
    other.parent.mkdir(parents=True)
    other.touch()
    assert not stack.exists()


NO_STACK = "`pulumi` ended with 255: error: no stack named 'dev' found"


def refuse(message):
    def ask(*arguments):
        raise StepError(message)

    return ask


@pytest.mark.parametrize("exists", [True, False])
def test_pulumi_says_whether_a_stack_exists_where_one_may(stack, monkeypatch, exists):
    fetched = []
    monkeypatch.setattr(tools, "ensure", lambda *names: fetched.extend(names))
    monkeypatch.setattr(stack, "_ask", (lambda *arguments: "{}") if exists else refuse(NO_STACK))
    state = stack.file.parent / ".pulumi" / "stacks" / "envfleet" / "dev.json"
    state.parent.mkdir(parents=True)
    state.touch()
    assert stack.exists() == exists
    assert fetched == ["pulumi"]


def test_a_stack_that_cannot_be_read_is_not_taken_for_none(stack, monkeypatch):
    monkeypatch.setattr(stacks, "environ", lambda: {"PULUMI_BACKEND_URL": "s3://bucket"})
    monkeypatch.setattr(tools, "ensure", lambda *names: None)
    monkeypatch.setattr(stack, "_ask", refuse("error: incorrect passphrase"))
    with pytest.raises(StepError, match="incorrect passphrase"):
        stack.exists()


@pytest.mark.parametrize("said", [None, "{}"], ids=["no such stack", "its first up was killed"])
def test_a_stack_that_is_not_up_has_no_outputs_and_the_error_says_what_to_run(stack, monkeypatch, said):
    monkeypatch.setattr(stack, "_ask_if_there", lambda *_: said)
    with pytest.raises(StepError, match=r"^stack dev is not up: run `make up STACK=dev`$"):
        stack.outputs()


def test_pulumi_learns_of_an_engine_that_was_started_meanwhile(stack, tmp_path, monkeypatch):
    (tmp_path / "pulumi").write_text(f'#!/bin/sh\necho "$DOCKER_HOST" >> {tmp_path}/hosts\n')
    (tmp_path / "pulumi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for host in ("", "unix://ours"):
        monkeypatch.setattr(stacks, "environ", lambda host=host: {**os.environ, "DOCKER_HOST": host})
        stack.pulumi("up")
    assert (tmp_path / "hosts").read_text() == "\nunix://ours\n"


def test_an_unknown_stack_is_an_error_that_lists_the_known_ones(stack):
    with pytest.raises(StepError, match=r"no Pulumi\.prod\.yaml\. Stacks here: dev\."):
        stacks.Stack("prod")


def test_the_provider_is_read_even_from_a_broken_configuration(stack):
    assert stack.provider == "kind"
    stack.file.write_text("config:\n  envfleet:cluster: 5\n")
    assert stack.provider is None


def test_removing_a_stack_takes_its_salt_out_of_the_file_and_nothing_else(stack, monkeypatch):
    written = stack.file.read_text()
    stack.file.write_text(written + "encryptionsalt: v1:abc=\n")
    monkeypatch.setattr(stack, "pulumi", lambda *arguments: None)
    stack.remove()
    assert stack.file.read_text() == written


def test_a_mistake_in_the_file_is_reported_before_anything_is_started(stack):
    stack.file.write_text("config:\n  envfleet:cluster:\n    provider: kindd\n  envfleet:environments: 3\n")
    with pytest.raises(StepError) as caught:
        stack.validate()
    assert 'envfleet:cluster.provider = "kindd"' in str(caught.value)
    assert "envfleet:environments = 3" in str(caught.value)


def test_a_file_that_pulumi_cannot_read_is_an_error_also_when_only_the_provider_is_asked_for(stack):
    stack.file.write_text("config:\n\tenvfleet:cluster: 5\n")
    for read in (stack.validate, lambda: stack.provider):
        with pytest.raises(StepError, match=r"^Pulumi\.dev\.yaml, line 2 = "):
            read()


def test_a_key_that_is_a_number_is_one_more_unknown_key(stack):
    stack.file.write_text("config:\n  5: a\n")
    with pytest.raises(StepError, match="envfleet:5: unknown key; known are cluster"):
        stack.validate()


def test_the_development_stack_is_valid():
    stacks.Stack("dev").validate()


def test_an_encrypted_value_is_never_printed(stack):
    stack.file.write_text("config:\n  envfleet:namespace:\n    secure: canary\n")
    with pytest.raises(StepError) as caught:
        stack.validate()
    assert "canary" not in str(caught.value)


def test_a_new_stack_adds_its_salt_to_the_file_and_keeps_every_blank_line(stack, monkeypatch):
    stack.file.write_text("# our stack\n\nconfig:\n  envfleet:namespace: a # comment\n")
    written = stack.file.read_text()

    def init(*arguments: str) -> None:
        stack.file.write_text("config:\n  envfleet:namespace: a\nencryptionsalt: v1:abc=\n")

    monkeypatch.setattr(stack, "pulumi", init)
    monkeypatch.setattr(stack, "state", lambda: None)
    stack.select()
    assert stack.file.read_text() == written + "encryptionsalt: v1:abc=\n"


@pytest.mark.parametrize(
    ("pending", "kept"),
    [([], None), (["deleting"], None), (["creating"], []), (["creating", "deleting"], ["deleting"])],
)
def test_creates_that_a_killed_run_did_not_end_are_forgotten(stack, monkeypatch, tmp_path, pending, kept):
    operations = [{"resource": {"urn": "urn"}, "type": kind} for kind in pending]
    state = {"version": 3, "deployment": {"resources": [], "pending_operations": operations}}
    imported = []

    def ask(*arguments: str) -> str:
        if "import" in arguments:
            imported.append(json.loads(Path(arguments[-1]).read_text()))
        return json.dumps(state)

    monkeypatch.setattr(scratch, "FOLDER", tmp_path)
    monkeypatch.setattr(stack, "state", lambda: state)
    monkeypatch.setattr(stack, "_ask", ask)
    stack.select()
    assert [
        [operation["type"] for operation in new["deployment"]["pending_operations"]] for new in imported
    ] == ([] if kept is None else [kept])


def test_a_signal_lets_pulumi_stop_in_an_orderly_way_and_waits_for_it(stack, tmp_path, monkeypatch):
    pulumi = tmp_path / "pulumi"
    pulumi.write_text(
        "#!/bin/bash\ntrap 'sleep 0.3; echo orderly >> said; exit 3' TERM\n"
        f"kill -TERM {os.getpid()}\nfor _ in {{1..50}}; do sleep 0.1; done\n"
    )
    pulumi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(stacks, "environ", lambda: dict(os.environ))
    with pytest.raises(StepError, match="ended with 3"):
        stack.pulumi("up")
    assert (tmp_path / "said").read_text() == "orderly\n"


def test_kubeconfigs_that_the_plugin_left_are_removed(stack, tmp_path, monkeypatch):
    monkeypatch.setattr(stacks, "TEMPORARY", tmp_path)
    monkeypatch.setattr(stacks, "_run_to_its_end", lambda *command, settings: 0)
    (tmp_path / "kubeconfig123").touch()
    stack.pulumi("up")
    assert not (tmp_path / "kubeconfig123").exists()


INTENT = Intent("a digest", "rl")
UP = "up --stack dev --yes --skip-preview --continue-on-error"
CLUSTER = {"type": "pulumi:providers:kubernetes"}


@pytest.fixture
def pulumi(stack, monkeypatch):
    """Select the stack, with resources in its state; Pulumi ends with codes, and what it ran is noted."""
    ran, looked = [], []

    def arrange(*codes, resources=(CLUSTER,), on_run=lambda: None):
        left = list(codes)

        def run(*command, settings):
            ran.append((" ".join(command[1:]), settings["PULUMI_SKIP_CHECKPOINTS"]))
            assert stack._unsaved.intent == (INTENT if settings.get(REFUSAL) else stack._unsaved.intent)
            on_run()
            return left.pop(0)

        monkeypatch.setattr(stacks, "_run_to_its_end", run)
        monkeypatch.setattr(stack, "state", lambda *_: {"deployment": {"resources": list(resources)}})
        monkeypatch.setattr(stack, "_intent", lambda: INTENT)
        monkeypatch.setattr(stack, "_remove_leftovers", lambda intent: looked.append(intent) or True)
        stack.select()
        return ran, looked

    return arrange


def test_checkpoints_are_skipped_once_the_state_has_the_cluster(stack, pulumi):
    ran, looked = pulumi(0)
    stack.up()
    assert ran == [(UP, "true")]
    assert looked == []
    assert stack._unsaved.intent is None


def test_a_stack_without_a_cluster_saves_its_state_at_each_step(stack, pulumi):
    ran, _ = pulumi(0, resources=[{"type": "pulumi-python:dynamic/kind:Owner"}])
    stack.up()
    assert ran == [(UP, "false")]


def test_after_a_kill_the_next_up_clears_the_cluster_and_compares_it_with_the_state(stack, pulumi):
    ran, looked = pulumi(-9, 0)
    with pytest.raises(StepError, match="ended with -9"):
        stack.up()
    stack.select()
    stack.up()
    assert ran[1:] == [(f"{UP} --refresh", "true")]
    assert looked == [INTENT]


def test_a_failure_that_saved_the_state_is_no_kill(stack, pulumi, tmp_path):
    saved = tmp_path / ".pulumi" / "stacks" / "envfleet" / "dev.json"

    def save():
        saved.parent.mkdir(parents=True)
        saved.touch()
        os.utime(saved, (2e9, 2e9))

    pulumi(255, on_run=save)
    with pytest.raises(StepError, match="ended with 255"):
        stack.up()
    assert stack._unsaved.intent is None


def test_a_failure_that_may_not_have_saved_the_state_counts_as_a_kill(stack, pulumi):
    pulumi(255)
    with pytest.raises(StepError):
        stack.up()
    assert stack._unsaved.intent == INTENT


def test_a_change_of_the_cluster_itself_is_made_with_checkpoints(stack, pulumi, capsys):
    refusals = iter([True, False])
    ran, _ = pulumi(*(255, 0), on_run=lambda: stack._unsaved._refusal.touch() if next(refusals) else None)
    stack.up()
    assert ran == [(UP, "true"), (UP, "false")]
    assert "once more, with the state saved at each step" in capsys.readouterr().err
    assert stack._unsaved.intent is None


def test_a_lock_that_a_killed_run_left_means_a_comparison_too(stack, pulumi):
    ended = subprocess.Popen(["true"])
    ended.wait()
    lock(stack, ended.pid)
    ran, looked = pulumi(0)
    stack.up("--refresh")
    assert ran == [(f"{UP} --refresh", "true")]
    assert looked == [INTENT]


def test_a_cluster_that_cannot_be_looked_at_keeps_the_note_of_the_kill(stack, pulumi, monkeypatch):
    stack._unsaved.begin(Intent("of the killed run", "rl"))
    ran, _ = pulumi(255)
    monkeypatch.setattr(stack, "_remove_leftovers", lambda intent: False)
    with pytest.raises(StepError):
        stack.up()
    assert ran == [(f"{UP} --refresh", "false")]
    assert stack._unsaved.intent == Intent("of the killed run", "rl")


def test_a_preview_after_a_kill_compares_with_the_cluster(stack, pulumi):
    stack._unsaved.begin(INTENT)
    ran, looked = pulumi(0)
    stack.preview()
    assert ran == [("preview --stack dev --diff --refresh", "false")]
    assert looked == []


def test_down_after_a_kill_removes_what_no_state_knows_first(stack, pulumi):
    stack._unsaved.begin(INTENT)
    ran, looked = pulumi(0)
    stack.destroy()
    assert looked == [None]
    assert ran == [("destroy --stack dev --yes --skip-preview", "true")]
    assert stack._unsaved.intent is None
