"""The reserve: the leaves and spines that panels, address pools and AS ranges must have room for."""

from typing import NamedTuple

from railweave.design.identity import host_block_size, spine_asn
from railweave.design.layout import Layout
from railweave.diagnostics import Diagnostic, error, warning
from railweave.fabric.policy import Addressing, Pool
from railweave.intent.model import Intent
from railweave.units import ipv4_text
from railweave.wording import counted

PRIVATE_ASNS = ((64512, 65534), (4200000000, 4294967294))
"""Private AS numbers without the reserved last ones (RFC 6996, RFC 7300)."""


class PoolNeed(NamedTuple):
    """What a pool must hold: ``leaves`` leaf indexes of a plane fit into it, ``addresses`` are needed."""

    key: str
    pool: Pool
    addresses: int
    leaves: int
    holds: str


def pool_needs(layout: Layout, addressing: Addressing) -> tuple[PoolNeed, ...]:
    """Return the need of every pool for the reserve."""
    leaves, spines = layout.lowest.reserve * layout.planes, layout.top.reserve * layout.planes
    ports, block = layout.lowest.ports.total, host_block_size(layout)
    loopbacks, links, hosts = addressing.loopbacks, addressing.links, addressing.hosts
    needs = [
        PoolNeed(
            "loopbacks",
            loopbacks,
            2 * max(leaves + 1, spines),
            (loopbacks.size // 2 - 1) // layout.planes,
            f"{leaves} leaves in its lower half and {spines} spines in its upper half",
        ),
        PoolNeed(
            "hosts",
            hosts,
            leaves * block,
            hosts.size // block // layout.planes,
            f"{leaves} leaves with {block} addresses each",
        ),
    ]
    if not addressing.unnumbered:
        networks = f"{leaves} leaves with {ports} networks of 2 addresses each"
        needs.append(PoolNeed("links", links, 2 * leaves * ports, links.size // (2 * ports) // layout.planes, networks))
    return tuple(needs)


def asn_leaves(layout: Layout, addressing: Addressing) -> int:
    """Return how many leaf indexes of a plane have AS numbers before they meet another tier's or the range's end."""
    first = addressing.leaf_asn
    end = next((last + 1 for low, last in PRIVATE_ASNS if low <= first <= last), first)
    others = [spine_asn(addressing, plane) for plane in range(layout.planes)]
    return (min((asn for asn in (end, *others) if asn >= first), default=first) - first) // layout.planes


def reserve_diagnostics(intent: Intent, layout: Layout) -> tuple[Diagnostic, ...]:
    """Return where panels, pools or AS ranges are too small for the reserve, or the reserve for today."""
    addressing = intent.policies.addressing
    return (
        *_below_today(intent, layout),
        *_beyond_panels(intent, layout),
        *(
            _pool_too_small(intent, layout, need)
            for need in pool_needs(layout, addressing)
            if need.addresses > need.pool.size
        ),
        *_asn_diagnostics(intent, layout),
    )


def _below_today(intent: Intent, layout: Layout) -> list[Diagnostic]:
    low, top = layout.lowest, layout.top
    pairs = (("leaves", low.reserve, low.indexes), ("spines", top.reserve, top.count))
    return [
        error(
            "G-1",
            f"the reserve of {reserved} {key} is smaller than the fabric of today, which needs {today}",
            intent.where(f"topology.reserve.{key}"),
            fix=f"reserve at least {today} {key}, or leave it out",
        )
        for key, reserved, today in pairs
        if reserved < today
    ]


def _beyond_panels(intent: Intent, layout: Layout) -> list[Diagnostic]:
    low, top = layout.lowest, layout.top
    needed = low.reserve * low.links_per_pair
    if not low.fixed_pair or needed <= top.ports.total:
        return []
    return [
        warning(
            "T-3",
            f"the reserve of {low.reserve} leaves × {low.links_per_pair} links needs {needed} ports on"
            f" every spine; a spine has {top.ports.total}",
            intent.where("topology.reserve.leaves"),
            fix=f"reserve at most {top.ports.total // low.links_per_pair} leaves, or use spines with more ports",
        )
    ]


def _pool_too_small(intent: Intent, layout: Layout, need: PoolNeed) -> Diagnostic:
    length = 32 - (need.addresses - 1).bit_length()
    ways = f"use a /{length} or larger pool"
    if need.leaves >= layout.lowest.indexes and need.key != "loopbacks":
        ways += f", or reserve.leaves: {need.leaves}"
    return error(
        "G-1",
        f"{need.key} {ipv4_text(need.pool.first)}/{need.pool.length} has {need.pool.size} addresses; the reserve needs"
        f" {need.addresses}: {need.holds}",
        intent.where(f"addressing.{need.key}"),
        fix=ways,
    )


def _asn_diagnostics(intent: Intent, layout: Layout) -> list[Diagnostic]:
    """Return where the AS numbers of the leaves, with the reserve, leave the private numbers or meet the spines'.

    What the numbers of the intent show already is reported by check_intent, not twice.
    """
    first, count = intent.policies.addressing.leaf_asn, layout.lowest.reserve * layout.planes
    spines = [spine_asn(intent.policies.addressing, plane) for plane in range(layout.planes)]
    room = asn_leaves(layout, intent.policies.addressing)
    stated = max(intent.topology.leaf.count or 1, intent.topology.reserve.leaves or 1)
    if not stated <= room < layout.lowest.reserve:
        return []
    met = [asn for asn in spines if first <= asn < first + count]
    obstacle = f"meet {min(met)} of the spines" if met else "are not all private"
    return [
        error(
            "B-1",
            f"the AS numbers of the reserve's {counted(count, 'leaf')}, {first} to {first + count - 1}, {obstacle}",
            intent.where("addressing.asn.leaf"),
            fix=f"begin {counted(count, 'number')} below {min(met) if met else first + room + 1} or lower,"
            f" or reserve.leaves: {room}",
        )
    ]
