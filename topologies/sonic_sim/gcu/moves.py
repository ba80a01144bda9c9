"""The smallest changes between two configurations, as the patch sorter of sonic-utilities finds them."""

import copy
from collections import Counter
from collections.abc import Iterator
from typing import Any

from sonic_sim.gcu.patch import Move

Document = dict[str, dict[str, dict[str, Any]]]
Parts = tuple[str, ...]


def value_at(document: Any, parts: Parts) -> Any:
    """Return the value at a place, None where there is none."""
    value = document
    for part in parts:
        if isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            return None
    return value


def apply_copy(document: Any, move: Move) -> Any:
    """Return the document after a move; untouched parts are shared with the one before."""
    if not move.parts:
        return {} if move.op == "remove" else copy.deepcopy(move.value)
    whole = node = dict(document)
    for part in move.parts[:-1]:
        inner = node[part]
        node[part] = list(inner) if isinstance(inner, list) else dict(inner)
        node = node[part]
    last: Any = int(move.parts[-1]) if isinstance(node, list) else move.parts[-1]
    if move.op == "remove":
        del node[last]
    elif move.op == "add" and isinstance(node, list):
        node.insert(last, move.value)
    else:
        node[last] = copy.deepcopy(move.value)
    return whole


def removing(parts: Parts) -> Move:
    """Return the removal of a place."""
    return Move("remove", parts)


def replacing(target: Any, parts: Parts, source: Parts | None = None) -> Move:
    """Return the replacement of a place by the target's value, there or at another place."""
    return Move("replace", parts, value_at(target, parts if source is None else source))


def adding(state: Any, target: Any, parts: Parts, source: Parts | None = None) -> Move:
    """Return the addition of the target's value, with missing parents."""
    value = value_at(target, parts if source is None else source)
    for depth in range(1, len(parts)):
        if value_at(state, parts[:depth]) is not None:
            continue
        # JSON patches add to what is there only, so the value comes in all that has to hold it.
        for end in range(len(parts) - 1, depth - 1, -1):
            holder_is_list = isinstance(value_at(target, parts[:end]), list)
            value = [value] if holder_is_list else {parts[end]: value}
        return Move("add", parts[:depth], value, parts)
    return Move("add", parts, value)


def low_level(state: Any, target: Any, parts: Parts = ()) -> Iterator[Move]:
    """Yield the changes of single values."""
    old = value_at(state, parts)
    new = value_at(target, parts)
    if isinstance(old, list) or isinstance(new, list):
        yield from _list_changes(state, target, parts)
    elif isinstance(old, dict) or isinstance(new, dict):
        for name in old:
            place = (*parts, name)
            if name not in new:
                yield from (removing(leaf) for leaf in _leaves(old[name], place))
            elif old[name] != new[name]:
                yield from low_level(state, target, place)
        for name in new:
            if name not in old:
                yield from _additions(state, target, (*parts, name))
    elif old != new:
        yield replacing(target, parts)


def _additions(state: Any, target: Any, parts: Parts) -> Iterator[Move]:
    for leaf in _leaves(value_at(target, parts), parts):
        is_member = isinstance(value_at(target, leaf[:-1]), list)
        # The first member of a list that is not there yet goes to its place 0.
        place = (*leaf[:-1], "0") if is_member else leaf
        yield adding(state, target, place, leaf)


def _leaves(value: Any, parts: Parts) -> Iterator[Parts]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(inner, (*parts, name))
    elif isinstance(value, list) and value:
        yield from ((*parts, str(place)) for place in range(len(value)))
    else:
        yield parts


def _list_changes(state: Any, target: Any, parts: Parts) -> Iterator[Move]:
    """Yield removals, additions and replacements of members; a list of the same members is replaced whole."""
    old = value_at(state, parts) or []
    new = value_at(target, parts) or []
    have = Counter(old)
    want = Counter(new)
    if have == want:
        yield replacing(target, parts)
        return
    surplus = [place for place, member in enumerate(old) if have[member] > want[member]]
    missing = [place for place, member in enumerate(new) if want[member] > have[member]]
    yield from (removing((*parts, str(place))) for place in surplus)
    for place in missing:
        yield adding(state, target, (*parts, str(min(len(old), place))), (*parts, str(place)))
    for old_place in surplus:
        yield from (replacing(target, (*parts, str(old_place)), (*parts, str(place))) for place in missing)
