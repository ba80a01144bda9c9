"""What `railweave verify` takes from the rules of health: errors that grow, codewords that are lost, and PFC storms.

A fabric that carries no load shows neither imbalance nor drops, so the other rules say nothing about its state.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from railweave.acceptance.counter_names import CounterMeaning, counter_name
from railweave.fabric.devices import Switch
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.health.case import HealthCase, WatchedPort
from railweave.health.judge import CounterAnswer, compare_switches
from railweave.health.model import HealthFinding, HealthRule
from railweave.health.rules import fec_uncorrectable, link_errors, pfc_storm
from railweave.plan.outcome import CheckKind, VerifyCheck

JUDGED: Mapping[CheckKind, tuple[HealthRule, ...]] = {
    CheckKind.ERRORS: (link_errors.RULE, fec_uncorrectable.RULE),
    CheckKind.STORMS: (pfc_storm.RULE,),
}
"""The rules by the kind of check that they fail."""

_MEANINGS = frozenset({CounterMeaning.ERRORS, CounterMeaning.FEC_UNCORRECTABLE, CounterMeaning.STORMS})
# The rule of storms compares it with the storms that were detected.
_RESTORED = "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED"


def judged_counters(counters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reading with only those counters of ports and queues that `growth_checks` judges.

    All counters of a large switch take a megabyte.
    """
    judged = dict(counters)
    judged["groups"] = {}
    for table in ("ports", "queues"):
        rows = counters.get(table)
        if isinstance(rows, Mapping):
            judged[table] = {name: _judged_row(row) for name, row in rows.items()}
    return judged


def _judged_row(row: Any) -> Any:
    if not isinstance(row, Mapping):
        return row
    return {name: row[name] for name in _judged_names(tuple(row))}


# The rows of a table have the same names on most switches.
@lru_cache(maxsize=256)
def _judged_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name == _RESTORED or _is_judged(name))


def _is_judged(name: str) -> bool:
    entry = counter_name(name)
    return entry is not None and entry.meaning in _MEANINGS


def growth_checks(
    fabric: Fabric, before: Mapping[str, CounterAnswer], after: Mapping[str, CounterAnswer]
) -> tuple[tuple[VerifyCheck, ...], tuple[str, ...]]:
    """Return a failed check for each port that counted errors or storms between two readings, and the fixes of all.

    A switch without two readings, or whose counters restarted in between, gets no check.
    """
    ports = {name: _watched_ports(fabric, fabric.switch_of[name]) for name in after}
    switches, _ = compare_switches(ports, before, after)
    case = HealthCase(fabric, ports, switches)
    checks: list[VerifyCheck] = []
    fixes: dict[str, None] = {}
    for kind, rules in JUDGED.items():
        for rule in rules:
            for finding in rule.judge(case):
                checks.append(_failed_check(kind, rule, finding, case))
                fixes[finding.fix] = None
    return tuple(checks), tuple(fixes)


def _failed_check(kind: CheckKind, rule: HealthRule, finding: HealthFinding, case: HealthCase) -> VerifyCheck:
    """Return a finding at a port as a failed check of ``kind``, whose subject is the port."""
    device = finding.devices[0]
    port = case.port_of[device, finding.ports[0].removeprefix(f"{device} ")]
    actual = finding.message.removeprefix(f"{port.text} ")
    return VerifyCheck(device, kind, port.port, rule.title, actual, ok=False)


def _watched_ports(fabric: Fabric, switch: Switch) -> tuple[WatchedPort, ...]:
    """Return the cabled ports of a switch, without the names of their cables and the limits of their queues.

    The judged rules do not need these, and they take long to compute in a large fabric.
    """
    return tuple(_cabled_ports(fabric, switch))


def _cabled_ports(fabric: Fabric, switch: Switch) -> Iterator[WatchedPort]:
    """Yield the ports towards nodes and lower switches, then the uplinks."""
    for link in fabric.downlinks_of[switch.name]:
        yield _watched_port(switch, link.upper_port, link.lower, link)
    for link in fabric.uplinks_of[switch.name]:
        yield _watched_port(switch, link.lower_port, link.upper, link)


def _watched_port(switch: Switch, index: int, peer: str, link: Link) -> WatchedPort:
    """Return the port of a switch at an index of its panel, without the name of its cable and limits of queues."""
    return WatchedPort(
        device=switch.name,
        port=switch.panel.ports[index].name,
        cable="",
        peer=peer,
        to_node=link.is_access,
        is_uplink=link.lower == switch.name,
        speed_gbps=link.speed_gbps,
        plane=link.plane,
        rail=link.rail,
        queues={},
    )
