"""What all of envfleet's dynamic providers share; they run in a plugin process that `pulumi` starts.

Pulumi's state holds each provider pickled by reference, as the names of its module and of its class: a change
of the code is no change of the resource, and a stack made before it still finds its provider. So don't rename
a module that has provider classes, nor these classes.
"""

import os
import select
import signal
import sys
import threading
from functools import cache

import grpc
from pulumi import dynamic
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc
from typing_extensions import override


class Provider(dynamic.ResourceProvider):
    """A dynamic provider of envfleet: only the names of its module and class are kept in the state."""

    serialize_as_secret_always = False

    @override
    def configure(self, req: dynamic.ConfigureRequest) -> None:
        _prepare_plugin()


def say(message: str) -> None:
    """Show a line among the diagnostics of the running Pulumi command."""
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()


def show_status(urn: str, text: str) -> None:
    """Show a line beside a resource for as long as it is worked on."""
    request = engine_pb2.LogRequest(severity=engine_pb2.INFO, message=text, urn=urn, ephemeral=True)
    _engine().Log(request)


@cache
def _engine() -> engine_pb2_grpc.EngineStub:
    """The engine that started this plugin, with its own address as the last argument."""
    return engine_pb2_grpc.EngineStub(grpc.insecure_channel(sys.argv[-1]))


@cache
def _prepare_plugin() -> None:
    # Our messages say what to do; a traceback would bury them.
    sys.tracebacklimit = 0
    # `pulumi` runs each plugin in a process group of its own, led by us or by the script that started us.
    group = os.getpgrp()
    if group in {os.getpid(), os.getppid()}:
        threading.Thread(target=_end_with_pulumi, args=[group], daemon=True).start()


def _end_with_pulumi(group: int) -> None:
    """End this plugin and what it runs when `pulumi` is killed, which Python's plugin host does not notice.

    Else it would go on creating what no state knows of, while the next `up` removes it.
    """
    stdout = select.poll()
    stdout.register(1, 0)
    # Returns only for an error, and the one that a pipe can have is that nobody reads it any more.
    stdout.poll()
    os.killpg(group, signal.SIGKILL)
