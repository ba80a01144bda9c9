"""The reserve: the leaves and spines that panels, address pools and AS ranges must have room for."""

from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from typing import NamedTuple

from railweave.design.identity import IPV6_BLOCK_SIZE, PODS, host_block_size, nic_block_size, spine_asn
from railweave.design.layout import Layout
from railweave.design.spines import fitting_counts
from railweave.diagnostics import Diagnostic, error, info, warning
from railweave.fabric.policy import Addressing, Pool
from railweave.intent.model import Intent
from railweave.wording import counted

PRIVATE_ASNS = ((64512, 65534), (4200000000, 4294967294))
"""Private AS numbers without the reserved last ones (RFC 6996, RFC 7300)."""


class PoolNeed(NamedTuple):
    """The addresses that the reserve needs of a pool."""

    # Below `addressing`.
    key: str
    pool: Pool
    # How many are needed.
    addresses: int
    # How many leaf indexes of a plane the pool has addresses for.
    leaves: int
    # What the needed addresses are for, for a message.
    holds: str
    # What a message counts, and how many addresses one of them has.
    units: str = "addresses"
    unit: int = 1

    @property
    def prefix_length(self) -> int:
        """Return the longest prefix length of a pool with the needed addresses."""
        return self.pool.bits - (self.addresses - 1).bit_length()


def pool_needs(layout: Layout, addressing: Addressing) -> tuple[PoolNeed, ...]:
    """Return what the reserve needs of each pool that the fabric takes addresses from."""
    needs = [_loopback_need(layout, addressing.loopbacks)]
    if addressing.hosts is not None:
        needs.append(_host_need(layout, addressing.hosts))
    if not addressing.unnumbered:
        needs.append(_link_need(layout, addressing.links))
    if layout.leaves_per_nic > 1:
        needs.append(_nic_need(layout, addressing.nics))
    if addressing.hosts_ipv6 is not None:
        needs.append(_ipv6_need(layout, addressing.hosts_ipv6))
    if layout.pod and not addressing.unnumbered:
        needs.append(_core_need(layout, addressing.core))
    return tuple(needs)


