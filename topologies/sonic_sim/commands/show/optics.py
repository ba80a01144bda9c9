"""``show interfaces transceiver``, ``flap`` and FEC counters (sonic-utilities sfpshow, show/interfaces, portstat)."""

from collections.abc import Iterator
from typing import Any

from sonic_sim.commands.click7 import Run, argument, flag, option
from sonic_sim.commands.config.root import not_simulated
from sonic_sim.commands.show.interfaces import NOT_AVAILABLE, counters, interfaces, port_rows
from sonic_sim.commands.show.root import NAMESPACE, VERBOSE
from sonic_sim.commands.tables import table
from sonic_sim.configdb import Hash
from sonic_sim.databases import COUNTERS, STATE, rows_of_database

_name = argument("interfacename", required=False)
_FEC = "SAI_PORT_STAT_IF_IN_FEC_"
_FEC_COLUMNS = ("CORRECTABLE_FRAMES", "NOT_CORRECTABLE_FRAMES", "SYMBOL_ERRORS")
_BINS = range(16)
_INDENT = " " * 8
_INFO = {
    "Connector": "connector", "Identifier": "type", "Length Cable Assembly(m)": "cable_length",
    "Specification compliance": "specification_compliance", "Vendor Date Code(YYYY-MM-DD Lot)": "vendor_date",
    "Vendor Name": "manufacturer", "Vendor OUI": "vendor_oui", "Vendor PN": "model", "Vendor Rev": "vendor_rev",
    "Vendor SN": "serial",
}  # fmt: skip
# By the fields of STATE_DB, as sfpshow names them; with their units.
_LANE_VALUES = (("RX{}Power", "rx{}power", "dBm"), ("TX{}Bias", "tx{}bias", "mA"), ("TX{}Power", "tx{}power", "dBm"))
_LIMITS = ("HighAlarm", "HighWarning", "LowAlarm", "LowWarning")
_CHANNEL_LIMITS = (("RxPower", "dBm"), ("TxBias", "mA"), ("TxPower", "dBm"))
_MODULE_LIMITS = (("Temp", "C"), ("Vcc", "Volts"))

transceiver = interfaces.branch("transceiver", "Show SFP Transceiver information")
not_simulated(
    transceiver,
    """
    error-status  Show transceiver error-status
    info          Show interface transceiver information
    lpmode        Show interface transceiver low-power mode status
    pm            Show interface transceiver performance monitoring information
    status        Show interface transceiver status information
""",
)


@transceiver.leaf(
    "eeprom", "Show interface transceiver EEPROM information", _name,
    flag("-d", "--dom", "dump_dom", help="Also display Digital Optical Monitoring (DOM) data"), NAMESPACE[1], VERBOSE,
)  # fmt: skip
def eeprom(run: Run, interfacename: str | None, dump_dom: bool, **others: Any) -> None:
    state = rows_of_database(run.device, STATE, "TRANSCEIVER_*")
    for port in port_rows(run, interfacename):
        info = state.get(f"TRANSCEIVER_INFO|{port}")
        if info is None:
            run.say(f"{port}: SFP EEPROM Not detected\n")
            continue
        lines = [f"{port}: SFP EEPROM detected"]
        lines += [f"{_INDENT}{name}: {info.get(field, NOT_AVAILABLE)}" for name, field in _INFO.items()]
        readings = state.get(f"TRANSCEIVER_DOM_SENSOR|{port}")
        if dump_dom and readings is not None:
            lines += _dom_lines(readings, state.get(f"TRANSCEIVER_DOM_THRESHOLD|{port}", {}))
        run.say("\n".join(lines) + "\n")


def _dom_lines(readings: Hash, thresholds: Hash) -> Iterator[str]:
    """Yield the lines of a module's monitored values, and of their limits."""
    yield f"{_INDENT}ChannelMonitorValues:"
    for name, field, unit in _LANE_VALUES:
        lanes = sum(field.format(lane) in readings for lane in range(1, 9))
        for lane in range(1, lanes + 1):
            yield f"{_INDENT * 2}{name.format(lane)}: {_with_unit(readings[field.format(lane)], unit)}"
    yield f"{_INDENT}ChannelThresholdValues:"
    yield from _limit_lines(thresholds, _CHANNEL_LIMITS)
    yield f"{_INDENT}ModuleMonitorValues:"
    yield f"{_INDENT * 2}Temperature: {_with_unit(readings.get('temperature', NOT_AVAILABLE), 'C')}"
    yield f"{_INDENT * 2}Vcc: {_with_unit(readings.get('voltage', NOT_AVAILABLE), 'Volts')}"
    yield f"{_INDENT}ModuleThresholdValues:"
    yield from _limit_lines(thresholds, _MODULE_LIMITS)


