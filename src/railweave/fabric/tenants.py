"""The tenants of a fabric: the nodes of each, their prefixes, and which tenants reach each other.

A tenant's addresses are the networks of its nodes' access links, and the addresses of NICs that several leaves
announce. They are aggregated over the whole fabric. A prefix covers no free access port, so that a node that is added
later changes the prefixes of its own tenant alone; it may cover the part of a leaf's block that no node can ever have:
the addresses of the ports above the downlinks.
"""

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cached_property
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


class Addresses(NamedTuple):
    """The addresses of some access links in one family: ``used`` are theirs, ``spare`` no node can ever have."""

    bits: int
    used: tuple[Interval, ...]
    spare: tuple[Interval, ...]


class Source(NamedTuple):
    """A prefix of a tenant's addresses at one leaf, and the indexes of the ports that they are at."""

    prefix: Pool
    ports: tuple[int, ...]


class Tenancy:
    """Who may reach whom in a fabric; false if no tenant is in it, and then every node reaches every other."""

    def __init__(self, fabric: Fabric) -> None:
        """Take the tenants that are in the fabric."""
        self.fabric = fabric
        self.tenants = tenants_in(fabric.policies.tenants, fabric.part)
        self._of_links: dict[tuple[str, int], tuple[Pool, ...]] = {}
        self._texts: dict[tuple[int, int | None], Mapping[str, Mapping[int, tuple[str, ...]]]] = {}
        self._sources_at: dict[str, Mapping[str, tuple[Source, ...]]] = {}
        self._spare_of: dict[str, tuple[tuple[int, Interval], ...]] = {}

    def __bool__(self) -> bool:
        """Tell whether nodes are kept apart."""
        return bool(self.tenants)

    @cached_property
    def tenant_of(self) -> Mapping[str, str]:
        """Return the tenant of each node that has one."""
        known = self.fabric.host_of
        return {
            node: tenant.name
            for tenant in self.tenants
            for text in tenant.nodes
            for node in expanded(text, known)
            if node in known
        }

    @cached_property
    def reach(self) -> Mapping[str, tuple[str, ...]]:
        """Return the tenants that each one reaches: itself, those that it names, and those that name it."""
        reached = {tenant.name: {tenant.name} for tenant in self.tenants}
        for tenant in self.tenants:
            for other in tenant.reaches:
                if other in reached:
                    reached[tenant.name].add(other)
                    reached[other].add(tenant.name)
        return {name: tuple(sorted(others)) for name, others in reached.items()}

    @cached_property
    def _links(self) -> Mapping[str, list[Link]]:
        """Return the access links of each tenant's nodes."""
        links: dict[str, list[Link]] = {tenant.name: [] for tenant in self.tenants}
        for link in self.fabric.links:
            if link.is_access and link.lower in self.tenant_of:
                links[self.tenant_of[link.lower]].append(link)
        return links

    @cached_property
    def prefixes(self) -> Mapping[str, tuple[Pool, ...]]:
        """Return the aggregated prefixes of each tenant, ascending, IPv4 first."""
        return {name: tuple(self._prefixes(links)) for name, links in self._links.items()}

    def texts(self, leaf: Switch) -> Mapping[str, Mapping[int, tuple[str, ...]]]:
        """Return the prefixes of each tenant as they are written, by the bits of their addresses, as far as a leaf has
        routes to them."""
        network = self.fabric.network_of(leaf)
        texts = self._texts.get(network)
        if texts is None:
            texts = self._texts[network] = {
                name: {bits: tuple(str(pool) for pool in pools if pool.bits == bits) for bits in (IPV4_BITS, IPV6_BITS)}
                for name, pools in self._routed(network).items()
            }
        return texts

    def _routed(self, network: tuple[int, int | None]) -> dict[str, tuple[Pool, ...]]:
        """Return the prefixes of each tenant's addresses in one network; those in others may lie within them."""
        routed = {}
        for name, links in self._links.items():
            own: list[Link] = []
            others: list[Link] = []
            for link in links:
                chosen = own if self.fabric.network_of(self.fabric.switch_of[link.upper]) == network else others
                chosen.append(link)
            routed[name] = tuple(self._prefixes(own, others))
        return routed

    def prefixes_of(self, nodes: Container[str]) -> tuple[Pool, ...]:
        """Return the aggregated prefixes of some nodes."""
        links = (link for link in self.fabric.links if link.is_access and link.lower in nodes)
        return tuple(self._prefixes(links))

    def sources(self, leaf: Switch) -> Mapping[str, tuple[Source, ...]]:
        """Return the prefixes of each tenant's nodes at one leaf, with their ports."""
        sources = self._sources_at.get(leaf.name)
        if sources is None:
            sources = self._sources_at[leaf.name] = self._sources_of(leaf)
        return sources

    def _sources_of(self, leaf: Switch) -> Mapping[str, tuple[Source, ...]]:
        links: dict[str, list[Link]] = {}
        for link in self.fabric.downlinks_of[leaf.name]:
            if link.is_access and link.lower in self.tenant_of:
                links.setdefault(self.tenant_of[link.lower], []).append(link)
        return {name: tuple(self._sources(links[name])) for name in sorted(links)}

    def _sources(self, links: Iterable[Link]) -> Iterator[Source]:
        links = list(links)
        for prefix in self._prefixes(links):
            ports = [link.upper_port for link in links if any(map(prefix.meets, self._prefixes_at(link)))]
            yield Source(prefix, tuple(sorted(ports)))

    def _prefixes(self, links: Iterable[Link], beside: Iterable[Link] = ()) -> Iterator[Pool]:
        """Yield the prefixes of links, which may cover those ``beside``, of the same tenant, too."""
        more = [
            (pool.bits, (pool.first, pool.first + pool.size)) for link in beside for pool in self._prefixes_at(link)
        ]
        for addresses in self._addresses(links):
            spare = [interval for bits, interval in more if bits == addresses.bits]
            yield from aggregated(addresses._replace(spare=(*addresses.spare, *spare)))

    def _prefixes_at(self, link: Link) -> tuple[Pool, ...]:
        """Return the prefixes of an access link; each is asked for several times."""
        end = (link.upper, link.upper_port)
        prefixes = self._of_links.get(end)
        if prefixes is None:
            prefixes = self._of_links[end] = link_prefixes(self.fabric, link)
        return prefixes

    def _addresses(self, links: Iterable[Link]) -> Iterator[Addresses]:
        """Yield the addresses of access links by family."""
        used: dict[int, set[Interval]] = {IPV4_BITS: set(), IPV6_BITS: set()}
        switches: set[str] = set()
        for link in links:
            switches.add(link.upper)
            for prefix in self._prefixes_at(link):
                used[prefix.bits].add((prefix.first, prefix.first + prefix.size))
        spare: dict[int, list[Interval]] = {IPV4_BITS: [], IPV6_BITS: []}
        for name in switches:
            for bits, interval in self._spare(name):
                spare[bits].append(interval)
        for bits, intervals in used.items():
            if intervals:
                yield Addresses(bits, tuple(sorted(intervals)), tuple(spare[bits]))

    def _spare(self, name: str) -> tuple[tuple[int, Interval], ...]:
        """Return the parts of a leaf's blocks that no access link can have; each is asked for by every tenant."""
        spare = self._spare_of.get(name)
        if spare is None:
            spare = self._spare_of[name] = tuple(_spare(self.fabric, self.fabric.switch_of[name]))
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
    """Return the tenants that are in a fabric: ``part`` of an intent with several, else empty."""
    return tuple(tenant for tenant in tenants if not tenant.fabrics or part in tenant.fabrics)


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
    """Yield the parts of a leaf's blocks that no access link can have, with the bits of their family."""
    downlinks = len(leaf.panel.ports) - leaf.tier.ports_above
    used = max((link.upper_port + 1 for link in fabric.downlinks_of[leaf.name]), default=0)
    behind = 2 * max(downlinks, used)
    if leaf.name in fabric.host_blocks:
        first, length = fabric.host_blocks[leaf.name]
        yield IPV4_BITS, (first + behind, first + (1 << (IPV4_BITS - length)))
    if leaf.name in fabric.ipv6_blocks:
        block = fabric.ipv6_blocks[leaf.name]
        # The first /127 of the /64 is of no link (``Fabric.ipv6_network``).
        yield IPV6_BITS, (block, block + 2)
        yield IPV6_BITS, (block + 2 + behind, block + (1 << (IPV6_BITS - IPV6_BLOCK_LENGTH)))


def aggregated(addresses: Addresses) -> Iterator[Pool]:
    """Yield the fewest prefixes that cover what is used and, beside it, only what is spare."""
    firsts = [first for first, _ in addresses.used]
    for first, end in _merged([*addresses.used, *addresses.spare]):
        for prefix in _split(first, end, addresses.bits):
            at = bisect_left(firsts, prefix.first)
            # A prefix of spare addresses alone is of no use. Used networks lie within one prefix each.
            if at < len(firsts) and firsts[at] < prefix.first + prefix.size:
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


def _split(first: int, end: int, bits: int) -> Iterator[Pool]:
    """Yield the fewest prefixes that make up an interval."""
    kind = Pool if bits == IPV4_BITS else Ipv6Pool
    while first < end:
        # As large as the alignment of its first address and the rest of the interval allow.
        free = (end - first).bit_length() - 1
        if first:
            free = min(free, (first & -first).bit_length() - 1)
        yield kind(first, bits - free)
        first += 1 << free