def _loopback_need(layout: Layout, pool: Pool) -> PoolNeed:
    """Return the need of the pool of loopbacks: twice the larger need of its halves."""
    leaves = layout.lowest.reserve * layout.planes
    upper = _upper_loopbacks(layout)
    # The first address of the lower half stays free.
    fitting = (pool.size // 2 - 1) // layout.planes
    holds = f"{leaves} leaves in its lower half and {upper.owners} in its upper half"
    addresses = 2 * max(leaves + 1, upper.addresses)
    return PoolNeed(key="loopbacks", pool=pool, addresses=addresses, leaves=fitting, holds=holds)


def _host_need(layout: Layout, pool: Pool) -> PoolNeed:
    leaves = layout.lowest.reserve * layout.planes
    block = host_block_size(layout)
    holds = f"{leaves} leaves with {block} addresses each"
    fitting = pool.size // block // layout.planes
    return PoolNeed(key="hosts", pool=pool, addresses=leaves * block, leaves=fitting, holds=holds)


def _link_need(layout: Layout, pool: Pool) -> PoolNeed:
    leaves = layout.lowest.reserve * layout.planes
    ports = layout.lowest.ports.total
    holds = f"{leaves} leaves with {ports} networks of 2 addresses each"
    fitting = pool.size // (2 * ports) // layout.planes
    return PoolNeed(key="links", pool=pool, addresses=2 * leaves * ports, leaves=fitting, holds=holds)


def _ipv6_need(layout: Layout, pool: Pool) -> PoolNeed:
    """Return the need of the pool of IPv6 addresses of nodes: a /64 for each leaf."""
    leaves = layout.lowest.reserve * layout.planes
    size = IPV6_BLOCK_SIZE
    holds = f"{leaves} leaves with one each"
    fitting = pool.size // size // layout.planes
    return PoolNeed(
        key="hosts_ipv6",
        pool=pool,
        addresses=leaves * size,
        leaves=fitting,
        holds=holds,
        units="networks of /64",
        unit=size,
    )


def _nic_need(layout: Layout, pool: Pool) -> PoolNeed:
    """Return the need of the pool of NIC addresses: a block for each group of leaves that share NICs."""
    block = nic_block_size(layout)
    groups_per_stripe = layout.stripe_nics * layout.planes
    stripes = ceil(layout.lowest.reserve / layout.stripe_leaves)
    groups = stripes * groups_per_stripe
    fitting_stripes = pool.size // block // groups_per_stripe
    return PoolNeed(
        key="nics",
        pool=pool,
        addresses=groups * block,
        leaves=fitting_stripes * layout.stripe_leaves,
        holds=f"{counted(groups, 'group')} of {layout.leaves_per_nic} leaves with {block} addresses each",
    )


class _UpperLoopbacks(NamedTuple):
    """How many loopbacks switches above the leaves need, and which switches these are, for a message."""

    addresses: int
    owners: str


def _upper_loopbacks(layout: Layout) -> _UpperLoopbacks:
    """Return the loopbacks that spines and super-spines of the reserve need."""
    spines = layout.spines
    if not layout.pod:
        count = spines.reserve * layout.planes
        return _UpperLoopbacks(count, f"{count} spines")
    # In three tiers numbers have gaps, and so have loopbacks.
    spine_numbers = spines.groups * spines.stride * layout.planes
    super_spine_numbers = spines.group_reserve * spines.stride_above * layout.planes
    owners = f"{spine_numbers} numbers of spines and {super_spine_numbers} of super-spines"
    return _UpperLoopbacks(spine_numbers + super_spine_numbers, owners)


def _core_need(layout: Layout, pool: Pool) -> PoolNeed:
    """Return the need of the pool of links between spines and super-spines: a /31 for each port of a spine."""
    spines = layout.spines
    spine_numbers_of_pod = spines.stride * layout.planes
    addresses_of_pod = 2 * spine_numbers_of_pod * spines.ports.total
    holds = (
        f"{spines.groups * spine_numbers_of_pod} numbers of spines in {counted(spines.groups, 'pod')} with"
        f" {spines.ports.total} networks of 2 addresses each"
    )
    fitting_pods = pool.size // addresses_of_pod
    return PoolNeed(
        key="core",
        pool=pool,
        addresses=addresses_of_pod * spines.groups,
        leaves=fitting_pods * layout.pod_leaves,
        holds=holds,
    )


def asn_leaves(layout: Layout, addressing: Addressing) -> int:
    """Return how many leaf indexes of a plane have private AS numbers below those of other tiers.

    0 if the first AS number of the leaves is not private.
    """
    first = addressing.leaf_asn
    end = first
    for first_private, last_private in PRIVATE_ASNS:
        if first_private <= first <= last_private:
            end = last_private + 1
    for asn in upper_asns(layout, addressing):
        if first <= asn < end:
            end = asn
    return (end - first) // layout.planes


def upper_asns(layout: Layout, addressing: Addressing) -> dict[int, str]:
    """Return the AS numbers of the spines and super-spines of the reserve, each with its tier in the plural."""
    asns = {}
    for plane in range(layout.planes):
        for pod in range(layout.spines.groups):
            asns[spine_asn(addressing, plane, pod)] = "spines"
    if layout.pod:
        for plane in range(layout.planes):
            asns[addressing.super_spine_asn + plane] = "super-spines"
    return asns


def reserve_diagnostics(intent: Intent, layout: Layout) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of panels, pools and AS ranges that are too small for the reserve.

    A reserve that is smaller than today's fabric is reported too.
    """
    addressing = intent.policies.addressing
    return (
        *_too_small_reserve(intent, layout),
        *_reserve_beyond_panels(intent, layout),
        *_spines_for_reserve(intent, layout),
        *_pool_diagnostics(intent, layout, addressing),
        *_asn_diagnostics(intent, layout),
        *_pod_diagnostics(intent, layout),
    )


def _too_small_reserve(intent: Intent, layout: Layout) -> list[Diagnostic]:
    """Return an error for each stated reserve that is smaller than what the fabric has today."""
    leaves = layout.lowest
    spines = layout.spines
    if layout.pod:
        # The spines of a pod are a group.
        pods_today = layout.pods[-1] + 1
        if spines.groups < pods_today:
            # Too few pods make the reserve of leaves and spines too small as well.
            return [_smaller_than_today(intent, "pods", spines.groups, pods_today)]
    diagnostics = []
    if leaves.reserve < leaves.indexes:
        diagnostics.append(_smaller_than_today(intent, "leaves", leaves.reserve, leaves.indexes))
    needed_spines = spines.count
    if layout.pod:
        needed_spines = spines.group_size * spines.groups
    if spines.reserve < needed_spines:
        diagnostics.append(_smaller_than_today(intent, "spines", spines.reserve, needed_spines))
    return diagnostics


def _smaller_than_today(intent: Intent, key: str, reserved: int, today: int) -> Diagnostic:
    return error(
        "G-1",
        f"the reserve of {reserved} {key} is smaller than the fabric of today, which needs {today}",
        intent.where(f"topology.reserve.{key}"),
        fix=f"reserve at least {today} {key}, or leave it out",
    )


def _reserve_beyond_panels(intent: Intent, layout: Layout) -> list[Diagnostic]:
    """Return a warning if the reserve of leaves exceeds the reserved pods, or the ports of a spine."""
    lowest = layout.lowest
    spines = layout.spines
    if layout.pod:
        if lowest.reserve <= spines.groups * layout.pod_leaves:
            return []
        return [_reserve_exceeds_pods(intent, layout)]
    needed_ports = layout.reserved_leaves() * lowest.links_per_pair
    if needed_ports <= spines.ports.down or not spines.count:
        return []
    if not lowest.fixed_pair:
        return [_reserve_exceeds_spines(intent, layout, needed_ports)]
    most_leaves = spines.ports.down // lowest.links_per_pair * layout.networks
    return [
        warning(
            "T-3",
            f"the reserve of {_reserved_leaves(layout)} × {lowest.links_per_pair} links needs"
            f" {needed_ports} ports on every spine; a spine has {spines.ports.down}",
            intent.where("topology.reserve.leaves"),
            fix=f"reserve at most {most_leaves} leaves, or use spines with more ports",
        )
    ]


def _reserved_leaves(layout: Layout) -> str:
    """Return the leaves of the reserve for a message, in a rail-only fabric those of a rail."""
    leaves = f"{layout.reserved_leaves()} leaves"
    if layout.lowest.rails:
        leaves += layout.of_spines
    return leaves


def _reserve_exceeds_pods(intent: Intent, layout: Layout) -> Diagnostic:
    """Return the warning of a reserve of leaves that needs more pods than are reserved."""
    pods = layout.spines.groups
    needed_pods = ceil(layout.lowest.reserve / layout.pod_leaves)
    return warning(
        "T-3",
        f"the reserve of {layout.lowest.reserve} leaves does not fit into {counted(pods, 'pod')} of"
        f" {layout.pod_leaves}",
        intent.where("topology.reserve.leaves"),
        fix=f"reserve at most {pods * layout.pod_leaves} leaves, or reserve.pods: {needed_pods}",
    )


def _reserve_exceeds_spines(intent: Intent, layout: Layout, needed_ports: int) -> Diagnostic:
    """Return the warning of spines with too few ports for the leaves of the reserve.

    All uplinks of a leaf are connected, so more spines have fewer links to each leaf.
    """
    lowest = layout.lowest
    ports = layout.spines.ports.down
    fixes = []
    spine_counts = fitting_counts(lowest.uplinks, layout.shared_uplinks, layout.reserved_leaves(), ports)
    if spine_counts:
        spines = spine_counts[0] * layout.networks
        fixes.append(f"use topology.spine.count: {spines}, which moves cables of an existing fabric")
    pair_with_smaller_reserve = lowest.links_per_pair
    if intent.topology.spine.count is None:
        # For a smaller reserve the automatic number of spines would be one with a single link to each leaf.
        pair_with_smaller_reserve = 1
    fixes.append(f"reserve at most {ports // pair_with_smaller_reserve * layout.networks} leaves")
    if not lowest.rails:
        fixes.append("use tiers: 3")
    fixes.append(f"use spines with {needed_ports} ports")
    return warning(
        "G-1",
        f"the reserve of {_reserved_leaves(layout)} × {counted(lowest.links_per_pair, 'link')} needs"
        f" {needed_ports} ports on every spine; a spine has {ports}",
        intent.where("topology.reserve.leaves"),
        fix=", or ".join(fixes),
    )


def _spines_for_reserve(intent: Intent, layout: Layout) -> list[Diagnostic]:
    """Return an info if automatic spines are more for the reserve than for today's leaves.

    It says how a running fabric with fewer spines keeps its cables.
    """
    lowest = layout.lowest
    spines = layout.spines
    # Only the automatic number of spines in two tiers follows from the reserve of leaves.
    if lowest.fixed_pair or layout.pod or intent.topology.spine.count is not None:
        return []
    counts_for_today = fitting_counts(lowest.uplinks, layout.shared_uplinks, layout.joined_leaves, spines.ports.down)
    if not counts_for_today or counts_for_today[0] >= spines.group_size:
        return []
    spines_for_today = counts_for_today[0] * layout.networks
    return [
        info(
            "RW217",
            f"{counted(spines.count, 'spine')} have ports for the reserve of {counted(lowest.reserve, 'leaf')};"
            f" {spines_for_today} have ports for the {counted(lowest.indexes, 'leaf')} of today",
            intent.where("topology.reserve.leaves"),
            fix=f"a running fabric of {counted(spines_for_today, 'spine')} keeps its cables by"
            f" topology.spine.count: {spines_for_today}",
        )
    ]


def _pod_diagnostics(intent: Intent, layout: Layout) -> list[Diagnostic]:
    """Return the errors of the pools and AS numbers that the pods of the reserve need.

    If the intent asks for a third tier, check_intent reports its pool.
    """
    addressing = intent.policies.addressing
    pods = layout.spines.groups
    if not layout.pod:
        return []
    diagnostics = []
    if pods > PODS:
        message = f"{pods} pods need {pods} AS numbers of spines in a plane, which has {PODS}"
        fix = f"reserve at most {PODS} pods"
        diagnostics.append(error("B-1", message, intent.where("topology.reserve.pods"), fix=fix))
    if not addressing.unnumbered and not intent.topology.asks_for_pods:
        diagnostics += _overlapping_core(intent)
    return [*diagnostics, *_asns_of_pods(intent, layout)]


def _overlapping_core(intent: Intent) -> Iterator[Diagnostic]:
    """Yield the pools that overlap that of the links between spines and super-spines."""
    addressing = intent.policies.addressing
    for key, pool in addressing.pools.items():
        if pool.meets(addressing.core):
            yield error(
                "B-3",
                f"the pools of core ({addressing.core}) and {key} ({pool}) overlap",
                intent.where(f"addressing.{key}"),
                fix="choose pools apart from each other; an address would be given twice",
            )


def _asns_of_pods(intent: Intent, layout: Layout) -> Iterator[Diagnostic]:
    """Yield an error if AS numbers of spines are not private, or if those of super-spines are among them."""
    addressing = intent.policies.addressing
    pods = layout.spines.groups
    first = addressing.spine_asn
    last = spine_asn(addressing, layout.planes - 1, pods - 1)
    are_private = any(first_private <= first and last <= last_private for first_private, last_private in PRIVATE_ASNS)
    if not are_private:
        message = f"the AS numbers of the spines of {counted(pods, 'pod')}, {first} to {last}, are not all private"
        fix = "begin them lower, or reserve fewer pods"
        yield error("B-1", message, intent.where("addressing.asn.spine"), fix=fix)
    # Each plane has a number for the spines of each pod, and one for its super-spines. Equal ones are counted once.
    needed_asns = layout.planes * (pods + 1)
    if needed_asns > len(upper_asns(layout, addressing)):
        message = f"the AS numbers of the super-spines, from {addressing.super_spine_asn}, meet those of the spines"
        fix = f"begin them outside {first} to {last}"
        yield error("B-1", message, intent.where("addressing.asn.super_spine"), fix=fix)


def _pool_diagnostics(intent: Intent, layout: Layout, addressing: Addressing) -> list[Diagnostic]:
    """Return the diagnostics of pools that are too small.

    A pool that is too small for today's fabric or a stated reserve is an error, for an automatic reserve an info.
    """
    required_layout = _with_required_reserve(intent, layout)
    required = {need.key: need.addresses for need in pool_needs(required_layout, addressing)}
    diagnostics = []
    for need in pool_needs(layout, addressing):
        if required[need.key] > need.pool.size:
            diagnostics.append(_pool_too_small(intent, layout, need))
        elif need.addresses > need.pool.size:
            diagnostics.append(_growth_prevented(intent, layout, need))
    return diagnostics


def _with_required_reserve(intent: Intent, layout: Layout) -> Layout:
    """Return the layout with the reserve that the intent states. Where it states none, today's switches count."""
    reserve = intent.topology.reserve
    # The leaves and spines of the reserve follow from stated pods.
    if reserve.pods is not None:
        return layout
    lowest, *above = layout.tiers
    if reserve.leaves is None:
        lowest = replace(lowest, reserve=max(lowest.indexes, _end_of_reserved_blocks(layout)))
    if above:
        spines = above[0]
        if layout.pod:
            above[0] = replace(spines, groups=layout.pods[-1] + 1)
        elif reserve.spines is None:
            above[0] = replace(spines, reserve=spines.count)
    return layout._replace(tiers=(lowest, *above))


def _end_of_reserved_blocks(layout: Layout) -> int:
    """Return the highest index + 1 of the leaves that spine blocks are kept for; 0 without a block."""
    blocks = [leaf.block for leaf in layout.classes if leaf.block and leaf.reserve]
    return max((block.base + block.leaves for block in blocks), default=0)


def _growth_prevented(intent: Intent, layout: Layout, need: PoolNeed) -> Diagnostic:
    """Return the info about a pool that is too small for all that ports are laid out for."""
    growth_end = ""
    if need.leaves < layout.lowest.reserve:
        growth_end = f"; growth ends at {counted(need.leaves, 'leaf')}"
        if layout.planes > 1:
            growth_end += " a plane"
    return info(
        "G-1",
        f"{need.key} {need.pool} has {need.pool.size // need.unit} {need.units}, enough for the fabric of today; all"
        f" that ports are laid out for needs {need.addresses // need.unit}: {need.holds}{growth_end}",
        intent.where(f"addressing.{need.key}"),
        fix=f"use a /{need.prefix_length} or larger pool where the fabric is to grow further",
    )


def _pool_too_small(intent: Intent, layout: Layout, need: PoolNeed) -> Diagnostic:
    """Return the error of a pool that is too small for today's fabric or a stated reserve."""
    fix = f"use a /{need.prefix_length} or larger pool"
    # A smaller reserve of leaves does not reduce the loopbacks of the upper half.
    smaller_reserve_fits = need.leaves >= layout.lowest.indexes and need.key != "loopbacks"
    if smaller_reserve_fits:
        if layout.pod and need.leaves >= layout.pod_leaves:
            fix += f", or reserve.pods: {need.leaves // layout.pod_leaves}"
        else:
            fix += f", or reserve.leaves: {need.leaves}"
    return error(
        "G-1",
        f"{need.key} {need.pool} has {need.pool.size // need.unit} {need.units}; the reserve needs"
        f" {need.addresses // need.unit}: {need.holds}",
        intent.where(f"addressing.{need.key}"),
        fix=fix,
    )


def _asn_diagnostics(intent: Intent, layout: Layout) -> list[Diagnostic]:
    """Return an error if AS numbers of the reserved leaves are not private, or are those of another tier.

    Empty if even the leaves that the intent states have too few AS numbers, which check_intent reports.
    """
    addressing = intent.policies.addressing
    first = addressing.leaf_asn
    count = layout.lowest.reserve * layout.planes
    room = asn_leaves(layout, addressing)
    stated_leaves = max(intent.topology.leaf.count or 1, intent.topology.reserve.leaves or 1)
    if room < stated_leaves or room >= layout.lowest.reserve:
        return []
    obstacle = "are not all private"
    end = first + room + 1
    tier_of_asn = upper_asns(layout, addressing)
    shared_asns = [asn for asn in tier_of_asn if first <= asn < first + count]
    if shared_asns:
        end = min(shared_asns)
        obstacle = f"meet {end} of the {tier_of_asn[end]}"
    return [
        error(
            "B-1",
            f"the AS numbers of the reserve's {counted(count, 'leaf')}, {first} to {first + count - 1}, {obstacle}",
            intent.where("addressing.asn.leaf"),
            fix=f"begin {counted(count, 'number')} below {end} or lower, or reserve.leaves: {room}",
        )
    ]
