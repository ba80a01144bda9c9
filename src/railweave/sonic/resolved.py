"""The QoS tables of a switch by meaning: references resolved, one row for each port and number.

Images write a reference as a name or as ``[TABLE|key]`` (before 202106, and after an upgrade), and a key may name
several ports and numbers (``Ethernet0,Ethernet4|3-4``). A reference to a row that does not exist resolves to nothing,
because orchagent waits for that row for ever.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from railweave.fabric.buffers import BufferPool
from railweave.fabric.policy import BufferModel, Marking
from railweave.qos.mapping import DSCP_COUNT
from railweave.qos.mmu.pools import INGRESS_LOSSLESS
from railweave.sonic.ownership import CABLE_LENGTH, OWNED, PRIORITY_GROUPS, numbers_of, port_of
from railweave.sonic.rows import ConfigDb, Fields, Table, Value, number

COMPUTED = "NULL"
"""The profile of a priority group whose headroom the switch computes."""
COLORS = ("green", "yellow", "red")
_GREEN = "green"
_MARKS_ALL = "ecn_all"
_RATES = ("cbs", "cir", "meter_type", "pbs", "pir")
_SAI_PROBABILITY = 100
"""The percentage of a WRED profile that states none (sonic-swss orchagent/qosorch.cpp)."""

QOS_TABLES = frozenset(
    {
        *(table for table, owned in OWNED.items() if owned.buffers or owned.definition),
        *("PORT_QOS_MAP", "QUEUE", "PFC_WD", CABLE_LENGTH),
    }
)
"""The tables that decide how traffic classes are treated."""

_ASIC_DEFAULT = 0
"""The traffic class of a code point that no map lists."""

_EXPONENT = re.compile(r"-[1-8]|[0-7]")
_MOST_NUMBERS = 64
"""Queues and groups that a row may name; no chip has more."""
_REFERENCE = re.compile(r"\[\w+\|([^\]]*)\]")


@dataclass(frozen=True, slots=True)
class Scheduler:
    """The scheduler of a queue: SONiC's word for its kind, its weight unless it is strict, and rates as stated."""

    kind: str
    weight: int
    rates: tuple[tuple[str, str], ...]

    @property
    def is_strict(self) -> bool:
        """Tell whether the queue is served before all queues with a weight."""
        return self.kind == "STRICT"


@dataclass(frozen=True, slots=True)
class Wred:
    """A WRED profile: SONiC's word for the colors that it marks, and the thresholds of each color in use."""

    name: str = field(compare=False)
    ecn: str
    colors: Mapping[str, Marking]

    @property
    def is_marking(self) -> bool:
        """Tell whether it marks packets instead of dropping them."""
        # Every packet is green where no meter colors it (SAI's default; SONiC has no map from DSCP to color), so the
        # other two colors may be left out.
        return _GREEN in self.colors and (self.ecn == _MARKS_ALL or _GREEN in self.ecn.split("_"))


@dataclass(frozen=True, slots=True)
class BufferUse:
    """The buffer profile of a priority group, a queue or a port; ``dynamic_th`` is the exponent of alpha.

    ``is_computed``: the switch computes headroom and size. A value that no row states is None.
    """

    profile: str = field(compare=False)
    pool: str
    size_bytes: int | None = None
    xon_bytes: int | None = None
    xon_offset_bytes: int | None = None
    xoff_bytes: int | None = None
    dynamic_th: int | None = None
    static_th: int | None = None
    is_computed: bool = False
    discards: str = "drop"

    def __str__(self) -> str:
        """Return ``profile NAME (pool, bytes, threshold)``."""
        parts = [self.pool, "headroom computed" if self.is_computed else f"{self.size_bytes or 0} bytes"]
        if self.xoff_bytes:
            parts.append(f"xoff {self.xoff_bytes}")
        if self.xon_bytes:
            parts.append(f"xon {self.xon_bytes}")
        if self.xon_offset_bytes:
            parts.append(f"xon offset {self.xon_offset_bytes}")
        if self.dynamic_th is not None:
            parts.append(f"alpha 2^{self.dynamic_th}")
        if self.static_th is not None:
            parts.append(f"at most {self.static_th}")
        if self.discards != "drop":
            parts.append(self.discards)
        return f"profile {self.profile} ({', '.join(parts)})"


