"""Swapped cables, as both ends of them tell."""

from railweave.fabric.model import Fabric
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.plan.verification import swapped_cables


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
        (swap,) = swapped_cables(lab, checks)
        assert str(swap) == (
            "the cables lab-leaf1 Ethernet112 - lab-spine1 Ethernet0 and lab-leaf1 Ethernet116 - lab-spine2 Ethernet0 "
            "are swapped: at lab-leaf1, exchange the plugs of Ethernet112 and Ethernet116"
        )


def test_cables_without_a_common_switch_are_told_by_their_ends(lab: Fabric) -> None:
    (swap,) = swapped_cables(
        lab,
        [
            lldp("lab-leaf1", "Ethernet112", "lab-spine1 Ethernet0", "lab-spine2 Ethernet4"),
            lldp("lab-leaf2", "Ethernet116", "lab-spine2 Ethernet4", "lab-spine1 Ethernet0"),
        ],
    )
    assert str(swap).endswith("exchange the plugs of lab-leaf1 Ethernet112 and lab-leaf2 Ethernet116")


def test_a_single_wrong_neighbor_is_no_swap(lab: Fabric) -> None:
    assert swapped_cables(lab, LEAF_SIDE[:1]) == ()
    assert swapped_cables(lab, [lldp("lab-leaf1", "Ethernet112", "lab-spine1 Ethernet0", "no neighbor")]) == ()
