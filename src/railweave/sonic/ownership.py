"""Which tables, rows and fields of a switch are ours: we own tables, not devices.

Everything else is unmanaged: kept, counted and shown. Of any other table only the rows that the intent states
(overrides) are ours. Management addresses, AAA, SNMP, syslog, NTP and features are never ours; of the ACLs only that
of node ports is: the edge guard, or the filters of tenants with it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from railweave.sonic.neutral import SWITCH_HASH, SWITCH_TRIMMING, is_permanent
from railweave.sonic.rows import ConfigDb, Fields

if TYPE_CHECKING:
    from railweave.sonic.frr.document import FrrDocument
    from railweave.sonic.frr.ownership import FrrScope


class OwnedTable(NamedTuple):
    """How a table is owned."""

    # The key begins with a port, and only rows of our ports are ours.
    by_port: bool = False
    # Only the fields that the intent states are ours; SONiC and others keep their own in the same rows.
    by_field: bool = False
    # Other rows name rows of this table; a row that a foreign row names is kept.
    definition: bool = False
    # The table is ours only where the engine computes buffers; elsewhere SONiC's templates fill it.
    buffers: bool = False
    # Keys of a table by port that are not ports.
    shared_keys: frozenset[str] = frozenset()


OWNED: Mapping[str, OwnedTable] = {
    "DEVICE_METADATA": OwnedTable(by_field=True),
    SWITCH_HASH: OwnedTable(by_field=True),
    SWITCH_TRIMMING: OwnedTable(by_field=True),
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
TENANT_FILTER = "RAILWEAVE_TENANTS"
"""The ACL of node ports where the intent has tenants; it holds the edge guard's rules too."""
TENANT_DENY = "deny"
"""The rule of that ACL that drops what no other rule lets pass."""


def tenant_filter(*, guards: bool, has_ipv6: bool) -> str:
    """Return the name of the tenants' ACL, which differs for each set of fields that its type matches.

    ``guards`` tells that it holds the edge guard's rules too.
    """
    name = TENANT_FILTER
    if guards:
        name += "_EDGE"
    if has_ipv6:
        name += "_V4V6"
    return name


TENANT_FILTERS = frozenset(
    tenant_filter(guards=guards, has_ipv6=ipv6) for guards in (False, True) for ipv6 in (False, True)
)
EDGE_GUARDS = frozenset({EDGE_GUARD, EDGE_GUARD_V4V6}) | TENANT_FILTERS
EDGE_TABLES = frozenset({"ACL_RULE", "ACL_TABLE", "ACL_TABLE_TYPE"})
SYSTEM_DEFAULTS = "SYSTEM_DEFAULTS"
"""On-off settings of SONiC, of which BFD needs one; it stays where the intent no longer has BFD, as others may use
it."""
FLEX_COUNTERS = "FLEX_COUNTER_TABLE"
"""Which counters SONiC polls; a row stays where the intent no longer asks for it, as others may use it."""
GNMI = "GNMI"
"""SONiC's gNMI server; its rows stay as well."""
STREAM_PROFILES = "HIGH_FREQUENCY_TELEMETRY_PROFILE"
STREAM_GROUPS = "HIGH_FREQUENCY_TELEMETRY_GROUP"
OUR_STREAM = "railweave"
"""The profile of streamed counters that we make; those of others stay."""
_SHARED_TABLES = frozenset({CABLE_LENGTH, FLEX_COUNTERS, GNMI, STREAM_GROUPS, STREAM_PROFILES, SYSTEM_DEFAULTS})
RENDERED_TABLES = (OWNED.keys() - KEPT_EMPTY) | _SHARED_TABLES | EDGE_TABLES
"""The tables for which railweave renders rows."""

FEATURE = "FEATURE"
FEATURES_NEEDED = frozenset({"bgp", "database", "swss", "syncd"})
"""Features without which a switch forwards nothing."""

FIELDWISE_OVERRIDES = frozenset({CABLE_LENGTH, FLEX_COUNTERS, GNMI})
"""Tables whose rows belong to many: whoever states a field of one owns that field."""

