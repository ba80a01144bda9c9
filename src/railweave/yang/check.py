"""Check of a whole fabric by YANG: device by device, and what many devices and releases have in common told once.

libyang 2 stops at the first error of a document, so what is faulty is taken out and the rest is judged again.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from railweave.diagnostics import Diagnostic, Where, error, in_order, warning
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric, Switch
from railweave.secrets import HIDDEN, is_secret, is_secret_key, shown_text
from railweave.sonic.render.configure import Configurator
from railweave.sonic.render.overrides import path_of
from railweave.sonic.rows import ConfigDb, DeviceConfig, Fields
from railweave.templates import Templates
from railweave.wording import command_line
from railweave.yang.schema import Failure, Place, SchemaIndex, Violation
from railweave.yang.translate import Translator, place_of

MOST_VIOLATIONS = 25
"""Faults told of one document; more say no more."""

_VALUE = re.compile(r'value "([^"]*)"')
_DANGLING = ("no target instance", "no matching subtype")


class Models(Protocol):
    """What validation asks of the models of a release."""

    @property
    def name(self) -> str:
        """Return what violations call these models."""

    @property
    def index(self) -> SchemaIndex:
        """Return what the models say of each table."""

    def first_failure(self, xml: str) -> Failure | None:
        """Return the first failure of a translated document, None where it is valid."""


@dataclass(frozen=True, slots=True)
class _Taken:
    """The keys of the rows that were touched: they are gone, or only a field of theirs."""

    keys: tuple[str, ...]
    fields_only: bool = False


def violations(tables: ConfigDb, models: Models, translator: Translator | None = None) -> tuple[Violation, ...]:
    """Return every failure of the CONFIG_DB document ``tables`` by ``models``; none where it is valid.

    A ``translator`` that is used for many documents saves a quarter of the time.
    """
    translator = translator or Translator()
    translation = translator.translate(tables, models.index)
    rest: dict[str, dict[str, Fields]] = {table: dict(rows) for table, rows in tables.items()}
    found = _alike(translation.refused)
    told = {(one.place.table, one.place.key) for one in translation.refused}
    # Keys of rows that are there but not in the tree: what refers to them is not to blame.
    lost = {one.place.key for one in translation.refused if not one.place.field}
    for _ in range(MOST_VIOLATIONS):
        failure = models.first_failure(translation.xml)
        if failure is None:
            break
        place = place_of(failure, translation, rest, models.index)
        target = _missing_target(failure)
        value = _value(rest, place)
        taken = _take_out(rest, place, target)
        new = taken.fields_only or (place.table, place.key) not in told
        if new and target not in lost:
            found.append(Violation(place, failure.words, value, max(1, len(taken.keys))))
        if not taken.keys:
            break  # libyang named no row, so nothing more can be told apart
        told |= {(place.table, key) for key in taken.keys}
        if not taken.fields_only and target is None:
            lost |= set(taken.keys)
        translation = translator.translate(rest, models.index)
    return tuple(found)


def _missing_target(failure: Failure) -> str | None:
    """Return the value of a reference that leads nowhere, None for any other failure."""
    value = _VALUE.search(failure.words)
    return value.group(1) if value and any(words in failure.words for words in _DANGLING) else None


def _value(tables: Mapping[str, Mapping[str, Fields]], place: Place) -> str:
    value = tables.get(place.table, {}).get(place.key, {}).get(place.field, "")
    return value if isinstance(value, str) else ",".join(value)


def _take_out(tables: dict[str, dict[str, Fields]], place: Place, target: str | None) -> _Taken:
    """Take what is faulty, and what is so in the same way, out of ``tables``.

    That is a field with its value; or rows: those that lack the field, those whose key names the missing ``target``,
    or the one row with the rows below it.
    """
    rows = tables.get(place.table, {})
    fields = rows.get(place.key)
    if fields is None:
        return _Taken(())
    if place.field in fields:
        value = fields[place.field]
        touched = tuple(key for key, other in rows.items() if other.get(place.field) == value)
        for key in touched:
            rows[key] = {name: other for name, other in rows[key].items() if name != place.field}
        return _Taken(touched, fields_only=True)
    touched = tuple(key for key in rows if _falls_with(key, rows[key], place, target))
    for key in touched:
        del rows[key]
    return _Taken(touched)


def _falls_with(key: str, fields: Fields, place: Place, target: str | None) -> bool:
    if key == place.key or key.startswith(f"{place.key}|"):
        return True
    if place.field:
        return place.field not in fields and key.count("|") == place.key.count("|")
    return target is not None and target in key.split("|")


def _alike(refused: tuple[Violation, ...]) -> list[Violation]:
    """Return one violation for each field, value and words, with the number of its rows."""
    kept: dict[tuple[str, ...], Violation] = {}
    for one in refused:
        place = one.place
        alike = (place.table, place.field, one.value, one.words, "" if place.field else place.key)
        earlier = kept.get(alike)
        kept[alike] = one if earlier is None else replace(earlier, rows=earlier.rows + one.rows)
    return list(kept.values())


Places = Callable[[str], Where]
"""Where an intent path stands: ``Intent.where``."""


@dataclass(slots=True)
class _Seen:
    """One violation as it is met again: devices and models in the order of meeting (dict for its order)."""

    violation: Violation
    where: Where
    overridden: bool
    devices: dict[str, None]
    models: dict[str, None]


def check_yang(
    fabric: Fabric, releases: Sequence[Models], templates: Templates, where: Places = lambda path: Where(path=path)
) -> tuple[Diagnostic, ...]:
    """Return what the YANG models of ``releases`` refuse in the CONFIG_DB of every switch, errors first.

    A switch that cannot be configured is skipped: the check of configurations reports why.
    """
    seen: dict[tuple[str, ...], _Seen] = {}
    translator = Translator()
    for switch, config in _configured(fabric, templates):
        document = whole_document(config.config_db(), switch.panel.platform)
        for models in releases:
            for one in violations(document, models, translator):
                _note(seen, one, _override_path(fabric, switch, one.place), switch.name, models.name, where)
    return in_order(_diagnostic(one) for one in seen.values())


def _configured(fabric: Fabric, templates: Templates) -> Iterator[tuple[Switch, DeviceConfig]]:
    try:
        configurator = Configurator(fabric, templates)
    except RefusedError:
        return
    for switch in fabric.switches:
        try:
            yield switch, configurator.device(switch)
        except RefusedError:
            continue


def _note(
    seen: dict[tuple[str, ...], _Seen], one: Violation, path: str, device: str, models: str, where: Places
) -> None:
    place = one.place
    # Switches differ in their ports: a field is the same failure whichever port was met first.
    alike = (place.table, place.field or place.key, one.value, one.words, path)
    entry = seen.setdefault(alike, _Seen(one, where(path), bool(path), {}, {}))
    entry.devices[device] = None
    entry.models[models] = None


def _override_path(fabric: Fabric, switch: Switch, place: Place) -> str:
    """Return the intent path of an override that states the place; empty where railweave renders it."""
    for scope in (switch.name, switch.tier.name):
        rows = fabric.policies.overrides.rows.get(scope, {}).get(place.table, {})
        if not place.key and rows:
            return path_of(scope, place.table)
        if place.key in rows and (not place.field or place.field in rows[place.key]):
            return path_of(scope, place.table)
    return ""


def _diagnostic(seen: _Seen) -> Diagnostic:
    one = seen.violation
    devices = tuple(seen.devices)
    models = ", ".join(seen.models)
    if one.unmodelled:
        return warning(
            "RW412",
            f"{one.place}: {one.words} (YANG models: {models})",
            seen.where,
            fix="read the name of the table again; without a model `config apply-patch` refuses its rows, and from "
            "202505 on `config reload` refuses a file that has them",
            devices=devices,
        )
    stated, words = _shown(one)
    others = f" and {one.rows - 1} rows alike" if one.rows > 1 else ""
    return error(
        "RW411",
        f"{one.place}{stated}{others}: {words} (YANG models: {models})",
        seen.where,
        fix=_MEND_OVERRIDE if seen.overridden else _mend_rendered(),
        devices=devices,
    )


def _shown(one: Violation) -> tuple[str, str]:
    """Return the value found and the model's words, which quote it, without their secrets."""
    table, key, field = one.place.table, one.place.key, one.place.field
    hidden = is_secret(table, field) if field else is_secret_key(table)
    words = shown_text(one.words, (one.value, key if is_secret_key(table) else "") if hidden else ())
    if not field or not one.value:
        return "", words
    return f" {HIDDEN if hidden else repr(one.value)}", words


