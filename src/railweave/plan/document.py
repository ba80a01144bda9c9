"""The file form of a plan: written by ``plan -o``, read by ``deploy plan.json`` (the contract of ``plan --json``).

The document carries a digest over its content: a plan is evidence of what was reviewed, so one that was changed by hand
is refused, as is one of another version.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any, NamedTuple

from railweave.codec import (
    InvalidTextError,
    InvalidValueError,
    NestedTooDeepError,
    Place,
    as_json,
    load_text,
    members,
    position,
    read_value,
)
from railweave.diagnostics import Where, error
from railweave.errors import RefusedError
from railweave.plan.headline import UNKNOWN, headline
from railweave.plan.model import PLAN_VERSION, DevicePlan, MovedStripes, NodeFile, Plan, Reading
from railweave.plan.moves import CableToMove, moved_cables
from railweave.plan.policy import PolicyViolation, RolloutPolicy, Share
from railweave.sonic.delta.change import Change, Delta
from railweave.sonic.delta.diff import DeviceDiff
from railweave.sonic.delta.kept import keeps
from railweave.sonic.delta.methods import effect_is_unknown
from railweave.telemetry.alert_change import AlertChange
from railweave.wording import command_line


def plan_json(plan: Plan) -> dict[str, Any]:
    """Return the document of ``plan``: text, numbers, lists and objects only, secrets marked."""
    document = _document(plan, [change_json(name, change) for name, change in plan.changes()])
    document["digest"] = _digest(document)
    return document


def plan_digest(plan: Plan) -> str:
    """Return the SHA-256 of the document of ``plan``.

    The documents of the changes are made and hashed one after the other, so that they need not all be in memory.
    """
    return _digest(_document(plan, ()), _change_texts(plan))


def _document(plan: Plan, changes: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the document of ``plan`` without its digest; ``changes`` are the documents of its changes."""
    document = {
        "version": plan.version,
        "fabric": plan.fabric,
        "target": plan.target,
        "intent_sha256": plan.intent_sha256,
        "devices": {name: _device_json(device) for name, device in plan.devices.items()},
        "changes": changes,
        "waves": [list(wave) for wave in plan.waves],
        "policy": _policy_json(plan.policy),
        "violations": as_json(plan.violations),
        "gone": list(plan.gone),
        "cables_to_move": [_cable_json(cable) for cable in moved_cables(plan)],
        "headline": headline(plan),
        "summary": as_json(plan.summary),
    }
    # Younger than the file's version: left out if empty, so that the digests of older plans still hold.
    if plan.limit:
        document["limit"] = list(plan.limit)
    if plan.since:
        document["since"] = plan.since
    if plan.moved_stripes:
        document["moved_stripes"] = as_json(plan.moved_stripes)
    if plan.node_files:
        document["node_files"] = as_json(plan.node_files)
    if plan.alerts:
        document["alerts"] = as_json(plan.alerts)
    return document


def _cable_json(cable: CableToMove) -> dict[str, Any]:
    document = dict(as_json(cable))
    if not cable.end_after:
        del document["end_after"]
    return document


def _device_json(device: DevicePlan) -> dict[str, Any]:
    """Return a device as the contract has it: one flat object of values of the plan, the reading and the difference.

    Values that describe the moment of reading are left out, since they are no part of what was reviewed.
    """
    reading = device.reading
    difference = device.difference
    document = {
        **members(reading, "running_sha256"),
        **members(device, "state", "role"),
        "unmanaged": dict(difference.unmanaged),
        # Without the edits that would remove a row: they are planned only with --remove-conflicting.
        "conflicts": [members(conflict, "table", "key", "port", "reason") for conflict in difference.conflicts],
        **members(difference, "blockers", "unprovisioned"),
        **members(reading, "pending"),
        **members(device, "error", "disruptive"),
        **members(reading, "out_of_service"),
        **members(device, "drain"),
        **members(difference, "lossless_removed", "drained", "maintenance"),
        "live_ports": [members(port, "port", "far_end") for port in reading.live_ports],
    }
    if device.labels is not None:
        document |= members(device, "labels")
    # Values that are younger than the file's version: left out if empty, so that the digests of older plans still hold.
    if reading.broken:
        document |= members(reading, "broken")
    if difference.kept:
        document |= members(difference, "kept")
    return document


def _policy_json(policy: RolloutPolicy) -> dict[str, Any]:
    return {
        "max_unavailable": {"spines": _share_json(policy.spines), "leaves": _share_json(policy.leaves)},
        "floor": {"uplinks": policy.uplink_floor_percent, "paths": policy.path_floor},
        "wave_size": policy.wave_size,
    }


def _share_json(share: Share) -> int | str:
    if share.count is None:
        return str(share)
    return share.count


def change_json(device: str, change: Change) -> dict[str, Any]:
    """Return one change of ``device`` as the contract has it, secrets marked."""
    shown = change.shown
    document = {
        "device": device,
        "op": shown.op.value,
        "table": shown.table,
        "key": shown.key,
        "field": shown.field,
        "before": _json_value(shown.before),
        "after": _json_value(shown.after),
        "disruption": shown.disruption.value,
        "method": shown.method.value,
        "reason": shown.reason,
    }
    if effect_is_unknown(change):
        document["effect"] = UNKNOWN
    elif keeps(change):
        document["effect"] = "none"
    return document


