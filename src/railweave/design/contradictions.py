"""Keys that contradict each other: which ones cause an error, and values that are consistent.

An error is reported at one key, but the counts that it compares often follow from several keys. The ones that cause it
are a smallest set of stated keys with which the error remains when all other keys are automatic.
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
"""Lays out an intent with other counts and returns what `lay_out` returns."""

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
"""Values that are tried where the oversubscription is automatic."""


def name_contradictions(
    intent: Intent, diagnostics: tuple[Diagnostic, ...], attempt: Attempt
) -> tuple[Diagnostic, ...]:
    """Return the diagnostics with a longer fix of the first error of counts, if several keys cause it.

    The fix then names these keys, and consistent values if there are any.
    """
    refusal = next(filter(_is_of_counts, diagnostics), None)
    # Leaves of an entry of nodes have keys of their own, which its errors name.
    if refusal is None or any(entry.leaf for entry in intent.nodes):
        return diagnostics
    stated_keys = _stated_keys(intent, refusal)
    keys = _contradicting(intent, stated_keys, refusal, attempt)
    # A single key contradicts only nodes and hardware, which the error states.
    if len(keys) < 2:
        return diagnostics
    fix = f"{refusal.fix}; these contradict each other: {listed(_assignments(intent, keys))}"
    consistent = _consistent_values(intent, keys, stated_keys, attempt)
    if consistent:
        fix += f"; consistent is {listed(consistent)}"
    position = diagnostics.index(refusal)
    return (*diagnostics[:position], refusal._replace(fix=fix), *diagnostics[position + 1 :])


def _possible_keys(intent: Intent) -> tuple[str, ...]:
    """Return the keys that can contradict each other: paths below ``topology``, then those of entries of nodes."""
    keys = list(_KEYS)
    for index in range(len(intent.nodes)):
        keys += (f"nodes[{index}].{key}" for key in _KEYS_OF_NODES)
    return tuple(keys)


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
    """Tell whether a diagnostic is an error of counts; errors of pools and AS numbers contradict no such key."""
    return diagnostic.severity is Severity.ERROR and diagnostic.where.path.startswith(("topology", "nodes"))


def _stated_keys(intent: Intent, refusal: Diagnostic) -> tuple[str, ...]:
    """Return the keys that the intent states, the one at which the error is reported last."""
    stated = [key for key in _possible_keys(intent) if _value_of(intent, key) is not None]
    # One tier is also set by a single leaf without spines.
    if "tiers" in stated and "topology.tiers" not in intent.places:
        stated.remove("tiers")
    # The ratio always has a value. One that the workload sets counts as stated only where the error is about it (T-4).
    if intent.topology.oversubscription is None and refusal.code != "T-4":
        stated.remove(_RATIO)
    return tuple(sorted(stated, key=lambda key: _path(key) == refusal.where.path))


def _contradicting(
    intent: Intent, stated_keys: Sequence[str], refusal: Diagnostic, attempt: Attempt
) -> tuple[str, ...]:
    """Return a smallest set of stated keys that cause an error; empty if it remains with all of them automatic."""
    if _remains(intent, stated_keys, refusal, attempt):
        return ()
    contradicting = list(stated_keys)
    automatic: list[str] = []
    for key in stated_keys:
        if _remains(intent, [*automatic, key], refusal, attempt):
            automatic.append(key)
            contradicting.remove(key)
    return tuple(key for key in _possible_keys(intent) if key in contradicting)


def _remains(intent: Intent, automatic: Sequence[str], refusal: Diagnostic, attempt: Attempt) -> bool:
    """Tell whether an error remains with ``automatic`` keys, whichever oversubscription is tried."""
    for variant in _variants(intent, automatic):
        _, diagnostics = attempt(variant)
        if not any(_is_same(diagnostic, refusal) for diagnostic in diagnostics):
            return False
    return True


def _is_same(diagnostic: Diagnostic, refusal: Diagnostic) -> bool:
    """Tell whether a diagnostic is an error of counts with the code and at the key of ``refusal``."""
    if diagnostic.code != refusal.code or diagnostic.where.path != refusal.where.path:
        return False
    return _is_of_counts(diagnostic)


def _variants(intent: Intent, automatic: Sequence[str]) -> Iterator[Intent]:
    """Yield the intent with ``automatic`` keys; if oversubscription is one of them, once for each ratio to try."""
    for key in automatic:
        if key != _RATIO:
            intent = _with_value(intent, key, None)
    if _RATIO not in automatic:
        yield intent
        return
    for ratio in _RATIOS:
        yield _with_value(intent, _RATIO, ratio)


def _consistent_values(
    intent: Intent, keys: Sequence[str], stated_keys: Sequence[str], attempt: Attempt
) -> tuple[str, ...]:
    """Return lines of the intent with consistent values of ``keys``, and of other stated keys that must change too.

    Empty if the intent has errors even with all stated keys automatic.
    """
    changed_keys = list(stated_keys)
    consistent = _consistent_variant(intent, changed_keys, attempt)
    # The key of the error is the last of the stated ones, so it is changed rather than the others.
    for key in stated_keys:
        fewer_keys = [changed_key for changed_key in changed_keys if changed_key != key]
        variant = _consistent_variant(intent, fewer_keys, attempt)
        if variant is not None:
            changed_keys = fewer_keys
            consistent = variant
    if consistent is None:
        return ()
    named_keys = [key for key in _possible_keys(intent) if key in keys or key in changed_keys]
    return _assignments(_explicit(intent, consistent, changed_keys, attempt), named_keys)


def _explicit(intent: Intent, consistent: Intent, automatic: Sequence[str], attempt: Attempt) -> Intent:
    """Return the ``consistent`` intent with its ``automatic`` keys stated as its layout has them.

    If it would not be consistent with these values stated, it is returned as it is.
    """
    layout, _ = attempt(consistent)
    assert layout is not None  # noqa: S101  it is consistent
    explicit = consistent
    for key in automatic:
        explicit = _with_value(explicit, key, _value_in(layout, key, intent))
    if _consistent_variant(explicit, (), attempt):
        return explicit
    return consistent


def _consistent_variant(intent: Intent, automatic: Sequence[str], attempt: Attempt) -> Intent | None:
    """Return the first variant with ``automatic`` keys and without an error of counts, None if there is none."""
    for variant in _variants(intent, automatic):
        layout, diagnostics = attempt(variant)
        if layout is not None and not any(map(_is_of_counts, diagnostics)):
            return variant
    return None


def _assignments(intent: Intent, keys: Iterable[str]) -> tuple[str, ...]:
    """Return each key with its value, as a line of the intent."""
    return tuple(f"{_path(key)}: {_value_text(_value_of(intent, key))}" for key in keys)


def _value_text(value: int | Fraction | None) -> str:
    if value is None:
        return "auto"
    if isinstance(value, Fraction):
        return asking_text(value)
    return str(value)


def _value_of(intent: Intent, key: str) -> int | Fraction | None:
    """Return the value of a key, None if it is automatic; an automatic oversubscription has that of the workload."""
    if key == _RATIO:
        return asked_ratio(intent)
    part, _, field = key.rpartition(".")
    entry = _entry_of(key)
    holder: object = intent.topology
    if entry is not None:
        holder = intent.nodes[entry]
    elif part:
        holder = getattr(intent.topology, part)
    # An intent without super-spines has no part for them.
    value: int | None = getattr(holder, field, None)
    return value


def _with_value(intent: Intent, key: str, value: int | Fraction | None) -> Intent:
    """Return the intent with another value of a key, None for an automatic one."""
    part, _, field = key.rpartition(".")
    entry = _entry_of(key)
    if entry is not None:
        nodes = list(intent.nodes)
        nodes[entry] = nodes[entry].with_values(**{field: value})
        return replace(intent, nodes=tuple(nodes))
    if not part:
        return replace(intent, topology=intent.topology.with_values(**{field: value}))
    changed_part = getattr(intent.topology, part).with_values(**{field: value})
    return replace(intent, topology=intent.topology.with_values(**{part: changed_part}))


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
