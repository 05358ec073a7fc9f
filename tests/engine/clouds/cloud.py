"""A simulated cloud: what exists in it, the calls it got, and the faults that a test asks for.

    cloud.refuse(3)           # the third call that changes something is answered with an error
    cloud.lose_answer(3)      # it is done, but the answer is lost; a client that tries again is answered
    cloud.lose_connection(3)  # it is done, the answer is lost, and none comes any more in this command
    cloud.kill_plugin(3)      # it is done, and the plugin process is killed before it hears of it
    cloud.kill_engine(3)      # it is done, and the engine is killed, which the plugin does not outlive
    cloud.left()              # all that exists now and did not when the cloud was made

Calls are counted from the moment the fault is set; `cloud.heal()` takes back one that did not come to pass.
"""

import copy
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, ClassVar, Literal, NamedTuple

import psutil


class CloudError(Exception):
    """The cloud's own answer that it won't do what was asked."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class NoAnswer(Exception):  # noqa: N818 (whether it is an error depends on who waits)
    """Nobody knows whether the cloud did what was asked."""

    def __init__(self) -> None:
        super().__init__("RequestError: send request failed, caused by: read: connection timed out")


class Hangup(Exception):  # noqa: N818
    """The plugin process is gone, and what it was about to do is never asked for."""


class Call(NamedTuple):
    operation: str  # "ec2:CreateVpc"
    parameters: Mapping[str, Any]
    outcome: str  # "done", "lost", "killed", or the code of the error


@dataclass(frozen=True)
class Fault:
    at: int  # counted in calls that change something
    kind: Literal["refuse", "lose_answer", "lose_connection", "kill_plugin", "kill_engine"]
    code: str = ""


@dataclass
class Session:
    """One plugin process, and one call of the engine that it relays."""

    pid: int
    connection: Connection
    cut: set[int] = field(default_factory=set)  # pids without a way to the cloud

    def check(self) -> None:
        # The plugin sends one request and waits: more can be read only when its end was closed.
        if self.connection.poll():
            raise Hangup
        if self.pid in self.cut:
            raise NoAnswer


class Cloud(ABC):
    """The part that all clouds share.

    latency: how long, in seconds, the cloud works on what it does in the background.
    """

    sdk_version: ClassVar[str]
    """Of the SDK that the plugin stands in for: the engine looks for just this one."""

    def __init__(self, latency: float = 0.05) -> None:
        self.latency = latency
        self.calls: list[Call] = []
        self.lock = threading.RLock()
        self._changes = 0
        self._fault: Fault | None = None
        self._cut: set[int] = set()
        self._later: list[tuple[float, Callable[[], None]]] = []
        self._before: set[str] = set()

    def refuse(self, nth: int, code: str = "UnauthorizedOperation") -> None:
        self._set(Fault(nth, "refuse", code))

    def lose_answer(self, nth: int) -> None:
        self._set(Fault(nth, "lose_answer"))

    def lose_connection(self, nth: int) -> None:
        self._set(Fault(nth, "lose_connection"))

    def kill_plugin(self, nth: int) -> None:
        self._set(Fault(nth, "kill_plugin"))

    def kill_engine(self, nth: int) -> None:
        self._set(Fault(nth, "kill_engine"))

    def heal(self) -> bool:
        """Forget the fault; whether it had not come to pass yet."""
        pending, self._fault = self._fault is not None, None
        return pending

    def changes(self) -> list[str]:
        """The operations that changed something, in order."""
        return [
            call.operation
            for call in self.calls
            if self.is_change(call.operation) and call.outcome in {"done", "lost", "killed"}
        ]

    def left(self) -> list[str]:
        """What exists, as "kind name"; what the cloud is about to delete is awaited first."""
        with self.lock:
            while self._later:
                self._settle()
                time.sleep(self.latency / 5)
            return sorted(set(self.inventory()) - self._before)

    def is_empty(self) -> bool:
        return not self.left()

    def later(self, action: Callable[[], None]) -> None:
        """Have something happen by itself after a while."""
        self._later.append((time.monotonic() + self.latency, action))

    def session(self, pid: int, connection: Connection) -> Session:
        return Session(pid, connection, self._cut)

    def call(self, session: Session, operation: str, parameters: Mapping[str, Any]) -> Any:
        """Do what the plugin asks for, with the faults that are set."""
        with self.lock:
            session.check()
            self._settle()
            fault = self._due(operation)
            outcome = "done"
            try:
                if fault and fault.kind == "refuse":
                    raise CloudError(fault.code, f"the simulated cloud was told to refuse {operation}")
                answer = self.execute(operation, copy.deepcopy(parameters))
                if fault:
                    outcome = "killed" if fault.kind.startswith("kill") else "lost"
                    self._interrupt(fault, session)
            except CloudError as error:
                outcome = error.code
                raise
            else:
                return answer
            finally:
                self.calls.append(Call(operation, parameters, outcome))

    @abstractmethod
    def execute(self, operation: str, parameters: Mapping[str, Any]) -> Any:
        """Do it, or raise CloudError."""

    @abstractmethod
    def is_change(self, operation: str) -> bool:
        """Whether the operation changes something."""

    @abstractmethod
    def inventory(self) -> list[str]:
        """All that exists, as "kind name"."""

    def _set(self, fault: Fault) -> None:
        with self.lock:
            self._changes, self._fault = 0, fault

    def _due(self, operation: str) -> Fault | None:
        if not self.is_change(operation):
            return None
        self._changes += 1
        if self._fault is None or self._fault.at != self._changes:
            return None
        due, self._fault = self._fault, None
        return due

    def _interrupt(self, fault: Fault, session: Session) -> None:
        if fault.kind.startswith("kill"):
            plugin = psutil.Process(session.pid)
            (plugin if fault.kind == "kill_plugin" else plugin.parent()).kill()
            raise Hangup
        if fault.kind == "lose_connection":
            self._cut.add(session.pid)
        raise NoAnswer

    def _settle(self) -> None:
        now = time.monotonic()
        due = [action for moment, action in self._later if moment <= now]
        self._later = [entry for entry in self._later if entry[0] > now]
        for action in due:
            action()
