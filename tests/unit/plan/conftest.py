"""Fabrics and plans for the tests of plans: the lab's intent, grown or changed."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from planned_devices import planned

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.model import DevicePlan, DeviceState, Plan
from railweave.plan.offline import plan_offline
from railweave.sonic.delta.change import Change, Delta, Disruption, Method, Op
from railweave.templates import find_templates

INTENTS = Path(__file__).resolve().parents[3] / "intent"
LAB = (INTENTS / "lab-4.yml").read_text(encoding="utf-8")

GROWN = (("count: 4\n", "count: 8\n"), ("count: 2, downlink", "count: 4, downlink"))
DSCP = (
    (
        "workload:",
        "traffic_classes:\n"
        "  - {name: roce, role: rdma, dscp: [24], lossless: true, priority: 3, share: 90}\n"
        "  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}\n"
        "  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}\n"
        "workload:",
    ),
)


@cache
def _fabric(text: str) -> Fabric:
    outcome = design(load_intent_text(text, "intent/lab-4.yml"), load_catalog())
    assert outcome.fabric is not None, outcome.diagnostics
    return outcome.fabric


@pytest.fixture(scope="session")
def redesign() -> Callable[..., Fabric]:
    """Return a function that designs the lab's intent with some of its text replaced."""

    def redesigned(*replacements: tuple[str, str]) -> Fabric:
        text = LAB
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new, 1)
        return _fabric(text)

    return redesigned


@pytest.fixture(scope="session")
def lab(redesign: Callable[..., Fabric]) -> Fabric:
    return redesign()


@pytest.fixture(scope="session")
def growth(lab: Fabric, redesign: Callable[..., Fabric]) -> Plan:
    """A second stripe on a lab that runs."""
    return plan_offline(lab, redesign(*GROWN), find_templates())


@pytest.fixture(scope="session")
def recolored(lab: Fabric, redesign: Callable[..., Fabric]) -> Plan:
    """The RoCE code point changed on a lab that runs."""
    return plan_offline(lab, redesign(*DSCP), find_templates())


@dataclass(frozen=True)
class DeviceChange(Change):
    """A change that knows its device, so that a test can state both at once."""

    device: str = "leaf1"


@pytest.fixture
def change() -> Callable[..., DeviceChange]:
    def made(**fields: object) -> DeviceChange:
        defaults: dict[str, object] = {
            "op": Op.UPDATE,
            "table": "PORT",
            "key": "Ethernet0",
            "field": "mtu",
            "before": "9100",
            "after": "9000",
            "disruption": Disruption.NONE,
            "method": Method.WRITE,
            "reason": "because",
        }
        return DeviceChange(**(defaults | fields))  # type: ignore[arg-type]

    return made


@pytest.fixture
def plan_of() -> Callable[..., Plan]:
    """Return a function that makes a plan of changes; devices not named otherwise are running leaves."""

    def made(*changes: DeviceChange, **devices: DevicePlan) -> Plan:
        names = dict.fromkeys(change.device for change in changes)
        deltas = {name: Delta(tuple(one for one in changes if one.device == name)) for name in names}
        found = {name: planned(DeviceState.CHANGED, "leaf", running_sha256="aa") for name in names} | devices
        return Plan("pod1", "sim", "f" * 64, found, tuple((name,) for name in names)).with_deltas(deltas)

    return made