ByNumber = Mapping[int, Fields]


class ResolvedTables:
    """The tables of one switch, resolved once for all of its ports.

    ``tables`` has one row for each port and range, ``pools`` are the buffer pools by name. ``conflicts`` are tables
    with the ``port|number`` that two of their rows set differently.
    """

    def __init__(self, tables: ConfigDb) -> None:
        """Resolve the references of ``tables``."""
        qos_tables = {name: _plain(tables[name]) for name in QOS_TABLES & tables.keys()}
        self.tables: ConfigDb = {**tables, **qos_tables}
        self.conflicts: list[tuple[str, str]] = []
        self._rows = {name: self._by_port(name) for name in ("QUEUE", "BUFFER_QUEUE", PRIORITY_GROUPS)}
        self._profiles = self._read_profiles()
        # Most ports of a switch refer to the same few rows.
        self._map = cache(self._read_map)
        self._whole_map = cache(self._read_whole_map)
        self._scheduler = cache(self._read_scheduler)
        self._wred = cache(self._read_wred)
        self._profile = cache(self._find_profile)
        self._listed = cache(self._read_list)
        self.pools = {
            name: BufferPool(
                name=name,
                size_bytes=number(row.get("size")),
                type=text(row.get("type")),
                mode=text(row.get("mode")),
                xoff_bytes=number(row.get("xoff")),
            )
            for name, row in self.table("BUFFER_POOL").items()
        }

    def knows(self, *tables: str) -> bool:
        """Tell whether all of these tables were read."""
        return all(table in self.tables for table in tables)

    def table(self, name: str) -> Table:
        """Return a table; empty if it was not read."""
        return self.tables.get(name, {})

    def row(self, table: str, key: str) -> Fields:
        """Return a row; empty if it does not exist."""
        return self.table(table).get(key, {})

    @property
    def model(self) -> BufferModel:
        """Return the buffer model; SONiC's own is the traditional one."""
        if self.row("DEVICE_METADATA", "localhost").get("buffer_model") == "dynamic":
            return BufferModel.DYNAMIC
        return BufferModel.TRADITIONAL

    @property
    def is_whole(self) -> bool:
        """Tell whether this is a whole CONFIG_DB, in which a table that is missing has no rows."""
        return is_whole(self.tables)

    def map_of(self, table: str, port: str, reference: str) -> Mapping[int, int] | None:
        """Return the map of ``table`` that the field ``reference`` of a port's PORT_QOS_MAP row names.

        Empty if the port names none or one that does not exist; None if the tables were not read.
        """
        if not self.knows("PORT_QOS_MAP", table):
            return None
        return self._map(table, str(self.row("PORT_QOS_MAP", port).get(reference)))

    def _read_map(self, table: str, name: str) -> Mapping[int, int]:
        """Return the pairs of numbers of a map; values that are not numbers are left out."""
        pairs = ((number(key), number(value)) for key, value in self.row(table, name).items())
        return {key: value for key, value in pairs if key is not None and value is not None}

    def priorities(self, port: str) -> Mapping[int, int] | None:
        """Return the traffic class of every code point on a port; None if that was not read."""
        if not self.knows("PORT_QOS_MAP", "DSCP_TO_TC_MAP"):
            return None
        return self._whole_map("DSCP_TO_TC_MAP", str(self.row("PORT_QOS_MAP", port).get("dscp_to_tc_map")))

    def _read_whole_map(self, table: str, name: str) -> Mapping[int, int]:
        """Return a map from DSCP with every code point; those that it does not list have the ASIC's default."""
        listed = self._map(table, name)
        return {dscp: listed.get(dscp, _ASIC_DEFAULT) for dscp in range(DSCP_COUNT)}

    def switch_priorities(self) -> Mapping[int, int] | None:
        """Return the traffic classes by DSCP of packets that the switch itself sends and receives.

        None if that was not read, or if ports use the same map.
        """
        map_of_port = {key: row.get("dscp_to_tc_map") for key, row in self.table("PORT_QOS_MAP").items()}
        own_map = map_of_port.pop("global", None)
        is_map_of_ports = bool(own_map) and own_map in map_of_port.values()
        if is_map_of_ports:
            return None
        return self.map_of("DSCP_TO_TC_MAP", "global", "dscp_to_tc_map")

    def schedulers(self, port: str) -> dict[int, Scheduler | None] | None:
        """Return the scheduler of each queue of a port; None if that was not read."""
        if not self.knows("QUEUE", "SCHEDULER"):
            return None
        rows = self._rows_of_port("QUEUE", port)
        return {queue: self.scheduler(row.get("scheduler")) for queue, row in rows.items()}

    def scheduler(self, reference: Value | None) -> Scheduler | None:
        """Return the scheduler that a field refers to; None if the field or the scheduler does not exist."""
        return self._scheduler(str(reference))

    def _read_scheduler(self, name: str) -> Scheduler | None:
        """Return a scheduler; None if it does not exist."""
        row = self.row("SCHEDULER", name)
        if not row:
            return None
        kind = text(row.get("type")) or ""
        weight = number(row.get("weight")) or 1
        # Strict queues are not served by weight, so theirs makes no difference.
        if kind == "STRICT":
            weight = 0
        rates = tuple((rate, str(row[rate])) for rate in _RATES if row.get(rate, "0") != "0")
        return Scheduler(kind, weight, rates)

    def wreds(self, port: str) -> dict[int, Wred | None] | None:
        """Return the WRED profile of each queue of a port; None if that was not read."""
        if not self.knows("QUEUE", "WRED_PROFILE"):
            return None
        rows = self._rows_of_port("QUEUE", port)
        return {queue: self._wred(str(row.get("wred_profile"))) for queue, row in rows.items()}

    def _read_wred(self, name: str) -> Wred | None:
        """Return a WRED profile with the colors that it handles; None if it does not exist."""
        row = self.row("WRED_PROFILE", name)
        if not row:
            return None
        colors: dict[str, Marking] = {}
        for color in COLORS:
            marking = _marking_of_color(row, color)
            if marking is not None:
                colors[color] = marking
        return Wred(name, text(row.get("ecn")) or "ecn_none", colors)

    def group_buffers(self, port: str) -> dict[int, BufferUse | None] | None:
        """Return the buffer of each priority group of a port; None if that was not read."""
        return self._buffers(PRIORITY_GROUPS, port)

    def queue_buffers(self, port: str) -> dict[int, BufferUse | None] | None:
        """Return the buffer of each queue of a port; None if that was not read."""
        return self._buffers("BUFFER_QUEUE", port)

    def _buffers(self, table: str, port: str) -> dict[int, BufferUse | None] | None:
        if not self.knows(table, "BUFFER_PROFILE"):
            return None
        rows = self._rows_of_port(table, port)
        return {index: self.profile(row.get("profile"), table) for index, row in rows.items()}

    def port_buffers(self, table: str, port: str) -> tuple[BufferUse | None, ...] | None:
        """Return the buffers that a table of profile lists gives a port as a whole; None if that was not read."""
        if not self.knows(table, "BUFFER_PROFILE"):
            return None
        return self._listed(table, self.row(table, port).get("profile_list", ""))

    def _read_list(self, table: str, value: Value) -> tuple[BufferUse | None, ...]:
        """Return the profiles of a list in an order of their own: that of the list has no meaning."""
        names = value.split(",") if isinstance(value, str) else value
        profiles = [self.profile(name.strip(), table) for name in names if name.strip()]
        return tuple(sorted(profiles, key=_order_in_list))

    def profile(self, reference: Value | None, table: str) -> BufferUse | None:
        """Return the buffer profile that a row of ``table`` refers to; None if it or its pool does not exist."""
        return self._profile(reference, table)

    def _find_profile(self, reference: Value | None, table: str) -> BufferUse | None:
        """Return the result of ``profile``, which is cached."""
        is_computed = reference == COMPUTED and table == PRIORITY_GROUPS and self.model is BufferModel.DYNAMIC
        profile = self._computed_profile() if is_computed else self._profiles.get(str(reference))
        if profile is None:
            return None
        lacks_pool = self.knows("BUFFER_POOL") and profile.pool not in self.table("BUFFER_POOL")
        if lacks_pool:
            return None
        return profile

    def _computed_profile(self) -> BufferUse:
        """Return the buffer of a priority group whose headroom the switch computes."""
        defaults = self.row("DEFAULT_LOSSLESS_BUFFER_PARAMETER", "AZURE")
        exponent = _exponent(defaults.get("default_dynamic_th"))
        return BufferUse(COMPUTED, INGRESS_LOSSLESS, dynamic_th=exponent, is_computed=True)

    def _read_profiles(self) -> dict[str, BufferUse]:
        """Return the buffer profiles by name."""
        dynamic = self.model is BufferModel.DYNAMIC
        return {
            name: BufferUse(
                profile=name,
                pool=text(row.get("pool")) or "",
                size_bytes=number(row.get("size")),
                xon_bytes=number(row.get("xon")),
                xon_offset_bytes=number(row.get("xon_offset")),
                xoff_bytes=number(row.get("xoff")),
                dynamic_th=_exponent(row.get("dynamic_th")),
                static_th=number(row.get("static_th")),
                is_computed=dynamic and row.get("headroom_type") == "dynamic",
                discards=text(row.get("packet_discard_action")) or "drop",
            )
            for name, row in self.table("BUFFER_PROFILE").items()
        }

    def _by_port(self, table: str) -> dict[str, dict[int, Fields]]:
        """Return the rows of a table by port and number; of rows with one number the first counts.

        A number that two rows set differently is added to ``conflicts``.
        """
        # Rows that buffermgrd wrote and left behind count too: their groups have headroom.
        ports: dict[str, dict[int, Fields]] = {}
        for key, fields in self.table(table).items():
            port = port_of(key)
            rows_of_port = ports.setdefault(port, {})
            for index in numbers_of(key)[:_MOST_NUMBERS]:
                first_fields = rows_of_port.setdefault(index, fields)
                if first_fields != fields:
                    self.conflicts.append((table, f"{port}|{index}"))
        return ports

    def _rows_of_port(self, table: str, port: str) -> ByNumber:
        return self._rows[table].get(port, {})


