"""Which tables, rows and fields of a switch are ours: we own tables, not devices.

Everything else is unmanaged: kept, counted and shown. A row that the intent states in any other table (an
override) is ours as that row only. Management addresses, AAA, SNMP, syslog, NTP and features are never ours, and of
ACLs the edge guard alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from railweave.sonic.neutral import SWITCH_HASH, is_permanent
from railweave.sonic.rows import ConfigDb, Fields

if TYPE_CHECKING:
    from railweave.sonic.frr.document import FrrDocument
    from railweave.sonic.frr.ownership import FrrScope


class OwnedTable(NamedTuple):
    """How a table is owned.

    ``by_port``: the key begins with a port, and only rows of our ports are ours; ``shared_keys`` are keys of such a
    table that are no port. ``by_field``: only the fields that the intent states are ours, all others stay.
    ``definition``: rows are named by other rows, and a row that a foreign row names is kept. ``buffers``: the table is
    ours only where the engine computes buffers; else the device's rows stay.
    """

    by_port: bool = False
    by_field: bool = False
    definition: bool = False
    buffers: bool = False
    shared_keys: frozenset[str] = frozenset()


OWNED: Mapping[str, OwnedTable] = {
    "DEVICE_METADATA": OwnedTable(by_field=True),
    SWITCH_HASH: OwnedTable(by_field=True),
    "PORT": OwnedTable(by_port=True, by_field=True),
    "BREAKOUT_CFG": OwnedTable(by_port=True),
    "INTERFACE": OwnedTable(by_port=True),
    "LOOPBACK_INTERFACE": OwnedTable(),
    "DEVICE_NEIGHBOR": OwnedTable(by_port=True),
    "DEVICE_NEIGHBOR_METADATA": OwnedTable(),
    "BGP_NEIGHBOR": OwnedTable(),
    "BGP_PEER_RANGE": OwnedTable(),
    "DSCP_TO_TC_MAP": OwnedTable(definition=True),
    "TC_TO_QUEUE_MAP": OwnedTable(definition=True),
    "TC_TO_PRIORITY_GROUP_MAP": OwnedTable(definition=True),
    "MAP_PFC_PRIORITY_TO_QUEUE": OwnedTable(definition=True),
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": OwnedTable(definition=True),
    "SCHEDULER": OwnedTable(definition=True),
    "WRED_PROFILE": OwnedTable(definition=True),
    "PORT_QOS_MAP": OwnedTable(by_port=True, shared_keys=frozenset({"global"})),
    "QUEUE": OwnedTable(by_port=True),
    "PFC_WD": OwnedTable(by_port=True, shared_keys=frozenset({"GLOBAL"})),
    "BUFFER_POOL": OwnedTable(definition=True, buffers=True),
    "BUFFER_PROFILE": OwnedTable(definition=True, buffers=True),
    "BUFFER_PG": OwnedTable(by_port=True, buffers=True),
    "BUFFER_QUEUE": OwnedTable(by_port=True, buffers=True),
    "BUFFER_PORT_INGRESS_PROFILE_LIST": OwnedTable(by_port=True, buffers=True),
    "BUFFER_PORT_EGRESS_PROFILE_LIST": OwnedTable(by_port=True, buffers=True),
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER": OwnedTable(buffers=True),
    "LOSSLESS_TRAFFIC_PATTERN": OwnedTable(buffers=True),
}
"""The tables that are ours. BGP tables are kept empty: the FRR file holds the routing."""

KEPT_EMPTY = frozenset({"BGP_NEIGHBOR", "BGP_PEER_RANGE"})
CABLE_LENGTH = "CABLE_LENGTH"
PRIORITY_GROUPS = "BUFFER_PG"
EDGE_GUARD = "RAILWEAVE_EDGE"
"""The ACL that we make, its type and the beginning of its rules' keys."""
EDGE_GUARD_V4V6 = "RAILWEAVE_EDGE_V4V6"
"""The same where nodes send IPv6. It needs another type: orchagent does not follow a type's row that changes
(sonic-swss orchagent/aclorch.cpp addAclTableType)."""
EDGE_GUARDS = frozenset({EDGE_GUARD, EDGE_GUARD_V4V6})
EDGE_TABLES = frozenset({"ACL_RULE", "ACL_TABLE", "ACL_TABLE_TYPE"})
SYSTEM_DEFAULTS = "SYSTEM_DEFAULTS"
"""Switches of SONiC's features, of which BFD needs one; it stays where the intent wants no BFD any more, as others may
use it."""
RENDERED_TABLES = (OWNED.keys() - KEPT_EMPTY) | {CABLE_LENGTH, SYSTEM_DEFAULTS} | EDGE_TABLES
"""The tables that railweave renders rows of."""

