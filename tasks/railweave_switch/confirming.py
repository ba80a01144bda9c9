"""Confirm and save a commit, so that it is not reverted and survives a reboot; save without a commit; undrain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from railweave_switch import frr
from railweave_switch.answers import (
    Answer,
    RequestRefusedError,
    answer_of,
    last_state,
    listed,
    locked,
    refuse_unless_last,
    sha256,
)
from railweave_switch.host import SwitchHost
from railweave_switch.lasting import ended
from railweave_switch.restoring import frr_undone, settled
from railweave_switch.rows import digest
from railweave_switch.saving import conclude, prepare, save_alone
from railweave_switch.state import (
    KEPT_COMMITS,
    OPEN,
    Lines,
    RollbackDocument,
    Stage,
    State,
    TransactionKind,
    read_document,
    write,
)
from railweave_switch.steps import StepError, frr_lines, frr_text, run_step

DRAIN_S = 600.0
READ_BACK_S = 1.5
READ_BACK_PAUSE_S = 0.5


def confirm(host: SwitchHost, request: Mapping[str, Any]) -> Answer:
    """Confirm the pending commit and save it; the temporary drain that it supersedes ends first.

    ``id`` names the commit; a call on the switch itself may omit it. Raises RequestRefusedError.
    """
    with locked(host, request):
        state = last_state(host)
        if request.get("id"):
            refuse_unless_last(state, request["id"])
        if state.now(host) != Stage.ARMED:
            raise RequestRefusedError(state.describe(host))
        if state.kind == TransactionKind.DRAIN:
            raise RequestRefusedError("no commit waits to be confirmed, only a temporary drain: undrain ends it")
        if state.over(host):
            raise RequestRefusedError("the time is over: the switch is restoring the earlier configuration")
        _refuse_other(host, request)
        missing = ended(host, state)
        if missing:
            raise RequestRefusedError(f"{listed(missing)} ended since the change was written", "broken")
        document = read_document(host)
        if not request.get("frr"):
            _refuse_undone(host, state, document)
        return confirm_commit(host, state, document)


def save(host: SwitchHost, request: Mapping[str, Any]) -> Answer:
    """Save the running configuration; refused while a transaction is pending."""
    with locked(host, request):
        state = last_state(host)
        if state.status in OPEN:
            raise RequestRefusedError(state.describe(host), "pending")
        return answer_of(host, "saved", **save_alone(host, state, request.get("frr_ignored") or ""))


def _refuse_other(host: SwitchHost, request: Mapping[str, Any]) -> None:
    """Raise RequestRefusedError if the running configuration is not the one that the client has read back.

    ``config`` and ``frr`` of the request are the digests of that one; a client may omit them.
    """
    moved: list[str] = []
    if request.get("config") and digest(host.rows("CONFIG_DB")) != request["config"]:
        moved.append("CONFIG_DB")
    if request.get("frr") and sha256(frr_text(host) or "") != request["frr"]:
        moved.append("FRR")
    if moved:
        raise RequestRefusedError(f"{' and '.join(moved)} changed since the configuration was read back", "moved")


def _refuse_undone(host: SwitchHost, state: State, document: RollbackDocument) -> None:
    """Raise RequestRefusedError if FRR lacks lines of the change: a daemon that restarted has loaded its old file."""
    own = _lasting(state, document)
    undone = frr_undone(host, document.frr_ignored, own.frr_added, own.frr_removed)
    if undone:
        lines = [frr.shown(line) for line in undone]
        raise RequestRefusedError(f"FRR no longer runs the change: {listed(lines)}", "moved")


def confirm_commit(host: SwitchHost, state: State, document: RollbackDocument) -> Answer:
    """Confirm an armed transaction, save the configuration and return the answer.

    A failure to save is the error of the answer. If StepError or OSError is raised, the transaction is still armed.
    """
    _end_drain(host, state, document)
    kept = state.kept
    generation = document.generation or state.generation
    if state.kind != TransactionKind.DRAIN:
        write(host, "pending.json", vars(_lasting(state, document)))
        kept = [*kept, state.id][-KEPT_COMMITS:]
    prepare_failure = prepare(host, state)
    install_failure = conclude(host, state, Stage.CONFIRMED, unsaved=True, error="", kept=kept, generation=generation)
    return answer_of(host, Stage.CONFIRMED, **(prepare_failure or install_failure))


def _lasting(state: State, document: RollbackDocument) -> RollbackDocument:
    """Return the rollback document of a confirmed commit, without the drain that it superseded."""
    drain = document.drain or {"steps": [], "added": [], "removed": []}
    # A rollback restores FRR's whole text only if the changed lines are unknown: other lines may change until then.
    frr_text_before = None
    if state.frr_added is None:
        frr_text_before = document.frr
    return replace(
        document,
        steps=document.steps[: len(document.steps) - len(drain["steps"])],
        frr_added=_without(state.frr_added, drain["added"]),
        frr_removed=_without(state.frr_removed, drain["removed"]),
        drain=None,
        frr=frr_text_before,
        supersedes="",
    )


def _without(lines: Lines | None, drain_lines: Lines) -> Lines:
    """Return lines without those of a drain; none if they are unknown."""
    # JSON makes lists of the tuples that are lines.
    excluded = [list(line) for line in drain_lines]
    return [line for line in lines or () if list(line) not in excluded]


def undrain(host: SwitchHost, request: Mapping[str, Any]) -> Answer:
    """End the temporary drain that a pending commit supersedes; the commit stays pending.

    The answer has the lines that this added to FRR and removed from it. Raises RequestRefusedError if there is no such
    commit.
    """
    with locked(host, request):
        state = last_state(host)
        if request.get("id"):
            refuse_unless_last(state, request["id"])
        if state.now(host) != Stage.ARMED or not state.drain:
            raise RequestRefusedError("no commit waits that was made under a temporary drain")
        document = read_document(host)
        before = frr_text(host)
        _end_drain(host, state, document)
        state.write(host)
        answer = answer_of(host, Stage.ARMED)
        added, removed = frr_lines_changed(host, replace(document, frr=before))
        answer["frr"].update(added=added, removed=removed)
        return answer


def frr_lines_changed(
    host: SwitchHost, document: RollbackDocument
) -> tuple[list[frr.Line] | None, list[frr.Line] | None]:
    """Return the lines that were added to FRR since the text of a rollback document, and those that were removed.

    Both are None if FRR did not answer then, or does not answer now.
    """
    if document.frr is None:
        return None, None
    before = frr.lines_of(document.frr, document.frr_ignored)
    try:
        now = frr_lines(host, document.frr_ignored, before)
    except StepError:
        return None, None
    return [line for line in now if line not in before], [line for line in before if line not in now]


def _end_drain(host: SwitchHost, state: State, document: RollbackDocument) -> None:
    """End the superseded drain, if it is still in force; raises StepError if its lines stay."""
    drain = document.drain
    if not drain or not state.drain:
        return
    for step in drain["steps"]:
        run_step(host, step, DRAIN_S, back=True)
    drain_lines = {tuple(line) for line in drain["added"]}

    def remaining_lines() -> list[str]:
        text = frr_text(host)
        if text is None:
            return ["FRR (it does not answer)"]
        return [frr.shown(line) for line in frr.lines_of(text, document.frr_ignored) if line in drain_lines]

    remaining = settled(host, remaining_lines, READ_BACK_S, READ_BACK_PAUSE_S)
    if remaining:
        raise StepError("undrain", f"still there: {', '.join(remaining[:5])}")
    state.drain = ""
