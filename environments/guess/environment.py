"""A guessing game: find a secret number in as few attempts as halving the range takes.

Environment variables: GUESS_HIGHEST, the largest possible number (100), and GUESS_ATTEMPTS (7).
"""

import os
import random
from uuid import uuid4

from models import GuessAction, GuessObservation
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import State

HIGHEST = int(os.environ.get("GUESS_HIGHEST", "100"))
ATTEMPTS = int(os.environ.get("GUESS_ATTEMPTS", "7"))
if HIGHEST < 1 or ATTEMPTS < 1:
    raise ValueError(f"GUESS_HIGHEST={HIGHEST} and GUESS_ATTEMPTS={ATTEMPTS}: both must be at least 1")


class GuessEnvironment(Environment[GuessAction, GuessObservation, State]):
    """One player's game. The reward is 1 for the right number and 0 otherwise."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self.reset()

    def reset(self, seed: int | None = None, episode_id: str | None = None, **_: object) -> GuessObservation:
        """Draw a new secret number; the same seed draws the same one."""
        self._secret = random.Random(seed).randint(1, HIGHEST)  # noqa: S311 - a game
        self._state = State(episode_id=episode_id or str(uuid4()))
        return GuessObservation(hint="start", highest=HIGHEST, attempts_left=ATTEMPTS, reward=0.0)

    def step(self, action: GuessAction, **_: object) -> GuessObservation:
        """Compare a guess with the secret number.

        Raises:
            ValueError: no attempts are left, the game needs a reset.
        """
        attempts_left = ATTEMPTS - self._state.step_count - 1
        if attempts_left < 0:
            raise ValueError(f"all {ATTEMPTS} attempts are used: reset the environment")
        self._state.step_count += 1
        correct = action.number == self._secret
        return GuessObservation(
            hint="correct" if correct else "higher" if action.number < self._secret else "lower",
            highest=HIGHEST,
            attempts_left=attempts_left,
            done=correct or attempts_left == 0,
            reward=float(correct),
        )

    @property
    def state(self) -> State:
        """Which episode this is and how many guesses it has seen; not the secret."""
        return self._state
