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
    """Yield S-2 for each pool of the fabric that holds management addresses of switches.

    It is an error if a device of the fabric has one of these addresses, else a warning that it may get one later.
    ``addresses`` maps switches to their management addresses. Host names are not resolved, because their addresses may
    change.
    """
    addressing = fabric.policies.addressing
    pools = {"loopbacks": addressing.loopbacks, "links": addressing.links, **addressing.host_pools}
    for kind, pool in pools.items():
        in_pool = _addresses_in_pool(addresses, pool)
        if not in_pool:
            continue
        used_addresses = _used_addresses(fabric)
        in_band = tuple(name for name, address in in_pool.items() if address in used_addresses)
        if in_band:
            name = in_band[0]
            message = (
                f"{name} is reached at {addresses[name]}, an address of the fabric itself (pool of {kind} {pool}):"
                " a change may cut the way to it"
            )
            yield error("S-2", message, where, fix=_FIX, devices=in_band)
        else:
            name = next(iter(in_pool))
            message = (
                f"{name} is reached at {addresses[name]}, which the fabric's pool of {kind} {pool} may give to another"
                " device"
            )
            yield warning("S-2", message, where, fix=_FIX, devices=tuple(in_pool))


def _addresses_in_pool(addresses: Mapping[str, str], pool: Pool) -> dict[str, int]:
    """Return the addresses that are in a pool, by switch."""
    in_pool = {}
    for name, text in addresses.items():
        try:
            address = parse_pool(text)
        except ValueError:
            # A name of a host.
            continue
        if pool.holds(address):
            in_pool[name] = address.first
    return in_pool


def _used_addresses(fabric: Fabric) -> frozenset[int]:
    """Return the addresses of loopbacks and of both ends of links."""
    used = {switch.loopback for switch in fabric.switches}
    for link in fabric.links:
        for network in (link.network, fabric.ipv6_network(link)):
            # 0 or None: the link has no addresses of the family.
            if network:
                used.update((network, network + 1))
    return frozenset(used)
