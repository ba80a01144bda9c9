"""Check a whole configuration against the constraints of SONiC's models; the first kind of violation is raised.

The texts are those of libyang 1 and sonic_yang: an enumeration or number out of range is an ``Invalid value``, a
pattern is a constraint that is not satisfied, a leafref points to a non-existing leaf, a must condition has its text.
"""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from sonic_sim.yang.model import MODELS, UNION_WORDS, KeyForm, Model

Document = Mapping[str, Mapping[str, Mapping[str, Any]]]


class YangError(Exception):
    """A violated constraint.

    ``message`` as sonic_yang words it, ``libyang`` the lines on standard error, ``printed`` what sonic_yang prints.
    """

    def __init__(self, message: str, libyang: str = "", printed: str = "") -> None:
        """Keep the texts."""
        super().__init__(message)
        self.message = message
        self.libyang = libyang
        self.printed = printed or f"sonic_yang(3):Data Loading Failed:{message}\n"


def check_document(document: Document) -> None:
    """Raise YangError for the first violation: unknown fields, then values, then references and conditions."""
    for table in sorted(document):
        model = MODELS.get(table)
        if model is not None:
            _check_shape(table, model, document[table])
    for table in sorted(document):
        model = MODELS.get(table)
        if model is not None:
            _check_values(table, model, document[table])
    _check_references(document)
    _check_conditions(document)


def _check_shape(table: str, model: Model, rows: Mapping[str, Any]) -> None:
    for key, row in rows.items():
        problem = ""
        if row is None:
            problem = "'NoneType' object is not iterable"
        elif model.fields is not None:
            problem = next((f"'{name}'" for name in row if name not in model.fields), "")
        if problem:
            text = f"All Keys are not parsed in {table}\ndict_keys(['{key}'])\nexceptionList:[\"{problem}\"]"
            printed = (
                f"sonic_yang(3):All Keys are not parsed in {table}\ndict_keys(['{key}'])\n"
                f'sonic_yang(3):exceptionList:["{problem}"]\nsonic_yang(3):Data Loading Failed:{text}\n'
            )
            raise YangError(text, printed=printed)


def key_form(model: Model, key: str) -> tuple[KeyForm, tuple[str, ...]] | None:
    """Return the form of a key and its parts, None where it has none."""
    parts = tuple(key.split("|"))
    for form in model.keys:
        if len(form.leaves) == len(parts):
            return form, parts
    return None


def path_of(table: str, model: Model, key: str, leaf: str) -> str:
    """Return the path of a leaf as libyang prints it."""
    found = key_form(model, key)
    if found is None:
        return f"/{model.module}:{model.module}/{table}"
    form, parts = found
    chosen = "".join(f"[{name}='{part}']" for (name, _), part in zip(form.leaves, parts, strict=True))
    return f"/{model.module}:{model.module}/{table}/{form.listing}{chosen}/{leaf}"


def _check_values(table: str, model: Model, rows: Mapping[str, Any]) -> None:
    for key, row in rows.items():
        found = key_form(model, key)
        if found is not None:
            for (leaf, kind), part in zip(found[0].leaves, found[1], strict=True):
                _check_value(table, model, key, leaf, kind, part)
        for name, value in row.items():
            kind = model.values if model.fields is None else model.fields[name]
            if not isinstance(value, list) and value is not None:
                leaf = name if model.fields is not None else _column(model, name)
                _check_value(table, model, key, leaf, kind, str(value))
        if found is not None and len(found[1]) == len(model.keys[0].leaves):
            for name in model.mandatory:
                if name not in row:
                    message = f'Missing required element "{name}" in "{found[0].listing}".'
                    place = path_of(table, model, key, name).rpartition("/")[0]
                    raise YangError(message, f"libyang[0]: {message} (path: {place})\n")


def _column(model: Model, name: str) -> str:
    """Return the place of a map's entry: it is a list inside the row."""
    if not model.columns:
        return name
    listing, key, value = model.columns
    return f"{listing}[{key}='{name}']/{value}"


def _check_value(table: str, model: Model, key: str, leaf: str, kind: str, value: str) -> None:
    name, _, argument = kind.partition(":")
    if name == "text" or name in ("ref", "uref") or _fits(name, argument, value):
        return
    path = path_of(table, model, key, leaf)
    if name == "pattern":
        message = f'Value "{value}" does not satisfy the constraint "{argument}" (range, length, or pattern).'
    else:
        message = f'Invalid value "{value}" in "{leaf}" element.'
    lines = f"libyang[0]: {message} (path: {path})\n"
    if model.value_error and model.fields is None:
        message = model.value_error
        lines += f"libyang[0]: {message} (path: {path})\n"
    raise YangError(message, lines)


@lru_cache(maxsize=65536)
def _fits(name: str, argument: str, value: str) -> bool:
    if name in ("uint", "int"):
        low, _, high = argument.partition("..")
        return bool(re.fullmatch(r"-?\d+", value)) and int(low) <= int(value) <= int(high)
    if name == "enum":
        return value in argument.split("|")
    if name == "pattern":
        return re.fullmatch(argument, value) is not None
    if name == "bool":
        return value in ("true", "false")
    return _is_address(name, value)


def _is_address(name: str, value: str) -> bool:
    try:
        if name == "prefix":
            ipaddress.ip_interface(value)
            return "/" in value
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True


