"""The databases beside CONFIG_DB, computed when they are read: what orchagent, lldp and the counters would show."""

from sonic_sim.configdb import Hash
from sonic_sim.device import Device

APPL, ASIC, COUNTERS, LOGLEVEL, CONFIG, FLEX_COUNTER, STATE = 0, 1, 2, 3, 4, 5, 6
NUMBERS = {
    "APPL_DB": APPL, "ASIC_DB": ASIC, "COUNTERS_DB": COUNTERS, "LOGLEVEL_DB": LOGLEVEL, "CONFIG_DB": CONFIG,
    "FLEX_COUNTER_DB": FLEX_COUNTER, "STATE_DB": STATE,
}  # fmt: skip


def rows_of_database(device: Device, number: int, pattern: str = "*") -> dict[str, Hash]:
    """Return the rows of a database other than CONFIG_DB; only those that ``pattern`` may match need be computed."""
    rows: dict[str, Hash] = {}
    if device.daemons and device.network is not None:
        from sonic_sim.derived import derived_rows

        rows.update(derived_rows(device, number, pattern))
    rows.update(device.other.get(number, {}))
    return rows
