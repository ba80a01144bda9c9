"""Configuration files in FRR's layout, and lines as text that enters and leaves their contexts."""

from collections.abc import Iterable, Iterator

from railweave.sonic.frr.document import FrrDocument
from railweave.sonic.frr.drain_lines import binding, replaced_maps
from railweave.sonic.frr.lines import (
    JOIN,
    FrrEntry,
    defined_neighbor,
    rank,
)
from railweave.sonic.frr.reading import OPENER
from railweave.wording import natural_key


def render_frr(document: FrrDocument) -> str:
    """Return a configuration file in FRR's layout: lines before the lines that refer to them, contexts closed."""
    header = ["frr defaults traditional"]
    if document.version:
        header.insert(0, f"frr version {document.version}")
    # zebra prints the kernel's forwarding as it is; a file with it would freeze that state.
    system = [line for line in document.system if not line.endswith("forwarding")]
    ordered = sorted([*_without_replaced_maps(document), *_operational_lines(document)], key=_sort_key)
    return "\n".join([*header, *system, "!", *write_lines(ordered), "end"]) + "\n"


def _without_replaced_maps(document: FrrDocument) -> Iterator[FrrEntry]:
    """Yield the lines without the route-maps of neighbors that a drain replaces."""
    replaced = replaced_maps(document.drain)
    for entry in document.entries:
        match entry.line.split():
            case ["neighbor", peer, "route-map", _, direction] if (entry.context, peer, direction) in replaced:
                continue
        yield entry


def _operational_lines(document: FrrDocument) -> Iterator[FrrEntry]:
    """Yield the lines of drains and of TSA whose routers, neighbors and route-maps exist."""
    maps = {entry.line.split()[1] for entry in document.entries if entry.line.startswith("route-map ")}
    for entry in document.maintenance:
        if (entry.context or entry.line).split()[1] in maps:
            yield entry
    # Most switches are not drained.
    if document.drain:
        yield from _drain_lines(document)


def _drain_lines(document: FrrDocument) -> Iterator[FrrEntry]:
    """Yield the lines of drains whose routers and neighbors exist."""
    routers = {entry.line for entry in document.entries if entry.line.startswith("router ")}
    neighbors = {(entry.context, defined_neighbor(entry.line)) for entry in document.entries}
    for entry in document.drain:
        top_context, _, _ = entry.context.partition(JOIN)
        is_in_missing_router = top_context.startswith("router ") and top_context not in routers
        if is_in_missing_router:
            continue
        bound = binding(entry)
        if bound is None or (top_context, bound.peer) in neighbors:
            yield entry


def _sort_key(entry: FrrEntry) -> tuple[object, ...]:
    """Return the sort key of a line in a file.

    Blocks of the top level stay whole, and in each plain lines come before inner contexts.
    """
    top_line = entry.path[0] if entry.context else entry.line
    kind, _, _ = rank(FrrEntry("", top_line))
    block = natural_key(top_line) if kind in _KINDS_OF_BLOCKS else ()
    context = natural_key(entry.context) if entry.context else ()
    _, depth, meaning = rank(entry)
    return (kind, block, context, depth, meaning)


_KINDS_OF_BLOCKS = (0, 1, 2, 4)
"""Ranks of the top-level kinds whose blocks are kept together by name: lists, route maps, interfaces, routers."""


def write_lines(entries: Iterable[FrrEntry]) -> Iterator[str]:
    """Yield text that enters and leaves the contexts of ``entries`` in the order given."""
    open_path: tuple[str, ...] = ()
    for entry in entries:
        path = entry.path
        shared_depth = _shared_depth(open_path, path)
        yield from _exits(open_path, shared_depth)
        for depth in range(shared_depth, len(path)):
            yield " " * depth + path[depth]
        yield " " * len(path) + entry.line
        open_path = path
        if OPENER.match(entry.line):
            open_path = (*path, entry.line)
    yield from _exits(open_path, 0)


def _shared_depth(path: tuple[str, ...], other_path: tuple[str, ...]) -> int:
    """Return how many of the outermost contexts two paths have in common."""
    depth = 0
    for context, other_context in zip(path, other_path, strict=False):
        if context != other_context:
            break
        depth += 1
    return depth


def _exits(path: tuple[str, ...], depth: int) -> Iterator[str]:
    """Yield the commands that leave the contexts of ``path`` below ``depth``, innermost first."""
    for level in range(len(path) - 1, depth - 1, -1):
        # vtysh leaves a family by a command of its own.
        if path[level].startswith("address-family"):
            yield " " * level + "exit-address-family"
        else:
            yield " " * level + "exit"
