"""Values that hold configuration print without its secrets: Nornir and tracebacks print what tasks are given."""

from typing import Any

import pytest

from railweave.sonic.delta.change import Change, Delta, Disruption, Edit, Method, Op
from railweave.sonic.delta.merge import parse_merge
from railweave.sonic.delta.steps import HdelStep, LoadStep, PatchStep, ReloadStep, VtyshStep
from railweave.sonic.document import running_from
from railweave.sonic.frr import FrrEntry, parse_frr
from railweave.sonic.rows import DeviceConfig, FrrLine, Row

LINE = "neighbor 10.0.0.1 password s3cret"
FRR = f"password s3cret\nrouter bgp 65001\n {LINE}\n"
ROW = Row("RADIUS_SERVER", "10.0.0.9", {"passkey": "s3cret", "priority": "1"}, "why")
DOCUMENT = {"SNMP_COMMUNITY": {"s3cret": {"TYPE": "RO"}}, "bgpraw": FRR}
EDIT = (Op.UPDATE, "RADIUS_SERVER", "10.0.0.9", "passkey", "s3cret", "s3cret2")
CHANGE = Change(*EDIT, Disruption.NONE, Method.WRITE, "why")
VALUES: tuple[Any, ...] = (
    ROW,
    Row("SNMP_COMMUNITY", "s3cret", {"TYPE": "RO"}, "why"),
    FrrLine("router bgp 65001", LINE, "why"),
    DeviceConfig("leaf1", (ROW,), FRR),
    FrrEntry("router bgp 65001", LINE),
    parse_frr(FRR),
    running_from(DOCUMENT),
    parse_merge(DOCUMENT),
    Edit(*EDIT),
    CHANGE,
    Delta((CHANGE,)),
    PatchStep(({"op": "add", "path": "/SNMP_COMMUNITY/s3cret", "value": {"TYPE": "RO"}},)),
    LoadStep(DOCUMENT),
    HdelStep("SNMP_COMMUNITY|s3cret", ("TYPE",)),
    VtyshStep(FRR),
    ReloadStep(DOCUMENT, FRR),
)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_that_holds_a_secret_prints_without_it(value: Any) -> None:
    assert "s3cret" not in repr(value)
    assert "s3cret" not in f"{value}"


def test_a_row_and_a_line_still_say_what_they_are() -> None:
    assert repr(ROW) == "Row(RADIUS_SERVER|10.0.0.9 {'passkey': '(hidden)', 'priority': '1'})"
    assert repr(FrrEntry("router bgp 65001", "timers bgp 3 9")) == "FrrEntry('router bgp 65001', 'timers bgp 3 9')"
