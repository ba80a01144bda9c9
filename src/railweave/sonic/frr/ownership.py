"""Which lines of FRR's configuration are ours: by kind of line and by name, as rows are by table and key.

Ours are the lines of our file and those that earlier files of ours may have had: the BGP instance with the peer groups
of the tiers and their members, lists and route-maps of our names, announcements and blackholes of the fabric's pools,
and the settings that a switch has once. All other lines are unmanaged: a VRF, a static route, another neighbor, a line
of SONiC's own templates. They stay as they are, and are counted and shown.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import NamedTuple

from railweave.sonic.frr.document import FrrDocument
from railweave.sonic.frr.lines import JOIN, FrrEntry, defined_neighbor, membership, neighbor_of, slot

GROUPS = frozenset({"LEAVES", "SPINES", "SUPER-SPINES"})
"""The peer groups of the tiers (``routing.instance.group_name``): their members belong to the fabric."""

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
"""Settings that a switch or a BGP instance has once, and that a file of ours may state."""

_ROUTER = re.compile(r"router bgp \d+$")
_FAMILIES = {"address-family ipv4 unicast": 4, "address-family ipv6 unicast": 6}
_ANNOUNCED = re.compile(r"(network (?P<network>\S+)|(ip|ipv6) route (?P<route>\S+) blackhole 250)$")
_TO_A_NIC = re.compile(r"ip route (?P<route>\S+/32) [\d.]+ \S+$")
"""The route to a NIC that several leaves share."""
_OF_NICS = re.compile(r"ip prefix-list OWN-PREFIXES seq \d+ permit (?P<block>\S+) ge 32$")
"""The block of these NICs: a leaf announces them as host routes, everything else as whole prefixes."""
_POOL = re.compile(
    r"(ip prefix-list FABRIC-PREFIXES|ipv6 prefix-list FABRIC-PREFIXES-V6) seq \d+ permit (?P<pool>\S+)"
    r"( ge (?P<ge>\d+))?( le (?P<le>\d+))?$"
)
_PATHS = ("maximum-paths 128", "maximum-paths 255", "maximum-paths 512")
"""The lines of which our files have one in each family (``routing.paths``)."""

_Network = IPv4Network | IPv6Network

_SONIC_OBJECT = re.compile(
    r"(FROM|TO)_(BGP_(INTERNAL_)?PEER_V[46]|VOQ_CHASSIS_V[46]_PEER|BGPMON|BGP_SPEAKER|BGP_SENTINEL\S*)|"
    r"(PL_|COMMUNITY_)?ALLOW_(LIST|ADDRESS)_\S+|allow_list_default_community|CHECK_IDF_ISOLATION|NO_EXPORT|"
    r"PL_LoopbackV[46]|(LOCAL_VLAN|DEFAULT)_IPV[46](_PREFIX)?|V[46]_(P2P_IP|CONNECTED_ROUTES)|HIDE_INTERNAL|ISOLATE|"
    r"STATIC_ROUTE_FILTER|RM_SET_SRC6?|sentinel_community|DEVICE_INTERNAL_(FALLBACK_)?COMMUNITY|SELECTIVE_ROUTE_DOWNLOAD_V[46]|"
    r"TAG_ANCHOR_COMMUNITY|(LOCAL_)?ANCHOR_(ROUTE|CONTRIBUTING_ROUTE)_COMMUNITY|ANCHOR_CONTRIBUTING_ROUTES|T2_GROUP_ASNS"
)
_SONIC_GROUP = re.compile(r"(INTERNAL_)?PEER_V[46](_INT)?|VOQ_CHASSIS_V[46]_PEER|BGPMON|BGPSentinel")
"""Names that SONiC writes from CONFIG_DB, where it writes FRR's configuration (sonic-buildimage 202305 to master,
dockers/docker-fpm-frr/frr/bgpd, src/sonic-bgpcfgd)."""

_LISTEN = re.compile(r"bgp listen range \S+ peer-group (?P<group>\S+)$")
_ANY_INSTANCE = "router bgp"
"""Stands for a BGP instance, whatever its AS number."""


@dataclass(frozen=True)
class FrrScope:
    """Tells which lines of the FRR configuration ``running`` are ours; ``intended`` is our file.

    ``sonic_peers`` are the neighbors that SONiC itself writes from CONFIG_DB, None where FRR boots a file that nobody
    generates. Where SONiC writes the configuration, its BGP instance and policies count as ours and are removed; it
    writes them again from CONFIG_DB should the routing mode be set back.
    """

    running: FrrDocument = field(repr=False)
    intended: FrrDocument = field(repr=False)
    sonic_peers: frozenset[str] | None = None

    @cached_property
    def unmanaged(self) -> tuple[FrrEntry, ...]:
        """Return the unmanaged lines, in the order of ``running``."""
        intended_lines = frozenset(self.intended.entries)
        extra = [entry for entry in self.running.entries if entry not in intended_lines]
        # A deployed switch runs our file and nothing else.
        if not extra:
            return ()
        foreign = {entry for entry in extra if not self._is_ours(entry)}
        if foreign:
            foreign |= self._used_by(foreign, extra)
        return tuple(entry for entry in extra if entry in foreign)

    @property
    def owned(self) -> tuple[FrrEntry, ...]:
        """Return the lines that are ours, in the order of ``running``."""
        if not self.unmanaged:
            return self.running.entries
        foreign = frozenset(self.unmanaged)
        return tuple(entry for entry in self.running.entries if entry not in foreign)

    def beside(self, target: FrrDocument) -> FrrDocument:
        """Return ``target`` with only our lines, followed by the unmanaged lines that are running."""
        our_lines = target.entries
        if target is not self.intended:
            our_lines = FrrScope(target, self.intended, self.sonic_peers).owned
        if not self.unmanaged:
            return replace(target, entries=our_lines)
        router = next((entry.line for entry in our_lines if not entry.context and _ROUTER.match(entry.line)), "")
        unmanaged_lines = [self._in_instance(entry, router) for entry in self.unmanaged]
        return replace(target, entries=tuple(dict.fromkeys((*our_lines, *unmanaged_lines))))

    def _in_instance(self, entry: FrrEntry, router: str) -> FrrEntry:
        """Return an unmanaged line; if it is in an instance of ours, it is moved into the instance ``router``.

        That instance may have another AS number than the running one. ``router`` is empty if there is none.
        """
        header, *inner = entry.path or ("",)
        if header in self._instances and router:
            return FrrEntry(JOIN.join((router, *inner)), entry.line)
        return entry

    def is_in_our_instance(self, entry: FrrEntry) -> bool:
        """Tell whether a line is inside a BGP instance of ours."""
        return bool(entry.context) and entry.path[0] in self._instances

    def _is_ours(self, entry: FrrEntry) -> bool:
        """Tell whether a line is ours, by its BGP instance, by the name of its list or route-map, or by its setting."""
        top = _top_line(entry)
        if _ROUTER.match(top):
            if top not in self._instances:
                return False
            is_header = not entry.context
            return is_header or self._is_ours_in_instance(entry)
        name = _object_name(top)
        if name:
            return self._is_our_object(name)
        if entry.context:
            return top in self._stated_blocks
        return self._is_setting(entry) or self._is_announcement(entry)

    def _is_our_object(self, name: str) -> bool:
        """Tell whether a list or route-map is ours. Where SONiC writes FRR's configuration, so are its own."""
        if name in self._stated_objects or _OWN_OBJECT.fullmatch(name):
            return True
        return self.sonic_peers is not None and _SONIC_OBJECT.fullmatch(name) is not None

    def _is_ours_in_instance(self, entry: FrrEntry) -> bool:
        """Tell whether a line inside a BGP instance of ours is ours too."""
        peer = neighbor_of(entry.line)
        if peer is not None:
            return peer in self._peers
        # Where SONiC writes the instance, all other lines are ours except listen ranges of foreign peer groups.
        if self.sonic_peers is not None:
            listens = _LISTEN.match(entry.line)
            return listens is None or listens["group"] in self._peers
        if self._is_setting(entry):
            return True
        if len(entry.path) != 2 or entry.path[1] not in _FAMILIES:
            return False
        return self._is_announcement(entry) or self._is_ipv6_paths(entry)

    def _is_ipv6_paths(self, entry: FrrEntry) -> bool:
        """Tell whether a line is our ECMP width of IPv6, which our file states only where the fabric carries IPv6."""
        if entry.line not in _PATHS or _FAMILIES[entry.path[1]] != 6:
            return False
        return any(pool.network.version == 6 for pool in self._pools)

    def _is_setting(self, entry: FrrEntry) -> bool:
        """Tell whether a line makes a setting that our files state, with any value and in any BGP instance."""
        bare = entry.line.removeprefix("no ")
        if _OWN_SETTING.match(bare):
            return True
        return (_any_instance(entry.context), slot(bare)) in self._stated_slots

    def _is_announcement(self, entry: FrrEntry) -> bool:
        """Tell whether a line announces a prefix of the fabric's pools, or keeps it in the routing table for that."""
        is_top_level = not entry.context
        if is_top_level:
            to_nic = _TO_A_NIC.match(entry.line)
            if to_nic:
                return self._is_in_nic_block(to_nic["route"])
        match = _ANNOUNCED.match(entry.line)
        if match is None:
            return False
        # A blackhole is a line of the top level, `network` is one of an instance.
        prefix_text = match["route"] if is_top_level else match["network"]
        if not prefix_text:
            return False
        prefix = _parsed_network(prefix_text)
        return prefix is not None and any(pool.permits(prefix) for pool in self._pools)

    def _is_in_nic_block(self, route: str) -> bool:
        """Tell whether a static route leads to an address of the nodes' NICs."""
        nic = _parsed_network(route)
        return nic is not None and any(_within(nic, block) for block in self._nic_blocks)

    def _used_by(self, foreign: Iterable[FrrEntry], extra: Iterable[FrrEntry]) -> set[FrrEntry]:
        """Return the lines of lists and route-maps that the intent no longer has but that ``foreign`` lines name.

        Lists and route-maps that these name in turn are returned as well. ``extra`` are the lines to choose from.
        """
        removable: dict[str, list[FrrEntry]] = {}
        for entry in extra:
            name = _object_name(_top_line(entry))
            if name and name not in self._stated_objects:
                removable.setdefault(name, []).append(entry)
        used: set[FrrEntry] = set()
        words = _words(foreign)
        named_objects = words & removable.keys()
        while named_objects:
            for name in named_objects:
                lines = removable.pop(name)
                used.update(lines)
                # A route-map that stays names lists and route-maps, which must stay with it.
                words |= _words(lines)
            named_objects = words & removable.keys()
        return used

    @cached_property
    def _instances(self) -> frozenset[str]:
        """Return the header lines of the running BGP instances that are ours."""
        headers = {entry.line for entry in self.running.entries if not entry.context and _ROUTER.match(entry.line)}
        if self.sonic_peers is not None:
            return frozenset(headers)
        stated = {entry.line for entry in self.intended.entries if not entry.context}
        # An instance with one of our peer groups is ours under an earlier AS number too.
        with_our_groups = {
            entry.context for entry in self.running.entries if defined_neighbor(entry.line) in self._groups
        }
        return frozenset(headers & (stated | with_our_groups))

    @cached_property
    def _groups(self) -> frozenset[str | None]:
        """Return the peer groups that are ours: those of the tiers, and those of the intended file."""
        named = (entry.line.split()[1] for entry in self.intended.entries if entry.line.endswith(" peer-group"))
        return GROUPS.union(named)

    @cached_property
    def _peers(self) -> frozenset[str | None]:
        """Return the neighbors and peer groups that are ours."""
        stated = {neighbor_of(entry.line) for entry in self.intended.entries}
        groups = {*self._groups, *(self.sonic_peers or ())}
        members = {neighbor_of(entry.line) for entry in self.running.entries if self._is_member(entry, groups)}
        return frozenset((stated | groups | members) - {None})

    def _is_member(self, entry: FrrEntry, groups: set[str | None]) -> bool:
        """Tell whether a line puts a neighbor into one of ``groups``, or defines one of them.

        Where SONiC writes FRR's configuration, its own peer groups count too.
        """
        group = membership(entry.line)
        if group is None and entry.line.endswith(" peer-group"):
            group = entry.line.split()[1]
        if group is None:
            return False
        return group in groups or (self.sonic_peers is not None and _SONIC_GROUP.fullmatch(group) is not None)

    @cached_property
    def _stated_objects(self) -> frozenset[str]:
        names = {_object_name(entry.line) for entry in self.intended.entries if not entry.context}
        return frozenset(names - {""})

    @cached_property
    def _stated_blocks(self) -> frozenset[str]:
        return frozenset(entry.path[0] for entry in self.intended.entries if entry.context)

    @cached_property
    def _stated_slots(self) -> frozenset[tuple[str, str]]:
        return frozenset(
            (_any_instance(entry.context), slot(entry.line.removeprefix("no "))) for entry in self.intended.entries
        )

    @cached_property
    def _nic_blocks(self) -> tuple[_Network, ...]:
        matches = [_OF_NICS.match(entry.line) for entry in (*self.intended.entries, *self.running.entries)]
        return tuple(dict.fromkeys(ip_network(match["block"]) for match in matches if match))

    @cached_property
    def _pools(self) -> tuple["_Pool", ...]:
        # Running lines name pools of earlier intents, whose announcements are ours to remove.
        matches = [_POOL.match(entry.line) for entry in (*self.intended.entries, *self.running.entries)]
        return tuple(dict.fromkeys(_pool(match) for match in matches if match))


