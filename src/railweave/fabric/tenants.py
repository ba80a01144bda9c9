"""The tenants of a fabric: the nodes of each, their prefixes, and which tenants reach each other.

A tenant's addresses are the networks of its nodes' access links, and the addresses of NICs that several leaves
announce. They are aggregated over the whole fabric. A prefix covers no free access port, so that a node that is added
later changes the prefixes of its own tenant alone; it may cover the part of a leaf's block that no node can ever have:
the addresses of the ports above the downlinks.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from railweave.fabric.devices import Switch
from railweave.fabric.links import Link
from railweave.fabric.model import IPV6_BLOCK_LENGTH, Fabric
from railweave.fabric.policy import Ipv6Pool, Pool, Tenant
from railweave.fabric.ranges import expanded

IPV4_BITS = 32
IPV6_BITS = 128

Interval = tuple[int, int]
"""The first address and the one behind the last."""
Network = tuple[int, int | None]
"""A routed network of a fabric (``Fabric.network_of``)."""


class Addresses(NamedTuple):
    """The addresses of some access links in one family: ``used`` are theirs, ``spare`` no node can ever have."""

    bits: int
    used: tuple[Interval, ...]
    spare: tuple[Interval, ...]


class _LeafNodes(NamedTuple):
    """The nodes of a tenant at one leaf: their ``networks``, each with the index of its port, and all addresses."""

    networks: tuple[tuple[Pool, int], ...]
    addresses: tuple[Addresses, ...]


class Source(NamedTuple):
    """A prefix of a tenant's addresses at one leaf, and the indexes of the ports that they are at."""

    prefix: Pool
    ports: tuple[int, ...]


class PrefixText(NamedTuple):
    """A prefix as it is written, and as a ``word`` of keys, which have neither slashes nor colons."""

    text: str
    word: str


PrefixTexts = Mapping[int, tuple[PrefixText, ...]]
"""The prefixes of a tenant by the bits of their addresses."""


