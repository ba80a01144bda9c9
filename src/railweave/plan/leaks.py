"""Tenants that are not apart on switches: as checks of a verification, and before and after the changes of a plan."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from railweave.diagnostics import Diagnostic, Where, warning
from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.sonic.delta.change import Delta, Edit
from railweave.sonic.delta.tables import tables_after
from railweave.sonic.isolation import Isolation, Leak, isolation_of
from railweave.sonic.ownership import EDGE_TABLES
from railweave.sonic.rows import ConfigDb

APART = "no path to other tenants"
LEAK = "RW142"


def filter_checks(isolation: Isolation, switch: Switch, tables: ConfigDb) -> Iterator[VerifyCheck]:
    """Yield a check for each node port of a switch: that ``tables``, which were read, keep its tenants apart."""
    first_leak: dict[str, Leak] = {}
    for leak in isolation.leaks(switch, tables):
        first_leak.setdefault(leak.port, leak)
    for port in isolation.ports(switch):
        actual = APART
        if port in first_leak:
            actual = f"{first_leak[port].path} ({first_leak[port].cause})"
        yield VerifyCheck(
            device=switch.name,
            kind=CheckKind.TENANTS,
            subject=port,
            expected=APART,
            actual=actual,
            ok=port not in first_leak,
        )


def leaks_before(fabric: Fabric, deltas: Mapping[str, Delta], intended: Callable[[str], ConfigDb]) -> tuple[Leak, ...]:
    """Return the paths between tenants that exist on switches before their changes.

    ``intended`` returns the tables that a switch has after its changes. Switches without changes of their filters are
    left out: they are as intended, and `check` proves that the intent keeps tenants apart.
    """
    isolation = isolation_of(fabric)
    if isolation is None:
        return ()
    leaks: list[Leak] = []
    for name, delta in deltas.items():
        switch = fabric.switch_of.get(name)
        if switch is not None and any(change.table in EDGE_TABLES for change in delta):
            leaks += isolation.leaks(switch, _filters_before(delta, intended(name)))
    return tuple(leaks)


def _filters_before(delta: Delta, tables: ConfigDb) -> ConfigDb:
    """Return the filters that a switch has before ``delta``, which leads to ``tables``."""
    edits = [
        Edit(
            op=change.op.inverse,
            table=change.table,
            key=change.key,
            field=change.field,
            before=change.after,
            after=change.before,
        )
        for change in reversed(delta.changes)
        if change.table in EDGE_TABLES
    ]
    return tables_after(edits, {name: rows for name, rows in tables.items() if name in EDGE_TABLES})


def leak_warnings(leaks: Iterable[Leak], where: Where) -> Iterator[Diagnostic]:
    """Yield a warning for each path on each switch; ``where`` are the tenants in the intent."""
    leaks_by_path: dict[tuple[str, str], list[Leak]] = {}
    for leak in leaks:
        leaks_by_path.setdefault((leak.device, leak.path), []).append(leak)
    for (device, path), leaks_of_path in leaks_by_path.items():
        message = f"on {device} {path}: {leaks_of_path[0].cause}"
        if len(leaks_of_path) > 1:
            message += f", and {len(leaks_of_path) - 1} more"
        yield warning(LEAK, message, where, devices=(device,), fix="deploy the intent, which closes this path")
