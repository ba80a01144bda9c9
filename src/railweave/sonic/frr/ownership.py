"""Which lines of FRR's configuration are ours: by kind of line and by name, as rows are by table and key.

Ours is what our file says and what earlier files of ours may have said: the BGP instance with the peer groups of the
tiers and their members, lists and route-maps of our names, announcements and blackholes of the fabric's pools, and the
settings that a switch has once. Everything else is somebody's: a VRF, a static route, another neighbor, a line of
SONiC's own templates. It stays as it is, and is counted and shown as unmanaged.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_network

from railweave.sonic.frr.document import FrrDocument
from railweave.sonic.frr.lines import JOIN, FrrEntry, defined_neighbor, membership, neighbor_of, slot

GROUPS = frozenset({"LEAVES", "SPINES", "SUPER-SPINES"})
"""The peer groups of the tiers (``routing.sessions.group_name``): who is in one belongs to the fabric."""

_GROUP = f"({'|'.join(sorted(GROUPS))})"
_OWN_OBJECT = re.compile(
    rf"(FROM|TO)-{_GROUP}(-V[46])?|LEARNED-FROM-{_GROUP}|(FABRIC|OWN)-PREFIXES(-V6)?|PL_LoopbackV4|RM_SET_SRC"
)
_OBJECT = re.compile(
    r"(route-map|(ip|ipv6) prefix-list|bgp as-path access-list|bgp \S*community-list( standard| expanded)?) "
    r"(?P<name>\S+)( |$)"
)
_OWN_SETTING = re.compile(
    r"bgp (log-neighbor-changes|default ipv4-unicast|suppress-fib-pending|bestpath as-path multipath-relax)$|"
    r"bgp (router-id|session-dscp) |ip nht resolve-via-default$|ip protocol bgp route-map "
)
"""What a switch or a BGP instance has once, and a file of ours may say."""

_ROUTER = re.compile(r"router bgp \d+$")
_FAMILIES = {"address-family ipv4 unicast": 4, "address-family ipv6 unicast": 6}
_ANNOUNCED = re.compile(r"(network (?P<network>\S+)|(ip|ipv6) route (?P<route>\S+) blackhole 250)$")
_TO_A_NIC = re.compile(r"ip route (?P<route>\S+/32) [\d.]+ \S+$")
"""The way to a NIC that several leaves share."""
_OF_NICS = re.compile(r"ip prefix-list OWN-PREFIXES seq \d+ permit (?P<block>\S+) ge 32$")
"""The block of these NICs: all else that a leaf announces is a whole prefix."""
_POOL = re.compile(
    r"(ip prefix-list FABRIC-PREFIXES|ipv6 prefix-list FABRIC-PREFIXES-V6) seq \d+ permit (?P<pool>\S+)"
    r"( ge (?P<ge>\d+))?( le (?P<le>\d+))?$"
)
_PATHS = "maximum-paths 128"
"""What our files say in each family (``routing.instance.MAXIMUM_PATHS``)."""

_Network = IPv4Network | IPv6Network

_SONIC_OBJECT = re.compile(
    r"(FROM|TO)_(BGP_(INTERNAL_)?PEER_V[46]|VOQ_CHASSIS_V[46]_PEER|BGPMON|BGP_SPEAKER|BGP_SENTINEL\S*)|"
    r"(PL_|COMMUNITY_)?ALLOW_(LIST|ADDRESS)_\S+|allow_list_default_community|CHECK_IDF_ISOLATION|NO_EXPORT|"
    r"PL_LoopbackV[46]|(LOCAL_VLAN|DEFAULT)_IPV[46](_PREFIX)?|V[46]_(P2P_IP|CONNECTED_ROUTES)|HIDE_INTERNAL|ISOLATE|"
    r"STATIC_ROUTE_FILTER|RM_SET_SRC6?|sentinel_community|DEVICE_INTERNAL_(FALLBACK_)?COMMUNITY|SELECTIVE_ROUTE_DOWNLOAD_V[46]|"
    r"TAG_ANCHOR_COMMUNITY|(LOCAL_)?ANCHOR_(ROUTE|CONTRIBUTING_ROUTE)_COMMUNITY|ANCHOR_CONTRIBUTING_ROUTES|T2_GROUP_ASNS"
)
_SONIC_GROUP = re.compile(r"(INTERNAL_)?PEER_V[46](_INT)?|VOQ_CHASSIS_V[46]_PEER|BGPMON|BGPSentinel")
"""What SONiC writes from CONFIG_DB, where it writes FRR's configuration (sonic-buildimage 202305 to master,
dockers/docker-fpm-frr/frr/bgpd, src/sonic-bgpcfgd)."""

_LISTEN = re.compile(r"bgp listen range \S+ peer-group (?P<group>\S+)$")
_PLACE = "router bgp"
"""Stands for the instance of whichever AS number."""


@dataclass(frozen=True)
class FrrScope:
    """What is ours of the FRR configuration ``running`` where ``intended`` is our file.

    ``sonic_peers`` are the neighbors that SONiC itself writes from CONFIG_DB, None where FRR boots a file that nobody
    generates. Where SONiC writes the configuration its BGP instance and policies go with it, and come from CONFIG_DB
    again should the routing mode be set back.
    """

    running: FrrDocument = field(repr=False)
    intended: FrrDocument = field(repr=False)
    sonic_peers: frozenset[str] | None = None

    @cached_property
    def unmanaged(self) -> tuple[FrrEntry, ...]:
        """Return the unmanaged lines, in the order of ``running``."""
        stated = frozenset(self.intended.entries)
        extra = [entry for entry in self.running.entries if entry not in stated]
        if not extra:
            return ()
        others = {entry for entry in extra if not self._is_ours(entry)}
        if others:
            others |= self._used_by(others, extra)
        return tuple(entry for entry in extra if entry in others)

    @property
    def owned(self) -> tuple[FrrEntry, ...]:
        """Return the lines that are ours, in the order of ``running``."""
        if not self.unmanaged:
            return self.running.entries
        others = frozenset(self.unmanaged)
        return tuple(entry for entry in self.running.entries if entry not in others)

    def beside(self, target: FrrDocument) -> FrrDocument:
        """Return our lines of ``target`` and beside them the unmanaged ones as they run.

        Those inside our BGP instance follow it to another AS number.
        """
        own = target.entries if target is self.intended else FrrScope(target, self.intended, self.sonic_peers).owned
        if not self.unmanaged:
            return replace(target, entries=own)
        router = next((entry.line for entry in own if not entry.context and _ROUTER.match(entry.line)), "")
        return replace(
            target, entries=tuple(dict.fromkeys((*own, *(self._followed(one, router) for one in self.unmanaged))))
        )

    def _followed(self, entry: FrrEntry, router: str) -> FrrEntry:
        header, *inner = entry.path or ("",)
        if header in self._instances and router:
            return FrrEntry(JOIN.join((router, *inner)), entry.line)
        return entry

    def is_in_our_instance(self, entry: FrrEntry) -> bool:
        """Tell whether a line stands in a BGP instance of ours."""
        return bool(entry.context) and entry.path[0] in self._instances

    def _is_ours(self, entry: FrrEntry) -> bool:
        top = entry.path[0] if entry.context else entry.line
        if _ROUTER.match(top):
            return top in self._instances and (not entry.context or self._is_ours_in_instance(entry))
        name = _object_name(top)
        if name:
            made = self.sonic_peers is not None and _SONIC_OBJECT.fullmatch(name)
            return bool(made or name in self._stated_objects or _OWN_OBJECT.fullmatch(name))
        if entry.context:
            return top in self._stated_blocks
        return self._is_setting(entry) or self._is_announcement(entry)

    def _is_ours_in_instance(self, entry: FrrEntry) -> bool:
        peer = neighbor_of(entry.line)
        if peer is not None:
            return peer in self._peers
        if self.sonic_peers is not None:
            listens = _LISTEN.match(entry.line)
            return listens is None or listens["group"] in self._peers
        family = _FAMILIES.get(entry.path[1]) if len(entry.path) == 2 else None
        return self._is_setting(entry) or (family is not None and self._is_of_family(entry, family))

    def _is_of_family(self, entry: FrrEntry, version: int) -> bool:
        """Tell whether a line announces a prefix of ours, or is what we say once where a family of ours is carried."""
        if self._is_announcement(entry):
            return True
        return version == 6 and entry.line == _PATHS and any(pool.version == version for pool, _, _ in self._pools)

    def _is_setting(self, entry: FrrEntry) -> bool:
        bare = entry.line.removeprefix("no ")
        return _OWN_SETTING.match(bare) is not None or (_place(entry.context), slot(bare)) in self._stated_slots

    def _is_announcement(self, entry: FrrEntry) -> bool:
        """Tell whether a line announces, or keeps announced, a prefix of the fabric's pools."""
        to_nic = None if entry.context else _TO_A_NIC.match(entry.line)
        found = to_nic or _ANNOUNCED.match(entry.line)
        if found is None or (to_nic is None and bool(found["network"]) != bool(entry.context)):
            return False
        try:
            prefix = ip_network(found["route"] or found["network"])
        except ValueError:
            return False
        if to_nic:
            return any(_within(prefix, block) for block in self._nic_blocks)
        return any(_within(prefix, pool) and least <= prefix.prefixlen <= most for pool, least, most in self._pools)

    def _used_by(self, others: Iterable[FrrEntry], extra: Iterable[FrrEntry]) -> set[FrrEntry]:
        """Return the lines of our lists and route-maps that the intent has no more but ``others`` name: they stay."""
        going: dict[str, list[FrrEntry]] = {}
        for entry in extra:
            name = _object_name(entry.path[0] if entry.context else entry.line)
            if name and name not in self._stated_objects:
                going.setdefault(name, []).append(entry)
        found: set[FrrEntry] = set()
        words = _words(others)
        while named := words & going.keys():
            kept = [entry for name in named for entry in going.pop(name)]
            found.update(kept)
            words |= _words(kept)
        return found

    @cached_property
    def _instances(self) -> frozenset[str]:
        headers = {entry.line for entry in self.running.entries if not entry.context and _ROUTER.match(entry.line)}
        if self.sonic_peers is not None:
            return frozenset(headers)
        stated = {entry.line for entry in self.intended.entries if not entry.context}
        fabric = {entry.context for entry in self.running.entries if defined_neighbor(entry.line) in self._groups}
        return frozenset(headers & (stated | fabric))

    @cached_property
    def _groups(self) -> frozenset[str | None]:
        named = (entry.line.split()[1] for entry in self.intended.entries if entry.line.endswith(" peer-group"))
        return GROUPS.union(named)

    @cached_property
    def _peers(self) -> frozenset[str | None]:
        stated = {neighbor_of(entry.line) for entry in self.intended.entries}
        groups = {*self._groups, *(self.sonic_peers or ())}
        members = {neighbor_of(one.line) for one in self.running.entries if self._is_member(one, groups)}
        return frozenset((stated | groups | members) - {None})

    def _is_member(self, entry: FrrEntry, groups: set[str | None]) -> bool:
        """Tell whether a line defines a peer group of SONiC's, or puts a neighbor into one of its or of ours."""
        group = membership(entry.line)
        if group is None and entry.line.endswith(" peer-group"):
            group = entry.line.split()[1]
        return group is not None and (
            group in groups or (self.sonic_peers is not None and _SONIC_GROUP.fullmatch(group) is not None)
        )

    @cached_property
    def _stated_objects(self) -> frozenset[str]:
        return frozenset(filter(None, (_object_name(one.line) for one in self.intended.entries if not one.context)))

    @cached_property
    def _stated_blocks(self) -> frozenset[str]:
        return frozenset(entry.path[0] for entry in self.intended.entries if entry.context)

    @cached_property
    def _stated_slots(self) -> frozenset[tuple[str, str]]:
        return frozenset((_place(one.context), slot(one.line.removeprefix("no "))) for one in self.intended.entries)

    @cached_property
    def _nic_blocks(self) -> tuple[_Network, ...]:
        lines = (entry.line for entry in (*self.intended.entries, *self.running.entries))
        return tuple(dict.fromkeys(ip_network(found["block"]) for line in lines if (found := _OF_NICS.match(line))))

    @cached_property
    def _pools(self) -> tuple[tuple[_Network, int, int], ...]:
        return tuple(dict.fromkeys(_pools(entry.line for entry in (*self.intended.entries, *self.running.entries))))


def _object_name(header: str) -> str:
    found = _OBJECT.match(header)
    return found["name"] if found else ""


def _words(entries: Iterable[FrrEntry]) -> set[str]:
    return {word for entry in entries for word in entry.line.split()}


def _place(context: str) -> str:
    header, join, inner = context.partition(JOIN)
    return f"{_PLACE}{join}{inner}" if _ROUTER.match(header) else context


def _within(prefix: _Network, pool: _Network) -> bool:
    if isinstance(prefix, IPv4Network):
        return isinstance(pool, IPv4Network) and prefix.subnet_of(pool)
    return isinstance(pool, IPv6Network) and prefix.subnet_of(pool)


def _pools(lines: Iterable[str]) -> Iterator[tuple[_Network, int, int]]:
    for line in lines:
        found = _POOL.match(line)
        if found:
            pool = ip_network(found["pool"])
            least = int(found["ge"] or pool.prefixlen)
            yield pool, least, int(found["le"] or (pool.max_prefixlen if found["ge"] else pool.prefixlen))
