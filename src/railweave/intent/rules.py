"""Rules between keys, which no single value can break.

They check the document as read, not validated values, so that their errors are reported together with all others.
"""

from collections.abc import Iterator, Mapping, Sequence

from railweave.diagnostics import Diagnostic, error
from railweave.fabric.devices import NodeRole
from railweave.fabric.policy import ClassRole
from railweave.intent.paths import child
from railweave.intent.positions import Document, Value
from railweave.intent.schema import USUAL_ROLES
from railweave.intent.validation import place_of
from railweave.wording import either

_TIERS = ("leaf", "spine", "super_spine")


def rule_diagnostics(document: Document, file: str) -> list[Diagnostic]:
    """Return the errors for breaches of all rules between keys."""
    rules = (_values_written, _gpus_stated, _tier_models, _class_roles, _rows_apart, _one_length)
    diagnostics: list[Diagnostic] = []
    for rule in rules:
        diagnostics += rule(document, file)
    return diagnostics


def _values_written(document: Document, file: str) -> Iterator[Diagnostic]:
    """Yield an error for every key and list item without a value. ``~`` and ``null`` are text, so values."""
    for path in _empty_paths(document.value, ""):
        yield error(
            "RW012",
            f"{path}: the value is missing",
            place_of(document.places, path, file),
            fix="write a value, or omit the key for its default",
        )


def _empty_paths(value: Value, path: str) -> Iterator[str]:
    """Yield the paths of the values in ``value`` that are missing; ``path`` is its own."""
    if value is None:
        yield path
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from _empty_paths(member, child(path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _empty_paths(item, child(path, index))


def _items(value: Value) -> list[Value]:
    """Return the items of a list; none for any other value, which is reported when the keys are validated."""
    return value if isinstance(value, list) else []


def _gpus_stated(document: Document, file: str) -> Iterator[Diagnostic]:
    """Yield an error for every entry of GPU nodes that does not say how many GPUs a node has."""
    for index, entry in enumerate(_items(document.value.get("nodes"))):
        if not isinstance(entry, dict) or "gpus" in entry:
            continue
        # The role of an entry is GPU by default.
        if entry.get("role", NodeRole.GPU) != NodeRole.GPU:
            continue
        path = f"nodes[{index}]"
        yield error(
            "RW011",
            f"key `gpus` is missing in `{path}`",
            place_of(document.places, f"{path}.gpus", file),
            fix="add `gpus`: GPUs of one server; 0 of storage and CPU nodes",
        )


def _tier_models(document: Document, file: str) -> Iterator[Diagnostic]:
    """Yield an error for every tier that has neither or both of a model and ports with a speed."""
    topology = document.value.get("topology")
    if not isinstance(topology, dict):
        return
    for name in _TIERS:
        tier = topology.get(name)
        if isinstance(tier, dict):
            yield from _tier_model(document, f"topology.{name}", tier, file)


def _tier_model(document: Document, path: str, tier: Mapping[str, Value], file: str) -> Iterator[Diagnostic]:
    """Yield an error if a tier has both a model and one of ``ports`` and ``speed``, or neither a model nor both."""
    inline_keys = [key for key in ("ports", "speed") if key in tier]
    if "model" in tier and inline_keys:
        place = place_of(document.keys, f"{path}.{inline_keys[0]}", file)
        message = f"`{path}` has a model, and {either([f'`{key}`' for key in inline_keys])} beside it"
        fix = "keep `model`, which knows its ports, or for sizing only `ports` and `speed`"
        yield error("RW016", message, place, fix=fix)
    elif "model" not in tier and len(inline_keys) < 2:
        missing, fix = _missing_in_tier(inline_keys)
        place = place_of(document.places, f"{path}.{missing}", file)
        yield error("RW011", f"key `{missing}` is missing in `{path}`", place, fix=fix)


def _missing_in_tier(inline_keys: Sequence[str]) -> tuple[str, str]:
    """Return the missing key of a tier without a model, and the fix.

    ``inline_keys`` are those of ``ports`` and ``speed`` that the tier has: one of them or none.
    """
    if not inline_keys:
        return "model", "add `model`: a switch of the catalog; or `ports` and `speed` for sizing without one"
    missing = "ports" if "speed" in inline_keys else "speed"
    return missing, f"add `{missing}`, or give a `model` of the catalog instead"


def _class_roles(document: Document, file: str) -> Iterator[Diagnostic]:
    """Yield an error for every traffic class that names no role and whose name does not imply one."""
    for index, entry in enumerate(_items(document.value.get("traffic_classes"))):
        if not isinstance(entry, dict) or entry.get("role", "auto") != "auto":
            continue
        name = entry.get("name")
        if isinstance(name, str) and name not in USUAL_ROLES:
            path = f"traffic_classes[{index}].role"
            yield error(
                "RW011",
                f"class `{name}` needs a `role`, which its name does not imply",
                place_of(document.places, path, file),
                fix=f"add `role`: {either([role.value for role in ClassRole])}",
            )


def _rows_apart(document: Document, file: str) -> Iterator[Diagnostic]:
    """Yield an error for every row of racks but the first that does not state its distance from the row before."""
    racks = document.value.get("racks")
    if not isinstance(racks, dict):
        return
    for index, row in enumerate(_items(racks.get("rows"))):
        is_first_row = index == 0
        if not is_first_row and isinstance(row, dict) and "distance_m" not in row:
            path = f"racks.rows[{index}].distance_m"
            yield error(
                "RW011",
                f"key `distance_m` is missing in `racks.rows[{index}]`",
                place_of(document.places, path, file),
                fix="add `distance_m`: meters from the row before, center to center",
            )


def _one_length(document: Document, file: str) -> Iterator[Diagnostic]:
    """Yield an error for every length of all cables of a level if there are racks, which give each cable its own."""
    cabling = document.value.get("cabling")
    if "racks" not in document.value or not isinstance(cabling, dict):
        return
    for key, cable in cabling.items():
        if isinstance(cable, dict) and "length_m" in cable:
            path = child(child("cabling", key), "length_m")
            yield error(
                "RW016",
                f"`{path}` is one length for all cables, and `racks` gives each cable its own",
                place_of(document.keys, path, file),
                fix="leave out `length_m`, or `racks`",
            )
