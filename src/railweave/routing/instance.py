"""The BGP speaker of one switch as plain values: identity, timers, announcements and prefix filters.

RFC 7938: eBGP on every link, an AS number for each leaf, one for all spines of a pod and plane, and one for all
super-spines of a plane. The values depend only on the switch's own links, the address pools and the reserve, so the
growth of a fabric does not change its other switches.
"""

from math import ceil
from operator import attrgetter
from typing import NamedTuple

from railweave.fabric.devices import Switch, Tier
from railweave.fabric.model import IPV6_BLOCK_LENGTH, Fabric, Graph
from railweave.fabric.policy import Addressing, Ipv6Pool, Pool
from railweave.qos.mapping import control_dscp
from railweave.routing.paths import maximum_paths


class BgpSession(NamedTuple):
    """A BGP session over ``port``; ``address`` is the neighbor's, None for an unnumbered session; ``group`` is the peer
    group of the neighbor's tier."""

    port: str
    address: int | None
    remote_asn: int
    description: str
    group: str


def group_name(tier: Tier) -> str:
    """Return the name of the peer group of a tier's switches, also used in their route maps: ``SPINES``."""
    return tier.plural.upper()


def sessions(graph: Graph, addressing: Addressing, switch: Switch) -> tuple[BgpSession, ...]:
    """Return the sessions of ``switch``, in the order of neighbor addresses, or of ports if they are unnumbered.

    Links to GPU nodes have none.
    """
    name = switch.name
    ports = switch.panel.ports
    switches = graph.switch_of
    # Once a tier, not once a session: a fabric has a quarter of a million sessions.
    groups = [group_name(tier) for tier in graph.tiers]
    bgp_sessions = []
    for link in graph.fabric_links_of(name):
        address: int | None
        if link.lower == name:
            neighbor = switches[link.upper]
            port = ports[link.lower_port]
            neighbor_port = neighbor.panel.ports[link.upper_port]
            address = link.network
        else:
            neighbor = switches[link.lower]
            port = ports[link.upper_port]
            neighbor_port = neighbor.panel.ports[link.lower_port]
            # The lower end of a link has the odd address of its /31.
            address = link.network + 1
        description = f"{neighbor.name}:{neighbor_port.name}"
        if addressing.unnumbered:
            address = None
        bgp_sessions.append(BgpSession(port.name, address, neighbor.asn, description, groups[neighbor.tier.level]))
    if not addressing.unnumbered:
        bgp_sessions.sort(key=_neighbor_address)
    return tuple(bgp_sessions)


_neighbor_address = attrgetter("address")


HOST_LENGTH = 32

CONNECT_RETRY_S = 10
"""Seconds between connection attempts; FRR's data-center profile and SONiC's own templates use the same."""

RESTART_MINUTES = 5
"""Minutes until a session that was closed for too many prefixes restarts."""

LEARNED_COMMUNITY = "64512:1"
"""The community of routes learned from the tier above; a switch never sends such a route up again. The first half is a
private AS number that the fabric does not use: its own numbers need four bytes."""


class PoolRule(NamedTuple):
    """Prefixes of exactly ``length`` inside ``pool``."""

    pool: Pool
    length: int


class PeerGroup(NamedTuple):
    """The neighbors of one adjacent tier, which share timers and policy; ``name`` is the tier's (SPINES, LEAVES).
    ``maximum_ipv6_prefixes`` is 0 if sessions carry only IPv4 routes."""

    name: str
    upwards: bool
    maximum_prefixes: int
    maximum_ipv6_prefixes: int = 0


class Ipv6Routes(NamedTuple):
    """The IPv6 routes of a switch: the ``host_block`` that it announces, None above the lowest tier, and the prefixes
    ``accepted`` from neighbors."""

    host_block: Pool | None
    accepted: PoolRule


class NicRoute(NamedTuple):
    """The route to a NIC that several leaves share: ``address`` over ``port``, with the address of the NIC's port as
    ``gateway``."""

    address: Pool
    gateway: int
    port: str


class NicRoutes(NamedTuple):
    """The routes of a leaf to the NICs that it shares with other leaves, by ascending address and port; all of their
    addresses are in ``block``."""

    block: Pool
    routes: tuple[NicRoute, ...]

    @property
    def addresses(self) -> tuple[Pool, ...]:
        """Return the addresses of the NICs, each once."""
        return tuple(dict.fromkeys(route.address for route in self.routes))


