"""The reserve: the leaves and spines that panels, address pools and AS ranges must have room for."""

from collections.abc import Iterator
from dataclasses import replace
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
    """What a pool must hold: ``leaves`` leaf indexes of a plane fit into it, ``addresses`` are needed. A person counts
    them in ``units`` of ``unit`` addresses."""

    key: str
    pool: Pool
    addresses: int
    leaves: int
    holds: str
    units: str = "addresses"
    unit: int = 1


def pool_needs(layout: Layout, addressing: Addressing) -> tuple[PoolNeed, ...]:
    """Return the need of every pool for the reserve."""
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
    leaves = layout.lowest.reserve * layout.planes
    upper, above = _upper_loopbacks(layout)
    # The first address of the lower half stays free.
    fitting = (pool.size // 2 - 1) // layout.planes
    holds = f"{leaves} leaves in its lower half and {above} in its upper half"
    return PoolNeed("loopbacks", pool, 2 * max(leaves + 1, upper), fitting, holds)


def _host_need(layout: Layout, pool: Pool) -> PoolNeed:
    leaves = layout.lowest.reserve * layout.planes
    block = host_block_size(layout)
    holds = f"{leaves} leaves with {block} addresses each"
    return PoolNeed("hosts", pool, leaves * block, pool.size // block // layout.planes, holds)


def _link_need(layout: Layout, pool: Pool) -> PoolNeed:
    leaves = layout.lowest.reserve * layout.planes
    ports = layout.lowest.ports.total
    holds = f"{leaves} leaves with {ports} networks of 2 addresses each"
    return PoolNeed("links", pool, 2 * leaves * ports, pool.size // (2 * ports) // layout.planes, holds)


def _ipv6_need(layout: Layout, pool: Pool) -> PoolNeed:
    leaves = layout.lowest.reserve * layout.planes
    size = IPV6_BLOCK_SIZE
    holds = f"{leaves} leaves with one each"
    fitting = pool.size // size // layout.planes
    return PoolNeed("hosts_ipv6", pool, leaves * size, fitting, holds, "networks of /64", size)


def _nic_need(layout: Layout, pool: Pool) -> PoolNeed:
    """Return the need of the pool of NICs' addresses: whole stripes, whose leaves share their blocks."""
    block = nic_block_size(layout)
    of_stripe = layout.stripe_nics * layout.planes
    stripes = -(-layout.lowest.reserve // layout.stripe_leaves)
    groups = counted(stripes * of_stripe, "group")
    return PoolNeed(
        "nics",
        pool,
        stripes * of_stripe * block,
        pool.size // block // of_stripe * layout.stripe_leaves,
        f"{groups} of {layout.leaves_per_nic} leaves with {block} addresses each",
    )


def _upper_loopbacks(layout: Layout) -> tuple[int, str]:
    """Return the addresses that spines, and super-spines from the end down, have in the upper half; and for whom."""
    spines = layout.spines
    if not layout.pod:
        return spines.reserve * layout.planes, f"{spines.reserve * layout.planes} spines"
    numbers = spines.groups * spines.stride * layout.planes
    supers = spines.group_reserve * spines.stride_above * layout.planes
    return numbers + supers, f"{numbers} numbers of spines and {supers} of super-spines"


def _core_need(layout: Layout, pool: Pool) -> PoolNeed:
    spines = layout.spines
    planes = layout.planes
    of_pod = 2 * spines.stride * spines.ports.total * planes
    numbers = spines.groups * spines.stride * planes
    holds = f"{numbers} numbers of spines in {counted(spines.groups, 'pod')} with {spines.ports.total} networks of 2"
    return PoolNeed(
        "core", pool, of_pod * spines.groups, pool.size // of_pod * layout.pod_leaves, f"{holds} addresses each"
    )


def asn_leaves(layout: Layout, addressing: Addressing) -> int:
    """Return how many leaf indexes of a plane have AS numbers before they meet another tier's or the range's end."""
    first = addressing.leaf_asn
    end = next((last + 1 for low, last in PRIVATE_ASNS if low <= first <= last), first)
    above = [asn for asn in upper_asns(layout, addressing) if asn >= first]
    return (min((end, *above)) - first) // layout.planes


def upper_asns(layout: Layout, addressing: Addressing) -> dict[int, str]:
    """Return the AS numbers of spines and super-spines in the reserve, with whose they are."""
    asns = {}
    for plane in range(layout.planes):
        for pod in range(layout.spines.groups):
            asns[spine_asn(addressing, plane, pod)] = "spines"
    if layout.pod:
        for plane in range(layout.planes):
            asns[addressing.super_spine_asn + plane] = "super-spines"
    return asns


def reserve_diagnostics(intent: Intent, layout: Layout) -> tuple[Diagnostic, ...]:
    """Return where panels, pools or AS ranges are too small for the reserve, or the reserve for today."""
    addressing = intent.policies.addressing
    return (
        *_below_today(intent, layout),
        *_beyond_panels(intent, layout),
        *_spines_for_reserve(intent, layout),
        *_pool_diagnostics(intent, layout, addressing),
        *_asn_diagnostics(intent, layout),
        *_pod_diagnostics(intent, layout),
    )


def _below_today(intent: Intent, layout: Layout) -> list[Diagnostic]:
    low = layout.lowest
    spines = layout.spines
    if layout.pod and spines.groups <= layout.pods[-1]:
        # Too few pods make the reserve of leaves and spines too small as well.
        return [_smaller_than_today(intent, "pods", spines.groups, layout.pods[-1] + 1)]
    diagnostics = []
    if low.reserve < low.indexes:
        diagnostics.append(_smaller_than_today(intent, "leaves", low.reserve, low.indexes))
    count = spines.count
    if layout.pod:
        count = spines.group_size * spines.groups
    if spines.reserve < count:
        diagnostics.append(_smaller_than_today(intent, "spines", spines.reserve, count))
    return diagnostics


def _smaller_than_today(intent: Intent, key: str, reserved: int, today: int) -> Diagnostic:
    return error(
        "G-1",
        f"the reserve of {reserved} {key} is smaller than the fabric of today, which needs {today}",
        intent.where(f"topology.reserve.{key}"),
        fix=f"reserve at least {today} {key}, or leave it out",
    )


def _beyond_panels(intent: Intent, layout: Layout) -> list[Diagnostic]:
    low = layout.lowest
    spines = layout.spines
    if layout.pod:
        if low.reserve <= spines.groups * layout.pod_leaves:
            return []
        return [_reserve_exceeds_pods(intent, layout)]
    needed = layout.reserved_leaves() * low.links_per_pair
    if needed <= spines.ports.down or not spines.count:
        return []
    if not low.fixed_pair:
        return [_reserve_exceeds_spines(intent, layout)]
    most = spines.ports.down // low.links_per_pair * layout.networks
    return [
        warning(
            "T-3",
            f"the reserve of {_reserved_leaves(layout)} × {low.links_per_pair} links needs"
            f" {needed} ports on every spine; a spine has {spines.ports.down}",
            intent.where("topology.reserve.leaves"),
            fix=f"reserve at most {most} leaves, or use spines with more ports",
        )
    ]


def _reserved_leaves(layout: Layout) -> str:
    """Return the leaves of the reserve in words, in a rail-only fabric those of a rail."""
    leaves = f"{layout.reserved_leaves()} leaves"
    if layout.lowest.rails:
        leaves += layout.of_spines
    return leaves


def _reserve_exceeds_pods(intent: Intent, layout: Layout) -> Diagnostic:
    pods = layout.spines.groups
    needed = -(-layout.lowest.reserve // layout.pod_leaves)
    return warning(
        "T-3",
        f"the reserve of {layout.lowest.reserve} leaves does not fit into {counted(pods, 'pod')} of"
        f" {layout.pod_leaves}",
        intent.where("topology.reserve.leaves"),
        fix=f"reserve at most {pods * layout.pod_leaves} leaves, or reserve.pods: {needed}",
    )


def _reserve_exceeds_spines(intent: Intent, layout: Layout) -> Diagnostic:
    """Return what the spines lack for the leaves of the reserve, where all uplinks of a leaf are connected."""
    low = layout.lowest
    spines = layout.spines
    pair = low.links_per_pair
    ports = spines.ports.down
    ways = []
    counts = fitting_counts(low.uplinks, layout.shared_uplinks, layout.reserved_leaves(), ports)
    if counts:
        count = counts[0] * layout.networks
        ways.append(f"use topology.spine.count: {count}, which moves cables of an existing fabric")
    if intent.topology.spine.count is None:
        # An automatic number would have one port for each leaf of a smaller reserve.
        pair_of_smaller = 1
    else:
        pair_of_smaller = pair
    ways.append(f"reserve at most {ports // pair_of_smaller * layout.networks} leaves")
    if not low.rails:
        ways.append("use tiers: 3")
    return warning(
        "G-1",
        f"the reserve of {_reserved_leaves(layout)} × {counted(pair, 'link')} needs"
        f" {layout.reserved_leaves() * pair} ports on every spine; a spine has {ports}",
        intent.where("topology.reserve.leaves"),
        fix=", or ".join([*ways, f"use spines with {layout.reserved_leaves() * pair} ports"]),
    )


def _spines_for_reserve(intent: Intent, layout: Layout) -> list[Diagnostic]:
    """Return spines that only the reserve asks for: an existing fabric, which has fewer, keeps its cables."""
    low = layout.lowest
    spines = layout.spines
    if low.fixed_pair or layout.pod or intent.topology.spine.count is not None:
        return []
    for_today = fitting_counts(low.uplinks, layout.shared_uplinks, layout.joined_leaves, spines.ports.down)
    if not for_today or for_today[0] >= spines.group_size:
        return []
    count = for_today[0] * layout.networks
    return [
        info(
            "RW217",
            f"{counted(spines.count, 'spine')} have ports for the reserve of {counted(low.reserve, 'leaf')};"
            f" {count} have ports for the {counted(low.indexes, 'leaf')} of today",
            intent.where("topology.reserve.leaves"),
            fix=f"a running fabric of {counted(count, 'spine')} keeps its cables by topology.spine.count: {count}",
        )
    ]


def _pod_diagnostics(intent: Intent, layout: Layout) -> list[Diagnostic]:
    """Return what the pods of the reserve cannot have: AS numbers of their spines, and a pool of their own.

    A pool or AS number of a third tier that the intent asks for is looked at by check_intent, not twice.
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
    """Yield AS numbers of spines that are not private, and of super-spines that meet these."""
    addressing = intent.policies.addressing
    pods = layout.spines.groups
    spines = range(addressing.spine_asn, spine_asn(addressing, layout.planes - 1, pods - 1) + 1)
    if not any(low <= spines[0] and spines[-1] <= last for low, last in PRIVATE_ASNS):
        message = (
            f"the AS numbers of the spines of {counted(pods, 'pod')}, {spines[0]} to {spines[-1]}, are not all private"
        )
        fix = "begin them lower, or reserve fewer pods"
        yield error("B-1", message, intent.where("addressing.asn.spine"), fix=fix)
    if layout.planes * (pods + 1) > len(upper_asns(layout, addressing)):
        message = f"the AS numbers of the super-spines, from {addressing.super_spine_asn}, meet those of the spines"
        fix = f"begin them outside {spines[0]} to {spines[-1]}"
        yield error("B-1", message, intent.where("addressing.asn.super_spine"), fix=fix)


def _pool_diagnostics(intent: Intent, layout: Layout, addressing: Addressing) -> list[Diagnostic]:
    """Return the pools that are too small for the fabric or for a reserve that is stated, and those that only prevent
    growth."""
    needed = {need.key: need.addresses for need in pool_needs(_required(intent, layout), addressing)}
    diagnostics = []
    for need in pool_needs(layout, addressing):
        if needed[need.key] > need.pool.size:
            diagnostics.append(_pool_too_small(intent, layout, need))
        elif need.addresses > need.pool.size:
            diagnostics.append(_growth_prevented(intent, layout, need))
    return diagnostics


def _required(intent: Intent, layout: Layout) -> Layout:
    """Return the layout with a reserve of what the intent states, else of the switches of today."""
    reserve = intent.topology.reserve
    lowest, *above = layout.tiers
    if reserve.leaves is None and reserve.pods is None:
        lowest = replace(lowest, reserve=max(lowest.indexes, _end_of_reserved_blocks(layout)))
    if above and layout.pod and reserve.pods is None:
        above[0] = replace(above[0], groups=layout.pods[-1] + 1)
    elif above and reserve.spines is None and reserve.pods is None:
        above[0] = replace(above[0], reserve=above[0].count)
    return layout._replace(tiers=(lowest, *above))


def _end_of_reserved_blocks(layout: Layout) -> int:
    """Return the number after the last leaf of classes with a reserve of their own, 0 without such a class."""
    blocks = [leaf.block for leaf in layout.classes if leaf.block and leaf.reserve]
    return max((block.base + block.leaves for block in blocks), default=0)


def _growth_prevented(intent: Intent, layout: Layout, need: PoolNeed) -> Diagnostic:
    length = need.pool.bits - (need.addresses - 1).bit_length()
    ends = ""
    if need.leaves < layout.lowest.reserve:
        ends = f"; growth ends at {counted(need.leaves, 'leaf')}"
        if layout.planes > 1:
            ends += " a plane"
    return info(
        "G-1",
        f"{need.key} {need.pool} has {need.pool.size // need.unit} {need.units}, enough for the fabric of today; all"
        f" that ports are laid out for needs {need.addresses // need.unit}: {need.holds}{ends}",
        intent.where(f"addressing.{need.key}"),
        fix=f"use a /{length} or larger pool where the fabric is to grow further",
    )


def _pool_too_small(intent: Intent, layout: Layout, need: PoolNeed) -> Diagnostic:
    length = need.pool.bits - (need.addresses - 1).bit_length()
    ways = f"use a /{length} or larger pool"
    if need.leaves >= layout.lowest.indexes and need.key != "loopbacks":
        if layout.pod and need.leaves >= layout.pod_leaves:
            ways += f", or reserve.pods: {need.leaves // layout.pod_leaves}"
        else:
            ways += f", or reserve.leaves: {need.leaves}"
    return error(
        "G-1",
        f"{need.key} {need.pool} has {need.pool.size // need.unit} {need.units}; the reserve needs"
        f" {need.addresses // need.unit}: {need.holds}",
        intent.where(f"addressing.{need.key}"),
        fix=ways,
    )


def _asn_diagnostics(intent: Intent, layout: Layout) -> list[Diagnostic]:
    """Return where the AS numbers of the leaves, with the reserve, leave the private numbers or meet those above.

    What the numbers of the intent show already is reported by check_intent, not twice.
    """
    first = intent.policies.addressing.leaf_asn
    count = layout.lowest.reserve * layout.planes
    above = upper_asns(layout, intent.policies.addressing)
    room = asn_leaves(layout, intent.policies.addressing)
    stated = max(intent.topology.leaf.count or 1, intent.topology.reserve.leaves or 1)
    if not stated <= room < layout.lowest.reserve:
        return []
    obstacle = "are not all private"
    end = first + room + 1
    met = [asn for asn in above if first <= asn < first + count]
    if met:
        end = min(met)
        obstacle = f"meet {end} of the {above[end]}"
    return [
        error(
            "B-1",
            f"the AS numbers of the reserve's {counted(count, 'leaf')}, {first} to {first + count - 1}, {obstacle}",
            intent.where("addressing.asn.leaf"),
            fix=f"begin {counted(count, 'number')} below {end} or lower, or reserve.leaves: {room}",
        )
    ]
