"""``config ipv6``: link-local addresses on all interfaces at once."""

from sonic_sim.commands.click7 import PlainGroup, Run
from sonic_sim.commands.config.interface import set_link_local
from sonic_sim.commands.config.names import port_channel_of, vlans_of
from sonic_sim.commands.config.root import config

ipv6 = config.branch("ipv6", "IPv6 configuration", cls=PlainGroup)
enable = ipv6.branch("enable", "Enable IPv6 on all interfaces ", cls=PlainGroup)
disable = ipv6.branch("disable", "Disable IPv6 on all interfaces ", cls=PlainGroup)


@enable.leaf("link-local", "Enable IPv6 link-local on all interfaces ")
def enable_link_local(run: Run) -> None:
    db = run.db
    for name in list(db.table("VLAN")):
        set_link_local(db, f"VLAN_INTERFACE|{name}", "enable")
    for name in list(db.table("PORTCHANNEL")):
        if not vlans_of(db, name):
            set_link_local(db, f"PORTCHANNEL_INTERFACE|{name}", "enable")
    for name in list(db.table("PORT")):
        if not port_channel_of(db, name) and not vlans_of(db, name):
            set_link_local(db, f"INTERFACE|{name}", "enable")


@disable.leaf("link-local", "Disable IPv6 link local on all interfaces ")
def disable_link_local(run: Run) -> None:
    for table in ("INTERFACE", "VLAN_INTERFACE", "PORTCHANNEL_INTERFACE"):
        for key in list(run.db.table(table)):
            if "|" not in key:
                set_link_local(run.db, f"{table}|{key}", "disable")
