"""Keys that contradict each other: which of them take part, and values with which they agree.

A refusal is found at one key, often by counts that follow from several. Those that take part are a smallest set with
which it stays whatever the others are; it is found by leaving keys to their automatic values, one more at a time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from railweave.design.layout import Layout
from railweave.design.ratios import asked_ratio, asking_text
from railweave.diagnostics import Diagnostic, Severity
from railweave.intent.model import Intent
from railweave.wording import listed

Attempt = Callable[[Intent], tuple[Layout | None, tuple[Diagnostic, ...]]]
"""Lays out an intent with other counts: as `lay_out`."""

_RATIO = "oversubscription"
_KEYS = (
    "stripe",
    "leaf.count",
    "links_per_pair",
    "spine.count",
    "super_spine.count",
    "pod",
    "tiers",
    "reserve.leaves",
    "reserve.spines",
    "reserve.pods",
    _RATIO,
)
_KEYS_OF_NODES = ("stripe", "first_stripe")
_RATIOS = tuple(map(Fraction, (1, 2, 3, 4, 8, 16)))
"""Values that are tried in place of the oversubscription that is asked for."""


def name_contradictions(
    intent: Intent, diagnostics: tuple[Diagnostic, ...], attempt: Attempt
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics; the fix of the first error of counts says which keys take part, if there are several."""
    first = next(filter(_is_of_counts, diagnostics), None)
    # Leaves of an entry of nodes have keys of their own, which its errors name.
    if first is None or any(entry.leaf for entry in intent.nodes):
        return diagnostics
    given = _given(intent, first)
    keys = _taking_part(intent, given, first, attempt)
    # One key contradicts only nodes and hardware, which the error states.
    if len(keys) == 1 or not keys:
        return diagnostics
    fix = f"{first.fix}; these contradict each other: {listed(_stated(intent, keys))}"
    agreeing = _agreeing(intent, keys, given, attempt)
    if agreeing:
        fix += f"; consistent is {listed(agreeing)}"
    explained = []
    for diagnostic in diagnostics:
        if diagnostic is first:
            explained.append(diagnostic._replace(fix=fix))
        else:
            explained.append(diagnostic)
    return tuple(explained)


def _keys(intent: Intent) -> tuple[str, ...]:
    """Return the keys that can take part: paths below ``topology``, and those of entries of nodes."""
    entries = [f"nodes[{index}].{key}" for index in range(len(intent.nodes)) for key in _KEYS_OF_NODES]
    return (*_KEYS, *entries)


def _path(key: str) -> str:
    """Return the intent path of a key."""
    if _entry_of(key) is None:
        return f"topology.{key}"
    return key


def _entry_of(key: str) -> int | None:
    """Return the index of the nodes entry that a key belongs to, None for a key of the topology."""
    if not key.startswith("nodes["):
        return None
    return int(key[len("nodes[") : key.index("]")])


def _is_of_counts(diagnostic: Diagnostic) -> bool:
    """Tell whether a diagnostic is an error of counts: pools and AS numbers contradict no key of the topology."""
    return diagnostic.severity is Severity.ERROR and diagnostic.where.path.startswith(("topology", "nodes"))


def _given(intent: Intent, refused: Diagnostic) -> tuple[str, ...]:
    """Return the keys that the intent states, that of the refusal last."""
    given = [key for key in _keys(intent) if _value(intent, key) is not None]
    # One tier can follow from a single leaf without spines.
    if "tiers" in given and "topology.tiers" not in intent.places:
        given.remove("tiers")
    # The ratio that the workload asks for can be refused as well as one that is stated.
    if intent.topology.oversubscription is None and refused.code != "T-4":
        given.remove(_RATIO)
    return tuple(sorted(given, key=lambda key: _path(key) == refused.where.path))


def _taking_part(intent: Intent, given: Sequence[str], refused: Diagnostic, attempt: Attempt) -> tuple[str, ...]:
    """Return the keys of ``given`` without any of which the refusal goes away, whatever the others are; none if it
    stays without all of them."""
    if _stays(intent, given, refused, attempt):
        return ()
    kept = list(given)
    automatic: list[str] = []
    for key in given:
        if _stays(intent, [*automatic, key], refused, attempt):
            automatic.append(key)
            kept.remove(key)
    return tuple(key for key in _keys(intent) if key in kept)


def _stays(intent: Intent, automatic: Sequence[str], refused: Diagnostic, attempt: Attempt) -> bool:
    """Tell whether the refusal stays with automatic values of some keys, whichever these are."""
    for other in _automatic(intent, automatic):
        _, diagnostics = attempt(other)
        if not any(_is_same(diagnostic, refused) for diagnostic in diagnostics):
            return False
    return True