class Tenancy:
    """Who may reach whom in a fabric; false if no tenant is in it, and then every node reaches every other."""

    def __init__(self, fabric: Fabric) -> None:
        """Take the tenants that are in the fabric."""
        self.fabric = fabric
        self.tenants = tenants_in(fabric.policies.tenants, fabric.part)
        self._texts: dict[Network, Mapping[str, PrefixTexts]] = {}
        self._sources_at: dict[str, Mapping[str, tuple[Source, ...]]] = {}
        self._nodes: dict[str, Mapping[str, _LeafNodes]] = {}
        self._spare_of: dict[str, tuple[tuple[int, Interval], ...]] = {}

    def __bool__(self) -> bool:
        """Tell whether nodes are kept apart."""
        return bool(self.tenants)

    @cached_property
    def tenant_of(self) -> Mapping[str, str]:
        """Return the tenant of each node that has one."""
        hosts = self.fabric.host_of
        tenant_of = {}
        for tenant in self.tenants:
            for text in tenant.nodes:
                for node in expanded(text, hosts):
                    if node in hosts:
                        tenant_of[node] = tenant.name
        return tenant_of

    @cached_property
    def reach(self) -> Mapping[str, tuple[str, ...]]:
        """Return the tenants that each tenant reaches: itself, those that it names, and those that name it."""
        reached = {tenant.name: {tenant.name} for tenant in self.tenants}
        for tenant in self.tenants:
            for other in tenant.reaches:
                if other in reached:
                    reached[tenant.name].add(other)
                    reached[other].add(tenant.name)
        return {name: tuple(sorted(others)) for name, others in reached.items()}

    @cached_property
    def prefixes(self) -> Mapping[str, tuple[Pool, ...]]:
        """Return the aggregated prefixes of each tenant, ascending, IPv4 first."""
        prefixes = {}
        for tenant, of_networks in self._addresses_of.items():
            prefixes[tenant] = _all_aggregated(tuple(chain.from_iterable(of_networks.values())))
        return prefixes

    @cached_property
    def _addresses_of(self) -> Mapping[str, Mapping[Network, tuple[Addresses, ...]]]:
        """Return the addresses of each tenant's nodes by the network that they are in."""
        parts: dict[str, defaultdict[Network, list[Addresses]]] = {
            tenant.name: defaultdict(list) for tenant in self.tenants
        }
        for switch in self.fabric.switches:
            network = self.fabric.network_of(switch)
            for tenant, nodes in self._nodes_at(switch).items():
                parts[tenant][network] += nodes.addresses
        addresses_of = {}
        for tenant, of_networks in parts.items():
            addresses_of[tenant] = {network: tuple(_joined(addresses)) for network, addresses in of_networks.items()}
        return addresses_of

    def texts(self, leaf: Switch) -> Mapping[str, PrefixTexts]:
        """Return the prefixes of each tenant to which a leaf has routes, as they are written."""
        network = self.fabric.network_of(leaf)
        texts = self._texts.get(network)
        if texts is None:
            texts = {name: _texts(pools) for name, pools in self._routed(network).items()}
            self._texts[network] = texts
        return texts

    def _routed(self, network: Network) -> dict[str, tuple[Pool, ...]]:
        """Return the prefixes of each tenant's addresses in one network; those in others may lie within them."""
        routed = {}
        for name, of_networks in self._addresses_of.items():
            in_other_networks: list[Addresses] = []
            for other_network, addresses in of_networks.items():
                if other_network != network:
                    in_other_networks += addresses
            routed[name] = tuple(_prefixes_beside(of_networks.get(network, ()), in_other_networks))
        return routed

    def prefixes_of(self, nodes: Container[str]) -> tuple[Pool, ...]:
        """Return the aggregated prefixes of some nodes."""
        addresses: list[Addresses] = []
        for switch in self.fabric.switches:
            links = [link for link in self._access_links(switch) if link.lower in nodes]
            addresses += self._of_links(switch, links).addresses
        return _all_aggregated(addresses)

    def sources(self, leaf: Switch) -> Mapping[str, tuple[Source, ...]]:
        """Return the prefixes of each tenant's nodes at one leaf, with their ports."""
        sources = self._sources_at.get(leaf.name)
        if sources is None:
            nodes_at = self._nodes_at(leaf)
            sources = {tenant: tuple(_sources(nodes_at[tenant])) for tenant in sorted(nodes_at)}
            self._sources_at[leaf.name] = sources
        return sources

    def _nodes_at(self, switch: Switch) -> Mapping[str, _LeafNodes]:
        """Return the nodes of each tenant at a switch; kept, since its prefixes and those of the fabric need them."""
        nodes_at = self._nodes.get(switch.name)
        if nodes_at is None:
            links_of: defaultdict[str, list[Link]] = defaultdict(list)
            for link in self._access_links(switch):
                tenant = self.tenant_of.get(link.lower)
                if tenant is not None:
                    links_of[tenant].append(link)
            nodes_at = {tenant: self._of_links(switch, links) for tenant, links in links_of.items()}
            self._nodes[switch.name] = nodes_at
        return nodes_at

    def _access_links(self, switch: Switch) -> Iterable[Link]:
        if not switch.tier.attaches_nodes:
            return ()
        return (link for link in self.fabric.downlinks_of[switch.name] if link.is_access)

    def _of_links(self, switch: Switch, links: Collection[Link]) -> _LeafNodes:
        """Return the networks of some access links of a switch, and their addresses as intervals by family.

        A family without addresses is left out. The others have the spare intervals of the switch too.
        """
        networks: list[tuple[Pool, int]] = []
        used: dict[int, list[Interval]] = {IPV4_BITS: [], IPV6_BITS: []}
        for link in links:
            for network in link_prefixes(self.fabric, link):
                networks.append((network, link.upper_port))
                used[network.bits].append(_interval(network))
        spare: dict[int, list[Interval]] = {IPV4_BITS: [], IPV6_BITS: []}
        for bits, interval in self._spare_intervals(switch):
            spare[bits].append(interval)
        addresses = []
        for bits, intervals in used.items():
            if intervals:
                addresses.append(Addresses(bits, tuple(_merged(intervals)), tuple(spare[bits])))
        return _LeafNodes(tuple(networks), tuple(addresses))

    def _spare_intervals(self, switch: Switch) -> tuple[tuple[int, Interval], ...]:
        """Return the parts of a leaf's blocks that no access link can have; kept, since every tenant needs them."""
        spare = self._spare_of.get(switch.name)
        if spare is None:
            spare = tuple(_spare(self.fabric, switch))
            self._spare_of[switch.name] = spare
        return spare


_latest: Tenancy | None = None
"""That of the last fabric: checks and rendering of one fabric follow each other."""


def tenancy_of(fabric: Fabric) -> Tenancy:
    """Return the tenants of a fabric."""
    global _latest  # noqa: PLW0603  a cache of one
    if _latest is None or _latest.fabric is not fabric:
        _latest = Tenancy(fabric)
    return _latest


def tenants_in(tenants: Iterable[Tenant], part: str) -> tuple[Tenant, ...]:
    """Return the tenants that are in a fabric; ``part`` is its name in an intent with several, else empty."""
    return tuple(tenant for tenant in tenants if not tenant.fabrics or part in tenant.fabrics)


def prefix_text(prefix: Pool) -> PrefixText:
    """Return a prefix as it is written."""
    text = str(prefix)
    return PrefixText(text, text.replace("/", "_").replace(":", "-"))


def _texts(prefixes: Collection[Pool]) -> PrefixTexts:
    texts: dict[int, tuple[PrefixText, ...]] = {}
    for bits in (IPV4_BITS, IPV6_BITS):
        texts[bits] = tuple(prefix_text(prefix) for prefix in prefixes if prefix.bits == bits)
    return texts


