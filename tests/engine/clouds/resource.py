"""How a type of resource is made, read, changed and deleted: the rows of a cloud's table."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from tests.engine.clouds import schema

if TYPE_CHECKING:
    from tests.engine.clouds.provider import Provider

Values = Mapping[str, Any]


class Inputs(dict[str, Any]):
    """What the program asks for; knows what of it was looked at, so that nothing is ignored silently."""

    def __init__(self, values: Values) -> None:
        super().__init__(values)
        self._seen: set[str] = set()

    def __contains__(self, key: object) -> bool:
        self._seen.add(str(key))
        return super().__contains__(key)

    def __getitem__(self, key: str) -> Any:
        self._seen.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._seen.add(key)
        return super().get(key, default)

    def unseen(self) -> set[str]:
        return {key for key in self if not key.startswith("__")} - self._seen


class Resource(ABC):
    """One type, as the real provider treats it. Names are those on the wire."""

    type: ClassVar[str]
    """ "aws:ec2/vpc:Vpc" """
    replaced_by: ClassVar[frozenset[str]] = frozenset()
    """Inputs that can't be changed in place."""
    named: ClassVar[str] = ""
    """The input that gets a unique value, made from the resource's name, when the program gives none."""
    local: ClassVar[frozenset[str]] = frozenset()
    """Inputs that only the provider itself uses; the cloud never hears of them."""
    computed: ClassVar[frozenset[str]] = frozenset()
    """Nested outputs that a preview doesn't know: "vpcConfig.vpcId"."""
    recomputed: ClassVar[frozenset[str]] = frozenset()
    """Outputs that an update changes."""
    without: ClassVar[frozenset[str]] = frozenset()
    """Outputs that the SDK promises but that nothing here has."""
    deleted_first: ClassVar[bool] = False
    """Whether a replacement can't exist beside what it replaces."""

    def __init__(self, provider: "Provider") -> None:
        self.provider = provider

    def as_given(self, name: str, given: Any, actual: Any) -> Any:
        """An output in the spelling of the input: equal to it where both mean the same."""
        declared = schema.inputs(self.type).get(name) or schema.outputs(self.type)[name]
        return schema.as_given(declared.type, given, actual)

    @abstractmethod
    def create(self, given: Inputs) -> Iterator[str]:
        """Create it; yield its id once the provider knows it.

        What fails before leaves something that nobody knows of; what fails after, something in the state.
        """

    @abstractmethod
    def read(self, id_: str, known: Values) -> dict[str, Any] | None:
        """Its outputs as the cloud has them now, None if it is gone. `known`: outputs as they were."""

    def update(self, id_: str, old: Values, new: Values, changed: set[str]) -> None:
        """Change the inputs named in `changed`. `old`: outputs as they were."""
        raise NotImplementedError(f"{self.type}: can't change {', '.join(sorted(changed))}")

    @abstractmethod
    def delete(self, id_: str, known: Values) -> None:
        """Delete it. That it is gone already is no error."""
