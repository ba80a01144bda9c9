"""The project's own modules as syntax trees, each read once a process and held by folder."""

import ast
import functools
from collections.abc import Iterable
from pathlib import Path

Module = tuple[str, Path]
"""A module's name and where it is."""


@functools.cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a module in the order of `ast.walk`, but for the contexts of names."""
    found: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    for node in found:
        for value in vars(node).values():
            if isinstance(value, list):
                found += [one for one in value if isinstance(one, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                found.append(value)
    return tuple(found)


def by_folder(modules: Iterable[Module], root: Path) -> dict[str, list[Module]]:
    """Return modules under their folder's place below ``root``."""
    folders: dict[str, list[Module]] = {}
    for module in modules:
        folders.setdefault(module[1].parent.relative_to(root).as_posix(), []).append(module)
    return folders
