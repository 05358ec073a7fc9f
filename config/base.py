"""What all models of the configuration have in common."""

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Strict (no `"8000"` for 8000), frozen, and without unknown keys."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", use_attribute_docstrings=True)
