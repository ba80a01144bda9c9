"""IPv6 by link-local addresses on all interfaces at once, as sonic-utilities 202505 has it."""

from collections.abc import Callable

from sonic_sim.device import Device

Run = Callable[..., tuple[int, str, str]]


def test_ipv6_by_link_local_addresses_is_enabled_where_no_member_is_and_disabled_again(
    run: Run, switch: Device
) -> None:
    for key in [one for one in switch.db.rows if one.startswith("INTERFACE|")]:
        switch.db.delete(key)
    for key in (
        "VLAN|Vlan10",
        "VLAN_INTERFACE|Vlan10",
        "VLAN_MEMBER|Vlan10|Ethernet4",
        "PORTCHANNEL|PortChannel1",
        "PORTCHANNEL_MEMBER|PortChannel1|Ethernet8",
        "INTERFACE|Ethernet0",
        "INTERFACE|Ethernet0|10.0.0.1/31",
    ):
        switch.db.put(key, {})
    switch.db.put("INTERFACE|Ethernet12", {"vrf_name": "VrfBlue"})

    words = "use-link-local-only"
    chosen = ("Ethernet0", "Ethernet12", "Vlan10", "PortChannel1")
    for name in chosen:
        assert run(switch, f"sudo config interface ipv6 enable {words} {name}") == (0, "", "")
    for name, group in (("Ethernet4", "vlan"), ("Ethernet8", "portchannel")):
        status, _, said = run(switch, f"sudo config interface ipv6 enable {words} {name}")
        assert (status, f"configured as a member of {group}" in said) == (2, True)
    enabled = {key for key, row in switch.db.rows.items() if row.get("ipv6_use_link_local_only") == "enable"}
    assert enabled == {
        "INTERFACE|Ethernet0",
        "INTERFACE|Ethernet12",
        "VLAN_INTERFACE|Vlan10",
        "PORTCHANNEL_INTERFACE|PortChannel1",
    }

    for name in chosen:
        assert run(switch, f"sudo config interface ipv6 disable {words} {name}") == (0, "", "")
    tables = ("INTERFACE|", "VLAN_INTERFACE|", "PORTCHANNEL_INTERFACE|")
    left = {key: dict(row) for key, row in switch.db.rows.items() if key.startswith(tables)}
    assert left == {
        "INTERFACE|Ethernet0": {"NULL": "NULL", "ipv6_use_link_local_only": "disable"},
        "INTERFACE|Ethernet0|10.0.0.1/31": {"NULL": "NULL"},
        "INTERFACE|Ethernet12": {"vrf_name": "VrfBlue", "ipv6_use_link_local_only": "disable"},
    }
