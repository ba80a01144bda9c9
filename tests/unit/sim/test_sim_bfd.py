"""BFD on simulated switches: who runs bfdd, what it shows, and how soon a silent switch is noticed."""

import json
from collections.abc import Callable

import pytest

from sonic_sim.device import Device, Fabric
from sonic_sim.faults import FaultKind

Run = Callable[..., tuple[int, str, str]]
PEERS = {"leaf1": ("65001", "10.0.0.0"), "spine1": ("65100", "10.0.0.1")}


def watch(run: Run, fabric: Fabric, name: str) -> None:
    """Start bfdd as a boot does, and let it watch the session between the first leaf and the spine."""
    device = fabric.devices[name]
    device.db.put("SYSTEM_DEFAULTS|software_bfd", {"status": "enabled"})
    device.bfdd = True
    asn, peer = PEERS[name]
    assert run(device, f"vtysh -c 'conf t' -c 'router bgp {asn}' -c 'neighbor {peer} bfd'")[0] == 0


def seen(run: Run, device: Device, peer: str) -> tuple[str, str | None]:
    told = json.loads(run(device, "vtysh -c 'show bgp vrf all neighbors json'")[1])["default"][peer]
    return told["bgpState"], told.get("peerBfdInfo", {}).get("status")


def test_bfd_comes_up_once_both_ends_have_it_and_the_session_stays(run: Run, fabric: Fabric) -> None:
    leaf = fabric.devices["leaf1"]
    assert run(leaf, "vtysh -c 'show bfd peers json'")[1] == "bfdd is not running\n"
    watch(run, fabric, "leaf1")
    assert seen(run, leaf, "10.0.0.0") == ("Established", "Down")
    leaf.bfdd = False
    assert seen(run, leaf, "10.0.0.0") == ("Established", "Unknown")
    watch(run, fabric, "leaf1")
    watch(run, fabric, "spine1")
    assert seen(run, leaf, "10.0.0.0") == ("Established", "Up")
    (peer,) = json.loads(run(leaf, "vtysh -c 'show bfd peers json'")[1])
    assert (peer["peer"], peer["interface"], peer["status"]) == ("10.0.0.0", "Ethernet0", "up")
    assert seen(run, fabric.devices["spine1"], "10.0.0.3") == ("Established", None)


def test_bfdd_starts_with_the_bgp_container_where_config_db_says_so(switch: Device) -> None:
    switch.db.put("SYSTEM_DEFAULTS|software_bfd", {"status": "enabled"})
    assert not switch.bfdd, "bgpcfgd reads the row when it starts"
    switch.start_frr()
    assert switch.bfdd


@pytest.mark.parametrize(("bfd", "noticed_after_s"), [(False, 9.0), (True, 0.9)])
def test_a_silent_spine_is_noticed_after_the_hold_time_and_by_bfd_at_once(
    run: Run, fabric: Fabric, bfd: bool, noticed_after_s: float
) -> None:
    leaf, spine = fabric.devices["leaf1"], fabric.devices["spine1"]
    run(leaf, "vtysh -c 'conf t' -c 'router bgp 65001' -c 'neighbor 10.0.0.0 timers 3 9'")
    if bfd:
        watch(run, fabric, "leaf1")
        watch(run, fabric, "spine1")
    clock = leaf.clock
    clock.advance(60)
    clock.scale = 1.0
    spine.faults.add(FaultKind.SILENT, since=clock.now())
    clock.advance(noticed_after_s - 0.5)
    assert seen(run, leaf, "10.0.0.0")[0] == "Established"
    assert run(leaf, "ping -c 1 10.255.0.2")[0] == 1, "what goes through it is lost meanwhile"
    clock.advance(0.5)
    assert seen(run, leaf, "10.0.0.0")[0] == "Active"
    assert "Ethernet0" not in run(leaf, "vtysh -c 'show ip route 10.255.0.2/32 json'")[1]
