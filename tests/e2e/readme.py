"""The `sh` blocks of README.md as the steps that its reader takes, in a clone, and what they shall print."""

import re
from dataclasses import dataclass, field

from tests.e2e.clone import Clone, Result
from toolchain.layout import ROOT


@dataclass(frozen=True)
class Step:
    """One block.

    meanwhile: the block before it, if that is for another terminal.
    shown: the `text` or `json` block behind it, which shows what it prints.
    """

    block: str
    meanwhile: str
    shown: str

    def __str__(self) -> str:
        return shorten(self.block)


def read_steps() -> list[Step]:
    """All steps but the first, which makes the clone."""
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert blocks[0][1].startswith("git clone")
    around = zip(blocks, blocks[1:], [*blocks[2:], ("", "")], strict=False)
    return [
        Step(block, before if is_endless(before) else "", after if kind in {"text", "json"} else "")
        for (_, before), (language, block), (kind, after) in around
        if language == "sh" and not is_endless(block)
    ]


def is_endless(block: str) -> bool:
    """Whether a block runs until it is interrupted."""
    return "make connect ENV" in block


def shorten(commands: str) -> str:
    """Commands on one line."""
    return "; ".join(commands.splitlines())[:90]


def lines(text: str, prefix: str = "envfleet") -> list[str]:
    """The lines of an output, without what differs from one machine to another.

    That is the hash of an image, the prefix of the clusters' names, and with them the widths of a table.
    """
    text = re.sub(r"\b[0-9a-f]{12}\b", "HASH", text).replace(prefix, "envfleet")
    return [" ".join(line.split()) for line in re.sub("[─━]+", "─", text).splitlines()]


STEPS = read_steps()


@dataclass(frozen=True)
class Walk:
    """The steps taken in a clone, each once."""

    clone: Clone
    taken: dict[Step, Result] = field(default_factory=dict)

    def take(self, step: Step) -> Result:
        """Take a step, unless it has been taken."""
        if step not in self.taken:
            if step.meanwhile:
                with self.clone.running(step.meanwhile):
                    self.taken[step] = self.clone.run(step.block)
            else:
                self.taken[step] = self.clone.run(step.block)
        return self.taken[step]
