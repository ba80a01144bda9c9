"""The commands of ``config``, a family a module; whoever imports this package has them all."""

from sonic_sim.commands.config import (  # noqa: F401
    aaa,
    acl,
    bgp,
    breakout,
    buffer,
    files,
    interface,
    marking,
    monitoring,
    portchannel,
    portconfig,
    qos,
    reload,
    route,
    sflow,
    snmp,
    system,
    updater,
    vlan,
    vrf,
)
