"""A fabric of docker-sonic-vs: SONIC_IMAGE, else a stand-in that starts, lacks and forgets what that image does.

It has no SSH, sudo, systemd, monit and lldpd; a reload of its own fails; its managers follow CONFIG_DB key by key; a
port's device stands beside Containerlab's interface. The commands are those of docs/how-to/lab.md.
"""

import json
import time
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

LEAVES, SPINES = ("vs-leaf1", "vs-leaf2"), ("vs-spine1", "vs-spine2")
DATA = 9000 - 28
BETWEEN_RAILS = (("gpu1", "-I 10.32.0.1 10.32.0.67"), ("gpu2", "-I 10.32.0.3 10.32.0.65"))


def addresses(rig: Any, switch: str) -> dict[str, set[str]]:
    """Return the global addresses that the kernel holds on ports and loopbacks."""
    return {
        one["ifname"]: held
        for one in json.loads(rig.on(switch, "ip -j addr show"))
        if one.get("ifname", "").startswith(("Ethernet", "Loopback"))
        and (held := {f"{each['local']}/{each['prefixlen']}" for each in one["addr_info"] if each["scope"] == "global"})
    }


def intended(rig: Any, switch: str) -> dict[str, set[str]]:
    rows = rig.running(switch)
    found: dict[str, set[str]] = {}
    for table in ("INTERFACE", "LOOPBACK_INTERFACE"):
        for key in rows[table]:
            name, _, address = key.partition("|")
            if address:
                found.setdefault(name, set()).add(address)
    return found


def test_the_image_cannot_reload_by_itself(sonic_vs: Any, proves: Any) -> None:
    own = "cp /etc/sonic/config_db.json /tmp/own.json; /usr/local/bin/config reload -y -f /tmp/own.json"
    said = sonic_vs.on(LEAVES[0], f"{own} 2>&1", status=127)
    assert "monit" in said
    assert sonic_vs.on(LEAVES[0], "command -v systemctl monit lldpd sshd", status=None).split() == [
        "/usr/local/sbin/systemctl"
    ]
    sonic_vs.on(LEAVES[0], "config reload -y -f /tmp/own.json")
    proves("its own `config reload` ends with 127 for want of monit; the stand-in of `lab up` boots the image instead")


def test_factory_fresh_switches_are_provisioned_by_booting_them(sonic_vs: Any, proves: Any) -> None:
    begun = time.monotonic()
    result = sonic_vs.deploy()
    assert result["result"] == "done"
    seconds = time.monotonic() - begun
    for switch in (*LEAVES, *SPINES):
        peers = sonic_vs.bgp(switch)
        assert {one["state"] for one in peers.values()} == {"Established"}
        assert len(peers) == 2, "no session of the factory configuration is left"
        assert addresses(sonic_vs, switch) == intended(sonic_vs, switch), "no address of the factory is left"
    assert sonic_vs.deploy()["result"] == "unchanged"
    assert sonic_vs.json("drift", "--target", "lab")["drift"] is False
    proves(f"4 factory-fresh docker-sonic-vs provisioned in {seconds:.0f} s; nothing of the factory left; no drift")


def test_the_check_that_the_image_cannot_pass_is_skipped_in_sight(sonic_vs: Any, proves: Any) -> None:
    checks = sonic_vs.verify()["checks"]
    skipped = {(one["kind"], one["skipped"]) for one in checks if "skipped" in one}
    assert skipped == {("lldp", "docker-sonic-vs has no lldpd before 2026")}
    told = sonic_vs.run("verify", "--target", "lab").stdout
    assert "skipped: docker-sonic-vs has no lldpd before 2026" in " ".join(told.split())
    proves(f"{sum('skipped' in one for one in checks)} LLDP checks skipped with their reason, the other checks pass")


def test_hosts_reach_each_other_and_only_one_device_of_a_port_answers(sonic_vs: Any, proves: Any) -> None:
    for far in ("10.32.0.3", "10.32.0.67"):
        assert sonic_vs.pings("gpu1", f"-M do -s {DATA} -I 10.32.0.1 {far}"), far
    heard = sonic_vs.on("gpu1", "ip -4 neigh show dev rail0")
    assert sonic_vs.on(LEAVES[0], "cat /sys/class/net/Ethernet0/address").strip() in heard
    assert "NOARP" in sonic_vs.on(LEAVES[0], "ip link show eth1")
    proves("9000 bytes between hosts of both leaves; ARP is answered by Ethernet0, not by eth1 behind it")


@pytest.mark.nightly
def test_a_change_is_rolled_back_by_its_name(sonic_vs: Any, proves: Any) -> None:
    # Of a rollback of the first provisioning nothing would remain.
    assert sonic_vs.deploy()["result"] in {"done", "unchanged"}
    before = {switch: sonic_vs.running(switch) for switch in LEAVES}
    text = sonic_vs.intent.read_text()
    sonic_vs.intent.write_text(f"{text}mtu: {{fabric: 9216, hosts: 9000}}\n")
    try:
        assert sonic_vs.deploy()["result"] == "done"
        assert "mtu 9216" in sonic_vs.on(LEAVES[0], "ip link show Ethernet0")
        ended = sonic_vs.json("rollback", "--target", "lab", "--yes")
    finally:
        sonic_vs.intent.write_text(text)
    assert ended["result"] == "done"
    assert {switch: sonic_vs.running(switch) for switch in LEAVES} == before
    assert "mtu 9100" in sonic_vs.on(LEAVES[0], "ip link show Ethernet0")
    sonic_vs.as_intended()
    proves("MTU 9216 deployed and rolled back; CONFIG_DB, FRR and kernel as before")


def test_a_spine_is_drained_and_undrained(sonic_vs: Any, streams: Any, proves: Any) -> None:
    running = streams(sonic_vs, *BETWEEN_RAILS)
    told = sonic_vs.json("drain", SPINES[0], "--target", "lab", "--yes", "--wait", "20")
    assert (told["devices"][SPINES[0]]["changed"], told["devices"][SPINES[0]]["error"]) == (True, "")
    assert sonic_vs.plan()["changes"] == [], "a drain is no drift"
    sonic_vs.run("undrain", SPINES[0], "--target", "lab")
    assert sum(stream.stop()[1] for stream in running) == 0
    sonic_vs.as_intended()
    proves(f"{SPINES[0]} drained and undrained, no packet lost")


@pytest.mark.nightly
def test_a_spine_more_is_provisioned_without_losing_a_packet(sonic_vs: Any, streams: Any, proves: Any) -> None:
    sonic_vs.edit(("spine: {model: sonic-vs, count: 2}", "spine: {model: sonic-vs, count: 3}"))
    running = streams(sonic_vs, *BETWEEN_RAILS)
    assert sonic_vs.deploy()["result"] == "done"
    assert sum(stream.stop()[1] for stream in running) == 0
    assert {one["state"] for one in sonic_vs.bgp("vs-spine3").values()} == {"Established"}
    sonic_vs.as_intended()
    proves("a third spine provisioned under traffic: no packet lost")
