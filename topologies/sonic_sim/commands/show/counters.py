"""``show queue``, ``priority-group``, ``buffer_pool``, ``headroom-pool``, ``watermark`` and ``pfc counters``.

All of them read COUNTERS_DB by the maps of names in it (watermarkstat, queuestat, pg-drop, pfcstat of sonic-utilities).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sonic_sim.commands.click7 import Choice, Group, Run, argument, flag, option
from sonic_sim.commands.config.root import not_simulated
from sonic_sim.commands.show.qos import buffer, pfc
from sonic_sim.commands.show.root import NAMESPACE, VERBOSE, show
from sonic_sim.commands.tables import table
from sonic_sim.configdb import Hash, natural_key
from sonic_sim.databases import APPL, COUNTERS, rows_of_database

_NOT_AVAILABLE = "N/A"
_namespace = option("-n", "--namespace", type=Choice([""]), show_default=True, help="Namespace name or all")
_TYPES = {"SAI_QUEUE_TYPE_UNICAST": "UC", "SAI_QUEUE_TYPE_MULTICAST": "MC", "SAI_QUEUE_TYPE_ALL": "ALL"}
_PG = "SAI_INGRESS_PRIORITY_GROUP_STAT_"
_SHARED = "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"


class _Watermark(NamedTuple):
    """A watermark as watermarkstat names it."""

    title: str
    # The kind of its objects, as `Counters.objects` takes it.
    kind: str
    counter: str


_WATERMARKS = {
    "pg_headroom": _Watermark("Ingress headroom per PG:", "PG", f"{_PG}XOFF_ROOM_WATERMARK_BYTES"),
    "pg_shared": _Watermark("Ingress shared pool occupancy per PG:", "PG", f"{_PG}SHARED_WATERMARK_BYTES"),
    "q_shared_uni": _Watermark("Egress shared pool occupancy per unicast queue:", "UC", _SHARED),
    "q_shared_multi": _Watermark("Egress shared pool occupancy per multicast queue:", "MC", _SHARED),
    "q_shared_all": _Watermark("Egress shared pool occupancy per all queues:", "ALL", _SHARED),
}


class Counters:
    """COUNTERS_DB: its rows, and the queues and priority groups of each port by name."""

    def __init__(self, run: Run) -> None:
        """Read the database of the switch of a run."""
        self.rows = rows_of_database(run.device, COUNTERS)
        self.ports = sorted(self.map("PORT_NAME"), key=natural_key)

    def map(self, name: str) -> Hash:
        """Return one of the maps between names and object ids, such as ``PORT_NAME``."""
        return self.rows.get(f"COUNTERS_{name}_MAP", {})

    def objects(self, kind: str) -> dict[str, dict[str, str]]:
        """Return the ids of the objects of each port, by name.

        The kind is ``PG`` for priority groups, ``UC``, ``MC`` or ``ALL`` for queues of this type, and empty for all
        queues.
        """
        table_name = "PG" if kind == "PG" else "QUEUE"
        port_of = {oid: name for name, oid in self.map("PORT_NAME").items()}
        objects: dict[str, dict[str, str]] = {port: {} for port in self.ports}
        for name, oid in self.map(f"{table_name}_NAME").items():
            type_name = _TYPES.get(self.map("QUEUE_TYPE").get(oid, ""), "")
            if kind in ("PG", "", type_name):
                port_id = self.map(f"{table_name}_PORT")[oid]
                objects[port_of[port_id]][name] = oid
        return objects

    def grid(
        self, rows: Mapping[str, Mapping[str, str]], start: str, counter: str
    ) -> tuple[list[str], list[list[str]]]:
        """Return the header and the rows of a table that has a row for each port and a column for each index.

        ``rows`` are the object ids of each port by name. Their counters are in rows whose keys begin with ``start``.
        """
        indexes: set[int] = set()
        for names in rows.values():
            indexes.update(map(_index_of, names))
        columns = sorted(indexes)
        body = []
        for port in self.ports:
            cells = dict.fromkeys(columns, "0")
            for name, oid in rows[port].items():
                count = self.rows.get(f"{start}:{oid}", {}).get(counter)
                cells[_index_of(name)] = count or _NOT_AVAILABLE
            body.append([port, *cells.values()])
        return [str(index) for index in columns], body


def _index_of(name: str) -> int:
    """Return the index in the name of a queue or group: the 3 of ``Ethernet0:3``."""
    return int(name.split(":")[1])


def _show_watermark(run: Run, key: str, *, persistent: bool) -> None:
    """Print a watermark of ``_WATERMARKS`` for all ports."""
    counters = Counters(run)
    watermark = _WATERMARKS[key]
    kind = watermark.kind
    indexes, body = counters.grid(counters.objects(kind), _database_of(persistent), watermark.counter)
    if not indexes and key == "q_shared_multi":
        run.stop("Object map from the COUNTERS_DB is empty because the multicast queues are not configured in the "
                 "CONFIG_DB!", 0)  # fmt: skip
    if not indexes:
        run.leave("Object map is empty!")
    run.say(watermark.title)
    run.say(table(["Port", *(f"{kind}{index}" for index in indexes)], body, right=True))


def _show_pool(run: Run, *, headroom: bool, persistent: bool) -> None:
    """Print the watermarks of the buffer pools, or of their headroom."""
    title = "Shared"
    counter = "SAI_BUFFER_POOL_STAT_WATERMARK_BYTES"
    if headroom:
        title = "Headroom"
        counter = "SAI_BUFFER_POOL_STAT_XOFF_ROOM_WATERMARK_BYTES"
    counters = Counters(run)
    pools = counters.map("BUFFER_POOL_NAME")
    body = []
    for name in sorted(pools, key=natural_key):
        # Only the ingress pool of lossless traffic has headroom.
        if not headroom or "ingress_lossless" in name:
            row = counters.rows.get(f"{_database_of(persistent)}:{pools[name]}", {})
            body.append([name, row.get(counter, _NOT_AVAILABLE)])
    run.say(f"{title} pool maximum occupancy:")
    run.say(table(["Pool", "Bytes"], body, right=True))


def _add_watermarks(group: Group, leaves: dict[str, tuple[str, str]], *, user_text: str, persistent_text: str) -> None:
    """Add the groups ``watermark`` and ``persistent-watermark``, with their helps and the same commands.

    ``leaves`` has the watermark of each command and the end of its help.
    """
    user_group = group.branch("watermark", user_text)
    persistent_group = group.branch("persistent-watermark", persistent_text)
    for name, (key, help_end) in leaves.items():
        user_group.leaf(name, f"Show user {help_end}", _namespace)(
            lambda run, namespace, key=key: _show_watermark(run, key, persistent=False)
        )
        persistent_group.leaf(name, f"Show persistent {help_end}", _namespace)(
            lambda run, namespace, key=key: _show_watermark(run, key, persistent=True)
        )


queue = show.branch("queue", "Show details of the queues")
groups = show.branch("priority-group", "Show details of the PGs")
_add_watermarks(
    queue,
    {
        "unicast": ("q_shared_uni", "WM for unicast queues"),
        "multicast": ("q_shared_multi", "WM for multicast queues"),
        "all": ("q_shared_all", "WM for all queues"),
    },
    user_text="Show user WM for queues",
    persistent_text="Show persistent WM for queues",
)
_add_watermarks(
    groups,
    {"headroom": ("pg_headroom", "headroom WM for pg"), "shared": ("pg_shared", "shared WM for pg")},
    user_text="Show priority-group user WM",
    persistent_text="Show priority-group persistent WM",
)
not_simulated(queue, "wredcounters  Show queue wredcounters")


def _add_pools(name: str, text: str, noun: str, *, headroom: bool) -> None:
    """Add a group with the watermarks of pools; ``text`` is its help, and ``noun`` names the pools in its commands'."""
    group = show.branch(name, text)
    group.leaf("watermark", f"Show user WM for {noun}", _namespace)(
        lambda run, namespace: _show_pool(run, headroom=headroom, persistent=False)
    )
    group.leaf("persistent-watermark", f"Show persistent WM for {noun}", _namespace)(
        lambda run, namespace: _show_pool(run, headroom=headroom, persistent=True)
    )


