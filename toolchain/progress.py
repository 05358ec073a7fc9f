"""Progress that reads well on a terminal and in a CI log: what runs, how far it is, how long it took."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

# A log has no width of its own: rich would break lines at 80 columns.
console = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else 140)
HEARTBEAT_SECONDS = 30


class StepError(RuntimeError):
    """A step of the toolchain failed; the message says what to do."""


class Step:
    """One running step: `advance` sets how far it is, `note` what it does right now."""

    def __init__(self) -> None:
        self.total: float | None = None
        self.done = 0.0
        self.detail = ""

    def advance(self, done: float, total: float | None = None) -> None:
        """Set progress, in any unit; without a total only the elapsed time is shown."""
        self.done = done
        self.total = total or self.total

    def note(self, detail: str) -> None:
        """Set the few words shown behind the title."""
        self.detail = detail


@contextmanager
def step(title: str, *, optional: bool = False) -> Iterator[Step]:
    """Show `title` while the block runs, then how long it took; live on a terminal, else with a heartbeat.

    An optional step may fail: the caller has another way.
    """
    current = Step()
    started = time.monotonic()
    finished = threading.Event()
    show = _bar if console.is_terminal else _heartbeat
    display = threading.Thread(target=show, args=(title, current, finished), daemon=True)
    display.start()
    mark = "[dim]-[/]" if optional else "[red]✗[/]"
    try:
        yield current
        mark = "[green]✓[/]"
    finally:
        finished.set()
        display.join()
        console.print(f"{mark} {title} [dim]({time.monotonic() - started:.1f} s)[/]")


def _bar(title: str, current: Step, finished: threading.Event) -> None:
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[detail]}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=None, detail="")
        while not finished.wait(0.2):
            bar.update(task, total=current.total, completed=current.done, detail=current.detail)


def _heartbeat(title: str, current: Step, finished: threading.Event) -> None:
    console.print(f"… {title}")
    started = time.monotonic()
    while not finished.wait(HEARTBEAT_SECONDS):
        share = f"{current.done / current.total:.0%}, " if current.total else ""
        console.print(f"  … {title}: {share}{time.monotonic() - started:.0f} s {current.detail}".rstrip())


def run(
    *command: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    on_line: Callable[[str], None] | None = None,
    stdin: str | None = None,
) -> str:
    """Run a command quietly and return its standard output.

    on_line: gets each line of both streams as it comes; both are returned then.

    Raises:
        StepError: It failed, or is not there; carries the command and its last lines.
    """
    words = [str(word) for word in command]
    try:
        process = subprocess.Popen(
            words,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Apart, since callers read the output, and programs warn on the other stream.
            stderr=subprocess.STDOUT if on_line else subprocess.PIPE,
            text=True,
        )
    except FileNotFoundError:
        raise StepError(f"{words[0]} is not installed") from None
    with process:
        try:
            said, warned = _follow(process.stdout, on_line) if on_line else process.communicate(stdin)
        except BaseException:
            process.terminate()  # else `with` waits until it ends by itself
            raise
    if process.returncode != 0:
        tail = "\n".join(f"{said}{warned}".splitlines()[-20:])
        raise StepError(f"`{' '.join(words)}` ended with {process.returncode}:\n{tail}")
    return said


def _follow(output: Iterable[str] | None, on_line: Callable[[str], None]) -> tuple[str, str]:
    lines = []
    for line in output or ():
        lines.append(line)
        on_line(line.rstrip())
    return "".join(lines), ""
