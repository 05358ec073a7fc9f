"""Tools come from where they should, and never unchecked."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolchain import download, images, runc_filter, tools
from toolchain.layout import VERSIONS
from toolchain.progress import StepError

SPEC_WITH_CAPABILITIES = {
    "capabilities": {"bounding": ["CAP_SYS_RESOURCE", "CAP_CHOWN"], "effective": ["CAP_SYS_RESOURCE"]}
}


def program(folder: Path, name: str, says: str) -> Path:
    """A program that prints its version, as the real one does."""
    file = folder / name
    file.write_text(f"#!/bin/sh\necho '{says}'\n")
    file.chmod(0o755)
    return file


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty `.envfleet`, and a PATH of one empty folder beside the system's shell."""
    for name, folder in {"BIN": "bin", "TOOLS": "tools", "PULUMI_HOME": "pulumi"}.items():
        monkeypatch.setattr(tools, name, tmp_path / ".envfleet" / folder)
    path = tmp_path / "path"
    path.mkdir()
    monkeypatch.setenv("PATH", f"{path}:/bin:/usr/bin/nothing")
    monkeypatch.delenv("ENVFLEET_TOOLCHAIN_CACHE", raising=False)
    return tmp_path


def cache_of(folder: Path, name: str, content: bytes, monkeypatch) -> Path:
    """A toolchain cache that holds one tool."""
    folder.mkdir()
    (folder / "plain").write_bytes(content)
    download.compress(folder / "plain", folder / f"{name}.zst")
    (folder / "SHA256SUMS").write_text(f"{download.sha256(folder / f'{name}.zst')}  {name}.zst\n")
    monkeypatch.setenv("ENVFLEET_TOOLCHAIN_CACHE", str(folder))
    return folder


@pytest.mark.parametrize(
    "sums",
    ["{sum}", "{sum}  kind\n", "{sum}  kind-linux\n", "0000  other\n{sum} *kind-linux\n"],
    ids=["bare", "one line of another name", "named", "sums file"],
)
def test_published_checksums_are_read_in_each_common_form(tmp_path, sums):
    file = tmp_path / "kind-linux"
    file.write_bytes(b"program")
    assert download.verified(file, sums.format(sum=hashlib.sha256(b"program").hexdigest())) == file


@pytest.mark.parametrize("sums", ["", "0000  kind-linux\n", "0000", "0000  other\n1111  another\n"])
def test_a_file_whose_checksum_is_not_published_is_refused_by_name(tmp_path, sums):
    file = tmp_path / "kind-linux"
    file.write_bytes(b"tampered")
    with pytest.raises(StepError, match="kind-linux has SHA-256"):
        download.verified(file, sums)


def test_a_tool_on_path_is_used_when_its_version_fits(home):
    kind = program(home / "path", "kind", "kind v0.31.0 go1.25 linux/amd64")
    tools.ensure("kind")
    assert (home / ".envfleet" / "bin" / "kind").resolve() == kind


def test_a_tool_on_path_of_another_version_is_passed_over_for_the_cache(home, monkeypatch):
    program(home / "path", "kind", "kind v0.20.0 go1.20 linux/amd64")
    cache_of(home / "cache", "kind", b"from the cache", monkeypatch)
    tools.ensure("kind")
    assert (home / ".envfleet" / "bin" / "kind").read_bytes() == b"from the cache"


