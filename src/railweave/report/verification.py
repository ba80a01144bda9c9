"""A verification for a person and as JSON: failing checks one by one, the others counted by kind."""

from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from railweave.plan.outcome import CheckKind, VerifyCheck, VerifyResult
from railweave.wording import counted

_MEANING = {
    CheckKind.REACHABLE: "devices answer",
    CheckKind.LINK: "ports enabled, fabric links up",
    CheckKind.MTU: "MTU of used ports",
    CheckKind.ADDRESS: "interface addresses",
    CheckKind.LLDP: "LLDP neighbors as in the cabling plan",
    CheckKind.BGP: "BGP sessions established with the right AS number",
    CheckKind.PREFIXES: "prefixes of each session, no fewer than before",
    CheckKind.ERRORS: "errors of used ports, rising no faster than before",
    CheckKind.DISCARDS: "discards of used ports, rising no faster than before",
}
_MOST_SHOWN = 60


def verify_json(result: VerifyResult) -> dict[str, Any]:
    """Return the contract of ``verify --json``."""
    checks = [check_json(check) for check in result.checks]
    return {"ok": result.ok, "checks": checks, **({"advice": list(result.advice)} if result.advice else {})}


def check_json(check: VerifyCheck) -> dict[str, Any]:
    """Return one check as the contract has it."""
    return {
        "device": check.device,
        "kind": check.kind.value,
        "subject": check.subject,
        "expected": check.expected,
        "actual": check.actual,
        "ok": check.ok,
    }


def verify_view(result: VerifyResult) -> RenderableType:
    """Return the checks by kind with their counts, and a table of those that do not hold."""
    parts: list[RenderableType] = [_by_kind(result), Text()]
    if result.failed:
        parts += [_failed(result), Text()]
        parts += [Text(sentence, style="yellow") for sentence in result.advice]
    parts.append(_verdict(result))
    return Group(*parts)


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _by_kind(result: VerifyResult) -> Table:
    table = _table("check", "what", "passed", "failed")
    for kind in CheckKind:
        found = [check for check in result.checks if check.kind is kind]
        if found:
            wrong = sum(not check.ok for check in found)
            table.add_row(
                kind.value,
                _MEANING[kind],
                Text(f"{len(found) - wrong:,}", style="green"),
                Text(f"{wrong:,}", style="bold red" if wrong else "dim"),
            )
    return table


def _failed(result: VerifyResult) -> Group:
    table = _table("device", "check", "subject", "expected", "actual")
    for check in result.failed[:_MOST_SHOWN]:
        table.add_row(check.device, check.kind.value, check.subject, check.expected, Text(check.actual, style="red"))
    hidden = len(result.failed) - _MOST_SHOWN
    return Group(table, *([Text(f"and {hidden:,} more")] if hidden > 0 else []))


def _verdict(result: VerifyResult) -> Text:
    devices = len({check.device for check in result.checks})
    if result.ok:
        return Text.assemble(
            ("✓ ", "green"), f"verified: {counted(len(result.checks), 'check')} passed on {counted(devices, 'device')}"
        )
    wrong = len({check.device for check in result.failed})
    return Text.assemble(
        ("✗ ", "bold red"),
        f"{len(result.failed):,} of {counted(len(result.checks), 'check')} failed, on {counted(wrong, 'device')}",
    )
