"""The commands. Each is a thin layer over `toolchain` and Pulumi; `envfleet COMMAND --help` explains it."""

import shlex
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli import doctor as doctoring
from cli import fleet
from cli.stack import Stack
from toolchain import engine, images, tools
from toolchain.environ import settings
from toolchain.progress import StepError, console

app = typer.Typer(help=__doc__, no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)
StackName = Annotated[
    str, typer.Option("--stack", "-s", help="Stack to work on: the NAME of Pulumi.NAME.yaml.")
]


def prepare(stack: Stack) -> None:
    """Check the configuration, then have what it needs: tools, and for kind also an engine and images."""
    stack.validate()
    tools.ensure("pulumi", "pulumi-resource-kubernetes", "kubectl")
    if stack.provider == "kind":
        tools.ensure("kind")
        engine.ensure()
        images.ensure()


@app.command()
def up(name: StackName = "dev") -> None:
    """Bring a stack up: tools, engine, images, then `pulumi up`; ends with a table of its environments."""
    stack = Stack(name)
    prepare(stack)
    stack.select()
    stack.pulumi("up", "--stack", name, "--yes", "--skip-preview")
    if not fleet.show(stack):
        raise StepError("not every environment is ready: see the table above")


@app.command()
def preview(name: StackName = "dev") -> None:
    """Show what `up` would change, and change nothing."""
    stack = Stack(name)
    prepare(stack)
    stack.select()
    stack.pulumi("preview", "--stack", name, "--diff")


@app.command()
def down(name: StackName = "dev") -> None:
    """Destroy a stack, whatever state it is in, and stop the container engine if envfleet started it."""
    stack = Stack(name)
    tools.ensure("pulumi", "pulumi-resource-kubernetes")
    if stack.provider == "kind":
        tools.ensure("kind")
        engine.ensure()
    if stack.exists():
        stack.select()
        stack.pulumi("destroy", "--stack", name, "--yes", "--skip-preview")
        stack.remove()
    engine.stop()


@app.command()
def ps(name: StackName = "dev") -> None:
    """List the environments of a stack, with their state."""
    fleet.show(Stack(name))


@app.command()
def connect(
    environment: Annotated[str, typer.Argument(help="Name of the environment.")],
    name: StackName = "dev",
    port: Annotated[int, typer.Option(help="Local port.")] = 8000,
) -> None:
    """Reach an environment from this machine at http://127.0.0.1:PORT, until Ctrl-C."""
    fleet.connect(Stack(name), environment, port)


@app.command()
def env() -> None:
    """Print the environment for plain Pulumi commands: eval "$(make -s env)"."""
    for variable, value in settings().items():
        print(f"export {variable}={shlex.quote(value)}")


@app.command("images")
def build_images() -> None:
    """Have the container engine and all images, up to date."""
    engine.ensure()
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
        console.print(f"[red]error:[/] {error}", markup=True, soft_wrap=True)
        sys.exit(1)