def test_a_tool_is_asked_for_its_version_without_the_users_cluster(home, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", "/theirs")
    kubectl = program(home / "path", "kubectl", "")
    kubectl.write_text("#!/bin/sh\n[ $KUBECONFIG = /dev/null ] && echo v1.34.9\n")
    _, version = tools.on_path(tools.Tool(name="kubectl", **VERSIONS["kubectl"]))
    assert version == "1.34.9"


def test_a_damaged_cache_is_an_error_and_leaves_no_tool(home, monkeypatch):
    cache = cache_of(home / "cache", "kind", b"program", monkeypatch)
    with (cache / "kind.zst").open("ab") as file:
        file.write(b"damage")
    with pytest.raises(StepError, match=r"kind\.zst has SHA-256"):
        tools.ensure("kind")
    assert not (home / ".envfleet" / "bin" / "kind").exists()


def test_a_tool_that_is_there_is_not_fetched_again(home, monkeypatch):
    cache_of(home / "cache", "kind", b"program", monkeypatch)
    tools.ensure("kind")
    monkeypatch.setattr(tools, "_fetch", lambda tool: pytest.fail(f"fetched {tool.name} again"))
    tools.ensure("kind")
    (home / ".envfleet" / "bin" / "kind").unlink()
    tools.ensure("kind")
    assert (home / ".envfleet" / "bin" / "kind").read_bytes() == b"program"


def test_a_new_pinned_version_replaces_the_old_one(home, monkeypatch):
    cache_of(home / "cache", "kind", b"program", monkeypatch)
    tools.ensure("kind")
    newer = tools.Tool(name="kind", **(VERSIONS["kind"] | {"version": "99.0.0"}))
    assert not tools.present(newer)


def test_programs_of_a_multi_call_binary_are_links_to_it(home, monkeypatch):
    cache_of(home / "cache", "hyperkube", b"every program", monkeypatch)
    tools.ensure("kubectl")
    link = home / ".envfleet" / "bin" / "kubectl"
    assert link.read_bytes() == b"every program"
    assert link.resolve().name == "hyperkube"


def test_the_cache_of_one_clone_serves_another(home, monkeypatch):
    cache_of(home / "cache", "kind", b"program", monkeypatch)
    tools.ensure("kind")
    tools.export(home / "exported")
    monkeypatch.setenv("ENVFLEET_TOOLCHAIN_CACHE", str(home / "exported"))
    monkeypatch.setattr(tools, "BIN", home / "other" / "bin")
    monkeypatch.setattr(tools, "TOOLS", home / "other" / "tools")
    tools.ensure("kind")
    assert (home / "other" / "bin" / "kind").read_bytes() == b"program"


def test_a_cache_holds_a_program_that_was_downloaded_by_itself(home):
    tool = tools.Tool(name="kubectl", **VERSIONS["kubectl"])
    tool.folder.mkdir(parents=True)
    program(tool.folder, "kubectl", "downloaded")
    tools.export(home / "exported")
    assert (home / "exported" / "kubectl.zst").exists()


def test_a_mistyped_cache_is_an_error_before_anything_is_built(home, monkeypatch):
    monkeypatch.setenv("ENVFLEET_TOOLCHAIN_CACHE", "/no/such/folder")
    with pytest.raises(StepError, match="ENVFLEET_TOOLCHAIN_CACHE=/no/such/folder is not a folder"):
        tools.ensure("kind")


def test_every_tool_that_is_downloaded_has_a_published_checksum():
    assert all("sums" in entry for entry in VERSIONS.values() if "url" in entry)


@pytest.mark.parametrize(("provider", "file"), [("kubernetes", "requirements"), ("aws", "requirements-aws")])
def test_a_provider_plugin_has_the_version_of_its_python_sdk(provider, file):
    requirements = (Path(tools.__file__).parent.parent / f"{file}.txt").read_text()
    assert f"pulumi-{provider}=={VERSIONS[f'pulumi-resource-{provider}']['version']} " in requirements


def test_the_filter_removes_a_missing_capability_from_every_set():
    process = json.loads(json.dumps(SPEC_WITH_CAPABILITIES))
    runc_filter.strip(process, {"CAP_SYS_RESOURCE"})
    assert process["capabilities"] == {"bounding": ["CAP_CHOWN"], "effective": []}


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (["--log", "x", "create", "--bundle", "{folder}", "id"], "config.json"),
        (["run", "--bundle={folder}", "id"], "config.json"),
        (["exec", "--process", "{folder}/process.json", "id"], "process.json"),
        (["exec", "-p", "{folder}/process.json", "id"], "process.json"),
    ],
)
def test_the_filter_rewrites_the_specification_and_becomes_runc(tmp_path, arguments, key):
    runc = program(tmp_path, "runc", "runc was called")
    spec = SPEC_WITH_CAPABILITIES if key == "process.json" else {"process": SPEC_WITH_CAPABILITIES}
    (tmp_path / key).write_text(json.dumps(spec))
    code = (
        "import sys; from toolchain import runc_filter;"
        "runc_filter.missing_capabilities = lambda: {'CAP_SYS_RESOURCE'}; runc_filter.main(sys.argv[1:])"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, *(argument.format(folder=tmp_path) for argument in arguments)],
        env={**os.environ, "PATH": f"{runc.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "runc was called\n"
    assert "CAP_SYS_RESOURCE" not in (tmp_path / key).read_text()
    assert "CAP_CHOWN" in (tmp_path / key).read_text()


def test_an_image_recipe_changes_with_content_mode_and_inputs(tmp_path):
    file = tmp_path / "context" / "Dockerfile"
    file.parent.mkdir()
    file.write_text("FROM a")
    recipes = [images.recipe(file.parent, "base")]
    recipes.append(images.recipe(file.parent, "other base"))
    file.chmod(0o700)
    recipes.append(images.recipe(file.parent, "base"))
    file.write_text("FROM b")
    recipes.append(images.recipe(file.parent, "base"))
    assert len(set(recipes)) == len(recipes)
    assert images.recipe(file.parent, "base") == recipes[-1]