_add_pools("buffer_pool", "Show details of the buffer pools", "buffer pools", headroom=False)
_add_pools("headroom-pool", "Show details of headroom pool", "headroom pool", headroom=True)


@groups.branch("drop", "Show priority-group").leaf("counters", "Show dropped packets for priority-group", _namespace)
def pg_drop(run: Run, namespace: str | None) -> None:
    counters = Counters(run)
    for name in ("PORT_NAME", "PG_NAME"):
        if not counters.map(name):
            run.stop(f"COUNTERS_{name}_MAP is empty!")
    indexes, body = counters.grid(counters.objects("PG"), "COUNTERS", f"{_PG}DROPPED_PACKETS")
    run.say("Ingress PG dropped packets:")
    run.say(table(["Port", *(f"PG{index}" for index in indexes)], body, right=True))


_QUEUE_COLUMNS = {"Counter/pkts": "PACKETS", "Counter/bytes": "BYTES", "Drop/pkts": "DROPPED_PACKETS",
                  "Drop/bytes": "DROPPED_BYTES", "Trim/pkts": "TRIM_PACKETS"}  # fmt: skip


@queue.leaf(
    "counters", "Show queue counters", argument("interfacename", metavar="[INTERFACE_NAME]", required=False),
    *NAMESPACE, flag("-a", "--all", help="All counters"), flag("-T", "--trim", help="Trimming counters"),
    flag("-V", "--voq", help="VOQ counters"), flag("-nz", "--nonzero", help="Non Zero Counters"),
    flag("-j", "--json", help="JSON output"), VERBOSE,
)  # fmt: skip
def queue_counters(run: Run, interfacename: str | None, nonzero: bool, **others: Any) -> None:
    if others["voq"] or others["json"]:
        run.leave("show queue counters: this option of SONiC is not simulated")
    counters = Counters(run)
    if interfacename is not None and interfacename not in counters.ports:
        run.stop(f"Port doesn't exist! {interfacename}")
    columns = _queue_columns(whole=others["all"], trimmed=others["trim"])
    ports = list(counters.ports)
    if interfacename:
        ports = [interfacename]
    queues = counters.objects("")
    for port in ports:
        rows = _queue_rows(counters, port, queues[port], columns)
        if nonzero:
            rows = [row for row in rows if any(cell != "0" for cell in row[2:])]
        if rows:
            run.say(f"For namespace :\n{table(['Port', 'TxQ', *columns], rows, right=True)}\n")


