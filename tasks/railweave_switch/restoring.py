"""Restore a rollback document: run its steps, read the switch, and try again.

The success of a command proves nothing. Only what is read afterwards counts: every row that the change named, and every
line of FRR compared with the text from before the change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from railweave_switch import frr
from railweave_switch.host import CommandError, DatabaseError, SwitchHost
from railweave_switch.rows import repairs, unmet
from railweave_switch.state import RollbackDocument, Step
from railweave_switch.steps import StepError, apply_frr, equip_bgpd, frr_away, frr_lines, frr_text, run_step

ATTEMPTS = 6
STEP_ATTEMPTS = 2
"""The steps are run in the first attempts; later ones write missing rows and lines directly."""
PAUSE_S = 2.0
PATIENCE_S = 300.0
"""Time limit for databases and FRR to answer, in all attempts together."""
STEP_LIMIT_S = 3600.0
FRR_STARTS_S = 180.0
"""Time limit for FRR's daemons after a reload; they start one after the other."""

FAULTS = (StepError, CommandError, DatabaseError, OSError, AttributeError, KeyError, TypeError, ValueError)


@dataclass(frozen=True)
class Restored:
    """The result of a restoration: rows and lines that are back, those that are still missing, and errors."""

    restored: list[str]
    missing: list[str]
    notes: list[str]


Added = Sequence[Sequence[str]]
"""Lines that a change added to FRR, as they are read from JSON."""


def restore(host: SwitchHost, document: RollbackDocument, added: Added | None) -> Restored:
    """Restore the rows and lines of ``document``; return those that are back and those that are still missing.

    ``added`` are the lines that the change had added to FRR. If they are unknown (None), every line that was not there
    before is removed.
    """
    until_s = host.now_s() + PATIENCE_S
    missing_before = missing_of(host, document, added)
    if not missing_before:
        # Nothing was written, and the steps may have a reload, which takes minutes.
        return Restored([], [], [])
    missing, notes = _restore_in_attempts(host, document, added, until_s)
    restored = [name for name in missing_before if name not in missing]
    return Restored(restored, missing, notes)


def _restore_in_attempts(
    host: SwitchHost, document: RollbackDocument, added: Added | None, until_s: float
) -> tuple[list[str], list[str]]:
    """Restore in several attempts; return the rows and lines that are still missing, and the errors.

    ``until_s`` is the time limit for databases and FRR to answer, in seconds since the boot.
    """
    notes: list[str] = []
    missing: list[str] = []
    steps = dict(enumerate(document.steps))
    for attempt in range(ATTEMPTS):
        _await_attempt(host, attempt, until_s)
        # A failed reload is repeated in every attempt: rows that are written do not start the services that it stopped.
        if attempt < STEP_ATTEMPTS or _have_reload(steps):
            steps = _run_steps(host, document, steps, notes)
        reload_failed = _have_reload(steps)
        # A reload that is repeated replaces all that is written before it.
        if missing and not reload_failed:
            _write_missing(host, document, added, notes)
        missing = _missing_after_wait(host, document, added, until_s)
        if not missing and not reload_failed:
            return [], notes
    # A reload that still fails may have left services stopped, so its error is missing even if all rows are there.
    return missing or notes[-1:], notes


def _await_attempt(host: SwitchHost, attempt: int, until_s: float) -> None:
    """Wait before an attempt, longer before each further one, and until the databases answer."""
    if attempt:
        host.sleep(PAUSE_S * attempt)
    _await_databases(host, until_s)


def _have_reload(steps: Mapping[int, Step]) -> bool:
    return any(step["kind"] == "reload" for step in steps.values())


def _run_steps(
    host: SwitchHost, document: RollbackDocument, steps: Mapping[int, Step], notes: list[str]
) -> dict[int, Step]:
    """Run all steps, also after a failed one; return those that failed, and add their errors to ``notes``."""
    failed: dict[int, Step] = {}
    for number, step in steps.items():
        try:
            run_step(host, step, STEP_LIMIT_S, f"revert-{number}.json", back=True)
            if step["kind"] == "reload":
                _await_frr(host, document)
        except FAULTS as error:
            failed[number] = step
            notes.append(str(error) or repr(error))
    return failed


