"""What orchagent makes of CONFIG_DB: what it ignores, what it waits for, and what it does not survive.

Run on 202505 (swss e9dcd50b with the virtual SAI); sonic-swss orchagent/{pfcwdorch,qosorch,bufferorch,portsorch}.cpp.
Only what in the ASIC differs from CONFIG_DB is kept here:

    held      objects: a removed field stays, create-only fields stay, a row with an unknown field or a value out of its
              range is refused as a whole, and one that is removed while others name it stays until they let go
    bound     groups and queues: a row that goes clears its whole range, whatever other rows say of it; rows of a batch
              are taken in the order of keys (since 202411 bufferorch.cpp takes those that go first, which is kinder)
    pending   rows of groups and queues that name an object which is not there: they wait for it, and nothing changes
    watched   the watchdog: its queues and action are those of the moment in which the port's row was taken
    hashed    the ECMP hash as orchagent believes it to be, which a row that it refused half-way leaves behind
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sonic_sim.configdb import ConfigDb, Hash
from sonic_sim.switchhash import ROW

SYSLOG = "/var/log/syslog"
_GLOBAL = "PFC_WD|GLOBAL"
_MAPS = ("DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP", "MAP_PFC_PRIORITY_TO_QUEUE",
         "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP")  # fmt: skip
# Tables whose keys are ranges, with the fields that name what each group or queue gets.
_SPANNED: Mapping[str, tuple[str, ...]] = {
    "BUFFER_PG": ("profile",),
    "BUFFER_QUEUE": ("profile",),
    "QUEUE": ("scheduler", "wred_profile"),
}
_NAMED_IN: Mapping[str, str] = {"profile": "BUFFER_PROFILE", "scheduler": "SCHEDULER", "wred_profile": "WRED_PROFILE"}
"""The tables of the objects that these fields name."""
# What a priority group names in the dynamic model, where buffermgrd makes the profile.
_COMPUTED = "NULL"
# In the order in which orchagent takes them (switchorch.cpp setSwitchHash).
_HASH_FIELDS = ("ecmp_hash@", "lag_hash@", "ecmp_hash_algorithm", "lag_hash_algorithm")
_KEEPS_FIELDS = ("SCHEDULER", "WRED_PROFILE", "BUFFER_POOL", "BUFFER_PROFILE", "PORT", "SWITCH_HASH")
_CREATE_ONLY: Mapping[str, tuple[str, ...]] = {"BUFFER_POOL": ("type", "mode"), "BUFFER_PROFILE": ("pool",)}
_COLORS = ("green", "yellow", "red")
_KNOWN_FIELDS: Mapping[str, frozenset[str]] = {
    "SCHEDULER": frozenset({"type", "weight", "meter_type", "cir", "cbs", "pir", "pbs"}),
    "WRED_PROFILE": frozenset(
        {
            "ecn",
            *(f"wred_{color}_enable" for color in _COLORS),
            *(f"{color}_drop_probability" for color in _COLORS),
            *(f"{color}_{end}_threshold" for color in _COLORS for end in ("min", "max")),
        }
    ),
}
# Milliseconds that the watchdog takes (pfcwdorch.cpp).
_WATCHDOG_MS: Mapping[str, tuple[int, int]] = {"detection_time": (100, 5000), "restoration_time": (100, 60000)}
# Fields that orchagent reads by C++ stoi and stoul, which throw at what does not begin with a number.
_NUMBERS: Mapping[str, frozenset[str]] = {
    "SCHEDULER": frozenset({"weight", "cir", "cbs", "pir", "pbs"}),
    "WRED_PROFILE": frozenset(
        f"{color}_{name}" for color in _COLORS for name in ("min_threshold", "max_threshold", "drop_probability")
    ),
    "BUFFER_POOL": frozenset({"size", "xoff"}),
    "BUFFER_PROFILE": frozenset({"size", "xon", "xon_offset", "xoff", "dynamic_th", "static_th"}),
    "PFC_WD": frozenset({"POLL_INTERVAL"}),
}
_ECN = {
    "ecn_none", "ecn_all", "ecn_green", "ecn_yellow", "ecn_red", "ecn_green_yellow", "ecn_green_red", "ecn_yellow_red",
}  # fmt: skip
_NAMED_BY: Mapping[str, tuple[tuple[str, str], ...]] = {
    "SCHEDULER": (("QUEUE", "scheduler"), ("PORT_QOS_MAP", "scheduler")),
    "WRED_PROFILE": (("QUEUE", "wred_profile"),),
    "BUFFER_POOL": (("BUFFER_PROFILE", "pool"),),
    "BUFFER_PROFILE": (("BUFFER_PG", "profile"), ("BUFFER_QUEUE", "profile"),
                       ("BUFFER_PORT_INGRESS_PROFILE_LIST", "profile_list"),
                       ("BUFFER_PORT_EGRESS_PROFILE_LIST", "profile_list")),
    "DSCP_TO_TC_MAP": (("PORT_QOS_MAP", "dscp_to_tc_map"),),
    "TC_TO_QUEUE_MAP": (("PORT_QOS_MAP", "tc_to_queue_map"),),
    "TC_TO_PRIORITY_GROUP_MAP": (("PORT_QOS_MAP", "tc_to_pg_map"),),
    "MAP_PFC_PRIORITY_TO_QUEUE": (("PORT_QOS_MAP", "pfc_to_queue_map"),),
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": (("PORT_QOS_MAP", "pfc_to_pg_map"),),
}  # fmt: skip
"""Objects that stay while rows of these tables name them in these fields."""
_FOLLOWED = frozenset(
    {*_KEEPS_FIELDS, *_MAPS, "PFC_WD", *(table for users in _NAMED_BY.values() for table, _ in users)}
)

# systemd starts swss so long after its end, and not more often in so many seconds (swss.service: RestartSec,
# StartLimitBurst, StartLimitIntervalSec).
RESTART_S = 30.0
START_LIMIT = 3
START_LIMIT_S = 1200.0

Row = tuple[tuple[str, str], ...]
Rows = Mapping[str, Row]
_shared: dict[Row, Row] = {}


def followed_rows(db: ConfigDb) -> Rows:
    """Return the rows that orchagent follows."""
    rows = {}
    for key, row in db.rows.items():
        if key.partition("|")[0] in _FOLLOWED:
            # Equal rows are one object: a fabric's switches have most in common.
            fields = tuple(row.items())
            rows[key] = _shared.setdefault(fields, fields)
    return rows


@dataclass(slots=True)
class Orchagent:
    """The daemon of one switch."""

    # The rows that it has taken notice of.
    seen: Rows = field(default_factory=dict, repr=False)
    crashed: bool = False
    # Objects of the ASIC that differ from their rows, by key.
    held: dict[str, Hash] = field(default_factory=dict)
    # Objects whose row is removed, and which others still name.
    waiting: list[str] = field(default_factory=list)
    # By table and port: what groups and queues have, by number and field, where that differs from the rows.
    bound: dict[str, dict[str, str]] = field(default_factory=dict)
    # Whether orchagent had the row before it had to wait.
    pending: dict[str, bool] = field(default_factory=dict)
    # Whether it takes the buffer rows of a batch that go before those that come, as from 202411.
    removes_first: bool = False
    # The ECMP hash as orchagent believes it to be, which a row that it refused half-way leaves behind.
    hashed: Hash = field(default_factory=dict)
    # By port: the action of the watchdog on each queue, where that differs from the rows.
    watched: dict[str, dict[str, str]] = field(default_factory=dict)
    # When it ended last, in seconds since 1970.
    ended_at: float = 0.0
    # When systemd started it again, in seconds since 1970: not more often than its limit.
    restarts: list[float] = field(default_factory=list)

    def start(self, db: ConfigDb) -> None:
        """Start afresh with the present rows."""
        self.seen = followed_rows(db)
        self.held = {}
        self.waiting = []
        self.bound = {}
        self.watched = {}
        self.pending = {key: False for key, row in self.seen.items() if not _resolves(key, dict(row), self.seen)}
        self.hashed = dict(self.seen.get(ROW, ()))
        self.crashed = any(_kills(key, dict(row)) for key, row in self.seen.items())

    def start_again(self, db: ConfigDb, now: float) -> bool:
        """Let systemd start the service again if it is due; return whether it did.

        systemd gives up if it has started the service too often lately.
        """
        if not self.crashed or now < self.ended_at + RESTART_S:
            return False
        self.restarts = [at for at in self.restarts if at > now - START_LIMIT_S]
        if len(self.restarts) >= START_LIMIT:
            return False
        self.restarts.append(now)
        self.start(db)
        self.ended_at = now
        return True

    def follow(self, db: ConfigDb) -> bool:
        """Take the rows that changed since the last call; return whether orchagent crashes because of them."""
        old_rows = self.seen
        new_rows = followed_rows(db)
        if old_rows == new_rows:
            return False
        self.seen = new_rows
        keys = old_rows.keys() | new_rows.keys()
        changed = sorted(key for key in keys if old_rows.get(key) != new_rows.get(key))
        self._take_objects(changed, old_rows, new_rows)
        self._take_all_ranges(changed, old_rows, new_rows)
        watched_ports = {key.partition("|")[2] for key in changed if key.startswith(("PFC_WD|", "PORT_QOS_MAP|"))}
        for port in sorted(watched_ports):
            self._take_watchdog(port, old_rows, new_rows)
        crashes_now = not self.crashed and _crashes(changed, new_rows)
        self.crashed = self.crashed or crashes_now
        return crashes_now

    def _take_objects(self, changed: Iterable[str], old_rows: Rows, new_rows: Rows) -> None:
        """Take changed rows that become objects of the ASIC, and remove objects that nothing names any more."""
        for key in changed:
            if key.partition("|")[0] in (*_KEEPS_FIELDS, *_MAPS):
                self._take_object(key, old_rows, new_rows)
        for key in list(self.waiting):
            if not _is_named(key, new_rows):
                self.waiting.remove(key)
                self.held.pop(key, None)

    def object_of(self, key: str) -> Hash:
        """Return the fields of an object as the ASIC has them; empty if there is no such object."""
        return dict(self.held.get(key, self.seen.get(key, ())))

    def bindings(self) -> dict[str, dict[str, str]]:
        """Return the objects of all groups and queues in the ASIC by table and port, then by number and field."""
        stated = {port_key: self._bindings_by_rows(rows) for port_key, rows in _by_port_key(self.seen).items()}
        return {port_key: bindings for port_key, bindings in {**stated, **self.bound}.items() if bindings}

    def watch_of(self, port: str) -> dict[str, str]:
        """Return the queues of a port that the watchdog watches, with its action on each."""
        return self.watched.get(port, _watch(port, self.seen))

    def _take_object(self, key: str, old_rows: Rows, new_rows: Rows) -> None:
        """Set an object by its row, which has changed, or remove it if the row is gone.

        An object that others still name stays, and waits to be removed.
        """
        # A row that comes again while its object waits to be removed waits too.
        if key in self.waiting:
            return
        old = self.held.pop(key, dict(old_rows.get(key, ())))
        if key not in new_rows:
            is_named = _is_named(key, new_rows)
            if is_named:
                self.waiting.append(key)
            # orchagent refuses to remove the hash (switchorch.cpp).
            if is_named or key == ROW:
                self.held[key] = old
            return
        row = dict(new_rows[key])
        new = self._hash_after(old, row) if key == ROW else _object_after(key.partition("|")[0], old, row)
        if new != row:
            self.held[key] = new

    def _hash_after(self, asic: Hash, row: Hash) -> Hash:
        """Return the ECMP hash of the ASIC after a row was set; note what orchagent then believes it to be."""
        for name in _HASH_FIELDS:
            # A row that lacks a field is refused at that field; those before it are set already.
            if name not in row and name in self.hashed:
                return asic
            if name in row and row[name] != self.hashed.get(name):
                asic = {**asic, name: row[name]}
        self.hashed = row
        return asic

    def _take_all_ranges(self, changed: Iterable[str], old_rows: Rows, new_rows: Rows) -> None:
        """Take the rows of groups and queues that changed, and those that waited for objects which are there now."""
        keys = {key for key in changed if key.partition("|")[0] in _SPANNED}
        for key in self.pending:
            if key in new_rows and _resolves(key, dict(new_rows[key]), new_rows):
                keys.add(key)
        if not keys:
            return
        old_by_port_key = _by_port_key(old_rows)
        new_by_port_key = _by_port_key(new_rows)
        for port_key, keys_of_port in _keys_by_port_key(keys).items():
            old_rows_of_port = old_by_port_key.get(port_key, {})
            self._take_ranges(port_key, keys_of_port, old_rows_of_port, new_by_port_key.get(port_key, {}), new_rows)

    def _take_ranges(
        self,
        port_key: str,
        keys: Iterable[str],
        old_rows: Mapping[str, Row],
        new_rows: Mapping[str, Row],
        all_rows: Rows,
    ) -> None:
        """Take the rows ``keys`` of one table and port; ``old_rows`` and ``new_rows`` are only rows of ``port_key``."""
        bindings = self.bound.pop(port_key, None)
        if bindings is None:
            bindings = self._bindings_by_rows(old_rows)
        removes_first = self.removes_first and port_key.startswith("BUFFER_")
        for key in sorted(keys, key=lambda key: (removes_first and key in new_rows, key)):
            # A row that waits was taken only if orchagent had it before that.
            was_taken = self.pending.pop(key, key in old_rows)
            old = dict(old_rows.get(key, ())) if was_taken else {}
            if key not in new_rows:
                # A row that orchagent never took is deleted without a word to the ASIC.
                if was_taken:
                    bindings |= _bindings(key, old, None)
            elif _resolves(key, dict(new_rows[key]), all_rows):
                bindings |= _bindings(key, old, dict(new_rows[key]))
            else:
                self.pending[key] = was_taken
        bound = {number: name for number, name in bindings.items() if name}
        if bound != self._bindings_by_rows(new_rows):
            self.bound[port_key] = bound

    def _bindings_by_rows(self, rows: Mapping[str, Row]) -> dict[str, str]:
        """Return the objects of a port's groups or queues by number and field, as its rows say; later keys win."""
        bindings: dict[str, str] = {}
        for key in sorted(rows):
            if key not in self.pending:
                bindings |= _bindings(key, {}, dict(rows[key]))
        return {number: name for number, name in bindings.items() if name}

    def _take_watchdog(self, port: str, old_rows: Rows, new_rows: Rows) -> None:
        """Take the watchdog's row of a port if it has changed; a change of the port's queues alone has no effect."""
        key = f"PFC_WD|{port}"
        actions = self.watched.pop(port, _watch(port, old_rows))
        if key not in new_rows:
            return
        actions_by_rows = _watch(port, new_rows)
        # orchagent tries a row again and again while the port has no queue to watch.
        is_due = not actions or old_rows.get(key) != new_rows[key]
        if is_due and _is_watchable(dict(new_rows[key])):
            # A queue that is watched already keeps its action.
            actions = {**actions_by_rows, **actions}
        if actions != actions_by_rows:
            self.watched[port] = actions

    def to_json(self) -> dict[str, Any]:
        """Return all of the state except the rows. It is not a copy: write it at once."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "seen"}


def orchagent_from_json(value: Mapping[str, Any], db: ConfigDb) -> Orchagent:
    """Return the daemon that `Orchagent.to_json` described."""
    return Orchagent(followed_rows(db), **value)


def _object_after(table: str, old: Hash, row: Hash) -> Hash:
    """Return the fields of an object after its row was set; the ``old`` ones if orchagent refuses the row."""
    has_unknown_field = not row.keys() <= _KNOWN_FIELDS.get(table, row.keys())
    if has_unknown_field or _is_refused(table, {**old, **row}):
        return old
    if table not in _KEEPS_FIELDS:
        return row
    # A field that the row lacks is not touched, one that SAI takes at creation only stays.
    fields = {name: value for name, value in old.items() if name != "NULL"}
    create_only = {name: old[name] for name in _CREATE_ONLY.get(table, ()) if name in old}
    return {**fields, **row, **create_only}


def _is_refused(table: str, row: Hash) -> bool:
    """Tell whether orchagent drops a row as a whole for one of its values (qosorch.cpp)."""
    if table == "SCHEDULER":
        return row.get("type", "WRR") not in ("DWRR", "WRR", "STRICT")
    if table != "WRED_PROFILE":
        return False
    for color in _COLORS:
        minimum = _number(row.get(f"{color}_min_threshold", "0"))
        maximum = _number(row.get(f"{color}_max_threshold", "0"))
        if minimum > maximum or row.get(f"wred_{color}_enable", "true") not in ("true", "false"):
            return True
    return False


def _kills(key: str, row: Hash) -> bool:
    """Tell whether orchagent aborts on a row: words outside its lists, and texts that are no numbers."""
    table = key.partition("|")[0]
    if table in _MAPS:
        return not all(name.isdecimal() and value.isdecimal() for name, value in row.items())
    if table == "PORT_QOS_MAP":
        return not (_is_priority_list(row.get("pfc_enable", "")) and _is_priority_list(row.get("pfcwd_sw_enable", "")))
    if table == "WRED_PROFILE" and row.get("ecn", "ecn_none") not in _ECN:
        return True
    if table == "SCHEDULER" and row.get("meter_type", "bytes") not in ("bytes", "packets"):
        return True
    numeric_fields = _NUMBERS.get(table, frozenset()) & row.keys()
    return any(not _NUMBER.match(row[name]) for name in numeric_fields)


def _is_priority_list(text: str) -> bool:
    """Tell whether each member of a list begins with a digit, where stoi would throw at another character."""
    return all(member[0].isdecimal() for member in text.split(",") if member)


_NUMBER = re.compile(r"\s*[-+]?\d+")


def _number(text: str) -> int:
    """Return the number that stoi reads, 0 if it throws."""
    match = _NUMBER.match(text)
    return int(match.group()) if match else 0


def _numbers(key: str) -> Iterable[str]:
    """Return the groups or queues of a key that ends with ``3`` or ``3-4``."""
    first, _, last = key.rpartition("|")[2].partition("-")
    if not first.isdigit():
        return ()
    return map(str, range(int(first), int(last or first) + 1))


def _is_named(key: str, rows: Rows) -> bool:
    """Tell whether any of ``rows`` names the object of this key."""
    table, _, name = key.partition("|")
    for naming_table, field_name in _NAMED_BY.get(table, ()):
        for naming_key, row in rows.items():
            if naming_key.startswith(f"{naming_table}|") and name in dict(row).get(field_name, "").split(","):
                return True
    return False


def _port_key(key: str) -> str:
    """Return the table and port of a key, ``QUEUE|Ethernet0`` of ``QUEUE|Ethernet0|3-4``."""
    return "|".join(key.split("|")[:2])


def _keys_by_port_key(keys: Iterable[str]) -> dict[str, list[str]]:
    """Return keys of groups and queues by table and port, all sorted."""
    keys_of: dict[str, list[str]] = {}
    for key in sorted(keys):
        keys_of.setdefault(_port_key(key), []).append(key)
    return keys_of


def _by_port_key(rows: Rows) -> dict[str, dict[str, Row]]:
    """Return the rows of groups and queues by table and port."""
    rows_of: dict[str, dict[str, Row]] = {}
    for key, row in rows.items():
        if key.partition("|")[0] in _SPANNED:
            rows_of.setdefault(_port_key(key), {})[key] = row
    return rows_of


def _bindings(key: str, old: Hash, row: Hash | None) -> dict[str, str]:
    """Return the name of the object that each group or queue of a row gets, by number and field.

    An empty name takes the present object away. The row is set with ``row`` in place of ``old``, or removed if ``row``
    is None.
    """
    names = _SPANNED[key.partition("|")[0]]
    if row is None:
        objects = dict.fromkeys(names, "")
    else:
        # A field that the row never had does nothing.
        objects = {name: row.get(name, "") for name in names if name in row or name in old}
    bindings = {}
    for number in _numbers(key):
        for name, object_name in objects.items():
            bindings[f"{number} {name}"] = object_name
    return bindings


def _resolves(key: str, row: Hash, rows: Rows) -> bool:
    """Tell whether all objects that a row of groups or queues names are there; True for a row of another table."""
    for name in _SPANNED.get(key.partition("|")[0], ()):
        object_name = row.get(name, _COMPUTED)
        if object_name != _COMPUTED and f"{_NAMED_IN[name]}|{object_name}" not in rows:
            return False
    return True


def _is_watchable(row: Hash) -> bool:
    """Tell whether orchagent takes a port's row of the watchdog (pfcwdorch.cpp createEntry)."""
    if "detection_time" not in row or not {*_WATCHDOG_MS, "action"}.issuperset(row):
        return False
    for name, (least, most) in _WATCHDOG_MS.items():
        text = row.get(name, str(least))
        if not text.isdecimal() or not least <= int(text) <= most:
            return False
    return row.get("action", "drop") in ("drop", "forward", "alert")


