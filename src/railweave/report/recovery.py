"""Recoveries for a person and as JSON."""

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from railweave.plan.outcome import RecoveryOutcome, RecoveryResult
from railweave.wording import command_line, first_few


def recovery_view(results: Sequence[RecoveryResult]) -> RenderableType:
    """Return what was found on each switch, what was restored and what is missing."""
    return Group(*(Text(f"{one.device}: {_words(one)}", style="" if one.ok else "bold red") for one in results))


def _words(one: RecoveryResult) -> str:
    found = f"found {one.found}" + (f" ({one.transaction})" if one.transaction else "")
    match one.outcome:
        case RecoveryOutcome.HEALTHY:
            words = f"{found}; nothing to repair"
        case RecoveryOutcome.WAITING:
            words = f"{found}; left alone: it waits for its confirmation or reverts by itself"
        case RecoveryOutcome.RESTORED:
            words = f"{found}; restored {first_few(one.restored)}" if one.restored else f"{found}; nothing was missing"
        case RecoveryOutcome.ACCEPTED:
            words = f"{found}; what runs is kept: compare it by `{command_line('plan')}`"
        case RecoveryOutcome.INCOMPLETE:
            missing = f"; not restored: {first_few(one.missing)}" if one.missing else ""
            words = f"{found}{missing}; run the command again, or keep what runs by --accept-running"
        case _:
            return f"not recovered: {one.error}"
    return f"{words}; {one.error}" if one.error and not one.missing else words


def recovery_json(results: Sequence[RecoveryResult]) -> dict[str, Any]:
    """Return the contract of ``recover --json``."""
    return {
        "ok": all(one.ok for one in results),
        "devices": {
            one.device: {
                "outcome": one.outcome.value,
                "found": one.found,
                "transaction": one.transaction,
                "restored": list(one.restored),
                "missing": list(one.missing),
                "error": one.error,
            }
            for one in results
        },
    }