def _json_value(value: Any) -> Any:
    """Return a value of a row as JSON has it: tuples as lists."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return list(value)
    return {name: _json_value(field) for name, field in value.items()}


def _change_texts(plan: Plan) -> Iterator[str]:
    """Yield the changes of ``plan`` as they are hashed.

    Devices share most of their changes, so the text of each is made once, and only the device's name is put in. The
    changes that all devices share are among those of the first devices, so a cache of limited size has them.
    """
    texts: dict[int, _TextOfChange] = {}
    for name, delta in plan.deltas.items():
        device = _JSON.encode({"device": name})[1:-1]
        for change in delta:
            text = texts.get(id(change))
            if text is None:
                text = _text_around_device(change)
                if len(texts) < _MOST_CACHED_TEXTS:
                    texts[id(change)] = text
            yield f"{text.before_device}{device}{text.after_device}"


class _TextOfChange(NamedTuple):
    """A change as it is hashed, without the member that names the device."""

    before_device: str
    after_device: str


def _text_around_device(change: Change) -> _TextOfChange:
    # The last match is the member itself: after it come only texts, in which quotation marks are escaped.
    before, _, after = _JSON.encode(change_json("", change)).rpartition('"device":""')
    return _TextOfChange(before, after)


_MOST_CACHED_TEXTS = 4096
"""They take 2 MiB at most."""


def _digest(document: Mapping[str, Any], changes: Iterable[str] | None = None) -> str:
    """Return the SHA-256 of ``document`` without its digest, as JSON without spaces and with sorted keys.

    ``changes``, if given, are texts that replace the changes in the document. Changes are hashed one after the other:
    those of a thousand switches would be a text of a hundred megabytes.
    """
    hashed = hashlib.sha256()
    separator = "{"
    for name in sorted(document.keys() - {"digest"}):
        hashed.update(f"{separator}{_JSON.encode(name)}:".encode())
        separator = ","
        # A document that was read from a file may have values of any type.
        value = document[name]
        if name == "changes" and isinstance(value, Iterable):
            texts = map(_JSON.encode, value) if changes is None else changes
            _hash_list(hashed.update, texts)
            continue
        if name == "headline" and isinstance(value, str):
            value = _original_wording(value)
        hashed.update(_JSON.encode(value).encode())
    hashed.update(b"}")
    return hashed.hexdigest()


def _original_wording(headline: str) -> str:
    """Return a headline in the words of revision 89c1923c, so plans and journals of that time keep their digest."""
    headline = headline.replace("no renumbering", "moves no address").replace("no new address", "moves no address")
    headline = headline.replace("(reload", "(the switch reloads")
    return _ADDRESSES.sub("moves", headline)


_ADDRESSES = re.compile(r"changes(?= [0-9,]+ address)")

_JSON = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_BATCH_SIZE = 256


def _hash_list(update: Callable[[bytes], None], texts: Iterable[str]) -> None:
    """Hash a JSON list whose items are ``texts``, each of them JSON already; ``update`` is that of the hash."""
    remaining = iter(texts)
    separator = ""
    update(b"[")
    # One call of the hash for many texts: each call has a fixed cost, and a plan has hundreds of thousands of changes.
    while batch := ",".join(islice(remaining, _BATCH_SIZE)):
        update(f"{separator}{batch}".encode())
        separator = ","
    update(b"]")


def parse_plan(text: str, file: str) -> Plan:
    """Return the plan in ``text``, which was read from ``file``.

    Raises RefusedError for anything that is not an untouched plan of this version.
    """
    document = _json_of(text, file)
    if not isinstance(document, dict) or "version" not in document or "changes" not in document:
        raise _refused("this is not a plan", file)
    if document["version"] != PLAN_VERSION:
        raise _refused(_other_version(document["version"]), file)
    if document.get("digest") != _digest(document):
        raise _refused("this plan was changed after it was made: its digest does not match its content", file)
    try:
        plan = _plan(document)
        has_unknown_keys = plan_digest(plan) != document["digest"]
    except InvalidValueError as exc:
        line, column = position(text, exc.place)
        raise _refused(f"this plan is incomplete: {exc}", file, line, column) from None
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as exc:
        raise _refused(f"this plan is incomplete: {type(exc).__name__} {exc}", file) from None
    # The digest alone is no proof, since anyone can compute it: keys that no deployment carries out mislead a reviewer.
    if has_unknown_keys:
        raise _refused("this plan has keys that a plan does not have", file)
    return plan


def _json_of(text: str, file: str) -> Any:
    try:
        return load_text(text)
    except NestedTooDeepError:
        raise _refused("this is not a plan: its values lie too deep", file) from None
    except InvalidTextError as exc:
        raise _refused(f"this is not JSON: {exc}", file, exc.line, exc.column) from None


def _other_version(version: object) -> str:
    """Return why a plan of another version is refused: what a plan holds is part of what was reviewed."""
    is_older = isinstance(version, int) and version < PLAN_VERSION
    age = "an older" if is_older else "another"
    return f"this plan is of {age} railweave: it has version {version!r}, and this program reads version {PLAN_VERSION}"


def _refused(message: str, file: str, line: int = 1, column: int = 1) -> RefusedError:
    fix = f"make the plan again with `{command_line('plan', '-o', 'FILE')}`"
    return RefusedError([error("RW501", message, Where(file, line, column), fix=fix)])


@dataclass(frozen=True, slots=True)
class _PlanDocument:
    """The parts of a plan's document that become parts of the plan, except for devices and changes."""

    fabric: str
    target: str
    intent_sha256: str
    devices: dict[str, dict[str, Any]]
    waves: tuple[tuple[str, ...], ...]
    policy: dict[str, Any]
    violations: tuple[PolicyViolation, ...]
    gone: tuple[str, ...]
    limit: tuple[str, ...] = ()
    since: str = ""
    moved_stripes: tuple[MovedStripes, ...] = ()
    node_files: tuple[NodeFile, ...] = ()
    alerts: tuple[AlertChange, ...] = ()