def _watch(port: str, rows: Rows) -> dict[str, str]:
    """Return the queues of a port that the watchdog watches by these rows, with its action on each."""
    row = dict(rows.get(f"PFC_WD|{port}", ()))
    queues = dict(rows.get(f"PORT_QOS_MAP|{port}", ())).get("pfcwd_sw_enable", "")
    if not _is_watchable(row):
        return {}
    return {queue: row.get("action", "drop") for queue in queues.split(",") if queue}


def watchdog_rows(orchagent: Orchagent) -> Iterator[tuple[str, str, Hash]]:
    """Yield port, queue and the fields in COUNTERS_DB of every queue that is watched."""
    for key, fields in orchagent.seen.items():
        table, _, port = key.partition("|")
        if table != "PFC_WD":
            continue
        row = dict(fields)
        counters = {"PFC_WD_ACTION": row.get("action", "drop")}
        for name in ("detection_time", "restoration_time"):
            # Milliseconds in CONFIG_DB, microseconds here.
            counters[f"PFC_WD_{name.upper()}"] = str(int(row.get(name, "0")) * 1000)
        for queue in orchagent.watch_of(port):
            yield port, queue, counters


def crash_lines(hostname: str, now: float) -> str:
    """Return the lines of supervisord and its listener in the system's log."""
    moment = time.strftime("%Y %b %d %H:%M:%S", time.gmtime(now))
    return (
        f"{moment} {hostname} INFO swss#supervisord WARN exited: orchagent (terminated by SIGSEGV (core dumped); "
        f"not expected)\n"
        f"{moment} {hostname} ERR swss#supervisor-proc-exit-listener: Process 'orchagent' exited unexpectedly. "
        f"Terminating supervisor 'swss'\n"
    )


def _crashes(changed: Iterable[str], rows: Rows) -> bool:
    """Tell whether orchagent crashes at the ``changed`` rows, which are in ``rows`` as they are now."""
    for key in changed:
        if key in rows:
            if _kills(key, dict(rows[key])):
                return True
        elif key.startswith("PFC_WD|"):
            # It looks for the port of a row that is removed, and the general row has none (pfcwdorch.cpp).
            port = key.removeprefix("PFC_WD|")
            if key == _GLOBAL or f"PORT|{port}" not in rows:
                return True
    return False
