"""What goes into the guessing game and what comes out."""

from typing import Literal

from openenv.core.env_server.types import Action, Observation
from pydantic import Field


class GuessAction(Action):
    """One guess."""

    number: int = Field(description="The guess")


class GuessObservation(Observation):
    """What the player knows after a reset or a guess."""

    hint: Literal["start", "higher", "lower", "correct"] = Field(description="Where the secret number lies")
    highest: int = Field(description="The secret number is from 1 to this one")
    attempts_left: int = Field(description="How many guesses remain")
