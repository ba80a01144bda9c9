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

    ``addresses`` is by switch; names of hosts are taken as they are, because what they stand for may change.
    """
    own = fabric.policies.addressing
    for kind, pool in (("loopbacks", own.loopbacks), ("links", own.links), *own.host_pools.items()):
        within = {name: found for name, text in addresses.items() if (found := _in(text, pool))}
        if not within:
            continue
        used = _used(fabric)
        over = tuple(name for name, address in within.items() if address in used)
        name = over[0] if over else next(iter(within))
        text = f"{name} is reached at {addresses[name]}"
        shown = f"pool of {kind} {pool}"
        if over:
            message = f"{text}, an address of the fabric itself ({shown}): a change may cut the way to it"
            yield error("S-2", message, where, fix=_FIX, devices=over)
        else:
            message = f"{text}, which the fabric's {shown} may give to another device"
            yield warning("S-2", message, where, fix=_FIX, devices=tuple(within))


def _used(fabric: Fabric) -> frozenset[int]:
    networks = (network for link in fabric.links for network in (link.network, fabric.ipv6_network(link)))
    links = (address for network in networks if network for address in (network, network + 1))
    return frozenset((*(switch.loopback for switch in fabric.switches), *links))


def _in(text: str, pool: Pool) -> int | None:
    """Return the address where it lies in the pool, None where it does not or is a name."""
    try:
        own = parse_pool(text)
    except ValueError:
        return None
    return own.first if pool.holds(own) else None