FOUND_ON_HARDWARE = frozenset({("DEVICE_METADATA", "mac"), ("DEVICE_METADATA", "platform")})
"""Tables with fields that SONiC finds on the hardware and no intent states."""

MADE_BY_SONIC = "pg_lossless_"
"""buffermgrd writes profiles of this name, and the priority groups that use them, from speed and cable length."""

_REFERRING_FIELDS = ("scheduler", "wred_profile", "profile", "profile_list")


@dataclass(frozen=True)
class Scope:
    """What is ours on one device."""

    running: ConfigDb = field(repr=False)
    # The ports of the intent.
    intended_ports: frozenset[str]
    # Running ports that the intent's breakout replaces.
    removed_ports: frozenset[str]
    # The engine computes the buffers, so their tables are ours.
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
    """Return what is ours on a switch that changes from ``running`` to ``intended``."""
    running_ports = running.get("PORT", {})
    intended_ports = intended.get("PORT", {})
    needed_lanes: set[str] = set()
    for port, row in intended_ports.items():
        # Ports that share a lane already are the platform's own (Accton AS9726-32D: a 400G port and two service
        # ports), so only lanes that a port does not have yet are taken from others.
        if _has_other_lanes(running_ports.get(port, {}), row):
            needed_lanes.update(_lanes(row))
    removed = frozenset(
        port
        for port, row in running_ports.items()
        if port not in intended_ports and not needed_lanes.isdisjoint(_lanes(row))
    )
    return Scope(running, frozenset(intended_ports), removed, "BUFFER_POOL" in intended)


def _has_other_lanes(row: Fields, other: Fields) -> bool:
    """Tell whether two rows of PORT have different lanes; equal texts need not be parsed."""
    return row.get("lanes", "") != other.get("lanes", "") and _lanes(row) != _lanes(other)


def _lanes(row: Fields) -> list[str]:
    lanes = row.get("lanes", "")
    members = lanes.split(",") if isinstance(lanes, str) else lanes
    return [lane.strip() for lane in members if lane.strip()]


def _names_of_foreign_rows(running: ConfigDb, ports: frozenset[str]) -> Iterator[str]:
    """Yield the maps, schedulers and profiles that rows of other ports and of other tables use."""
    for table, rows in running.items():
        owned = OWNED.get(table)
        if owned is None:
            foreign_rows = list(rows.values())
        elif owned.by_port:
            foreign_rows = [
                fields for key, fields in rows.items() if key not in owned.shared_keys and port_of(key) not in ports
            ]
        else:
            continue
        for fields in foreign_rows:
            yield from _referred_names(fields)


def _referred_names(fields: Fields) -> Iterator[str]:
    """Yield the maps, schedulers and profiles that a row names."""
    for name, value in fields.items():
        if isinstance(value, str) and (name.endswith("_map") or name in _REFERRING_FIELDS):
            yield from value.split(",")


def _pools_of(running: ConfigDb, kept: frozenset[str]) -> frozenset[str]:
    """Return the buffer pools of the profiles that are ``kept``, and of SONiC's own profiles."""
    return frozenset(
        str(fields.get("pool", ""))
        for name, fields in running.get("BUFFER_PROFILE", {}).items()
        if name in kept or name.startswith(MADE_BY_SONIC)
    )


def owned_table(scope: Scope, table: str) -> OwnedTable | None:
    """Return how a table is owned on this device; None if it is unmanaged."""
    owned = OWNED.get(table)
    if owned is not None and owned.buffers and not scope.buffers:
        return None
    return owned


def port_of(key: str) -> str:
    """Return the port of a row keyed by port: ``Ethernet0`` of ``Ethernet0|3-4``."""
    return key.partition("|")[0]


def numbers_of(key: str) -> range:
    """Return the priority groups or queues of a row such as ``Ethernet0|3-4``; none if its key has no numbers."""
    return _numbers(key.partition("|")[2])


@lru_cache(maxsize=256)
def _numbers(text: str) -> range:
    """Return the numbers of a range such as ``3-4``, or of a single number; none for another text."""
    first, _, last = text.partition("-")
    last = last or first
    if not first.isdigit() or not last.isdigit():
        return range(0)
    return range(int(first), int(last) + 1)