def _order_in_list(profile: BufferUse | None) -> str:
    """Return the sort key of a profile in a list: its values without its name, which has no meaning."""
    if profile is None:
        return str(None)
    return str(replace(profile, profile=""))


def is_whole(tables: ConfigDb) -> bool:
    """Tell whether these are all tables of a switch, so that a table that is missing has no rows."""
    # SONiC prints no empty tables, and every switch has these two; a selection of tables may have left them out.
    return "localhost" in tables.get("DEVICE_METADATA", {}) and "PORT" in tables


def _plain(rows: Table) -> Table:
    """Return rows with their references as names; a row whose key names several ports becomes one row a port."""
    plain: dict[str, Fields] = {}
    for key, fields in rows.items():
        plain_fields = fields
        # Nearly every row is plain already, and needs no copy.
        if not all(isinstance(value, str) and "[" not in value for value in fields.values()):
            plain_fields = {name: plain_references(value) for name, value in fields.items()}
        ports, bar, rest = key.partition("|")
        if "," not in ports:
            plain[key] = plain_fields
            continue
        for port in ports.split(","):
            plain[f"{port}{bar}{rest}"] = plain_fields
    return plain


def plain_references(value: Value) -> Value:
    """Return a field whose references of the form ``[TABLE|key]`` are names, as releases since 202106 write them."""
    if not isinstance(value, str):
        return tuple(_REFERENCE.sub(r"\1", member) for member in value)
    return _REFERENCE.sub(r"\1", value)


def _marking_of_color(row: Fields, color: str) -> Marking | None:
    """Return the thresholds of a color in a row of WRED_PROFILE; None if the color is off or lacks a threshold."""
    minimum = number(row.get(f"{color}_min_threshold"))
    maximum = number(row.get(f"{color}_max_threshold"))
    if row.get(f"wred_{color}_enable") != "true" or minimum is None or maximum is None:
        return None
    percent = number(row.get(f"{color}_drop_probability"))
    return Marking(minimum, maximum, _SAI_PROBABILITY if percent is None else percent)


def _exponent(value: Value | None) -> int | None:
    """Return the exponent of an alpha; None if SONiC refuses the value (-8 to 7 are valid)."""
    if not isinstance(value, str) or not _EXPONENT.fullmatch(value):
        return None
    return int(value)


def text(value: Value | None) -> str | None:
    """Return the text of a field; None if it is missing, empty or a list."""
    if not isinstance(value, str) or not value:
        return None
    return value
