"""Texts of a target with the placeholders of a node: ``{name}``, ``{kind}``, ``{number}`` and ``{fabric}``."""

import string

from railweave.fabric.devices import Host

_FIELDS = {"name", "kind", "number", "fabric"}


def checked_pattern(text: str) -> str:
    """Return ``text`` if it can be filled in and differs for every node; raises ValueError."""
    try:
        fields = {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
    except ValueError as error:
        raise ValueError(f"the pattern cannot be read: {error}") from None
    # A node's name is its kind and number, so these two together tell nodes apart as well.
    tells_nodes_apart = "name" in fields or {"kind", "number"} <= fields
    if not fields <= _FIELDS or not tells_nodes_apart:
        raise ValueError("a pattern over {name}, {kind}, {number}, {fabric} that differs for every node")
    return text


def fill_pattern(text: str, host: Host, fabric: str) -> str:
    """Return ``text`` for ``host``; numbers count from 1."""
    return text.format(name=host.name, kind=host.kind, number=host.number + 1, fabric=fabric)
