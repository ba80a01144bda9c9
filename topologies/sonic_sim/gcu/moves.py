"""The smallest changes between two configurations, as the patch sorter of sonic-utilities finds them."""

import copy
from collections import Counter
from collections.abc import Iterator
from typing import Any

from sonic_sim.gcu.patch import Move

Document = dict[str, dict[str, dict[str, Any]]]
Parts = tuple[str, ...]


def value_at(document: Any, parts: Parts) -> Any:
    """Return the value at a place; None if there is none."""
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
    """Return the document after a move; parts that the move does not touch are shared with ``document``."""
    if not move.parts:
        return {} if move.op == "remove" else copy.deepcopy(move.value)
    result = dict(document)
    # What holds the changed place is copied on the way down.
    holder: Any = result
    for part in move.parts[:-1]:
        inner = holder[part]
        holder[part] = list(inner) if isinstance(inner, list) else dict(inner)
        holder = holder[part]
    last: Any = int(move.parts[-1]) if isinstance(holder, list) else move.parts[-1]
    if move.op == "remove":
        del holder[last]
    elif move.op == "add" and isinstance(holder, list):
        holder.insert(last, move.value)
    else:
        holder[last] = copy.deepcopy(move.value)
    return result


def removing(parts: Parts) -> Move:
    """Return the removal of a place."""
    return Move("remove", parts)


def replacing(target: Any, parts: Parts, source: Parts | None = None) -> Move:
    """Return the replacement of a place by the target's value there, or at ``source``."""
    return Move("replace", parts, value_at(target, parts if source is None else source))


def adding(state: Any, target: Any, parts: Parts, source: Parts | None = None) -> Move:
    """Return the addition of a place by the target's value there, or at ``source``.

    Parents that ``state`` lacks are added with it.
    """
    value = value_at(target, parts if source is None else source)
    for depth in range(1, len(parts)):
        if value_at(state, parts[:depth]) is not None:
            continue
        # JSON patches add only to what is there: the value is wrapped in its parents, from the inner one outwards.
        for end in range(len(parts) - 1, depth - 1, -1):
            is_list = isinstance(value_at(target, parts[:end]), list)
            value = [value] if is_list else {parts[end]: value}
        return Move("add", parts[:depth], value, parts)
    return Move("add", parts, value)


def low_level(state: Any, target: Any, parts: Parts = ()) -> Iterator[Move]:
    """Yield the changes of the single values at or below a place."""
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
    """Yield the additions of the single values at or below a place."""
    for leaf in _leaves(value_at(target, parts), parts):
        is_member = isinstance(value_at(target, leaf[:-1]), list)
        # The first member of a list that is not there yet goes to its place 0.
        place = (*leaf[:-1], "0") if is_member else leaf
        yield adding(state, target, place, leaf)


def _leaves(value: Any, parts: Parts) -> Iterator[Parts]:
    """Yield the places of the single values in ``value``, which is at ``parts``; an empty dict or list is one too."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(inner, (*parts, name))
    elif isinstance(value, list) and value:
        yield from ((*parts, str(index)) for index in range(len(value)))
    else:
        yield parts


def _list_changes(state: Any, target: Any, parts: Parts) -> Iterator[Move]:
    """Yield removals, additions and replacements of members; a list with the same members is replaced as a whole."""
    old = value_at(state, parts) or []
    new = value_at(target, parts) or []
    old_counts = Counter(old)
    new_counts = Counter(new)
    if old_counts == new_counts:
        yield replacing(target, parts)
        return
    surplus = [(*parts, str(index)) for index, member in enumerate(old) if old_counts[member] > new_counts[member]]
    missing = [index for index, member in enumerate(new) if new_counts[member] > old_counts[member]]
    for surplus_place in surplus:
        yield removing(surplus_place)
    for index in missing:
        # A JSON patch adds to a list at its end at most.
        index_to_add = min(len(old), index)
        yield adding(state, target, (*parts, str(index_to_add)), (*parts, str(index)))
    for surplus_place in surplus:
        for index in missing:
            yield replacing(target, surplus_place, (*parts, str(index)))
