"""A YAML or JSON file of somebody else as values with their places."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from railweave.diagnostics import Where, error
from railweave.errors import RefusedError

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MOST_DEPTH = 64
"""Deepest nesting; objects of Kubernetes end at about twenty."""


class PlacedValue(NamedTuple):
    """A value with its place in a file; members of mappings and lists are values with places, too."""

    value: Any
    where: Where

    def at(self, *path: str) -> "PlacedValue | None":
        """Return the member at a path of keys, None if it is missing."""
        member: PlacedValue | None = self
        for key in path:
            if member is None or not isinstance(member.value, Mapping):
                return None
            member = member.value.get(key)
        return member

    def text(self, *path: str) -> str:
        """Return a scalar member as text; empty if it is missing, null, a mapping or a list."""
        member = self.at(*path)
        if member is None or member.value is None or isinstance(member.value, Mapping | list):
            return ""
        if isinstance(member.value, bool):
            return str(member.value).lower()
        return str(member.value)

    def items(self, *path: str) -> list["PlacedValue"]:
        """Return the members of a list; empty if it is missing or another value."""
        member = self.at(*path)
        if member is None or not isinstance(member.value, list):
            return []
        return member.value


def placed_documents(path: Path, text: str) -> Iterator[PlacedValue]:
    """Yield the documents of a YAML or JSON file with the places of their values.

    Raises RefusedError if the text is not YAML, of which JSON is a part, or nested too deeply.
    """
    try:
        for node in yaml.compose_all(text, Loader=_LOADER):
            if node is not None:
                yield _placed(node, str(path), 0)
    except yaml.YAMLError as exc:
        where = Where(str(path))
        # Not every error of the library has a place and a problem.
        mark = getattr(exc, "problem_mark", None)
        if mark is not None:
            where = Where(str(path), mark.line + 1, mark.column + 1)
        reason = getattr(exc, "problem", None) or "it cannot be read"
        fix = "give a file of YAML or JSON, or a topology.conf of Slurm"
        raise RefusedError([error("RW954", f"not YAML: {reason}", where, fix=fix)]) from None


def _placed(node: Any, file: str, depth: int) -> PlacedValue:
    """Return a node of YAML, and its members, as values with their places; raises RefusedError if nested too deeply."""
    where = Where(file, node.start_mark.line + 1, node.start_mark.column + 1)
    if depth > _MOST_DEPTH:
        fix = "give a file of Kubernetes objects or of Slurm"
        raise RefusedError([error("RW954", f"values are nested more than {_MOST_DEPTH} deep", where, fix=fix)])
    if isinstance(node, yaml.MappingNode):
        members = {}
        for key, value in node.value:
            members[str(key.value)] = _placed(value, file, depth + 1)
        return PlacedValue(members, where)
    if isinstance(node, yaml.SequenceNode):
        return PlacedValue([_placed(member, file, depth + 1) for member in node.value], where)
    return PlacedValue(_scalar(node), where)


def _scalar(node: Any) -> Any:
    """Return the value of a scalar node: an integer, a boolean, None, or its text for any other type."""
    if node.tag.endswith(":int"):
        try:
            return int(node.value)
        except ValueError:
            return node.value
    if node.tag.endswith(":bool"):
        return node.value.lower() in ("true", "yes", "on")
    if node.tag.endswith(":null"):
        return None
    return node.value
