"""The programs of a switch: which module has which. Whoever imports this package can start them all.

A module is imported when one of its programs is first started: a node of the lab starts a process for each command.
"""

from sonic_sim.shell.programs import add_module

_PROGRAMS = {
    "cfggen": "sonic-cfggen",
    "config": "config",
    "config.portconfig": "portconfig",
    "coreutils": "echo printf true : stty terminal set export unset umask trap reset clear ulimit false cd pwd whoami"
    " id date which type",
    "counterpoll": "counterpoll",
    "database": "sonic-db-cli redis-cli sonic-redis-cli sonic-db-dump",
    "ecnconfig": "ecnconfig",
    "filetools": "cp mv rm mkdir install touch chmod chown sync ls stat sha256sum md5sum test [ cmp",
    "host": "hostname uname uptime reboot systemctl journalctl dmesg logger monit kill ps crm",
    "jq": "jq",
    "mmuconfig": "mmuconfig",
    "netlink": "ip",
    "pfcwd": "pfcwd",
    "ping": "ping",
    "prefix": "sudo sh bash dash exec nohup nice ionice command stdbuf time env timeout sleep wait flock cat setsid"
    " systemd-run docker",
    "show": "show portstat acl-loader",
    "textutils": "head tail grep egrep fgrep sed wc sort more less",
    "traffic_shift": "TSA TSB TSC",
    "vtysh": "vtysh rvtysh",
}

for _module, _names in _PROGRAMS.items():
    add_module(f"{__name__}.{_module}", _names.split())
