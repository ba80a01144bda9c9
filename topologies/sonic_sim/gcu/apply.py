"""Apply a patch: pre-check, permissions, validation, order, then one move after the other, with the updater's texts."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sonic_sim.configdb import encode_fields
from sonic_sim.device import Device
from sonic_sim.gcu.limits import check_lanes
from sonic_sim.gcu.moves import apply_copy
from sonic_sim.gcu.order import NoOrderError, sorted_moves
from sonic_sim.gcu.patch import Move, Operation, PatchError, apply_patch, difference
from sonic_sim.gcu.rules import refusal
from sonic_sim.interfaces import kernel_interfaces
from sonic_sim.yang.check import Checker
from sonic_sim.yang.model import models
from sonic_sim.yang.rows import DefaultError, YangError

_STRICT = "Patch Sorter - Strict"
_LOOSE = "Patch Sorter - Non-Strict"
# Seconds of a patch on a fast switch CPU, and of each of its changes, measured.
_FIXED_S = 1.5
_STEP_S = 0.33


def running_document(device: Device, complain: Callable[[str], None]) -> dict[str, Any]:
    """Return CONFIG_DB with ``bgpraw``, which is what ``sudo rvtysh`` prints.

    It is empty if FRR does not answer, and None, with a message by ``complain``, on a switch without ``sudo``.
    """
    document: dict[str, Any] = dict(device.db.document())
    document["bgpraw"] = device.frr.show() if device.frr_answers() else ""
    if "sudo" in device.spec.without:
        complain("/bin/sh: 1: sudo: not found")
        document["bgpraw"] = None
    return document


class ApplyError(Exception):
    """The updater failed; ``printed`` and ``libyang`` are YANG's messages."""

    def __init__(self, reason: str, printed: str = "", libyang: str = "", *, early: bool = False) -> None:
        """Keep the reason; ``early`` tells that the patch was not split into scopes yet."""
        super().__init__(reason)
        self.reason = reason
        self.printed = printed
        self.libyang = libyang
        self.early = early


def _note(foreign: Iterable[str]) -> str:
    """Return sonic_yang's note about tables without a model."""
    return f"sonic_yang(6):Note: Below table(s) have no YANG models: {', '.join(foreign)}"


@dataclass(frozen=True, slots=True)
class _Change:
    """Operations that are applied together: a move, or all changes of tables without a model."""

    operations: tuple[Operation, ...]
    move: Move | None = None


