#!/usr/bin/env python3
"""A Pulumi language host for Python, for machines where the official one can't be had.

It is not published as a Go module that builds, so where Pulumi is built from source this stands in for it,
linked as `pulumi-language-python`. It serves those calls of the LanguageRuntime protocol that preview, up,
refresh, destroy and policy packs make, and runs everything with the interpreter it runs under itself:
the project's virtual environment must be first on PATH.
"""

# ruff: noqa: ANN401, ARG002, D102, N802 (the service's methods, as the protocol names them)
import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from importlib.metadata import distributions, version
from pathlib import Path
from typing import IO, Any

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

EXECUTOR = "pulumi-language-python-exec"  # of the Pulumi SDK: runs a program and reports to the engine
REPORTED = 32  # the program's exit code when it has shown its errors already
MESSAGE_BYTES = 400 * 1024 * 1024  # the engine's own limit


class LanguageHost(language_pb2_grpc.LanguageRuntimeServicer):
    """The service; `engine` is the address at which the engine takes logs."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._children: list[subprocess.Popen[bytes]] = []

    def Handshake(self, request: Any, context: Any) -> Any:
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version=version("pulumi"))

    def GetRequiredPackages(self, request: Any, context: Any) -> Any:
        """None ahead of time: the engine asks for a plugin when the program first uses it."""
        return language_pb2.GetRequiredPackagesResponse()

    def GetRequiredPlugins(self, request: Any, context: Any) -> Any:
        return language_pb2.GetRequiredPluginsResponse()

    def RuntimeOptionsPrompts(self, request: Any, context: Any) -> Any:
        return language_pb2.RuntimeOptionsResponse()

    def About(self, request: Any, context: Any) -> Any:
        return language_pb2.AboutResponse(executable=sys.executable, version=sys.version.split()[0])

    def GetProgramDependencies(self, request: Any, context: Any) -> Any:
        found = sorted({(each.metadata["Name"], each.version) for each in distributions()})
        dependencies = [
            language_pb2.DependencyInfo(name=name, version=installed) for name, installed in found
        ]
        return language_pb2.GetProgramDependenciesResponse(dependencies=dependencies)

    def Run(self, request: Any, context: Any) -> Any:
        """Run the program to its end."""
        flags = {
            "--monitor": request.monitor_address,
            "--engine": self._engine,
            "--project": request.project,
            "--stack": request.stack,
            "--organization": request.organization,
            "--root_directory": request.info.root_directory,
            "--pwd": request.pwd,
            "--dry_run": str(request.dryRun).lower(),
            "--parallel": str(request.parallel),
        }
        arguments = [part for flag, value in flags.items() if value for part in (flag, value)]
        settings = {
            "PULUMI_CONFIG": json.dumps(dict(request.config)),
            "PULUMI_CONFIG_SECRET_KEYS": json.dumps(list(request.configSecretKeys)),
        }
        program = request.info.entry_point or request.program or "."
        executor = str(Path(sys.argv[0]).with_name(EXECUTOR))
        child = self._start(
            context,
            [executor, *arguments, program, *request.args],
            request.info.program_directory or request.pwd,
            settings,
        )
        code = child.wait()
        if code == 0:
            return language_pb2.RunResponse()
        if code == REPORTED:
            return language_pb2.RunResponse(bail=True)
        return language_pb2.RunResponse(error=f"Program exited with non-zero exit code: {code}")

    def RunPlugin(self, request: Any, context: Any) -> Iterator[Any]:
        """Run a plugin written in Python (a policy pack, a provider) and stream what it prints."""
        directory = request.info.program_directory or request.program
        if request.kind == "analyzer":
            arguments, cwd = ["-m", "pulumi.policy", *request.args, directory], directory
        else:
            arguments, cwd = [directory, *request.args], request.pwd
        settings = dict(pair.split("=", 1) for pair in request.env)
        child = self._start(context, arguments, cwd, settings, output=subprocess.PIPE)
        yield from _lines(child)
        yield language_pb2.RunPluginResponse(exitcode=child.wait())

    def Cancel(self, request: Any, context: Any) -> Any:
        self.end()
        return empty_pb2.Empty()

    def end(self) -> None:
        """End what runs, gently."""
        for child in self._children:
            _end(child)

    def _start(
        self,
        context: Any,
        arguments: Sequence[str],
        cwd: str,
        settings: Mapping[str, str],
        output: int | None = None,
    ) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-u", *arguments]
        child = subprocess.Popen(
            command, cwd=cwd, env={**os.environ, **settings}, stdout=output, stderr=output
        )
        self._children.append(child)
        context.add_callback(lambda: _end(child))  # called when the engine hangs up, too
        return child


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.terminate()


def _lines(child: subprocess.Popen[bytes]) -> Iterator[Any]:
    """Lines of both output streams, as they come."""
    said: queue.Queue[Any] = queue.Queue()

    def pump(stream: IO[bytes], response: Callable[[bytes], Any]) -> None:
        for line in stream:
            said.put(response(line))
        said.put(None)

    streams = (
        (child.stdout, lambda line: language_pb2.RunPluginResponse(stdout=line)),
        (child.stderr, lambda line: language_pb2.RunPluginResponse(stderr=line)),
    )
    for stream_and_response in streams:
        threading.Thread(target=pump, args=stream_and_response, daemon=True).start()
    open_streams = len(streams)
    while open_streams:
        line = said.get()
        if line is None:
            open_streams -= 1
        else:
            yield line


def main() -> None:
    """Serve until told to stop; the engine reads the port from the first line printed."""
    engine = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "")
    limits = [
        ("grpc.max_receive_message_length", MESSAGE_BYTES),
        ("grpc.max_send_message_length", MESSAGE_BYTES),
    ]
    server = grpc.server(futures.ThreadPoolExecutor(16), options=limits)
    host = LanguageHost(engine)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    print(port, flush=True)
    threading.Thread(target=_wait_for_hang_up, args=(stop,), daemon=True).start()
    stop.wait()
    host.end()
    server.stop(grace=1)


def _wait_for_hang_up(stop: threading.Event) -> None:
    """An engine that was killed tells nobody, but it no longer reads what we print."""
    output = select.poll()
    output.register(sys.stdout.fileno(), 0)  # errors only
    output.poll()
    stop.set()


if __name__ == "__main__":
    main()
