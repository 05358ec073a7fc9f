"""Runs of Pulumi without checkpoints: fast, since a local backend writes the whole state at each step.

Only the state after the last step is saved. If such a run is killed, a fleet's objects are found again by
their names and labels. Nothing else would be, so nothing else is made in it (`providers.checkpointed`).
"""

import json
from dataclasses import dataclass

from toolchain.checkpoints import REFUSAL, SKIP
from toolchain.layout import HOME


@dataclass(frozen=True)
class Intent:
    """What a run was to make: a digest of all that decides it, and the fleet's namespace."""

    digest: str
    namespace: str


class Unsaved:
    """The note that a stack's state may lack what a run made; it is there until a state is saved."""

    def __init__(self, stack: str) -> None:
        self._note = HOME / "unsaved" / f"{stack}.json"
        self._refusal = self._note.with_suffix(".refused")

    @property
    def intent(self) -> Intent | None:
        """What the run that was killed was to make; None if there was none."""
        return Intent(**json.loads(self._note.read_text())) if self._note.exists() else None

    def begin(self, intent: Intent) -> dict[str, str]:
        """Note that a run begins; returns what it needs in its environment."""
        self._note.parent.mkdir(parents=True, exist_ok=True)
        self._refusal.unlink(missing_ok=True)
        self._note.write_text(json.dumps(vars(intent)))
        return {SKIP: "true", REFUSAL: str(self._refusal)}

    def end(self) -> None:
        """Note that the state is saved."""
        self._note.unlink(missing_ok=True)

    @property
    def was_refused(self) -> bool:
        """Whether the last run met something that must not be made without checkpoints."""
        return self._refusal.exists()
