"""Recoveries for a person and as JSON."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.plan.outcome import RecoveryOutcome, RecoveryResult
from railweave.wording import command_line, first_few


def recovery_view(results: Sequence[RecoveryResult]) -> RenderableType:
    """Return what was found on each switch, what was restored and what is missing."""
    lines = []
    for result in results:
        style = "" if result.ok else "bold red"
        lines.append(Text(f"{result.device}: {_words(result)}", style=style))
    return Group(*lines)


def _words(result: RecoveryResult) -> str:
    words = f"found {result.found}"
    if result.transaction:
        words += f" ({result.transaction})"
    match result.outcome:
        case RecoveryOutcome.HEALTHY:
            words += "; nothing to repair"
        case RecoveryOutcome.WAITING:
            words += "; left alone: it waits for its confirmation or reverts by itself"
        case RecoveryOutcome.RESTORED if result.restored:
            words += f"; restored {first_few(result.restored)}"
        case RecoveryOutcome.RESTORED:
            words += "; nothing was missing"
        case RecoveryOutcome.ACCEPTED:
            words += f"; what runs is kept: compare it by `{command_line('plan')}`"
        case RecoveryOutcome.INCOMPLETE:
            if result.missing:
                words += f"; not restored: {first_few(result.missing)}"
            words += "; run the command again, or keep what runs by --accept-running"
        case _:
            return f"not recovered: {result.error}"
    if result.error and not result.missing:
        words += f"; {result.error}"
    return words


def recovery_json(results: Sequence[RecoveryResult]) -> dict[str, Any]:
    """Return the contract of ``recover --json``."""
    return {
        "ok": all(result.ok for result in results),
        "devices": {
            result.device: {
                "outcome": result.outcome.value,
                "found": result.found,
                "transaction": result.transaction,
                "restored": list(result.restored),
                "missing": list(result.missing),
                "error": result.error,
            }
            for result in results
        },
    }