def stands_over_others(key: str, rows: Mapping[str, Fields]) -> bool:
    """Tell whether narrower rows name some of a row's groups or queues; ``rows`` are the table's rows of its port.

    buffermgrd writes such rows over ours (sonic-swss cfgmgr/buffermgr.cpp).
    """
    numbers = set(numbers_of(key))
    if len(numbers) < 2:
        return False
    for other_key in rows:
        other_numbers = set(numbers_of(other_key))
        if other_numbers and other_numbers < numbers:
            return True
    return False


def is_ours(scope: Scope, table: str, key: str) -> bool:
    """Tell whether a row that the intent does not state is ours, so that it is removed."""
    if is_edge_guard(table, key) or is_our_stream(table, key):
        return True
    owned = owned_table(scope, table)
    if owned is None or _is_kept(table, key):
        return False
    is_of_port = owned.by_port and key not in owned.shared_keys
    if not is_of_port:
        is_used_by_others = owned.definition and key in scope.named_elsewhere
        return not is_used_by_others
    # A row of PORT is removed only together with its port, by breakout.
    ports = scope.removed_ports if owned.by_field else scope.ports
    return port_of(key) in ports


def _is_kept(table: str, key: str) -> bool:
    """Tell whether a row stays on every switch, whatever the intent states: SONiC needs or makes it."""
    if table == "DEVICE_METADATA" or is_permanent(table, key):
        return True
    return table == "BUFFER_PROFILE" and key.startswith(MADE_BY_SONIC)


def is_edge_guard(table: str, key: str) -> bool:
    """Tell whether a row belongs to the ACL that we make."""
    return table in EDGE_TABLES and key.partition("|")[0] in EDGE_GUARDS


def is_our_stream(table: str, key: str) -> bool:
    """Tell whether a row belongs to the streamed counters that we ask for."""
    return table in (STREAM_PROFILES, STREAM_GROUPS) and key.partition("|")[0] == OUR_STREAM


def is_fieldwise(table: str) -> bool:
    """Tell whether only the stated fields of a row in ``table`` are ours."""
    owned = OWNED.get(table)
    if owned is None:
        return table in FIELDWISE_OVERRIDES
    return owned.by_field


def is_made_by_sonic(table: str, key: str, fields: Fields) -> bool:
    """Tell whether SONiC itself wrote the row, so that it is neither a difference nor unmanaged."""
    if table == "BUFFER_PROFILE":
        return key.startswith(MADE_BY_SONIC)
    if table == "BUFFER_PG":
        return str(fields.get("profile", "")).removeprefix("[BUFFER_PROFILE|").startswith(MADE_BY_SONIC)
    return table == "VERSIONS"


_FILE_MODES = ("split", "split-unified")
_SONIC_PEER_TABLES = ("BGP_NEIGHBOR", "BGP_INTERNAL_NEIGHBOR", "BGP_MONITORS", "BGP_PEER_RANGE", "BGP_SENTINELS",
                      "BGP_VOQ_CHASSIS_NEIGHBOR", "BGP_PEER_GROUP")  # fmt: skip


def frr_scope(config_db: ConfigDb, running: "FrrDocument", intended: "FrrDocument") -> "FrrScope":
    """Return which FRR lines are ours on a switch with these tables; ``intended`` is our file."""
    from railweave.sonic.frr.ownership import FrrScope

    return FrrScope(running, intended, _sonic_peers(config_db))


def _sonic_peers(config_db: ConfigDb) -> frozenset[str] | None:
    """Return the BGP neighbors that SONiC writes into FRR, None in the modes in which FRR boots a file as it is."""
    mode = config_db.get("DEVICE_METADATA", {}).get("localhost", {}).get("docker_routing_config_mode")
    if mode in _FILE_MODES:
        return None
    keys = chain.from_iterable(config_db.get(table, {}) for table in _SONIC_PEER_TABLES)
    return frozenset(key.rpartition("|")[2] for key in keys)