FEATURE = "FEATURE"
FEATURES_NEEDED = frozenset({"bgp", "database", "swss", "syncd"})
"""Features without which a switch forwards nothing."""

FIELDWISE_OVERRIDES = frozenset({CABLE_LENGTH})
"""Tables whose one row belongs to many: whoever states a field of it owns that field."""

FOUND_ON_HARDWARE = frozenset({("DEVICE_METADATA", "mac"), ("DEVICE_METADATA", "platform")})
"""Tables with fields that SONiC finds on the hardware and no intent states."""

MADE_BY_SONIC = "pg_lossless_"
"""buffermgrd writes profiles of this name, and the priority groups that use them, from speed and cable length."""

_REFERRING_FIELDS = ("scheduler", "wred_profile", "profile", "profile_list")


@dataclass(frozen=True)
class Scope:
    """What is ours on one device: the ports of the intent, the ports that its breakout replaces, and the buffer where
    the engine computes it."""

    running: ConfigDb = field(repr=False)
    intended_ports: frozenset[str]
    removed_ports: frozenset[str]
    buffers: bool = False

    @cached_property
    def ports(self) -> frozenset[str]:
        """Return all ports that are ours."""
        return self.intended_ports | self.removed_ports

    @cached_property
    def named_elsewhere(self) -> frozenset[str]:
        """Return the maps, schedulers, profiles and pools that rows of others use; few devices need to know."""
        named = frozenset(_names_of_foreign_rows(self.running, self.ports))
        return named | _pools_of(self.running, named)


def scope_of(running: ConfigDb, intended: ConfigDb) -> Scope:
    """Return what is ours where ``running`` is to become ``intended``.

    A port that the intent does not name is ours to remove only where a port that it names takes one of its lanes. Two
    ports that share a lane already are the platform's own (Accton AS9726-32D: a 400G port and two service ports).
    """
    had, wants = running.get("PORT", {}), intended.get("PORT", {})
    intended_ports = frozenset(wants)
    taken = {lane for port, row in wants.items() if _has_other_lanes(had.get(port, {}), row) for lane in _lanes(row)}
    removed = frozenset(
        port for port, row in had.items() if port not in intended_ports and not taken.isdisjoint(_lanes(row))
    )
    return Scope(running, intended_ports, removed, "BUFFER_POOL" in intended)


def _has_other_lanes(one: Fields, other: Fields) -> bool:
    return one.get("lanes", "") != other.get("lanes", "") and _lanes(one) != _lanes(other)


def _lanes(row: Fields) -> list[str]:
    lanes = row.get("lanes", "")
    members = lanes.split(",") if isinstance(lanes, str) else lanes
    return [lane.strip() for lane in members if lane.strip()]


def _names_of_foreign_rows(running: ConfigDb, ports: frozenset[str]) -> Iterator[str]:
    """Yield the maps, schedulers and profiles that rows of other ports and of other tables use."""
    for table, rows in running.items():
        kind = OWNED.get(table)
        if kind and not kind.by_port:
            continue
        for key, fields in rows.items():
            if kind and (key in kind.shared_keys or port_of(key) in ports):
                continue
            for name, value in fields.items():
                if isinstance(value, str) and (name.endswith("_map") or name in _REFERRING_FIELDS):
                    yield from value.split(",")


def _pools_of(running: ConfigDb, kept: frozenset[str]) -> frozenset[str]:
    return frozenset(
        str(fields.get("pool", ""))
        for name, fields in running.get("BUFFER_PROFILE", {}).items()
        if name in kept or name.startswith(MADE_BY_SONIC)
    )


