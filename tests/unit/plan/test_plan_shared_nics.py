"""NICs that several leaves share: their leaves, and ports that have lost their link alone."""

from pathlib import Path

import pytest

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent, load_intent_text
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.plan.policy import DEFAULT_POLICY, PolicyLimits, RolloutPolicy, Share
from railweave.plan.shared_nics import half_linked, sharing

ROOT = Path(__file__).resolve().parents[3]
DUAL_TOR = ROOT / "tests/golden/sonic_config/intents/dual-tor.yml"


@pytest.fixture
def tor() -> Fabric:
    fabric = design(load_intent(DUAL_TOR), load_catalog()).fabric
    assert fabric is not None
    return fabric


def links(fabric: Fabric, **down: str) -> list[VerifyCheck]:
    """Return the checks of all ports to nodes, up but those named ``leafN="EthernetM"``."""
    found = []
    for link in fabric.links:
        if link.is_access:
            port = fabric.switch_of[link.upper].panel.ports[link.upper_port].name
            actual = "enabled, down" if down.get(link.upper.removeprefix("tor-")) == port else "up"
            found.append(VerifyCheck(link.upper, CheckKind.LINK, port, "enabled", actual, True))
    return found


def test_leaves_that_share_nics_are_those_of_a_rail_and_stripe(tor: Fabric) -> None:
    assert sharing(tor, tor.switch_of["tor-leaf1"]) == ("tor-leaf3",)
    assert sharing(tor, tor.switch_of["tor-leaf8"]) == ("tor-leaf6",)


def test_a_port_that_lost_its_link_alone_is_named_and_a_node_that_is_off_is_not(tor: Fabric) -> None:
    assert half_linked(tor, links(tor)) == ()
    assert half_linked(tor, links(tor, leaf4="Ethernet4")) == (
        "gpu2 rail1p1 has no link to tor-leaf4 Ethernet4, which does not announce the NIC (10.64.0.33), while rail1p0"
        " of the same NIC has one to tor-leaf2: look at the cable and the port of the NIC",
    )
    assert half_linked(tor, links(tor, leaf5="Ethernet0", leaf7="Ethernet0")) == ()
    unread = [one for one in links(tor, leaf4="Ethernet4") if one.device != "tor-leaf2"]
    assert half_linked(tor, unread) == ()


def test_two_leaves_of_a_rack_that_share_nics_are_never_disturbed_at_once() -> None:
    text = DUAL_TOR.read_text(encoding="utf-8").replace("rail-optimized", "rack-aligned")
    fabric = design(load_intent_text(text, "racks.yml"), load_catalog()).fabric
    assert fabric is not None
    limits = PolicyLimits(fabric, RolloutPolicy(leaves=Share(percent=100), path_floor=0))
    assert limits.violation(["tor-leaf1", "tor-leaf3"]) is None
    found = limits.violation(["tor-leaf1", "tor-leaf2"])
    assert found is not None
    assert found.message == "2 leaves that share the NICs of stripe 0 would be out of service at once"


def test_one_leaf_of_a_rail_is_out_at_once(tor: Fabric) -> None:
    assert PolicyLimits(tor, DEFAULT_POLICY).violation(["tor-leaf1"]) is None
    assert PolicyLimits(tor, DEFAULT_POLICY).violation(["tor-leaf1", "tor-leaf3"]) is not None
