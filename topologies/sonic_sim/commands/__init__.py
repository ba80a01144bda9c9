"""The programs of a switch; whoever imports this package has them all registered."""

from sonic_sim.commands import (  # noqa: F401
    cfggen,
    config,
    coreutils,
    counterpoll,
    crm,
    database,
    ecnconfig,
    filetools,
    host,
    jq,
    mmuconfig,
    netlink,
    pfcwd,
    ping,
    prefix,
    show,
    switchhash,
    textutils,
    traffic_shift,
    vtysh,
)
