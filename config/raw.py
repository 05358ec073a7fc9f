"""A configuration as it was written: nothing in it needs to have the right type."""

from collections.abc import Iterator, Mapping

Raw = Mapping[str, object]


def mapping(value: object) -> Raw:
    """A mapping, empty if it is none."""
    return value if isinstance(value, Mapping) else {}


def items(value: object) -> list[object]:
    """A list, empty if it is none."""
    return value if isinstance(value, list) else []


def mappings(value: object) -> Iterator[tuple[int, Raw]]:
    """The entries of a list that are mappings, each with its index."""
    return ((index, each) for index, each in enumerate(items(value)) if isinstance(each, Mapping))
