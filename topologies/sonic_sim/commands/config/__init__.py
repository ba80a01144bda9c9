"""The commands of ``config``: which modules have which. Whoever imports this package can run them all.

The modules of a command are imported when it is first named: a node of the lab starts a process for each call.
"""

from sonic_sim.commands.config.root import config

_COMMANDS = {
    "acl": "acl",
    "bgp": "bgp suppress-fib-pending",
    "breakout": "interface",
    "buffer": "buffer interface",
    "files": "save load",
    "interface": "interface",
    "marking": "ecn mmu pfcwd",
    "monitoring": "mirror_session watermark",
    "portchannel": "portchannel",
    "portconfig": "interface",
    "qos": "qos",
    "reload": "reload",
    "route": "route",
    "switchhash": "switch-hash",
    "system": "hostname synchronous_mode yang_config_validation feature",
    "updater": "apply-patch replace checkpoint delete-checkpoint list-checkpoints rollback",
    "vlan": "vlan switchport",
    "vrf": "vrf loopback",
    "vxlan": "vxlan",
}
"""Parts of ``interface`` are in modules of their own."""

for _module, _names in _COMMANDS.items():
    config.add_module(f"{__name__}.{_module}", _names.split())