def _queue_columns(*, whole: bool, trimmed: bool) -> list[str]:
    """Return the columns to show: all, only that of trimmed packets, or all others."""
    if whole:
        return list(_QUEUE_COLUMNS)
    if trimmed:
        return ["Trim/pkts"]
    return [name for name in _QUEUE_COLUMNS if name != "Trim/pkts"]


def _queue_rows(counters: Counters, port: str, queues: Mapping[str, str], columns: Sequence[str]) -> list[list[str]]:
    """Return port, queue and counters of each queue of a port; ``queues`` are its object ids by name."""
    rows: list[list[str]] = []
    for name in sorted(queues, key=natural_key):
        oid = queues[name]
        values = counters.rows.get(f"COUNTERS:{oid}", {})
        cells = [values.get(f"SAI_QUEUE_STAT_{_QUEUE_COLUMNS[column]}", _NOT_AVAILABLE) for column in columns]
        # As queuestat names it: ``UC3``.
        tag = _TYPES.get(counters.map("QUEUE_TYPE").get(oid, ""), "") + counters.map("QUEUE_INDEX").get(oid, "")
        rows.append([port, tag, *cells])
    return rows


@pfc.leaf("counters", "Show pfc counters", *NAMESPACE, VERBOSE)
def pfc_counters(run: Run, **others: Any) -> None:
    counters = Counters(run)
    oids = counters.map("PORT_NAME")
    for direction in ("Rx", "Tx"):
        rows = []
        for port in counters.ports:
            values = counters.rows.get(f"COUNTERS:{oids[port]}", {})
            counts = [values.get(f"SAI_PORT_STAT_PFC_{index}_{direction.upper()}_PKTS") for index in range(8)]
            rows.append([port, *map(_with_commas, counts)])
        run.say(table([f"Port {direction}", *(f"PFC{index}" for index in range(8))], rows, right=True) + "\n")
    run.out[-1] = run.out[-1].removesuffix("\n")


def _with_commas(count: str | None) -> str:
    return _NOT_AVAILABLE if count is None else f"{int(count):,}"


@show.branch("watermark", "Show details of watermark").branch(
    "telemetry", "Show watermark telemetry info"
).leaf("interval", "Show telemetry interval")  # fmt: skip
def telemetry_interval(run: Run) -> None:
    seconds = run.db.get("WATERMARK_TABLE|TELEMETRY_INTERVAL").get("interval", "120")
    run.say(f"\nTelemetry interval {seconds} second(s)\n")


@buffer.leaf("information", "show buffer information")
def information(run: Run) -> None:
    for kind in ("pool", "profile"):
        name = f"BUFFER_{kind.upper()}_TABLE"
        rows = rows_of_database(run.device, APPL, f"{name}:*")
        if not any(key.startswith(f"{name}:") for key in rows):
            run.say(f"No buffer {kind} information available")
        for key in sorted(rows):
            if key.startswith(f"{name}:"):
                fields = [[field, value] for field, value in sorted(rows[key].items())]
                run.say(f"{kind.capitalize()}: {key.partition(':')[2]}\n{table([], fields)}\n")


def _database_of(persistent: bool) -> str:
    # Each kind has a `sonic-clear` of its own, so that what a user clears leaves the persistent ones.
    return "PERSISTENT_WATERMARKS" if persistent else "USER_WATERMARKS"
