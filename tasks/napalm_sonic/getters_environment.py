"""NAPALM's getter of fans, power, temperature, processor and memory.

The platform daemons (thermalctld, psud) write their readings to STATE_DB; a virtual switch has none.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from napalm_sonic.codec import database_rows, natural
from napalm_sonic.decoding import decodes

if TYPE_CHECKING:
    from napalm_sonic.session import Session

FANS = "sonic-db-dump -n STATE_DB -y -k 'FAN_INFO|*'"
POWER = "sonic-db-dump -n STATE_DB -y -k 'PSU_INFO|*'"
TEMPERATURES = "sonic-db-dump -n STATE_DB -y -k 'TEMPERATURE_INFO|*'"
MEMORY = "cat /proc/meminfo"
LOAD = "cat /proc/loadavg"
PROCESSORS = "cat /proc/cpuinfo"

_UNKNOWN = -1.0


@decodes("its sensors")
def get_environment(session: "Session") -> dict[str, Any]:
    """Return ``{fans, temperature, power, cpu, memory}``; -1.0 where a value is not measured, memory in bytes.

    The processor's use is the load of the last minute by its cores, at most 100.
    """
    return {
        "fans": {name: {"status": _is_working(row)} for name, row in _rows(session, FANS).items()},
        "temperature": {name: _temperature(row) for name, row in _rows(session, TEMPERATURES).items()},
        "power": {name: _power(row) for name, row in _rows(session, POWER).items()},
        "cpu": {0: {"%usage": _usage(session)}},
        "memory": _memory(session.run_checked(MEMORY)),
    }


def _rows(session: "Session", command: str) -> dict[str, dict[str, str]]:
    """Return the rows that a dump prints by the sensor's name, in natural order."""
    rows = database_rows(session.run_checked(command), command)
    sensors = {key.partition("|")[2]: row for key, row in rows.items()}
    return {name: sensors[name] for name in sorted(sensors, key=natural)}


def _is_working(row: Mapping[str, str]) -> bool:
    """Tell whether a fan or power supply is present and works."""
    is_present = row.get("presence", "true").lower() == "true"
    return is_present and row.get("status", "").lower() == "true"


def _number(text: str | None) -> float:
    """Return a reading as a number, -1.0 if it is missing or ``N/A``."""
    try:
        return float(text or "")
    except ValueError:
        return _UNKNOWN


def _temperature(row: Mapping[str, str]) -> dict[str, Any]:
    measured = _number(row.get("temperature"))
    critical = _number(row.get("critical_high_threshold"))
    return {
        "temperature": measured,
        "is_alert": row.get("warning_status", "").lower() == "true",
        "is_critical": critical > 0 and measured >= critical,
    }


def _power(row: Mapping[str, str]) -> dict[str, Any]:
    return {
        "status": _is_working(row),
        "capacity": _number(row.get("max_power")),
        "output": _number(row.get("power")),
    }


def _usage(session: "Session") -> float:
    """Return the load of the last minute in percent of the cores, at most 100."""
    loads = session.run_checked(LOAD).split()
    cores = sum(line.startswith("processor") for line in session.run_checked(PROCESSORS).splitlines())
    if not loads or not cores:
        return _UNKNOWN
    # The averages of the last 1, 5 and 15 minutes.
    last_minute = _number(loads[0])
    return round(min(100.0, 100 * last_minute / cores), 1)


def _memory(text: str) -> dict[str, int]:
    """Return NAPALM's values of memory in bytes from the text of /proc/meminfo.

    Its lines are such as ``MemTotal:  16318480 kB``, and its kB have 1,024 bytes.
    """
    kibibytes: dict[str, int] = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        words = value.split()
        if words and words[0].isdecimal():
            kibibytes[name] = int(words[0])
    total = kibibytes.get("MemTotal", 0)
    used = total - kibibytes.get("MemAvailable", total)
    return {"available_ram": total * 1024, "used_ram": used * 1024}
