"""How to make SONiC's daemons apply a row of CONFIG_DB again, where they apply something else."""

from railweave.sonic.neutral import SWITCH_HASH

_PORT_FIELDS = frozenset({"mtu", "speed", "fec", "autoneg"})
"""Fields of PORT that a subcommand of ``config interface`` writes: portmgrd sets a row that is written again, whether
its values differ or not (sonic-swss cfgmgr/portmgr.cpp)."""
_WORDS = {"autoneg": {"on": "enabled", "off": "disabled"}}
"""What the command calls a value where CONFIG_DB has another word (sonic-utilities config/main.py)."""


def mtu_command(port: str, mtu_bytes: str) -> str:
    """Return the command that sets the MTU of a port and of its interface, even if CONFIG_DB has it already."""
    return f"sudo config interface mtu {port} {mtu_bytes}"


def taken_again_by(row: str, field: str, configured: str) -> str:
    """Return in words how to make daemons apply a field of a row again, whose value CONFIG_DB has already.

    A deployment would write nothing. ``row`` is ``TABLE|key``, ``configured`` the value in CONFIG_DB.
    """
    table, _, key = row.partition("|")
    if table == SWITCH_HASH:
        return "the ASIC takes no others"
    if table == "PORT" and field in _PORT_FIELDS and configured != "none":
        value = _WORDS.get(field, {}).get(configured, configured)
        return f"`sudo config interface {field} {key} {value}` sets it again"
    return "`sudo config reload -y` has daemons read all rows again, without traffic meanwhile"