def references(document: Document, table: str) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the references of a table's rows: (row key, leaf, kind, target table, value)."""
    model = MODELS[table]
    fields = {name: kind for name, kind in (model.fields or {}).items() if kind.startswith(("ref:", "uref:"))}
    for key, row in document[table].items():
        found = key_form(model, key)
        if found is not None:
            for (leaf, kind), part in zip(found[0].leaves, found[1], strict=True):
                if kind.startswith(("ref:", "uref:")):
                    yield key, leaf, kind.partition(":")[0], kind.partition(":")[2], part
        for name, kind in fields.items():
            if name in row:
                yield key, name, kind.partition(":")[0], kind.partition(":")[2], str(row[name])
        if table == "CABLE_LENGTH":
            for port in row:
                yield key, f"CABLE_LENGTH[port='{port}']/port", "ref", "PORT", port


def _check_references(document: Document) -> None:
    for table in sorted(document):
        if table not in MODELS:
            continue
        dangling = [
            (key, leaf, kind, target, value)
            for key, leaf, kind, target, value in references(document, table)
            if value not in document.get(target, {}) and value not in UNION_WORDS.get(table, ())
        ]
        if dangling:
            _raise_dangling(table, dangling)


def _raise_dangling(table: str, dangling: list[tuple[str, str, str, str, str]]) -> None:
    model = MODELS[table]
    key, leaf, kind, target, value = dangling[0]
    if kind == "uref":
        message = f'Invalid value "{value}" in "{leaf}" element.'
        raise YangError(message, f"libyang[0]: {message} (path: {path_of(table, model, key, leaf)})\n")
    lines, message = "", ""
    for key, leaf, _, target, value in dangling:
        message = f'Leafref "{leafref_path(target)}" of value "{value}" points to a non-existing leaf.'
        lines += f"libyang[0]: {message} (path: {path_of(table, model, key, leaf)})\n"
    raise YangError(message, lines)


def leafref_path(table: str) -> str:
    """Return the path of the key leaf of a table, as libyang prints leafrefs."""
    model = MODELS.get(table)
    module = model.module if model is not None else f"sonic-{table.lower()}"
    listing, leaf = (
        (model.keys[0].listing, model.keys[0].leaves[0][0]) if model is not None else (f"{table}_LIST", "name")
    )
    return f"/{module}:{module}/{module}:{table}/{module}:{listing}/{module}:{leaf}"


_BARE_ROW_ERRORS = {
    "INTERFACE": "Must condition not satisfied, Try adding PORT: {}, Example: 'Ethernet0': {}",
    "VLAN_INTERFACE": "Must condition not satisfied, Try adding Vlan: {}, Example: 'Vlan100': {}",
}


def _check_conditions(document: Document) -> None:
    for table, message in _BARE_ROW_ERRORS.items():
        rows = document.get(table, {})
        for key in rows:
            name, bar, _ = key.partition("|")
            if bar and name not in rows:
                condition = f"(current() = ../../{table}_LIST[name=current()]/name)"
                _raise_must(table, key, "name", condition, message)
    loopbacks = document.get("LOOPBACK_INTERFACE", {})
    for key in loopbacks:
        if "|" in key and key.partition("|")[0] not in loopbacks:
            path = "../../LOOPBACK_INTERFACE_LIST/name"
            message = f'Leafref "{path}" of value "{key.partition("|")[0]}" points to a non-existing leaf.'
            place = path_of("LOOPBACK_INTERFACE", MODELS["LOOPBACK_INTERFACE"], key, "name")
            raise YangError(message, f"libyang[0]: {message} (path: {place})\n")
    routed = document.get("INTERFACE", {})
    for key in document.get("VLAN_MEMBER", {}):
        if key.partition("|")[2] in routed:
            condition = "not(/intf:sonic-interface/intf:INTERFACE/intf:INTERFACE_LIST[intf:name=current()])"
            _raise_must("VLAN_MEMBER", key, "port", condition, "Port is a router interface.")
    _check_watchdog(document.get("PFC_WD", {}))
    _check_wred(document.get("WRED_PROFILE", {}))


def _raise_must(table: str, key: str, leaf: str, condition: str, message: str) -> None:
    path = path_of(table, MODELS[table], key, leaf)
    lines = f'libyang[0]: Must condition "{condition}" not satisfied. (path: {path})\n'
    raise YangError(message, f"{lines}libyang[0]: {message} (path: {path})\n")


def _check_watchdog(rows: Mapping[str, Any]) -> None:
    if "GLOBAL" not in rows:
        return
    interval = rows["GLOBAL"].get("POLL_INTERVAL")
    for key, row in rows.items():
        for leaf in ("detection_time", "restoration_time"):
            if leaf in row and (interval is None or int(row[leaf]) < int(interval)):
                condition = (
                    "(not(boolean(current()/../../PFC_WD_LIST[ifname='GLOBAL'])) or (current() >= "
                    "current()/../../PFC_WD_LIST[ifname='GLOBAL']/POLL_INTERVAL))"
                )
                _raise_must("PFC_WD", key, leaf, condition, f"{leaf} must be greater than or equal to POLL_INTERVAL")


def _check_wred(rows: Mapping[str, Any]) -> None:
    for key, row in rows.items():
        for color in ("yellow", "green", "red"):
            low, high = row.get(f"{color}_min_threshold"), row.get(f"{color}_max_threshold")
            if low is not None and high is not None and int(high) < int(low):
                message = f"{color.capitalize()} max threshold must be greater than or equal to min threshold"
                condition = f"(current() >= current()/../{color}_min_threshold)"
                _raise_must("WRED_PROFILE", key, f"{color}_max_threshold", condition, message)
