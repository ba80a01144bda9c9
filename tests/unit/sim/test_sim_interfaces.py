"""Storm control of ports, and IPv6 by link-local addresses on all interfaces at once, as sonic-utilities 202505 has
them."""

from collections.abc import Callable

import pytest

from sonic_sim.device import Device

Run = Callable[..., tuple[int, str, str]]


def test_storm_control_is_set_changed_and_removed(run: Run, switch: Device) -> None:
    line = "sudo config interface storm-control"
    assert run(switch, f"{line} add Ethernet0 broadcast 1000") == (0, "", "")
    assert run(switch, f"{line} add Ethernet0 unknown-unicast 5")[0] == 0
    assert run(switch, f"{line} add Ethernet0 broadcast 2000")[0] == 0
    assert switch.db.get("PORT_STORM_CONTROL|Ethernet0|broadcast") == {"kbps": "2000"}
    assert run(switch, f"{line} del Ethernet0 broadcast") == (0, "", "")
    assert list(switch.db.table("PORT_STORM_CONTROL")) == ["Ethernet0|unknown-unicast"]
    status, out, error = run(switch, f"{line} del Ethernet0 broadcast")
    assert (status, out) == (2, "broadcast storm-control not enabled on interface Ethernet0\n")
    assert "Error: Unable to delete broadcast storm-control from interface Ethernet0" in error


@pytest.mark.parametrize(
    ("words", "said", "refused"),
    [
        (
            "PortChannel1 broadcast 1",
            "Storm-control is supported only on Ethernet interfaces. Not supported on PortChannel1\n",
            "Error: Unable to add broadcast storm-control to interface PortChannel1",
        ),
        (
            "Ethernet1 broadcast 1",
            "Interface name Ethernet1 is invalid. Please enter a valid interface name\n",
            "Error: Unable to add broadcast storm-control to interface Ethernet1",
        ),
        ("Ethernet0 multicast 1", "", "invalid choice: multicast. (choose from broadcast, unknown-unicast,"),
        ("Ethernet0 broadcast 100000001", "", "100000001 is not in the valid range of 0 to 100000000."),
    ],
)
def test_storm_control_refuses_what_is_no_port_or_no_limit(
    run: Run, switch: Device, words: str, said: str, refused: str
) -> None:
    status, out, error = run(switch, f"sudo config interface storm-control add {words}")
    assert (status, out) == (2, said)
    assert refused in error
    assert not switch.db.table("PORT_STORM_CONTROL")


def test_ipv6_by_link_local_addresses_is_enabled_where_no_member_is_and_disabled_again(
    run: Run, switch: Device
) -> None:
    for key in [one for one in switch.db.rows if one.startswith("INTERFACE|")]:
        switch.db.delete(key)
    for key in (
        "VLAN|Vlan10",
        "VLAN_MEMBER|Vlan10|Ethernet4",
        "PORTCHANNEL|PortChannel1",
        "PORTCHANNEL_MEMBER|PortChannel1|Ethernet8",
        "INTERFACE|Ethernet0",
        "INTERFACE|Ethernet0|10.0.0.1/31",
    ):
        switch.db.put(key, {})
    switch.db.put("INTERFACE|Ethernet12", {"vrf_name": "VrfBlue"})

    assert run(switch, "sudo config ipv6 enable link-local") == (0, "", "")
    given = {key for key, row in switch.db.rows.items() if row.get("ipv6_use_link_local_only") == "enable"}
    ports = {f"INTERFACE|{name}" for name in switch.db.table("PORT")}
    members = {"INTERFACE|Ethernet4", "INTERFACE|Ethernet8"}
    assert given == ports - members | {"VLAN_INTERFACE|Vlan10", "PORTCHANNEL_INTERFACE|PortChannel1"}

    assert run(switch, "sudo config ipv6 disable link-local") == (0, "", "")
    tables = ("INTERFACE|", "VLAN_INTERFACE|", "PORTCHANNEL_INTERFACE|")
    left = {key: dict(row) for key, row in switch.db.rows.items() if key.startswith(tables)}
    assert left == {
        "INTERFACE|Ethernet0": {"NULL": "NULL", "ipv6_use_link_local_only": "disable"},
        "INTERFACE|Ethernet0|10.0.0.1/31": {"NULL": "NULL"},
        "INTERFACE|Ethernet12": {"vrf_name": "VrfBlue", "ipv6_use_link_local_only": "disable"},
    }