def _plan(document: Mapping[str, Any]) -> Plan:
    """Return the plan of a document that ``_document`` made. Raises InvalidValueError for parts that do not fit."""
    parts: _PlanDocument = read_value(_PlanDocument, document)
    for number, wave in enumerate(parts.waves):
        if not wave:
            raise InvalidValueError(("waves", number), "a wave without devices")
    return Plan(
        fabric=parts.fabric,
        target=parts.target,
        intent_sha256=parts.intent_sha256,
        devices=_devices(parts.devices, _deltas(document["changes"])),
        waves=parts.waves,
        gone=parts.gone,
        policy=_policy(parts.policy),
        violations=parts.violations,
        limit=parts.limit,
        since=parts.since,
        moved_stripes=parts.moved_stripes,
        node_files=parts.node_files,
        alerts=parts.alerts,
    )


def _devices(documents: Mapping[str, dict[str, Any]], deltas: Mapping[str, Delta]) -> dict[str, DevicePlan]:
    return {
        name: _device(document, deltas.get(name, Delta()), ("devices", name)) for name, document in documents.items()
    }


def _device(document: Mapping[str, Any], delta: Delta, at: Place) -> DevicePlan:
    """Return the device of a document that ``_device_json`` made, with its changes; ``at`` is its place in the file.

    Raises InvalidValueError for a value of the wrong type.
    """
    difference: DeviceDiff = read_value(DeviceDiff, {**_fields_in(DeviceDiff, document), "delta": delta}, at)
    reading: Reading = read_value(Reading, _fields_in(Reading, document), at)
    if difference.blockers:
        # The document's error repeats the messages of the blockers.
        reading = replace(reading, error="")
    device: DevicePlan = read_value(DevicePlan, _fields_in(DevicePlan, document), at)
    return replace(device, reading=replace(reading, difference=difference))


def _fields_in(value_type: type[DeviceDiff | Reading | DevicePlan], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a document that are fields of ``value_type``."""
    return {field.name: document[field.name] for field in fields(value_type) if field.name in document}


def _policy(document: Mapping[str, Any]) -> RolloutPolicy:
    """Return the policy of a document that ``_policy_json`` made; its keys are those of the inventory."""
    shares = document["max_unavailable"]
    floor = document["floor"]
    values = {
        "spines": _share(shares["spines"]),
        "leaves": _share(shares["leaves"]),
        "wave_size": document["wave_size"],
        "uplink_floor_percent": floor["uplinks"],
        "path_floor": floor["paths"],
    }
    policy: RolloutPolicy = read_value(RolloutPolicy, values, ("policy",))
    return policy


def _share(value: int | str) -> dict[str, Any]:
    """Return the fields of a share, a count or a percentage."""
    if isinstance(value, str):
        return {"percent": value.removesuffix("%")}
    return {"count": value}


def _deltas(changes: Iterable[Mapping[str, Any]]) -> dict[str, Delta]:
    """Return the changes of each device; ``changes`` are documents that ``change_json`` made."""
    changes_of: dict[str, list[Change]] = {}
    for number, document in enumerate(changes):
        change = change_of(document, ("changes", number))
        changes_of.setdefault(document["device"], []).append(change)
    return {name: Delta(tuple(changes_of_device)) for name, changes_of_device in changes_of.items()}


def change_of(document: Mapping[str, Any], at: Place = ()) -> Change:
    """Return the change of a document that ``change_json`` made; ``at`` is its place in the file.

    Raises ValueError or LookupError for anything else.
    """
    values = {"before": _row_value(document["before"]), "after": _row_value(document["after"])}
    change: Change = read_value(Change, {**document, **values}, at)
    return change


def _row_value(value: Any) -> Any:
    """Return a value as the engine keeps it: lists as tuples."""
    if isinstance(value, dict):
        return {name: _row_value(field) for name, field in value.items()}
    if isinstance(value, list):
        return tuple(value)
    return value
