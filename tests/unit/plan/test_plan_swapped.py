"""Swapped cables, as both ends of them tell."""

from railweave.fabric.model import Fabric
from railweave.plan.misplugged import misplugged_cables, with_port_names
from railweave.plan.outcome import CheckKind, VerifyCheck


def lldp(device: str, port: str, expected: str, actual: str) -> VerifyCheck:
    return VerifyCheck(device, CheckKind.LLDP, port, expected, actual, expected == actual)


LEAF_SIDE = (
    lldp("lab-leaf1", "Ethernet112", "lab-spine1 Ethernet0", "lab-spine2 fortyGigE0/0"),
    lldp("lab-leaf1", "Ethernet116", "lab-spine2 Ethernet0", "lab-spine1 fortyGigE0/0"),
)
SPINE_SIDE = (
    lldp("lab-spine1", "Ethernet0", "lab-leaf1 Ethernet112", "lab-leaf1 fortyGigE0/116"),
    lldp("lab-spine2", "Ethernet0", "lab-leaf1 Ethernet116", "lab-leaf1 fortyGigE0/112"),
)


def test_a_swap_is_told_once_with_the_plugs_to_exchange(lab: Fabric) -> None:
    for checks in (LEAF_SIDE, SPINE_SIDE, (*LEAF_SIDE, *SPINE_SIDE)):
        (swap,) = misplugged_cables(lab, checks)
        assert str(swap) == (
            "the cables lab-leaf1 Ethernet112 - lab-spine1 Ethernet0 and lab-leaf1 Ethernet116 - lab-spine2 Ethernet0 "
            "are swapped: at lab-leaf1, exchange the plugs of Ethernet112 and Ethernet116"
        )


def test_cables_without_a_common_switch_are_told_by_their_ends(lab: Fabric) -> None:
    (swap,) = misplugged_cables(
        lab,
        [
            lldp("lab-leaf1", "Ethernet112", "lab-spine1 Ethernet0", "lab-spine2 Ethernet4"),
            lldp("lab-leaf2", "Ethernet116", "lab-spine2 Ethernet4", "lab-spine1 Ethernet0"),
        ],
    )
    assert str(swap).endswith("exchange the plugs of lab-leaf1 Ethernet112 and lab-leaf2 Ethernet116")


def test_a_wrong_neighbor_is_shown_with_the_name_of_its_port(lab: Fabric) -> None:
    right = lldp("lab-leaf1", "Ethernet112", "lab-spine1 Ethernet0", "lab-spine1 Ethernet0")
    shown = with_port_names(lab, [LEAF_SIDE[0], right])
    assert [check.actual for check in shown] == ["lab-spine2 Ethernet0", "lab-spine1 Ethernet0"]


NOTHING = "no neighbor"


def test_a_cable_that_was_plugged_elsewhere_is_told_once_with_both_places(lab: Fabric) -> None:
    left = lldp("lab-spine1", "Ethernet0", "lab-leaf1 Ethernet112", NOTHING)
    for checks in ([LEAF_SIDE[0]], [LEAF_SIDE[0], left]):
        (cable,) = misplugged_cables(lab, checks)
        assert str(cable) == (
            "the cable of lab-leaf1 Ethernet112 goes to lab-spine2 Ethernet0 instead of lab-spine1 Ethernet0: plug it "
            "back from lab-spine2 Ethernet0 into lab-spine1 Ethernet0"
        )


def test_a_cable_in_the_place_of_another_is_told_by_both_of_its_ends_once(lab: Fabric) -> None:
    (cable,) = misplugged_cables(
        lab,
        [
            LEAF_SIDE[0],
            lldp("lab-spine2", "Ethernet0", "lab-leaf1 Ethernet116", "lab-leaf1 fortyGigE0/112"),
            lldp("lab-leaf1", "Ethernet116", "lab-spine2 Ethernet0", NOTHING),
            lldp("lab-spine1", "Ethernet0", "lab-leaf1 Ethernet112", NOTHING),
        ],
    )
    assert str(cable).startswith(
        "the cable of lab-leaf1 Ethernet112 goes to lab-spine2 Ethernet0 instead of lab-spine1"
    )


def test_nothing_is_said_of_a_cable_that_leads_to_no_known_port(lab: Fabric) -> None:
    for actual in (NOTHING, "lab-leaf9 Ethernet0", "lab-spine2 Ethernet0, lab-spine2 Ethernet4", "printer 1"):
        assert misplugged_cables(lab, [lldp("lab-leaf1", "Ethernet112", "lab-spine1 Ethernet0", actual)]) == ()
