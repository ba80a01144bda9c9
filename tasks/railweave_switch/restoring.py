"""Restoring: bring a switch to what a rollback document says, check what is there, and try again.

A command's success says nothing. What counts is what is read afterwards: every row that the change named, and every
line of FRR against the text that was captured before the change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from railweave_switch import frr
from railweave_switch.host import CommandError, DatabaseError, SwitchHost
from railweave_switch.rows import repairs, unmet
from railweave_switch.state import RollbackDocument, Step
from railweave_switch.steps import StepError, apply_frr, equip_bgpd, frr_away, frr_lines, frr_text, run_step

ATTEMPTS, STEP_ATTEMPTS = 6, 2
PAUSE_S = 2.0
PATIENCE_S = 300.0
"""How long a database or FRR that does not answer is waited for, in all."""
STEP_LIMIT_S = 3600.0
FRR_STARTS_S = 180.0
"""How long FRR's daemons may take to answer after a reload; they start one after the other."""

FAULTS = (StepError, CommandError, DatabaseError, OSError, AttributeError, KeyError, TypeError, ValueError)


@dataclass(frozen=True)
class Restored:
    """What a restoration left: rows and lines that are back, those that are not, and what went wrong on the way."""

    restored: list[str]
    missing: list[str]
    notes: list[str]


Added = Sequence[Sequence[str]]


def restore(host: SwitchHost, document: RollbackDocument, added: Added | None) -> Restored:
    """Bring back what ``document`` says.

    ``added`` are the lines of FRR that the change had added, None where that is not known: then every line that was not
    there before counts as left over.
    """
    notes: list[str] = []
    waited_until = host.now_s() + PATIENCE_S
    first = missing_of(host, document, added)
    if not first:
        return Restored([], [], notes)  # nothing was written: a reload would cost minutes
    steps = dict(enumerate(document.steps))
    missing: list[str] = []
    for attempt in range(ATTEMPTS):
        if attempt:
            host.sleep(PAUSE_S * attempt)
        _await_databases(host, waited_until)
        reloads = any(step["kind"] == "reload" for step in steps.values())
        if attempt < STEP_ATTEMPTS or reloads:
            steps = _run(host, document, steps, notes)
        reloads = any(step["kind"] == "reload" for step in steps.values())
        if missing and not reloads:
            _write_missing(host, document, added, notes)
        missing = _missing_after_wait(host, document, added, waited_until)
        if not missing and not reloads:
            break
    else:
        missing = missing or notes[-1:]
    return Restored([one for one in first if one not in missing], missing, notes)


def _run(host: SwitchHost, document: RollbackDocument, steps: Mapping[int, Step], notes: list[str]) -> dict[int, Step]:
    """Run the steps, all of them whatever fails, and return those that failed."""
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
    """Wait until the daemons run whose lines are to be there: vtysh drops those of a daemon that still starts."""
    wanted = _wanted_of_frr(document)
    settled(host, lambda: frr_away(host, wanted, frr_text(host)), FRR_STARTS_S, PAUSE_S)
    equip_bgpd(host)


def _write_missing(host: SwitchHost, document: RollbackDocument, added: Added | None, notes: list[str]) -> None:
    """Write what is missing itself: rows without any file, lines of FRR one by one."""
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
    """Return what is not as before the change: ``TABLE|KEY`` of rows, and lines of FRR."""
    try:
        missing = unmet(document.rows, host.rows("CONFIG_DB"))
    except (DatabaseError, OSError) as error:
        return [f"CONFIG_DB ({error})"]
    try:
        lost, surplus = frr_difference(host, document, added)
    except StepError as error:
        return [*missing, str(error)]
    return [*missing, *map(frr.shown, lost), *(f"{frr.shown(line)} (too much)" for line in surplus)]


def frr_difference(
    host: SwitchHost, document: RollbackDocument, added: Added | None
) -> tuple[list[frr.Line], list[frr.Line]]:
    """Return the lines of FRR that are missing and those that are left over; raises StepError where FRR is silent."""
    if document.frr is None and document.frr_lines is None:
        return [], []
    had = _wanted_of_frr(document)
    has = frr_lines(host, document.frr_ignored, had)
    ours = None if added is None else {tuple(line) for line in added}
    surplus = [line for line in has if line not in had and (ours is None or line in ours)]
    return [line for line in had if line not in has], surplus


def frr_undone(host: SwitchHost, ignored: str, added: Added | None, removed: Added | None) -> list[frr.Line]:
    """Return the lines that a change had added and that are gone, and those that it had removed and that are back;
    raises StepError where FRR, or a daemon whose lines these are, is silent."""
    came, went = ([tuple(line) for line in lines or ()] for lines in (added, removed))
    if not came and not went:
        return []
    lines = frr_lines(host, ignored, (*came, *went))
    return [*(line for line in came if line not in lines), *(line for line in went if line in lines)]


def _wanted_of_frr(document: RollbackDocument) -> dict[frr.Line, None]:
    if document.frr_lines is None:
        return frr.lines_of(str(document.frr or ""), document.frr_ignored)
    return dict.fromkeys(tuple(line) for line in document.frr_lines)


def _missing_after_wait(host: SwitchHost, document: RollbackDocument, added: Added | None, until_s: float) -> list[str]:
    """Look until the databases and FRR answer, then return what is missing."""
    while True:
        missing = missing_of(host, document, added)
        silent = any(word in one for one in missing for word in ("CONFIG_DB (", "does not answer"))
        if not silent or host.now_s() >= until_s:
            return missing
        host.sleep(PAUSE_S)


def _await_databases(host: SwitchHost, until_s: float) -> None:
    while host.now_s() < until_s:
        try:
            host.rows("CONFIG_DB", "DEVICE_METADATA|localhost")
            return
        except (DatabaseError, OSError):
            host.sleep(PAUSE_S)


def settled(host: SwitchHost, holds: Callable[[], list[str]], within_s: float, pause_s: float) -> list[str]:
    """Return what does not hold, looking again until all does or the time is up: daemons get a moment to follow."""
    ends_s = host.now_s() + within_s
    while True:
        left = holds()
        if not left or host.now_s() >= ends_s:
            return left
        host.sleep(pause_s)
