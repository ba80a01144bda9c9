"""The project's own modules as syntax trees, each read once a process and held by folder."""

import ast
import functools
from collections.abc import Iterable
from pathlib import Path

Module = tuple[str, Path]
"""A module's name and where it is."""


@functools.cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a module."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def by_folder(modules: Iterable[Module], root: Path) -> dict[str, list[Module]]:
    """Return modules under their folder's place below ``root``."""
    folders: dict[str, list[Module]] = {}
    for module in modules:
        folders.setdefault(module[1].parent.relative_to(root).as_posix(), []).append(module)
    return folders
