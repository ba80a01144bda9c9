"""NAPALM's ``get_facts``."""

from typing import TYPE_CHECKING, Any

from napalm_sonic.codec import labeled
from napalm_sonic.decoding import decodes
from napalm_sonic.getters_interfaces import kernel_interfaces

if TYPE_CHECKING:
    from napalm_sonic.session import Session

VERSION = "show version"
UPTIME = "cat /proc/uptime"
HOSTNAME = "hostname"
FQDN = "hostname -f"

_ABSENT = frozenset({"", "N/A", "None"})


@decodes("its facts")
def get_facts(session: "Session") -> dict[str, Any]:
    """Return hostname, fqdn, vendor, model, serial_number, os_version, uptime (seconds) and interface_list.

    The model is the hardware SKU: it says which ports the switch has, and virtual switches have no model number.
    """
    version = labeled(session.run_checked(VERSION))
    hostname = session.run_checked(HOSTNAME).strip()
    return {
        "hostname": hostname,
        "fqdn": _fqdn(session) or hostname,
        "vendor": "SONiC",
        "model": _present(version.get("HwSKU")) or _present(version.get("Platform")) or "",
        "serial_number": _present(version.get("Serial Number")),
        "os_version": _present(version.get("SONiC Software Version")),
        "uptime": _uptime_s(session.run_checked(UPTIME)),
        "interface_list": list(kernel_interfaces(session)),
    }


def _fqdn(session: "Session") -> str:
    """Return the fully qualified name; empty if the resolver does not know the host, which is usual on a switch."""
    done = session.run(FQDN)
    if done.exit_status != 0:
        return ""
    return done.stdout.strip()


def _present(value: str | None) -> str:
    """Return a value of ``show version``, empty if the platform does not have it."""
    if value is None or value in _ABSENT:
        return ""
    return value


def _uptime_s(text: str) -> float:
    """Return the first value of /proc/uptime, -1 (NAPALM's "unknown") without one."""
    words = text.split()
    if not words:
        return -1.0
    return float(words[0])