class BgpSpeaker(NamedTuple):
    """The content of the FRR file of one switch."""

    device: str
    # Leaves send up only their own prefixes, other switches all but what they learned from above.
    attaches_nodes: bool
    asn: int
    # Also the IPv4 address of Loopback0.
    router_id: int
    keepalive_s: int
    hold_s: int
    # Whether BFD watches the sessions.
    bfd: bool
    # Code point of BGP's own packets.
    dscp: int
    # By name, one for each adjacent tier.
    groups: tuple[PeerGroup, ...]
    # By neighbor address, or by port if unnumbered.
    sessions: tuple[BgpSession, ...]
    # IPv4 prefixes announced always, ascending; addresses of shared NICs are announced only while a link to them is up.
    announced: tuple[Pool, ...]
    # IPv4 addresses of the leaf's nodes, None on other switches and if nodes have no IPv4.
    host_block: Pool | None
    # IPv4 prefixes that any neighbor may send.
    accepted: tuple[PoolRule, ...]
    # SONiC branch that the switch runs.
    release: str
    # Equal-cost paths that FRR may install.
    maximum_paths: int
    # None if the fabric has only IPv4 routes.
    ipv6: Ipv6Routes | None = None
    # None if the switch shares no NIC with other leaves.
    nics: NicRoutes | None = None


def bgp_speaker(fabric: Fabric, switch: Switch, own: tuple[BgpSession, ...] | None = None) -> BgpSpeaker:
    """Return the BGP speaker of ``switch``; with ``own`` it has these sessions in place of all."""
    policies = fabric.policies
    announced = own_prefixes(fabric, switch)
    if own is None:
        own = sessions(fabric, policies.addressing, switch)
    block = fabric.host_blocks.get(switch.name)
    return BgpSpeaker(
        device=switch.name,
        attaches_nodes=switch.tier.attaches_nodes,
        asn=switch.asn,
        router_id=switch.loopback,
        keepalive_s=policies.bgp.keepalive_s,
        hold_s=policies.bgp.hold_s,
        bfd=policies.bgp.bfd,
        dscp=control_dscp(policies.classes),
        groups=peer_groups(fabric, switch.tier),
        sessions=own,
        announced=tuple(sorted(announced, key=attrgetter("first"))),
        host_block=Pool(*block) if block else None,
        accepted=accepted_prefixes(fabric),
        release=policies.sonic.release,
        maximum_paths=maximum_paths(fabric, switch.tier),
        ipv6=_ipv6_routes(fabric, switch),
        nics=nic_routes(fabric, switch),
    )


def _ipv6_routes(fabric: Fabric, switch: Switch) -> Ipv6Routes | None:
    """Return the IPv6 routes of a switch, None if nodes have no IPv6."""
    pool = fabric.policies.addressing.hosts_ipv6
    if pool is None:
        return None
    host_block = next(iter(own_ipv6_prefixes(fabric, switch)), None)
    return Ipv6Routes(host_block, PoolRule(pool, IPV6_BLOCK_LENGTH))


def nic_routes(fabric: Fabric, switch: Switch) -> NicRoutes | None:
    """Return the routes of a leaf to NICs that it shares with other leaves, None if there are no such NICs."""
    block = fabric.nic_blocks.get(switch.name)
    if block is None:
        return None
    routes = []
    for link in fabric.downlinks_of.get(switch.name, ()):
        address = fabric.nic_address(link)
        if address is not None:
            port = switch.panel.ports[link.upper_port]
            # The NIC's port is the lower end of the link and has the odd address of its /31.
            gateway = link.network + 1
            routes.append(NicRoute(address=Pool(address, HOST_LENGTH), gateway=gateway, port=port.name))
    return NicRoutes(block, tuple(routes))


