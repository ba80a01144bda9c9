"""Reload and boot: locks, readiness, what each routing mode boots FRR from, and what a loss of power leaves."""

import json
from collections.abc import Callable

import pytest

from sonic_sim.clock import Clock
from sonic_sim.device import CONFIG_FILE, FRR_FILE, Device, Effect

Run = Callable[..., tuple[int, str, str]]
RELOAD = "config reload -y -f /tmp/new.json"


def write_new(switch: Device, **metadata: str | None) -> None:
    """Write the running configuration with other metadata to a file; None leaves a field out."""
    document = switch.db.document()
    localhost = {**document["DEVICE_METADATA"]["localhost"], **metadata}
    document["DEVICE_METADATA"]["localhost"] = {name: value for name, value in localhost.items() if value is not None}
    switch.files.write("/tmp/new.json", json.dumps(document).encode())


def test_a_second_reload_waits_for_nobody(run: Run, switch: Device) -> None:
    write_new(switch)
    holder = switch.locks.take("/etc/sonic/reload.lock")
    assert holder is not None
    assert run(switch, RELOAD)[:2] == (1, "Failed to acquire lock on /etc/sonic/reload.lock\n")
    assert run(switch, RELOAD + " -b")[1].startswith("Bypass lock on /etc/sonic/reload.lock\n")
    switch.locks.release(holder)
    assert run(switch, RELOAD)[0] == 0


def test_the_reload_lock_does_not_stop_a_patch(run: Run, switch: Device) -> None:
    switch.locks.take("/etc/sonic/reload.lock")
    patch = '[{"op": "add", "path": "/PORT/Ethernet0/description", "value": "x"}]'
    assert run(switch, "config apply-patch /dev/stdin", stdin=patch)[0] == 0


def test_a_reload_is_refused_until_swss_is_up_for_two_minutes(run: Run, switch: Device) -> None:
    switch.clock = Clock(0.01)
    switch.times.swss_up = switch.clock.now() - 0.6
    assert "SwSS container is not ready. Retry later" in run(switch, "config reload -y")[1]
    switch.times.swss_up -= 0.61
    assert run(switch, "config reload -y -n")[0] == 0


def test_a_reload_takes_a_missing_mac_from_the_hardware(run: Run, switch: Device) -> None:
    write_new(switch, mac=None, platform=None)
    assert "sonic-cfggen -H -k ACS-MSN2700 --write-to-db" in run(switch, RELOAD)[1]
    assert switch.db.get("DEVICE_METADATA|localhost")["mac"] == "02:00:00:00:00:01"
    assert switch.db.get("DEVICE_METADATA|localhost")["platform"] == "x86_64-mlnx_msn2700-r0"


def test_a_reload_drops_the_sessions_and_takes_the_host_name(run: Run, switch: Device) -> None:
    effects: list[Effect] = []
    switch.on_effect = lambda device, effect: effects.append(effect)
    write_new(switch, hostname="pod1-leaf1")
    assert run(switch, RELOAD)[0] == 0
    assert effects == [Effect.DROP_SESSIONS]
    assert run(switch, "hostname")[1] == "pod1-leaf1\n"


@pytest.mark.parametrize(
    ("mode", "kept", "asn"),
    [(None, False, "65100"), ("separated", False, "65100"), ("unified", True, "65100"), ("split", False, None),
     ("split-unified", True, "65001")],
)  # fmt: skip
def test_the_routing_mode_decides_what_frr_boots_from(
    run: Run, switch: Device, mode: str | None, kept: bool, asn: str | None
) -> None:
    switch.files.write(FRR_FILE, b"router bgp 65001\n")
    write_new(switch, docker_routing_config_mode=mode)
    assert run(switch, RELOAD)[0] == 0
    assert switch.files.exists(FRR_FILE) == kept
    shown = run(switch, "vtysh -c 'show running-config'")[1]
    assert (f"router bgp {asn}" in shown) if asn else ("router bgp" not in shown)


def test_a_golden_file_without_the_mode_takes_the_mode_away(run: Run, switch: Device) -> None:
    switch.files.write("/etc/sonic/golden_config_db.json", b"{}")
    write_new(switch, docker_routing_config_mode="split-unified")
    run(switch, RELOAD)
    assert "docker_routing_config_mode" not in switch.db.get("DEVICE_METADATA|localhost")


def test_split_unified_adds_the_lines_of_the_start_script_to_the_file(run: Run, switch: Device) -> None:
    write_new(switch, docker_routing_config_mode="split-unified")
    run(switch, RELOAD)
    assert b"no fpm use-next-hop-groups\nfpm address 127.0.0.1\n" in switch.files.read(FRR_FILE)


def test_power_lost_before_a_save_brings_the_saved_configuration_back(run: Run, switch: Device) -> None:
    run(switch, "config hostname other")
    run(switch, "config interface mtu Ethernet0 9000")
    switch.lose_power()
    assert switch.db.get("PORT|Ethernet0")["mtu"] == "9100"
    run(switch, "config interface mtu Ethernet0 9000; config save -y")
    switch.lose_power()
    assert switch.db.get("PORT|Ethernet0")["mtu"] == "9000"


def test_a_lost_configuration_boots_the_factory_again(run: Run, switch: Device) -> None:
    run(switch, "config interface mtu Ethernet0 9000; config save -y")
    switch.files.write(FRR_FILE, b"router bgp 1\n")
    switch.lose_power(with_configuration=True)
    assert switch.db.get("PORT|Ethernet0")["mtu"] == "9100"
    assert json.loads(switch.files.read(CONFIG_FILE))["DEVICE_METADATA"]["localhost"]["hostname"] == "sonic"
    assert not switch.files.exists(FRR_FILE)


def test_a_migrated_configuration_has_the_rows_that_sonic_adds(run: Run, switch: Device) -> None:
    assert switch.db.get("VERSIONS|DATABASE") == {"VERSION": "version_202505_01"}
    assert switch.db.get("PORT|Ethernet0")["dhcp_rate_limit"] == "300"


def test_frr_answers_only_some_time_after_a_reload(run: Run, switch: Device) -> None:
    switch.clock = Clock(0.01)
    write_new(switch)
    run(switch, RELOAD)
    switch.times.frr_up = switch.clock.now() + 60
    assert run(switch, "vtysh -c 'show version'")[0] == 1
    assert json.loads(run(switch, "show runningconfiguration all")[1])["bgpraw"] == ""
