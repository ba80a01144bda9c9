from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from config_checks import check_config

from railweave.checks import config as checks
from railweave.diagnostics import Severity
from railweave.fabric.model import Fabric
from railweave.fabric.policy import Overrides

Lab = Callable[..., Fabric]


def codes(fabric: Fabric) -> list[tuple[str, Severity]]:
    return [(one.code, one.severity) for one in check_config(fabric)]


def without_buffers(fabric: Fabric) -> Fabric:
    switches = tuple(one._replace(panel=one.panel._replace(buffers=None)) for one in fabric.switches)
    return replace(fabric, switches=switches)


def test_a_sound_fabric_has_no_finding(lab_fabric: Lab) -> None:
    assert not codes(lab_fabric())


def test_a_model_without_buffer_facts_is_refused_in_every_tier(lab_fabric: Lab) -> None:
    found = check_config(without_buffers(lab_fabric()))
    assert [(one.code, one.severity) for one in found] == [("H-headroom", Severity.ERROR)] * 2
    assert [one.devices for one in found] == [("lab-leaf1", "lab-leaf2"), ("lab-spine1", "lab-spine2")]


def test_without_lossless_classes_there_is_nothing_to_prove(lab_fabric: Lab) -> None:
    fabric = lab_fabric()
    lossy = tuple(one._replace(lossless=False) for one in fabric.policies.classes)
    assert codes(replace(fabric, policies=fabric.policies._replace(classes=lossy))) == []


def test_overrides_that_change_rendered_fields_are_all_told_at_once(lab_fabric: Lab) -> None:
    fabric = lab_fabric()
    rows: dict[str, Any] = {
        "leaf": {"PORT": {"Ethernet0": {"mtu": "1500", "speed": "10000"}}},
        "spine": {"NTP_SERVER": {"10.0.0.1": {}}},
    }
    found = check_config(replace(fabric, policies=fabric.policies._replace(overrides=Overrides(rows))))
    clashes = [one for one in found if one.code == "RW402"]
    assert len(clashes) == 4
    assert {one.devices for one in clashes} == {("lab-leaf1",), ("lab-leaf2",)}
    assert all(one.fix for one in clashes)


def test_more_uplinks_than_a_route_can_have_paths_are_refused(lab_fabric: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "path_limit", lambda _fabric: 1)
    assert ("B-6", Severity.ERROR) in codes(lab_fabric())


def with_ecmp_limit(fabric: Fabric, *limits: int | None) -> Fabric:
    """Return the fabric with ASICs of these limits, one switch after the other."""
    switches = [
        one._replace(panel=one.panel._replace(ecmp_limit=limits[number % len(limits)]))
        for number, one in enumerate(fabric.switches)
    ]
    return replace(fabric, switches=tuple(switches))


def test_more_uplinks_than_the_asic_has_next_hops_for_are_refused(lab_fabric: Lab) -> None:
    fabric = lab_fabric()
    found = [one for one in check_config(with_ecmp_limit(fabric, 1)) if one.code == "B-6"]
    assert [(one.severity, one.message) for one in found] == [
        (
            Severity.ERROR,
            f"leaves have {fabric.lowest.ports_up} uplinks, more than the 1 equal paths that a route in"
            f" {fabric.switches[0].panel.asic} can have",
        )
    ]
    assert "B-6" not in {code for code, _ in codes(with_ecmp_limit(fabric, fabric.lowest.ports_up))}


def test_one_asic_whose_limit_nothing_states_is_enough_for_the_warning(
    lab_fabric: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "_PATHS_OF_EVERY_ASIC", 1)
    assert "B-6" not in {code for code, _ in codes(with_ecmp_limit(lab_fabric(), 128))}
    assert ("B-6", Severity.WARNING) in codes(with_ecmp_limit(lab_fabric(), 128, None))


def test_more_uplinks_than_every_asic_takes_are_a_warning(lab_fabric: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_PATHS_OF_EVERY_ASIC", 1)
    assert ("B-6", Severity.WARNING) in codes(lab_fabric())