def _await_frr(host: SwitchHost, document: RollbackDocument) -> None:
    """Wait until the daemons of the restored lines run: vtysh drops the lines of a daemon that is still starting."""
    lines = _lines_to_restore(document)
    settled(host, lambda: frr_away(host, lines, frr_text(host)), FRR_STARTS_S, PAUSE_S)
    equip_bgpd(host)


def _write_missing(host: SwitchHost, document: RollbackDocument, added: Added | None, notes: list[str]) -> None:
    """Write missing rows to Redis and missing lines to FRR, without the steps; add an error to ``notes``."""
    try:
        commands = repairs(document.rows, host.rows("CONFIG_DB"))
        if commands:
            host.write_rows(commands)
        missing, surplus = frr_difference(host, document, added)
        if surplus:
            apply_frr(host, frr.removal_of(surplus), STEP_LIMIT_S, lenient=True)
        if missing:
            apply_frr(host, frr.text_of(missing), STEP_LIMIT_S, lenient=True)
    except FAULTS as error:
        notes.append(str(error) or repr(error))


def missing_of(host: SwitchHost, document: RollbackDocument, added: Added | None) -> list[str]:
    """Return the rows and lines that differ from before the change: ``TABLE|KEY``, and lines in words.

    A database or FRR that does not answer is in the list too.
    """
    try:
        missing = unmet(document.rows, host.rows("CONFIG_DB"))
    except (DatabaseError, OSError) as error:
        return [f"CONFIG_DB ({error})"]
    try:
        lost, surplus = frr_difference(host, document, added)
    except StepError as error:
        return [*missing, str(error)]
    missing += [frr.shown(line) for line in lost]
    missing += [f"{frr.shown(line)} (too much)" for line in surplus]
    return missing


def frr_difference(
    host: SwitchHost, document: RollbackDocument, added: Added | None
) -> tuple[list[frr.Line], list[frr.Line]]:
    """Return the missing and the surplus lines of FRR, both empty if the document has no lines.

    ``added`` as in ``restore``. Raises StepError if FRR does not answer.
    """
    if document.frr is None and document.frr_lines is None:
        return [], []
    intended = _lines_to_restore(document)
    running = frr_lines(host, document.frr_ignored, intended)
    missing = [line for line in intended if line not in running]
    surplus = running.keys() - intended.keys()
    if added is not None:
        # Lines that somebody else added meanwhile stay.
        surplus = surplus.intersection(frr.lines_from(added))
    return missing, [line for line in running if line in surplus]


def frr_undone(host: SwitchHost, ignored: str, added: Added | None, removed: Added | None) -> list[frr.Line]:
    """Return the lines that a change added to FRR and that are missing again, then those it removed that are back.

    Raises StepError if FRR, or a daemon of these lines, does not answer.
    """
    added_lines = frr.lines_from(added)
    removed_lines = frr.lines_from(removed)
    if not added_lines and not removed_lines:
        return []
    running = frr_lines(host, ignored, (*added_lines, *removed_lines))
    missing = [line for line in added_lines if line not in running]
    return missing + [line for line in removed_lines if line in running]


def _lines_to_restore(document: RollbackDocument) -> dict[frr.Line, None]:
    if document.frr_lines is None:
        return frr.lines_of(str(document.frr or ""), document.frr_ignored)
    return dict.fromkeys(frr.lines_from(document.frr_lines))


def _missing_after_wait(host: SwitchHost, document: RollbackDocument, added: Added | None, until_s: float) -> list[str]:
    """Wait until the databases and FRR answer, or until ``until_s``; then return what is missing."""
    while True:
        missing = missing_of(host, document, added)
        # These are the words of ``missing_of`` for a database or FRR that does not answer.
        answers = not any("CONFIG_DB (" in name or "does not answer" in name for name in missing)
        if answers or host.now_s() >= until_s:
            return missing
        host.sleep(PAUSE_S)


def _await_databases(host: SwitchHost, until_s: float) -> None:
    while host.now_s() < until_s:
        try:
            host.rows("CONFIG_DB", "DEVICE_METADATA|localhost")
            return
        except (DatabaseError, OSError):
            host.sleep(PAUSE_S)


def settled(host: SwitchHost, missing: Callable[[], list[str]], within_s: float, pause_s: float) -> list[str]:
    """Call ``missing`` until it returns nothing or the time is up, and return its last result."""
    ends_s = host.now_s() + within_s
    while True:
        still_missing = missing()
        if not still_missing or host.now_s() >= ends_s:
            return still_missing
        host.sleep(pause_s)
