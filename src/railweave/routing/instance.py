"""The BGP speaker of one switch as plain values: identity, timers, announcements and what its policy lets through.

RFC 7938: eBGP on every link, an AS number for each leaf, one for all spines of a pod and plane, and one for all
super-spines of a plane. What a switch says depends
on its own links, the pools and the reserve alone, so that a fabric grows without touching it.
"""

from operator import attrgetter
from typing import NamedTuple

from railweave.fabric.model import IPV6_BLOCK_LENGTH, Fabric, Graph, Switch, Tier
from railweave.fabric.policy import Addressing, Ipv6Pool, Pool
from railweave.qos.mapping import control_dscp


class Session(NamedTuple):
    """One BGP session; ``address`` is the neighbor's, None where the session runs over the interface ``port``;
    ``group`` is the peer group of the neighbor's tier."""

    port: str
    address: int | None
    remote_asn: int
    description: str
    group: str


def group_name(tier: Tier) -> str:
    """Return the name of the peer group of a tier's switches, which its route maps carry too: ``SPINES``."""
    return tier.plural.upper()


def sessions(graph: Graph, addressing: Addressing, switch: Switch) -> tuple[Session, ...]:
    """Return the sessions of ``switch`` by ascending neighbor address or port; links to GPU nodes carry none."""
    name, own, switches = switch.name, switch.panel.ports, graph.switch_of
    groups, numbered = [group_name(tier) for tier in graph.tiers], not addressing.unnumbered
    found = []
    # A fabric has a quarter of a million sessions, and a link is unpacked in the time of two of its names.
    for _, _, _, lower, lower_port, upper, upper_port, network, _, _, _ in graph.fabric_links_of(name):
        if lower == name:
            far, port, far_port, address = switches[upper], lower_port, upper_port, network
        else:
            far, port, far_port, address = switches[lower], upper_port, lower_port, network + 1
        description = f"{far.name}:{far.panel.ports[far_port].name}"
        group = groups[far.tier.level]
        found.append(Session(own[port].name, address if numbered else None, far.asn, description, group))
    if numbered:
        found.sort(key=_neighbor_address)
    return tuple(found)


_neighbor_address = attrgetter("address")


HOST_LENGTH = 32

CONNECT_RETRY_S = 10
"""Seconds between connection attempts; FRR's data-center profile and SONiC's own templates use the same."""

MAXIMUM_PATHS = 128
"""Equal-cost paths that FRR may install. Fixed, so that a leaf does not change when spines are added; above the
uplinks of every leaf that can be built (check B-6), and unlike 64, 256 and 514 the built-in limit of no FRR that SONiC
or Debian ship: at that limit FRR would leave the line out of its running configuration."""

RESTART_MINUTES = 5
"""Minutes after which a session that was closed for too many prefixes tries again."""

LEARNED_COMMUNITY = "64512:1"
"""The mark of a route that came from the tier above; a switch never sends such a route up again. The first half is a
private AS number that the fabric does not use (its own need four bytes)."""


class PoolRule(NamedTuple):
    """Prefixes of exactly ``length`` inside ``pool``."""

    pool: Pool
    length: int


class PeerGroup(NamedTuple):
    """The neighbors of one adjacent tier, which share timers and policy: ``name`` is its (SPINES, LEAVES).
    ``maximum_ipv6_prefixes`` is 0 where sessions carry IPv4 routes alone."""

    name: str
    upwards: bool
    maximum_prefixes: int
    maximum_ipv6_prefixes: int = 0


class Ipv6Routes(NamedTuple):
    """The IPv6 routes of a switch: its ``host_block``, which it announces, None above the lowest tier; ``accepted``
    bounds what any neighbor may send."""

    host_block: Pool | None
    accepted: PoolRule


class NicRoute(NamedTuple):
    """The way to a NIC that several leaves share: its ``address``, over ``port`` to the NIC's port with ``gateway``."""

    address: Pool
    gateway: int
    port: str


class NicRoutes(NamedTuple):
    """The routes of a leaf to the NICs that it shares with other leaves, by ascending address and port; ``block`` holds
    all of their addresses."""

    block: Pool
    routes: tuple[NicRoute, ...]

    @property
    def addresses(self) -> tuple[Pool, ...]:
        """Return the addresses of the NICs, each once."""
        return tuple(dict.fromkeys(route.address for route in self.routes))


class BgpSpeaker(NamedTuple):
    """Everything that the FRR file of one switch says. ``groups`` are by name, one for each adjacent tier;
    ``announced`` ascends; ``accepted`` bounds what any neighbor may send; times are in seconds. A switch that
    ``attaches_nodes`` sends up its own prefixes only, any other all but what it has from above. ``release`` is the
    SONiC branch that runs it. ``ipv6`` is None where the fabric has IPv4 routes alone, ``nics`` where it
    shares no NIC with other leaves. What it announces of these is not in ``announced``: each only while a link to the
    NIC is up."""

    device: str
    attaches_nodes: bool
    asn: int
    router_id: int
    keepalive_s: int
    hold_s: int
    bfd: bool
    dscp: int
    groups: tuple[PeerGroup, ...]
    sessions: tuple[Session, ...]
    announced: tuple[Pool, ...]
    host_block: Pool | None
    accepted: tuple[PoolRule, ...]
    release: str
    ipv6: Ipv6Routes | None = None
    nics: NicRoutes | None = None