class _Pool(NamedTuple):
    """A pool of the fabric as its prefix list states it, with the least and greatest prefix length."""

    network: _Network
    shortest: int
    longest: int

    def permits(self, prefix: _Network) -> bool:
        """Tell whether the list permits ``prefix``."""
        return _within(prefix, self.network) and self.shortest <= prefix.prefixlen <= self.longest


def _pool(match: re.Match[str]) -> _Pool:
    """Return the pool of a match of ``_POOL``."""
    network = ip_network(match["pool"])
    shortest = int(match["ge"] or network.prefixlen)
    # Without `le` an entry of a prefix list permits all longer prefixes where it has `ge`, else its own length alone.
    longest = network.max_prefixlen if match["ge"] else network.prefixlen
    return _Pool(network, shortest, int(match["le"] or longest))


def _top_line(entry: FrrEntry) -> str:
    return entry.path[0] if entry.context else entry.line


def _object_name(header: str) -> str:
    match = _OBJECT.match(header)
    return match["name"] if match else ""


def _words(entries: Iterable[FrrEntry]) -> set[str]:
    return {word for entry in entries for word in entry.line.split()}


def _any_instance(context: str) -> str:
    """Return a context without the AS number of its BGP instance."""
    header, join, inner = context.partition(JOIN)
    if not _ROUTER.match(header):
        return context
    return f"{_ANY_INSTANCE}{join}{inner}"


def _parsed_network(text: str) -> _Network | None:
    try:
        return ip_network(text)
    except ValueError:
        return None


def _within(prefix: _Network, pool: _Network) -> bool:
    if isinstance(prefix, IPv4Network):
        return isinstance(pool, IPv4Network) and prefix.subnet_of(pool)
    return isinstance(pool, IPv6Network) and prefix.subnet_of(pool)