def link_prefixes(fabric: Fabric, link: Link) -> tuple[Pool, ...]:
    """Return the prefixes of an access link: its network in each family, and the address of its NIC if it has one."""
    prefixes: list[Pool] = []
    if fabric.is_numbered(link):
        prefixes.append(Pool(link.network, 31))
    nic = fabric.nic_address(link)
    if nic is not None:
        prefixes.append(Pool(nic, IPV4_BITS))
    ipv6 = fabric.ipv6_network(link)
    if ipv6 is not None:
        prefixes.append(Ipv6Pool(ipv6, 127))
    return tuple(prefixes)


def _spare(fabric: Fabric, leaf: Switch) -> Iterator[tuple[int, Interval]]:
    """Yield (bits of the family, interval) for the parts of a leaf's blocks that no access link can have."""
    downlinks = len(leaf.panel.ports) - leaf.tier.ports_above
    ports_in_use = max((link.upper_port + 1 for link in fabric.downlinks_of[leaf.name]), default=0)
    # Each port has two addresses, in the order of the panel.
    link_addresses = 2 * max(downlinks, ports_in_use)
    if leaf.name in fabric.host_blocks:
        first, length = fabric.host_blocks[leaf.name]
        yield IPV4_BITS, (first + link_addresses, first + (1 << (IPV4_BITS - length)))
    if leaf.name in fabric.ipv6_blocks:
        first = fabric.ipv6_blocks[leaf.name]
        # No link has the first /127 of the /64 (``Fabric.ipv6_network``).
        yield IPV6_BITS, (first, first + 2)
        yield IPV6_BITS, (first + 2 + link_addresses, first + (1 << (IPV6_BITS - IPV6_BLOCK_LENGTH)))


def _prefixes_beside(addresses: Iterable[Addresses], others: Collection[Addresses]) -> Iterator[Pool]:
    """Yield the prefixes of ``addresses``, family by family.

    They may also cover addresses of ``others``, which are of the same tenant.
    """
    for own in addresses:
        covered = [interval for part in others if part.bits == own.bits for interval in part.used]
        yield from aggregated(own._replace(spare=(*own.spare, *covered)))


def _joined(parts: Collection[Addresses]) -> Iterator[Addresses]:
    """Yield several parts of addresses as one for each family, IPv4 first."""
    for bits in (IPV4_BITS, IPV6_BITS):
        alike = [part for part in parts if part.bits == bits]
        if alike:
            used = chain.from_iterable(part.used for part in alike)
            spare = chain.from_iterable(part.spare for part in alike)
            yield Addresses(bits, tuple(_merged(used)), tuple(dict.fromkeys(spare)))


def _all_aggregated(parts: Collection[Addresses]) -> tuple[Pool, ...]:
    """Return the prefixes of several parts of addresses together, IPv4 first."""
    return tuple(chain.from_iterable(map(aggregated, _joined(parts))))


def _sources(nodes: _LeafNodes) -> Iterator[Source]:
    """Yield the prefixes of a tenant's nodes at a leaf with their ports."""
    prefixes = _all_aggregated(nodes.addresses)
    starts = [(prefix.bits, prefix.first) for prefix in prefixes]
    ports: list[set[int]] = [set() for _ in prefixes]
    for network, port in nodes.networks:
        # The prefixes do not overlap, and each network lies within one of them.
        index = bisect_right(starts, (network.bits, network.first)) - 1
        ports[index].add(port)
    for prefix, ports_of_prefix in zip(prefixes, ports, strict=True):
        yield Source(prefix, tuple(sorted(ports_of_prefix)))


def aggregated(addresses: Addresses) -> Iterator[Pool]:
    """Yield the fewest prefixes that cover what is used and, beside it, only what is spare."""
    used = list(_merged(addresses.used))
    ends = [end for _, end in used]
    for first, end in _merged([*used, *addresses.spare]):
        for prefix in _prefixes_of(first, end, addresses.bits):
            # A prefix of spare addresses alone is of no use.
            next_used = bisect_right(ends, prefix.first)
            if next_used < len(used) and used[next_used][0] < prefix.first + prefix.size:
                yield prefix


def _merged(intervals: Iterable[Interval]) -> Iterator[Interval]:
    """Yield intervals that neither meet nor touch, ascending."""
    merged: list[Interval] = []
    for first, end in sorted(interval for interval in intervals if interval[0] < interval[1]):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((first, end))
    return iter(merged)


def _interval(prefix: Pool) -> Interval:
    return prefix.first, prefix.first + prefix.size


def _prefixes_of(first: int, end: int, bits: int) -> Iterator[Pool]:
    """Yield the fewest prefixes that make up the interval from ``first`` to before ``end``, ascending."""
    pool_type = Pool if bits == IPV4_BITS else Ipv6Pool
    while first < end:
        # As large as the rest of the interval and the alignment of its first address allow.
        host_bits = (end - first).bit_length() - 1
        # Address 0 is aligned to every size.
        if first:
            lowest_set_bit = first & -first
            host_bits = min(host_bits, lowest_set_bit.bit_length() - 1)
        yield pool_type(first, bits - host_bits)
        first += 1 << host_bits
