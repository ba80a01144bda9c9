"""Recoveries for a terminal and as JSON."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.plan.outcome import RecoveryOutcome, RecoveryResult
from railweave.wording import command_line, first_few


def recovery_view(results: Sequence[RecoveryResult]) -> RenderableType:
    """Return the state of each switch, the restored rows and the missing ones."""
    lines = []
    for result in results:
        style = "" if result.ok else "bold red"
        lines.append(Text(f"{result.device}: {_sentence(result)}", style=style))
    return Group(*lines)


def _sentence(result: RecoveryResult) -> str:
    """Return what was found on a switch and what was done, or why it was not recovered."""
    if result.outcome in (RecoveryOutcome.REFUSED, RecoveryOutcome.UNREACHABLE):
        return f"not recovered: {result.error}"
    sentence = f"found {result.found}"
    if result.transaction:
        sentence += f" ({result.transaction})"
    sentence += f"; {_action(result)}"
    if result.error and not result.missing:
        sentence += f"; {result.error}"
    return sentence


def _action(result: RecoveryResult) -> str:
    """Return what was done to a switch, or what the operator has to do."""
    match result.outcome:
        case RecoveryOutcome.HEALTHY:
            return "nothing to repair"
        case RecoveryOutcome.WAITING:
            return "left alone: it waits for its confirmation or reverts by itself"
        case RecoveryOutcome.RESTORED:
            return f"restored {first_few(result.restored)}" if result.restored else "nothing was missing"
        case RecoveryOutcome.ACCEPTED:
            return f"running configuration kept; check it with `{command_line('plan')}`"
        case _:
            missing = f"not restored: {first_few(result.missing)}; " if result.missing else ""
            return f"{missing}run the command again, or keep what runs by --accept-running"


def recovery_json(results: Sequence[RecoveryResult]) -> dict[str, Any]:
    """Return the document of ``recover --json``."""
    return {
        "ok": all(result.ok for result in results),
        "devices": {result.device: _result_json(result) for result in results},
    }


def _result_json(result: RecoveryResult) -> dict[str, Any]:
    return {
        "outcome": result.outcome.value,
        "found": result.found,
        "transaction": result.transaction,
        "restored": list(result.restored),
        "missing": list(result.missing),
        "error": result.error,
    }