def bgp_speaker(fabric: Fabric, switch: Switch, own: tuple[Session, ...] | None = None) -> BgpSpeaker:
    """Return the BGP speaker of ``switch``, with ``own`` sessions in place of all that it has."""
    policies = fabric.policies
    announced = own_prefixes(fabric, switch)
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
        sessions=sessions(fabric, policies.addressing, switch) if own is None else own,
        announced=tuple(sorted(announced, key=lambda one: one.first)),
        host_block=announced[1] if len(announced) > 1 else None,
        accepted=accepted_prefixes(fabric),
        release=policies.sonic.release,
        ipv6=_ipv6_routes(fabric, switch),
        nics=nic_routes(fabric, switch),
    )


def _ipv6_routes(fabric: Fabric, switch: Switch) -> Ipv6Routes | None:
    pool = fabric.policies.addressing.hosts_ipv6
    if pool is None:
        return None
    return Ipv6Routes(next(iter(own_ipv6_prefixes(fabric, switch)), None), PoolRule(pool, IPV6_BLOCK_LENGTH))


def nic_routes(fabric: Fabric, switch: Switch) -> NicRoutes | None:
    """Return the routes of a leaf to NICs that it shares with other leaves, None where there is no such NIC."""
    block = fabric.nic_blocks.get(switch.name)
    if block is None:
        return None
    found = [
        NicRoute(Pool(address, HOST_LENGTH), link.network + 1, switch.panel.ports[link.upper_port].name)
        for link in fabric.downlinks_of.get(switch.name, ())
        if (address := fabric.nic_address(link)) is not None
    ]
    return NicRoutes(block, tuple(found))


def peer_groups(fabric: Fabric, tier: Tier) -> tuple[PeerGroup, ...]:
    """Return the peer groups of the switches of a tier."""
    adjacent = [one for one in fabric.tiers if abs(one.level - tier.level) == 1]
    has_ipv6 = fabric.policies.addressing.hosts_ipv6 is not None
    groups = (
        PeerGroup(
            group_name(one),
            one.level > tier.level,
            maximum_prefixes(fabric, tier, one),
            maximum_ipv6_prefixes(fabric, tier, one) if has_ipv6 else 0,
        )
        for one in adjacent
    )
    return tuple(sorted(groups, key=lambda one: one.name))


def accepted_prefixes(fabric: Fabric) -> tuple[PoolRule, ...]:
    """Return what may travel through the fabric: loopbacks, whole host blocks, and the addresses of NICs that several
    leaves share; no link, no default route."""
    addressing = fabric.policies.addressing
    return (
        PoolRule(addressing.loopbacks, HOST_LENGTH),
        *(PoolRule(pool, length) for pool in (addressing.hosts,) if pool for length in fabric.host_block_lengths),
        *((PoolRule(addressing.nics, HOST_LENGTH),) if fabric.nic_blocks else ()),
    )


def maximum_prefixes(fabric: Fabric, own: Tier, neighbor: Tier) -> int:
    """Return the most prefixes taken from one neighbor of a tier: half as many again as the reserve can bring.

    A leaf announces two prefixes, its loopback and its host block, its loopback alone where nodes have no IPv4; and the
    addresses of the NICs that it shares with other leaves, which are the same from all of these. A spine passes up
    those of its pod and its own loopback. Down come those of all leaves of the plane, of the spine with the same index
    in every pod, and of the super-spines that these join: as many as a spine has ports for. Rails that are apart hear
    nothing of each other.
    """
    leaves, spines = fabric.tiers[:2]
    rails = fabric.rails if fabric.rail_only else 1
    own_of_leaf = 1 if fabric.policies.addressing.hosts is None else 2
    nics = max((block.size for block in fabric.nic_blocks.values()), default=0)
    of_leaf = own_of_leaf + -(-nics // fabric.leaves_per_nic)
    if neighbor.attaches_nodes:
        expected = own_of_leaf + nics
    elif neighbor.level < own.level:
        expected = of_leaf * leaves.group_reserve + 1
    else:
        expected = (of_leaf * leaves.reserve + spines.groups) // rails + spines.ports_above
    return _half_as_many_again(expected)


def maximum_ipv6_prefixes(fabric: Fabric, own: Tier, neighbor: Tier) -> int:
    """Return the most IPv6 prefixes taken from one neighbor of a tier: half as many again as the reserve can bring.

    Leaves alone announce one, the /64 of their hosts.
    """
    leaves = fabric.lowest
    if neighbor.attaches_nodes:
        expected = 1
    elif neighbor.level < own.level:
        expected = leaves.group_reserve
    else:
        expected = leaves.reserve // (fabric.rails if fabric.rail_only else 1)
    return _half_as_many_again(expected)


def _half_as_many_again(expected: int) -> int:
    return -(-expected * 3 // 2)


def own_prefixes(fabric: Fabric, switch: Switch) -> tuple[Pool, ...]:
    """Return what a switch announces of IPv4 as its own: its loopback and, of a leaf, its hosts."""
    block = fabric.host_blocks.get(switch.name)
    return (Pool(switch.loopback, HOST_LENGTH), *((Pool(*block),) if block else ()))


def own_ipv6_prefixes(fabric: Fabric, switch: Switch) -> tuple[Pool, ...]:
    """Return what a switch announces of IPv6 as its own: the /64 of its hosts, of a leaf where they have IPv6."""
    first = fabric.ipv6_blocks.get(switch.name)
    return () if first is None else (Ipv6Pool(first, IPV6_BLOCK_LENGTH),)