@dataclass(slots=True)
class Applier:
    """One run of the patch applier on one switch.

    Nothing is locked, because ``ConfigLock`` of generic_config_updater is empty. A run that begins during another one
    computes from the configuration before that. At its end the configuration differs from its target, so it fails,
    and the rows of both runs are written.
    """

    device: Device
    say: Callable[[str], None]
    complain: Callable[[str], None]
    dry: bool = False
    ignore_without_model: bool = False
    verbose: bool = False
    seconds: float = _FIXED_S
    checker: Checker = field(default_factory=Checker)
    current: dict[str, Any] = field(default_factory=dict)

    def precheck(self, patch: list[Operation]) -> None:
        """Try the patch on the running configuration, as apply-patch does first. Raises ApplyError."""
        try:
            target = apply_patch(running_document(self.device, self.complain), patch)
            foreign = [name for name in target if name not in models() and name != "bgpraw"]
            if foreign:
                self.say(_note(foreign))
            self.checker.check({name: rows for name, rows in target.items() if isinstance(rows, dict)})
        except PatchError as error:
            raise ApplyError(f"Validate json patch: {json.dumps(patch)} failed due to:{error}", early=True) from error
        except YangError as error:
            cause = error.reason
            if isinstance(error, DefaultError):
                # validate_config_db_json names an attribute that it does not have.
                cause = "'SonicYangCfgDbGenerator' object has no attribute 'yang_data_file'"
            reason = f"Validate json patch: {json.dumps(patch)} failed due to:{cause}"
            raise ApplyError(reason, error.printed, error.libyang, early=True) from error

    def run(self, patch: list[Operation]) -> None:
        """Apply the patch. Raises ApplyError; changes before the failure stay."""
        self.say("Patch Applier: localhost: Patch application starting.")
        self.say(f"Patch Applier: localhost: Patch: {json.dumps(patch)}")
        self.say("Patch Applier: localhost getting current config db.")
        current = self._begin()
        self.say("Patch Applier: localhost: simulating the target full config after applying the patch.")
        try:
            target = apply_patch(current, patch)
        except PatchError as error:
            raise ApplyError(str(error)) from error
        self.say("Patch Applier: localhost: validating all JsonPatch operations are permitted on the specified fields")
        self._check_permissions(current, target)
        self.say("Patch Applier: localhost: validating target config does not have empty tables,")
        self.say("                            since they do not show up in ConfigDb.")
        self._refuse_empty_tables(target)
        self.say("Patch Applier: localhost: sorting patch updates.")
        self._apply(self._sort(current, target), target)
        self.say("Patch Applier: localhost: verifying patch updates are reflected on ConfigDB.")
        if not self.dry and not self._is_reached(target):
            raise ApplyError("localhost: after applying patch to config, there are still some parts not updated")
        self.say("Patch Applier: localhost patch application completed.")

    def _begin(self) -> dict[str, Any]:
        """Return the configuration that the run begins with, and keep it for runs that begin before its end."""
        running = self.device.patching
        # A run that begins while others are at work reads what was there before the first of them wrote.
        self.current = running[0] if running else dict(self.device.db.document())
        if not self.dry:
            running.append(self.current)
        return self.current

    def end(self) -> None:
        """Note that the run is over: later ones read what it wrote."""
        # Compared by identity: two runs may have begun with equal configurations.
        for index, configuration in enumerate(self.device.patching):
            if configuration is self.current:
                del self.device.patching[index]
                return

    def _check_permissions(self, current: Any, target: Any) -> None:
        """Raise ApplyError for a change of a field that patches may not change."""
        try:
            reason = refusal(self.device, current, target)
        except PatchError as error:
            raise ApplyError(str(error)) from error
        if reason is not None:
            raise ApplyError(reason)

    def _refuse_empty_tables(self, target: dict[str, Any]) -> None:
        """Raise ApplyError for tables without rows."""
        empty = [name for name, rows in target.items() if rows == {}]
        if empty:
            # The message is a continued line in the source, indented by as many spaces.
            gap = " " * 32
            noun = "Table" if len(empty) == 1 else "Tables"
            reason = "localhost: given patch is not valid because it will result in empty tables"
            raise ApplyError(f"{reason}{gap} which is not allowed in ConfigDb.{gap} {noun}: {', '.join(empty)}")

    def detail(self, *lines: str) -> None:
        """Print lines of ``--verbose``."""
        if self.verbose:
            for line in lines:
                self.say(line)

    def _sort(self, current: Any, target: Any) -> list[_Change]:
        """Return the changes in the order in which they can be made. Raises ApplyError."""
        if self.ignore_without_model:
            return self._sort_with_rest(current, target)
        changed = [name for name in {**current, **target} if current.get(name) != target.get(name)]
        self.detail(f"{_STRICT}: Validating patch is not making changes to tables without YANG models.")
        if any(name not in models() for name in changed):
            raise ApplyError("Given patch is not valid because it has changes to tables without YANG models")
        self.detail(f"{_STRICT}: Validating target config according to YANG models.")
        self._validate(target)
        self.detail(f"{_STRICT}: Sorting patch updates.")
        return self._sort_moves(current, target)

    def _sort_with_rest(self, current: Any, target: Any) -> list[_Change]:
        """Return the changes in order; those of tables without a model, the rest, come first. Raises ApplyError."""
        self.detail(f"{_LOOSE}: Splitting current/target config based on YANG covered vs non-YANG covered configs.")
        current_covered, current_rest = _split(current)
        target_covered, target_rest = _split(target)
        for rest in (current_rest, target_rest):
            if rest:
                self.detail(_note(rest))
        self.detail(f"{_LOOSE}: Validating YANG covered target config according to YANG models.")
        self._validate(target)
        # All tables without a model are one change, and the first.
        patch = difference(current_rest, target_rest)
        changes_of_rest = [_Change(tuple(patch))] if patch else []
        self.detail(f"{_LOOSE}: Sorting non-YANG covered configs patch updates.")
        self._detail_changes("Non-YANG", changes_of_rest)
        self.detail(
            f"{_LOOSE}: Regenerating patch for YANG covered configs only.",
            f"{_LOOSE}: Generated patch {json.dumps(difference(current_covered, target_covered))}",
            f"{_LOOSE}: Validating YANG covered config patch is not making changes to tables without YANG models.",
            f"{_LOOSE}: Sorting YANG-covered configs patch updates.",
        )
        changes_covered = self._sort_moves(current_covered, target_covered)
        self._detail_changes("YANG", changes_covered)
        self.detail(f"{_LOOSE}: Merging non-YANG and YANG covered changes.")
        return changes_of_rest + changes_covered

    def _detail_changes(self, which: str, changes: list[_Change]) -> None:
        """Print sorted changes for ``--verbose``; ``which`` says in the updater's words which ones they are."""
        self.detail(f"{_LOOSE}: The {which} covered config update was sorted into {_count_text(changes)}")
        self.detail(*(f"{_LOOSE}:   * {json.dumps(change.operations)}" for change in changes))

    def _validate(self, target: Any) -> None:
        """Raise ApplyError for a configuration that the models reject."""
        try:
            self.checker.check(target)
            check_lanes(target)
        except YangError as error:
            raise ApplyError(f"Given patch will produce invalid config. Error: {error.reason}") from error

    def _sort_moves(self, current: Any, target: Any) -> list[_Change]:
        """Return the moves from one configuration to another in order. Raises ApplyError."""
        try:
            self.checker.check(current)
            return [_Change((move.operation(),), move) for move in sorted_moves(current, target, self.checker)]
        except YangError as error:
            raise ApplyError(error.reason) from error
        except NoOrderError as error:
            raise ApplyError("There is no possible sorting") from error

    def _apply(self, changes: list[_Change], target: dict[str, Any]) -> None:
        """Make the changes one after the other, or only print them (``dry``)."""
        count = len(changes)
        self.say(f"Patch Applier: The localhost patch was converted into {_count_text(changes)}")
        plural = "" if count == 1 else "s"
        end = ":" if count else "."
        self.say(f"Patch Applier: localhost: applying {count} change{plural} in order{end}")
        for number, change in enumerate(changes):
            # A fault drops the session in the middle of the patch.
            if self.device.faults.halfway and number >= count / 2:
                raise ApplyError("the session ended")
            text = json.dumps(change.operations)
            self.say(f"Patch Applier:   * {text}")
            if self.dry:
                self.say(f"** DryRun: Would apply {text}")
            elif change.move is not None:
                self._write(change.move)
            else:
                self._write_rest(target)
            self.seconds += _STEP_S

    def _write(self, move: Move) -> None:
        """Write the rows of one move as set_entry does: a row is written as a whole."""
        before = self.device.db.document()
        document = apply_copy(before, move)
        table, *below = move.parts
        rows = document.get(table, {})
        if not below:
            self.device.db.delete_table(table)
            for key, row in rows.items():
                self.device.db.put(f"{table}|{key}", encode_fields(row))
        else:
            # The row itself, a field of it, or a member of a list in that.
            key = below[0]
            if key in rows:
                self._write_row(f"{table}|{key}", encode_fields(rows[key]))
            else:
                self.device.db.delete(f"{table}|{key}")
        if table == "VLAN_INTERFACE":
            self._flush_neighbors(before)

    def _write_rest(self, target: dict[str, Any]) -> None:
        """Write the rows of all tables without a model."""
        present = self.device.db.document()
        for table in {**present, **target}.keys() - models().keys():
            old_rows = present.get(table, {})
            new_rows = target.get(table, {})
            for key in old_rows.keys() - new_rows.keys():
                self.device.db.delete(f"{table}|{key}")
            for key, row in new_rows.items():
                if old_rows.get(key) != row:
                    self._write_row(f"{table}|{key}", encode_fields(row))

    def _flush_neighbors(self, before: dict[str, Any]) -> None:
        """Flush the neighbors of removed VLAN addresses by ``ip``, which complains if their interface is gone too."""
        links = {link["ifname"] for link in kernel_interfaces(self.device)}
        for key in before.get("VLAN_INTERFACE", {}):
            name, bar, _ = key.partition("|")
            is_removed_address = bar and f"VLAN_INTERFACE|{key}" not in self.device.db.rows
            if is_removed_address and name not in links:
                self.complain(f'Cannot find device "{name}"')

    def _write_row(self, key: str, row: dict[str, str]) -> None:
        """Set the fields of a row and remove the others, keeping the order of those that stay."""
        db = self.device.db
        removed = [name for name in db.rows.get(key, {}) if name not in row]
        db.set_fields(key, row)
        db.delete_fields(key, removed)

    def _is_reached(self, target: dict[str, Any]) -> bool:
        """Tell whether CONFIG_DB is the target, except for tables that daemons write to."""
        return _without_daemons_tables(self.device.db.document()) == _without_daemons_tables(target)


def _split(document: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tables of a configuration with a model, and those without."""
    covered = {name: rows for name, rows in document.items() if name in models()}
    rest = {name: rows for name, rows in document.items() if name not in models()}
    return covered, rest


def _count_text(changes: list[_Change]) -> str:
    """Return the number of changes as the updater prints it before their list."""
    plural = "" if len(changes) == 1 else "s"
    end = ":" if changes else "."
    return f"{len(changes)} change{plural}{end}"


def _without_daemons_tables(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables that the updater compares at its end: daemons write rows of their own into the others."""
    ignored = ("BUFFER_PG", "BUFFER_PROFILE", "FLEX_COUNTER_TABLE")
    return {name: rows for name, rows in document.items() if name not in ignored}
