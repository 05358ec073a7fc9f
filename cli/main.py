"""The commands. Each is a thin layer over `toolchain` and Pulumi; `envfleet COMMAND --help` explains it."""

import shlex
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from cli import doctor as doctoring
from cli.fleet import Fleet
from cli.stack import Stack
from toolchain import engine, images, tools
from toolchain.environ import settings
from toolchain.layout import ROOT
from toolchain.lock import exclusive
from toolchain.progress import StepError, console, run

app = typer.Typer(help=__doc__, no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)
StackName = Annotated[
    str, typer.Option("--stack", "-s", help="Stack to work on: the NAME of Pulumi.NAME.yaml.")
]
# What any Pulumi command on any stack may need.
TOOLS = ("pulumi", "pulumi-resource-kubernetes", "kubectl")
CLOUDS = ("aws",)


def provide(stack: Stack, *, destroy: bool = False) -> None:
    """Have the tools that a stack needs, for a cloud also its SDK, for kind also an engine and images."""
    with exclusive():
        tools.ensure(*TOOLS)
        if stack.provider in CLOUDS:
            if not destroy:
                run(sys.executable, ROOT / "toolchain" / "bootstrap.py", f"requirements-{stack.provider}.txt")
            tools.ensure(f"pulumi-resource-{stack.provider}")
        if stack.provider == "kind":
            tools.ensure("kind")
            engine.ensure()
            engine.keep()
            if not destroy:
                images.ensure()


def prepare(stack: Stack) -> None:
    """Check the configuration, then have what it needs, and the stack itself."""
    stack.validate()
    provide(stack)
    stack.select()


@app.command()
def up(name: StackName = "dev") -> None:
    """Bring a stack up: tools, engine, images, then `pulumi up`; ends with a table of its environments."""
    stack = Stack(name)
    prepare(stack)
    stack.up()
    _finish(Fleet(stack))


@app.command()
def repair(name: StackName = "dev") -> None:
    """Replace what is gone, and pods that can't come back by themselves: evicted, failed, on a lost node."""
    stack = Stack(name)
    prepare(stack)
    if removed := Fleet(stack).remove_broken():
        console.print(f"To be replaced: {', '.join(removed)}")
    # What is gone is found by comparing the state with the cluster.
    stack.up("--refresh")
    _finish(Fleet(stack))


def _finish(fleet: Fleet) -> None:
    """What comes after a successful `pulumi up`."""
    if removed := fleet.remove_orphans():
        console.print(f"Removed, since no environment has it any more: {', '.join(removed)}")
    fleet.show()


@app.command()
def preview(name: StackName = "dev") -> None:
    """Show what `up` would change in the stack; it gets the same tools, engine and images ready first."""
    stack = Stack(name)
    prepare(stack)
    stack.preview()


@app.command()
def down(name: StackName = "dev") -> None:
    """Destroy a stack, whatever state it is in, and stop the container engine if envfleet started it."""
    stack = Stack(name)
    if stack.exists():
        provide(stack, destroy=True)
        stack.select()
        stack.destroy()
        stack.remove()
    else:
        console.print(f"Stack {name} is not up: there is nothing to destroy.")
    engine.stop()


@app.command()
def ps(name: StackName = "dev") -> None:
    """List the environments of a stack, with their state."""
    Fleet(Stack(name)).show()


@app.command()
def connect(
    environment: Annotated[str, typer.Argument(help="Name of the environment.")],
    name: StackName = "dev",
    port: Annotated[int, typer.Option(help="Local port.", min=1, max=65535)] = 8000,
) -> None:
    """Reach an environment from this machine at http://127.0.0.1:PORT, until Ctrl-C."""
    Fleet(Stack(name)).connect(environment, port)


@app.command()
def logs(
    environment: Annotated[str, typer.Argument(help='Name of the environment, or "server".')],
    name: StackName = "dev",
    lines: Annotated[int, typer.Option("--lines", "-n", help="How many of the last lines.", min=1)] = 100,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
    previous: Annotated[bool, typer.Option(help="Of the container before its last restart.")] = False,
) -> None:
    """Print what an environment wrote."""
    Fleet(Stack(name)).logs(environment, lines=lines, follow=follow, previous=previous)


@app.command()
def env() -> None:
    """Print the environment for plain Pulumi commands, and have their tools: eval "$(make -s env)"."""
    tools.ensure(*TOOLS)
    for variable, value in settings().items():
        print(f"export {variable}={shlex.quote(value)}")


@app.command("images")
def build_images() -> None:
    """Have the container engine and all images, up to date."""
    with exclusive():
        engine.ensure()
        engine.keep()
        images.ensure()


@app.command()
def cache(folder: Annotated[Path, typer.Argument(help="Folder to write; made if it is not there.")]) -> None:
    """Write this clone's tools into a folder that ENVFLEET_TOOLCHAIN_CACHE of other clones may name."""
    tools.export(folder)


@app.command()
def doctor() -> None:
    """Print what envfleet needs on this machine: what is there, what is missing, and what to do."""
    raise typer.Exit(0 if doctoring.report() else 1)


def main() -> None:
    """Run a command; an expected failure ends in one message instead of a traceback."""
    # Ended by a signal, `with` blocks still remove what they made. A shell's background job ignores SIGINT.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: sys.exit(128 + number))
    try:
        app()
    except StepError as error:
        # Not as markup, in which "[registry/]repository" would lose its brackets.
        console.print(Text.assemble(("error: ", "red"), str(error)), soft_wrap=True)
        sys.exit(1)