def _is_same(diagnostic: Diagnostic, refused: Diagnostic) -> bool:
    same = (diagnostic.code, diagnostic.where.path) == (refused.code, refused.where.path)
    return same and _is_of_counts(diagnostic)


def _automatic(intent: Intent, keys: Sequence[str]) -> Iterator[Intent]:
    """Yield the intent with automatic values of ``keys``, and with every oversubscription if that is one of them."""
    for key in keys:
        if key != _RATIO:
            intent = _with(intent, key, None)
    if _RATIO not in keys:
        yield intent
        return
    for ratio in _RATIOS:
        yield _with(intent, _RATIO, ratio)


def _agreeing(intent: Intent, keys: Sequence[str], given: Sequence[str], attempt: Attempt) -> tuple[str, ...]:
    """Return values of ``keys`` that are not refused, with others of ``given`` that have to change too; none if all
    automatic values are refused."""
    changed = list(given)
    agreeing = _accepted(intent, changed, attempt)
    # The last of `given` is where the refusal was found: it changes rather than others.
    for key in given:
        fewer = [other for other in changed if other != key]
        accepted = _accepted(intent, fewer, attempt)
        if accepted is not None:
            changed = fewer
            agreeing = accepted
    if agreeing is None:
        return ()
    stated = [key for key in _keys(intent) if key in keys or key in changed]
    return _stated(_explicit(intent, agreeing, changed, attempt), stated)


def _explicit(intent: Intent, agreeing: Intent, automatic: Sequence[str], attempt: Attempt) -> Intent:
    """Return an accepted intent with the values of its layout stated for its ``automatic`` keys, as far as these are
    accepted where they are stated."""
    layout, _ = attempt(agreeing)
    assert layout is not None  # noqa: S101  it was accepted
    explicit = agreeing
    for key in automatic:
        explicit = _with(explicit, key, _value_in(layout, key, intent))
    if _accepted(explicit, (), attempt):
        return explicit
    return agreeing


def _accepted(intent: Intent, automatic: Sequence[str], attempt: Attempt) -> Intent | None:
    """Return the intent with values for the keys that are to be ``automatic``, None if all are refused."""
    for other in _automatic(intent, automatic):
        layout, diagnostics = attempt(other)
        if layout is not None and not any(map(_is_of_counts, diagnostics)):
            return other
    return None


def _stated(intent: Intent, keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{_path(key)}: {_text(_value(intent, key))}" for key in keys)


def _text(value: int | Fraction | None) -> str:
    if value is None:
        return "auto"
    if isinstance(value, Fraction):
        return asking_text(value)
    return str(value)


def _value(intent: Intent, key: str) -> int | Fraction | None:
    """Return the value of a key, None if it is automatic; the oversubscription is never."""
    if key == _RATIO:
        return asked_ratio(intent)
    part, _, field = key.rpartition(".")
    entry = _entry_of(key)
    if entry is not None:
        of_entry: int | None = getattr(intent.nodes[entry], field)
        return of_entry
    holder = intent.topology
    if part:
        holder = getattr(intent.topology, part)
    value: int | None = getattr(holder, field, None)
    return value


def _with(intent: Intent, key: str, value: int | Fraction | None) -> Intent:
    topology = intent.topology
    part, _, field = key.rpartition(".")
    entry = _entry_of(key)
    if entry is not None:
        nodes = list(intent.nodes)
        nodes[entry] = nodes[entry].with_values(**{field: value})
        return replace(intent, nodes=tuple(nodes))
    if part:
        topology = topology.with_values(**{part: getattr(topology, part).with_values(**{field: value})})
    else:
        topology = topology.with_values(**{field: value})
    return replace(intent, topology=topology)


def _value_in(layout: Layout, key: str, intent: Intent) -> int | Fraction | None:
    """Return the value of a key in a layout of an intent."""
    entry = _entry_of(key)
    if entry is not None:
        group = next(group for group in layout.groups if group.entry.name == intent.nodes[entry].name)
        if key.endswith("first_stripe"):
            return group.first_stripe
        return group.stripe_nodes
    super_spines = None
    if layout.super_spines:
        super_spines = layout.super_spines.count
    values: dict[str, int | Fraction | None] = {
        "stripe": layout.groups[0].stripe_nodes,
        "leaf.count": layout.lowest.count,
        "links_per_pair": layout.lowest.links_per_pair,
        "spine.count": layout.spines.count,
        "super_spine.count": super_spines,
        "pod": layout.pod or None,
        "tiers": len(layout.tiers),
        "reserve.leaves": layout.lowest.reserve,
        "reserve.spines": layout.spines.reserve,
        "reserve.pods": layout.spines.groups,
        _RATIO: layout.ratio,
    }
    return values[key]
