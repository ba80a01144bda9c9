"""Check of a whole fabric by YANG, device by device; a violation that devices and releases share is reported once.

libyang 2 stops at the first error of a document, so the faulty part is removed and the rest is checked again.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from railweave.diagnostics import Diagnostic, Where, error, in_order, warning
from railweave.errors import RefusedError
from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.secrets import HIDDEN, is_secret, is_secret_key, shown_text
from railweave.sonic.render.configure import Configurator
from railweave.sonic.render.overrides import path_of
from railweave.sonic.rows import ConfigDb, DeviceConfig, Fields
from railweave.templates import Templates
from railweave.wording import command_line
from railweave.yang.schema import ConfigPlace, Failure, SchemaIndex, Violation
from railweave.yang.translate import Translator, place_of

MOST_VIOLATIONS = 25
"""Violations reported for one document."""

_VALUE = re.compile(r'value "([^"]*)"')
# Words of libyang for a reference to a missing row: of a leafref, and of a union with leafrefs.
_DANGLING = ("no target instance", "no matching subtype")


class ReleaseModels(Protocol):
    """The models of a release, as far as validation needs them."""

    @property
    def name(self) -> str:
        """Return the name of the models in messages."""

    @property
    def index(self) -> SchemaIndex:
        """Return the schema of each table."""

    def first_failure(self, xml: str) -> Failure | None:
        """Return the first failure of a translated document; None if it is valid."""


class _YangFault(NamedTuple):
    """What two equal violations have in common; they are reported once for all devices, releases and rows."""

    table: str
    # The field; for a violation of a whole row the key.
    subject: str
    value: str
    words: str
    # The intent path of the override that has it.
    path: str


@dataclass(frozen=True, slots=True)
class _Removed:
    """The keys of the rows that were removed, or, with ``fields_only``, of which one field was removed."""

    keys: tuple[str, ...]
    fields_only: bool = False


def violations(tables: ConfigDb, models: ReleaseModels, translator: Translator | None = None) -> tuple[Violation, ...]:
    """Return the violations of ``models`` in the CONFIG_DB document ``tables``.

    The search ends after ``MOST_VIOLATIONS`` failures of libyang. A ``translator`` that is used for many documents
    saves a quarter of the time.
    """
    translator = translator or Translator()
    translation = translator.translate(tables, models.index)
    search = _Search(tables, translation.refused)
    # The models report one failure at a time: its rows are removed, and the rest is validated again.
    for _ in range(MOST_VIOLATIONS):
        failure = models.first_failure(translation.xml)
        if failure is None:
            break
        place = place_of(failure, translation, search.rest, models.index)
        has_removed = search.record(failure, place)
        # Without a row from libyang nothing can be removed, and the same failure would come again.
        if not has_removed:
            break
        translation = translator.translate(search.rest, models.index)
    return tuple(search.violations)


class _Search:
    """The violations so far, and the ``rest`` of the document: libyang reports one failure, so its rows are removed."""

    def __init__(self, tables: ConfigDb, refused: tuple[Violation, ...]) -> None:
        """Start with the whole document, and with the parts that the models cannot represent as violations."""
        self.rest: dict[str, dict[str, Fields]] = {table: dict(rows) for table, rows in tables.items()}
        self.violations = _grouped(refused)
        # Tables and keys of the rows of these violations.
        self._reported_rows = {(violation.place.table, violation.place.key) for violation in refused}
        # Keys of rows that were removed for a fault of their own: the references to them are not at fault.
        self._removed_keys = {violation.place.key for violation in refused if not violation.place.field}

    def record(self, failure: Failure, place: ConfigPlace) -> bool:
        """Record the failure at ``place`` and remove the faulty part from ``rest``; tell whether ``rest`` had it."""
        target = _missing_target(failure)
        value = _text_at(self.rest, place)
        removed = _remove_faulty(self.rest, place, target)
        is_new = removed.fields_only or (place.table, place.key) not in self._reported_rows
        refers_to_removed_row = target in self._removed_keys
        if is_new and not refers_to_removed_row:
            self.violations.append(Violation(place, failure.words, value, max(1, len(removed.keys))))
        self._reported_rows |= {(place.table, key) for key in removed.keys}
        # A row that was removed as a dangling reference is no reason for others to dangle.
        if not removed.fields_only and target is None:
            self._removed_keys |= set(removed.keys)
        return bool(removed.keys)


def _missing_target(failure: Failure) -> str | None:
    """Return the value of the reference if a failure is a reference to a missing row; None for any other failure."""
    value = _VALUE.search(failure.words)
    if value and any(words in failure.words for words in _DANGLING):
        return value[1]
    return None


def _text_at(tables: Mapping[str, Mapping[str, Fields]], place: ConfigPlace) -> str:
    """Return the value at a place as text, a list with commas; empty if the place is not a field."""
    value = tables.get(place.table, {}).get(place.key, {}).get(place.field, "")
    if isinstance(value, str):
        return value
    return ",".join(value)


def _remove_faulty(tables: dict[str, dict[str, Fields]], place: ConfigPlace, target: str | None) -> _Removed:
    """Remove the part of ``tables`` at ``place``, which is faulty, with all parts that have the same fault.

    A field is removed from all rows in which it has the same value. Otherwise rows are removed: the one at ``place``
    and those below it, and the rows that lack the same field or whose keys name the missing ``target``. The result has
    the keys of the rows; none if ``tables`` has no row at ``place``.
    """
    rows = tables.get(place.table, {})
    fields = rows.get(place.key)
    if fields is None:
        return _Removed(())
    if place.field in fields:
        return _remove_field(rows, place.field, fields[place.field])
    keys = tuple(key for key in rows if _has_same_fault(key, rows[key], place, target))
    for key in keys:
        del rows[key]
    return _Removed(keys)


def _remove_field(rows: dict[str, Fields], field: str, value: object) -> _Removed:
    """Remove a field from every row in which it has ``value``."""
    keys = tuple(key for key, fields in rows.items() if fields.get(field) == value)
    for key in keys:
        # A copy, because the fields are those of the caller's document.
        rows[key] = {name: text for name, text in rows[key].items() if name != field}
    return _Removed(keys, fields_only=True)


def _has_same_fault(key: str, fields: Fields, place: ConfigPlace, target: str | None) -> bool:
    """Tell whether a row is that at ``place``, is below it, or has the same fault."""
    is_same_row = key == place.key
    is_row_below = key.startswith(f"{place.key}|")
    if is_same_row or is_row_below:
        return True
    if place.field:
        # The field is missing. Rows with as many parts in their keys are of the same form.
        return place.field not in fields and key.count("|") == place.key.count("|")
    return target is not None and target in key.split("|")


def _fault(violation: Violation, path: str = "") -> _YangFault:
    """Return what identifies a violation; ``path`` is the intent path of the override that has it, if any.

    The violation of a field is the same in all rows; that of a whole row is different for each row.
    """
    place = violation.place
    return _YangFault(place.table, place.field or place.key, violation.value, violation.words, path)


def _grouped(refused: tuple[Violation, ...]) -> list[Violation]:
    """Return one violation for each field, value and words, with the number of its rows; whole rows stay single."""
    violation_of: dict[tuple[bool, _YangFault], Violation] = {}
    for violation in refused:
        # A field and a row may have the same name.
        group = (bool(violation.place.field), _fault(violation))
        first = violation_of.get(group)
        if first is None:
            violation_of[group] = violation
        else:
            violation_of[group] = replace(first, rows=first.rows + violation.rows)
    return list(violation_of.values())


WhereOf = Callable[[str], Where]
"""Returns the place of an intent path in its file: ``Intent.where``."""


@dataclass(slots=True)
class _Repeated:
    """One violation with the devices and models that have it, in the order of the check (dict for its order)."""

    violation: Violation
    where: Where
    overridden: bool
    devices: dict[str, None]
    models: dict[str, None]


def check_yang(
    fabric: Fabric,
    releases: Sequence[ReleaseModels],
    templates: Templates,
    where: WhereOf = lambda path: Where(path=path),
) -> tuple[Diagnostic, ...]:
    """Return the violations of the YANG models of ``releases`` in the CONFIG_DB of every switch, errors first.

    A switch that cannot be configured is skipped: the check of configurations reports why.
    """
    repeated_by_fault: dict[_YangFault, _Repeated] = {}
    translator = Translator()
    for switch, config in _configured(fabric, templates):
        document = whole_document(config.config_db(), switch.panel.platform)
        for models in releases:
            for violation in violations(document, models, translator):
                path = _override_path(fabric, switch, violation.place)
                fault = _fault(violation, path)
                if fault not in repeated_by_fault:
                    repeated_by_fault[fault] = _Repeated(
                        violation, where(path), overridden=bool(path), devices={}, models={}
                    )
                repeated = repeated_by_fault[fault]
                repeated.devices[switch.name] = None
                repeated.models[models.name] = None
    return in_order(_diagnostic(repeated) for repeated in repeated_by_fault.values())


def _configured(fabric: Fabric, templates: Templates) -> Iterator[tuple[Switch, DeviceConfig]]:
    """Yield the switches that can be configured, with their configurations.

    Why the others cannot be is reported by the check of configurations.
    """
    try:
        configurator = Configurator(fabric, templates)
    except RefusedError:
        return
    for switch in fabric.switches:
        try:
            yield switch, configurator.device(switch)
        except RefusedError:
            continue


def _override_path(fabric: Fabric, switch: Switch, place: ConfigPlace) -> str:
    """Return the intent path of the override that has the place; empty if railweave renders it."""
    for scope in (switch.name, switch.tier.name):
        rows = fabric.policies.overrides.rows.get(scope, {}).get(place.table, {})
        if not place.key:
            has_place = bool(rows)
        elif not place.field:
            has_place = place.key in rows
        else:
            has_place = place.field in rows.get(place.key, {})
        if has_place:
            return path_of(scope, place.table)
    return ""


def _diagnostic(repeated: _Repeated) -> Diagnostic:
    """Return a violation as a diagnostic, with secrets hidden: a warning for a table without a model, else an error."""
    violation = repeated.violation
    devices = tuple(repeated.devices)
    models = ", ".join(repeated.models)
    if violation.unmodelled:
        return warning(
            "RW412",
            f"{violation.place}: {violation.words} (YANG models: {models})",
            repeated.where,
            fix="read the name of the table again; without a model `config apply-patch` refuses its rows, and from "
            "202505 on `config reload` refuses a file that has them",
            devices=devices,
        )
    shown = _without_secrets(violation)
    subject = str(violation.place)
    if shown.value:
        subject += f" {shown.value}"
    other_rows = ""
    if violation.rows > 1:
        other_rows = f" and {violation.rows - 1} rows alike"
    fix = _fix_of_rendered_row()
    if repeated.overridden:
        fix = _FIX_OF_OVERRIDE
    return error(
        "RW411",
        f"{subject}{other_rows}: {shown.words} (YANG models: {models})",
        repeated.where,
        fix=fix,
        devices=devices,
    )


class _ShownViolation(NamedTuple):
    """What a message may say of a violation: secrets are hidden."""

    # The value of a field; empty for a row or a table, and for an empty value.
    value: str
    # The words of the model, which may quote the value or the key.
    words: str


def _without_secrets(violation: Violation) -> _ShownViolation:
    """Return the value and the model's words of a violation, with secrets hidden."""
    place = violation.place
    has_secret_key = is_secret_key(place.table)
    has_secret_value = is_secret(place.table, place.field) if place.field else has_secret_key
    secrets: list[str] = []
    if has_secret_value:
        secrets.append(violation.value)
    if has_secret_key:
        secrets.append(place.key)
    value = ""
    if place.field and violation.value:
        value = repr(violation.value)
        if has_secret_value:
            value = HIDDEN
    return _ShownViolation(value, shown_text(violation.words, secrets))


_FIX_OF_OVERRIDE = "write the override as the YANG model of the table has it"


def _fix_of_rendered_row() -> str:
    """Return the fix for a row that railweave renders."""
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
    """Return a copy of ``rendered`` with the rows that every switch of this ``platform`` has by itself."""
    whole = {table: dict(rows) for table, rows in rendered.items()}
    metadata = whole.setdefault("DEVICE_METADATA", {})
    metadata["localhost"] = {**OWN_METADATA, "platform": platform, **metadata.get("localhost", {})}
    for table, rows in OWN_ROWS.items():
        present = whole.setdefault(table, {})
        for key, fields in rows.items():
            present.setdefault(key, fields)
    return whole