def _limit_lines(thresholds: Hash, kinds: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """Yield the lines of the limits of some values, which are given with their units."""
    for kind, unit in kinds:
        for limit in _LIMITS:
            value = thresholds.get(f"{kind}{limit}".lower(), NOT_AVAILABLE)
            yield f"{_INDENT * 2}{kind + limit:<18}: {_with_unit(value, unit)}"


def _with_unit(value: str, unit: str) -> str:
    if value == NOT_AVAILABLE:
        return value
    return f"{value}{unit}"


@transceiver.leaf("presence", "Show interface transceiver presence", _name, NAMESPACE[1], VERBOSE)
def presence(run: Run, interfacename: str | None, **others: Any) -> None:
    state = rows_of_database(run.device, STATE, "TRANSCEIVER_INFO|*")
    rows = []
    for port in port_rows(run, interfacename):
        present = "Present" if f"TRANSCEIVER_INFO|{port}" in state else "Not present"
        rows.append([port, present])
    run.say(table(["Port", "Presence"], rows))


@interfaces.leaf("flap", "Show Interface Flap Information <interfacename>", _name, NAMESPACE[1])
def flap(run: Run, interfacename: str | None, namespace: str | None) -> None:
    rows = []
    for port, row in port_rows(run, interfacename).items():
        count = row.get("flap_count", "Never")
        states = [row.get("admin_status", "Unknown").capitalize(), row.get("oper_status", "Unknown").capitalize()]
        times = [_utc(row, name) for name in ("last_down_time", "last_up_time")]
        rows.append([port, count, *states, *times])
    headers = ["Interface", "Flap Count", "Admin", "Oper", "Link Down TimeStamp(UTC)", "Link Up TimeStamp(UTC)"]
    run.say(table(headers, rows))


@counters.leaf(
    "fec-stats", "Show interface counters fec-stats", *NAMESPACE,
    option("-p", "--period", help="Display statistics over a specified period (in seconds)"), VERBOSE,
)  # fmt: skip
def fec_stats(run: Run, **others: Any) -> None:
    rows = rows_of_database(run.device, COUNTERS)
    oids = rows.get("COUNTERS_PORT_NAME_MAP", {})
    body = []
    for port, state in port_rows(run, None).items():
        values = rows.get(f"COUNTERS:{oids.get(port, '')}", {})
        rates = rows.get(f"RATES:{oids.get(port, '')}", {})
        state_letter = "U" if state.get("oper_status") == "up" else "D"
        counts = [_with_commas(values.get(_FEC + name, "")) for name in _FEC_COLUMNS]
        error_rates = [_rate(rates, name) for name in ("FEC_PRE_BER", "FEC_POST_BER", "FEC_PRE_BER_MAX")]
        body.append([port, state_letter, *counts, *error_rates])
    headers = ["IFACE", "STATE", "FEC_CORR", "FEC_UNCORR", "FEC_SYMBOL_ERR", "FEC_PRE_BER", "FEC_POST_BER",
               "FEC_PRE_BER_MAX"]  # fmt: skip
    run.say(table(headers, body, right=True))


def _utc(row: Hash, name: str) -> str:
    """Return the time in a field of a port."""
    if name not in row:
        return "Never"
    return f"{row[name]} UTC"


def _with_commas(count: str) -> str:
    if not count:
        return NOT_AVAILABLE
    return f"{int(count):,}"


def _rate(rates: Hash, name: str) -> str:
    """Return an error rate as the table shows it."""
    if name not in rates:
        return NOT_AVAILABLE
    return f"{float(rates[name]):.2e}"


@counters.leaf("fec-histogram", "Show interface counters fec-histogram", argument("interfacename"), *NAMESPACE)
def fec_histogram(run: Run, interfacename: str, **others: Any) -> None:
    rows = rows_of_database(run.device, COUNTERS)
    oid = rows.get("COUNTERS_PORT_NAME_MAP", {}).get(interfacename, "")
    values = rows.get(f"COUNTERS:{oid}", {})
    body = [[f"BIN{number}", values.get(f"{_FEC}CODEWORD_ERRORS_S{number}", NOT_AVAILABLE)] for number in _BINS]
    run.say(table(["Symbol Errors Per Codeword", "Codewords"], body))
