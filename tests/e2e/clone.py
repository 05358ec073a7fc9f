"""A clean clone of this repository, whose user has a home, a temporary folder and a cluster of their own."""

import os
import re
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from toolchain.layout import ROOT

# What would lead the clone's commands to this clone, or be of the `make` that runs the tests.
FOREIGN_VARIABLES = ("ENVFLEET_", "MAKE", "MFLAGS", "PULUMI_", "PYTEST_", "PYTHON", "VIRTUAL_ENV", "XDG_")
SALT = re.compile(r"^encryptionsalt:.*\n", re.MULTILINE)
GIT = ("git", "-c", "user.name=test", "-c", "user.email=test@localhost")
INTERRUPT_SECONDS = 20


@dataclass(frozen=True)
class Result:
    """A finished command: its exit code and all that it printed."""

    command: str
    code: int
    output: str
    seconds: float

    def succeeded(self) -> str:
        """The output, of a command that must not fail."""
        assert self.code == 0, f"{self.command}: exit code {self.code}\n{self.output}"
        return self.output


@dataclass(frozen=True)
class Clone:
    """The clone in `root/envfleet`, its user's home and temporary folder beside it."""

    root: Path
    environ: Mapping[str, str]
    # Its clusters are `PREFIX-STACK`, unlike any that a user, or another run of these tests, may have.
    prefix: str = field(default_factory=lambda: f"e2e-{secrets.token_hex(3)}")
    results: list[Result] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.root / "envfleet"

    def copy(self) -> None:
        """Copy what git knows of this repository, also what is not committed yet; commit it all there."""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        files = [ROOT / name for name in listed.split("\0")[:-1]]
        for file in (file for file in files if file.exists()):
            target = self.folder / file.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target)
        # Where this clone's stack is up, its file has the salt of that stack.
        stack = self.folder / "Pulumi.dev.yaml"
        stack.write_text(SALT.sub("", stack.read_text()))
        loader = self.folder / "config" / "load.py"
        default, ours = "envfleet-{stack}", f"{self.prefix}-{{stack}}"
        assert loader.read_text().count(default) == 1, f"the clusters' default name is not in {loader}"
        loader.write_text(loader.read_text().replace(default, ours))
        for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message=all"]):
            subprocess.run([*GIT, *command], cwd=self.folder, env=self.environ, check=True)

    def run(self, command: str, environ: Mapping[str, str] | None = None) -> Result:
        """Run a shell command in the clone to its end; the shell stops at the first failure."""
        started = time.monotonic()
        done = subprocess.run(
            ["bash", "-ec", command],
            cwd=self.folder,
            env=environ or self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        result = Result(command, done.returncode, done.stdout, time.monotonic() - started)
        print(f"$ {command}\n{result.output}")  # which pytest shows when a test fails
        self.results.append(result)
        return result

    @contextmanager
    def running(self, command: str) -> Iterator[None]:
        """Run a command as in another terminal, and end it with Ctrl-C."""
        with (
            (self.root / "background.log").open("w+") as log,
            subprocess.Popen(
                ["bash", "-ec", command],
                cwd=self.folder,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            ) as process,
        ):
            try:
                yield
                log.seek(0)
                assert process.poll() is None, f"{command} ended too early:\n{log.read()}"
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGINT)
                process.wait(INTERRUPT_SECONDS)

    @cached_property
    def pulumi_environ(self) -> dict[str, str]:
        """The environment for plain Pulumi commands, as README says to get it."""
        variables = self.run('eval "$(make -s env)"; env -0').succeeded()
        return dict(line.split("=", 1) for line in variables.split("\0")[:-1])

    def pulumi(self, *arguments: str) -> str:
        """Run a plain Pulumi command; what it writes to stdout."""
        done = subprocess.run(
            ["pulumi", *arguments],
            cwd=self.folder,
            env=self.pulumi_environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def user_environ(home: Path, temporary: Path, kubeconfig: Path, cache: Path) -> dict[str, str]:
    """The environment of the clone's user: this process's, with folders of their own."""
    return {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN_VARIABLES)} | {
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "KUBECONFIG": str(kubeconfig),
        "ENVFLEET_TOOLCHAIN_CACHE": str(cache),
        # How docker finds the engine, and what pip makes a file for in a home without it.
        "DOCKER_CONFIG": os.environ.get("DOCKER_CONFIG", str(Path.home() / ".docker")),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
    }