def owned_table(scope: Scope, table: str) -> OwnedTable | None:
    """Return how a table is owned on this device, None if it is unmanaged."""
    kind = OWNED.get(table)
    return None if kind is None or (kind.buffers and not scope.buffers) else kind


def port_of(key: str) -> str:
    """Return the port of a row keyed by port: ``Ethernet0`` of ``Ethernet0|3-4``."""
    return key.partition("|")[0]


def numbers_of(key: str) -> range:
    """Return the priority groups or queues of a row such as ``Ethernet0|3-4``, none where its key is no range."""
    return _numbers(key.partition("|")[2])


@lru_cache(maxsize=256)
def _numbers(text: str) -> range:
    first, _, last = text.partition("-")
    last = last or first
    return range(int(first), int(last) + 1) if first.isdigit() and last.isdigit() else range(0)


def stands_over_others(key: str, rows: Mapping[str, Fields]) -> bool:
    """Tell whether a row of several groups or queues stands beside others of ``rows``, the table's rows of its port,
    that name some of them, as those do that buffermgrd writes beside ours (sonic-swss cfgmgr/buffermgr.cpp)."""
    own = set(numbers_of(key))
    return len(own) > 1 and any(set() < set(numbers_of(other)) < own for other in rows)


def is_ours(scope: Scope, table: str, key: str) -> bool:
    """Tell whether a row that the intent does not state is ours, and so goes."""
    if is_edge_guard(table, key):
        return True
    kind = owned_table(scope, table)
    if kind is None or table == "DEVICE_METADATA" or (table == "BUFFER_PROFILE" and key.startswith(MADE_BY_SONIC)):
        return False
    if is_permanent(table, key):
        return False
    if kind.by_port and key not in kind.shared_keys:
        return port_of(key) in (scope.removed_ports if kind.by_field else scope.ports)
    return not (kind.definition and key in scope.named_elsewhere)


def is_edge_guard(table: str, key: str) -> bool:
    """Tell whether a row belongs to the ACL that we make."""
    return table in EDGE_TABLES and key.partition("|")[0] in EDGE_GUARDS


def is_fieldwise(table: str) -> bool:
    """Tell whether only the stated fields of a row in ``table`` are ours."""
    kind = OWNED.get(table)
    return kind.by_field if kind else table in FIELDWISE_OVERRIDES


def is_made_by_sonic(table: str, key: str, fields: Fields) -> bool:
    """Tell whether SONiC itself made the row, so that it is neither a difference nor somebody's."""
    if table == "BUFFER_PROFILE":
        return key.startswith(MADE_BY_SONIC)
    if table == "BUFFER_PG":
        return str(fields.get("profile", "")).removeprefix("[BUFFER_PROFILE|").startswith(MADE_BY_SONIC)
    return table == "VERSIONS"


_FILE_MODES = ("split", "split-unified")
_SONIC_PEER_TABLES = ("BGP_NEIGHBOR", "BGP_INTERNAL_NEIGHBOR", "BGP_MONITORS", "BGP_PEER_RANGE", "BGP_SENTINELS",
                      "BGP_VOQ_CHASSIS_NEIGHBOR", "BGP_PEER_GROUP")  # fmt: skip


def frr_scope(config_db: ConfigDb, running: "FrrDocument", intended: "FrrDocument") -> "FrrScope":
    """Return what is ours of FRR's configuration on a switch with these tables; ``intended`` is our file."""
    from railweave.sonic.frr.ownership import FrrScope

    return FrrScope(running, intended, _sonic_peers(config_db))


def _sonic_peers(config_db: ConfigDb) -> frozenset[str] | None:
    """Return the BGP neighbors that SONiC writes into FRR, None in the modes in which FRR boots a file as it is."""
    mode = config_db.get("DEVICE_METADATA", {}).get("localhost", {}).get("docker_routing_config_mode")
    if mode in _FILE_MODES:
        return None
    return frozenset(key.rpartition("|")[2] for table in _SONIC_PEER_TABLES for key in config_db.get(table, {}))
