"""A NIC is built for certain numbers of ports at certain speeds, and some share one chip's bandwidth."""

from railweave.cabling.media import nic_end
from railweave.catalog.load import load_catalog
from railweave.catalog.nics import NicModel
from railweave.checks.registry import Breach, Breaches, rule
from railweave.diagnostics import Blocker, Severity
from railweave.intent.model import Intent, Nics
from railweave.units import format_speed

RULE = rule(
    "P-2",
    "the NIC can have that many ports of that speed",
    __doc__,
    "nodes: [{nics: {model: connectx-6, speed: 400G}}]",
)


@RULE.on_intent
def check_nic_ports(intent: Intent) -> Breaches:
    """Yield a breach for each entry of nodes whose NIC cannot have the stated ports, cages or total speed."""
    for index, entry in enumerate(intent.nodes):
        nics = entry.nics
        nic = load_catalog().find_nic(nics.model)
        if nic is None:
            continue
        breach = _nic_breach(nics, nic, f"nodes[{index}].nics")
        if breach is not None:
            yield breach


def _nic_breach(nics: Nics, nic: NicModel, path: str) -> Breach | None:
    """Return the first thing that a NIC model does not have as the intent states it, None if it has everything."""
    breach = _cages_breach(nics, f"{path}.cages")
    if breach is not None:
        return breach
    if nic.find(nics.ports, nics.speed_gbps) is None:
        blocker = nic.refusal(nics.ports, nics.speed_gbps)
        return Breach(f"{path}.speed", blocker.message, blocker.fix)
    end = nic_end(nic, nics.ports, nics.speed_gbps, nics.ports_of_a_cage)
    if isinstance(end, Blocker):
        return Breach(f"{path}.cages", end.message, end.fix)
    total_gbps = nic.total_gbps(nics.ports, nics.speed_gbps)
    if total_gbps < nics.ports * nics.speed_gbps:
        ports_text = f"{nics.ports}x{format_speed(nics.speed_gbps)}"
        message = f"the {ports_text} ports of {nic.title} share {format_speed(total_gbps)}"
        fix = "count on the shared bandwidth, or use one port"
        return Breach(f"{path}.ports", message, fix, Severity.WARNING)
    return None


def _cages_breach(nics: Nics, path: str) -> Breach | None:
    """Return what is wrong with the cages of a NIC, None if nothing is."""
    # By default each port has a cage of its own.
    if nics.ports % (nics.cages or nics.ports):
        message = f"{nics.ports} ports of a NIC do not share {nics.cages} cages evenly"
        return Breach(path, message, f"write a number that divides {nics.ports}, or leave `cages` out")
    if nics.are_shared and nics.ports_of_a_cage > 1:
        message = f"{nics.ports_of_a_cage} ports of a cage of the NIC are in several fabrics, by one cable"
        return Breach(path, message, "leave `cages` out, or give the NIC one fabric")
    return None