_MEND_OVERRIDE = "write the override as the YANG model of the table has it"


def _mend_rendered() -> str:
    return (
        f"see with `{command_line('explain', 'DEVICE', 'ROW')}` which part of the intent the row follows, and whether"
        " the models are of the release that the switches run; if both are right, report it: railweave renders a row"
        " that SONiC refuses"
    )


OWN_METADATA: Fields = {
    # Written at first boot from the EEPROM; any address is as good to the models.
    "mac": "02:00:00:00:00:01",
    # The default of every image; `suppress-fib-pending` is refused without it.
    "synchronous_mode": "enable",
}

OWN_ROWS: ConfigDb = {
    # A MGMT_INTERFACE row, which an override may state, points here.
    "MGMT_PORT": {"eth0": {"admin_status": "up", "alias": "eth0"}},
}


def whole_document(rendered: ConfigDb, platform: str) -> dict[str, dict[str, Fields]]:
    """Return ``rendered`` with what a switch of this ``platform`` has of its own; the input stays as it is."""
    whole = {table: dict(rows) for table, rows in rendered.items()}
    metadata = whole.setdefault("DEVICE_METADATA", {})
    metadata["localhost"] = {**OWN_METADATA, "platform": platform, **metadata.get("localhost", {})}
    for table, rows in OWN_ROWS.items():
        present = whole.setdefault(table, {})
        for key, fields in rows.items():
            present.setdefault(key, fields)
    return whole
