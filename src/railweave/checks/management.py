"""Where switches are managed from: outside the fabric, which a change of it may take down (S-2)."""

from collections.abc import Iterator, Mapping

from railweave.checks.registry import rule
from railweave.diagnostics import Diagnostic, Where, error, warning
from railweave.fabric.model import Fabric
from railweave.fabric.policy import Pool, parse_pool

rule(
    "S-2",
    "switches are managed from outside the fabric that is changed",
    "A change may take a link of the fabric away, and with it the path to the switch that needs the fix.",
    "a target with the loopbacks of the switches as their addresses",
)

_FIX = "give the target the addresses of the management ports, or move the pool (addressing)"


def management_findings(fabric: Fabric, addresses: Mapping[str, str], where: Where) -> Iterator[Diagnostic]:
    """Yield an error for switches that are reached over the fabric itself, a warning for those with an address that a
    pool of the fabric may give away later.

    ``addresses`` is by switch; names of hosts are not resolved, because their addresses may change.
    """
    addressing = fabric.policies.addressing
    for kind, pool in (
        ("loopbacks", addressing.loopbacks),
        ("links", addressing.links),
        *addressing.host_pools.items(),
    ):
        within = _within(addresses, pool)
        if not within:
            continue
        used = _used(fabric)
        own = tuple(name for name, address in within.items() if address in used)
        if own:
            message = (
                f"{own[0]} is reached at {addresses[own[0]]}, an address of the fabric itself (pool of {kind} {pool}):"
                " a change may cut the way to it"
            )
            yield error("S-2", message, where, fix=_FIX, devices=own)
        else:
            name = next(iter(within))
            message = (
                f"{name} is reached at {addresses[name]}, which the fabric's pool of {kind} {pool} may give to another"
                " device"
            )
            yield warning("S-2", message, where, fix=_FIX, devices=tuple(within))


def _within(addresses: Mapping[str, str], pool: Pool) -> dict[str, int]:
    """Return the addresses that are in a pool, by switch."""
    within = {}
    for name, text in addresses.items():
        try:
            address = parse_pool(text)
        except ValueError:
            # A name of a host.
            continue
        if pool.holds(address):
            within[name] = address.first
    return within


def _used(fabric: Fabric) -> frozenset[int]:
    """Return the addresses of loopbacks and of both ends of links."""
    used = {switch.loopback for switch in fabric.switches}
    for link in fabric.links:
        for network in (link.network, fabric.ipv6_network(link)):
            # 0 or None: the link has no addresses of the family.
            if network:
                used.update((network, network + 1))
    return frozenset(used)