def peer_groups(fabric: Fabric, tier: Tier) -> tuple[PeerGroup, ...]:
    """Return the peer groups of the switches of a tier, by name."""
    groups = []
    for neighbor in fabric.tiers:
        if abs(neighbor.level - tier.level) != 1:
            continue
        ipv6_prefixes = 0
        if fabric.policies.addressing.hosts_ipv6 is not None:
            ipv6_prefixes = maximum_ipv6_prefixes(fabric, tier, neighbor)
        prefixes = maximum_prefixes(fabric, tier, neighbor)
        groups.append(
            PeerGroup(
                name=group_name(neighbor),
                upwards=neighbor.level > tier.level,
                maximum_prefixes=prefixes,
                maximum_ipv6_prefixes=ipv6_prefixes,
            )
        )
    return tuple(sorted(groups, key=attrgetter("name")))


def accepted_prefixes(fabric: Fabric) -> tuple[PoolRule, ...]:
    """Return the IPv4 prefixes that switches accept from neighbors.

    These are loopbacks, whole host blocks, and the addresses of NICs that several leaves share, but neither links nor a
    default route.
    """
    addressing = fabric.policies.addressing
    rules = [PoolRule(addressing.loopbacks, HOST_LENGTH)]
    if addressing.hosts:
        rules += [PoolRule(addressing.hosts, length) for length in fabric.host_block_lengths]
    if fabric.nic_blocks:
        rules.append(PoolRule(addressing.nics, HOST_LENGTH))
    return tuple(rules)


def maximum_prefixes(fabric: Fabric, own: Tier, neighbor: Tier) -> int:
    """Return the IPv4 prefix limit of a switch of the tier ``own`` for a neighbor of the tier ``neighbor``.

    It is one and a half times what the neighbor announces when the reserve is built.

    A leaf announces its loopback, its host block if nodes have IPv4, and the addresses of the NICs that it shares with
    other leaves, which announce the same ones. A spine announces upwards the prefixes of its pod and its own loopback.
    Downwards it announces those of all leaves of the plane, of the spine with the same index in every pod, and of the
    super-spines that these join: at most one for each of its upper ports. Rails without a common switch have no routes
    to each other.
    """
    leaves, spines = fabric.tiers[:2]
    rails = fabric.rails if fabric.rail_only else 1
    prefixes_of_leaf = 1 if fabric.policies.addressing.hosts is None else 2
    nics = max((block.size for block in fabric.nic_blocks.values()), default=0)
    if neighbor.attaches_nodes:
        return _half_as_many_again(prefixes_of_leaf + nics)
    # A NIC's address arrives from several leaves, and counts once among the prefixes of all leaves.
    prefixes_of_leaf += ceil(nics / fabric.leaves_per_nic)
    if neighbor.level < own.level:
        return _half_as_many_again(prefixes_of_leaf * leaves.group_reserve + 1)
    from_below = prefixes_of_leaf * leaves.reserve + spines.groups
    return _half_as_many_again(from_below // rails + spines.ports_above)


def maximum_ipv6_prefixes(fabric: Fabric, own: Tier, neighbor: Tier) -> int:
    """Return the IPv6 prefix limit of a switch of the tier ``own`` for a neighbor of the tier ``neighbor``.

    It is one and a half times what the neighbor announces when the reserve is built. Only leaves have an IPv6 prefix,
    the /64 of their hosts.
    """
    leaves = fabric.lowest
    if neighbor.attaches_nodes:
        return _half_as_many_again(1)
    if neighbor.level < own.level:
        return _half_as_many_again(leaves.group_reserve)
    if fabric.rail_only:
        return _half_as_many_again(leaves.reserve // fabric.rails)
    return _half_as_many_again(leaves.reserve)


def _half_as_many_again(expected: int) -> int:
    """Return one and a half times a number, rounded up."""
    return ceil(expected * 3 / 2)


def own_prefixes(fabric: Fabric, switch: Switch) -> tuple[Pool, ...]:
    """Return the IPv4 prefixes of a switch itself: its loopback and, on a leaf, the block of its hosts."""
    loopback = Pool(switch.loopback, HOST_LENGTH)
    block = fabric.host_blocks.get(switch.name)
    if block:
        return (loopback, Pool(*block))
    return (loopback,)


def own_ipv6_prefixes(fabric: Fabric, switch: Switch) -> tuple[Pool, ...]:
    """Return the IPv6 prefixes of a switch itself: on a leaf the /64 of its hosts, if they have IPv6."""
    first = fabric.ipv6_blocks.get(switch.name)
    if first is None:
        return ()
    return (Ipv6Pool(first, IPV6_BLOCK_LENGTH),)
