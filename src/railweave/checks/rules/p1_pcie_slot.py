"""The raw rate of a PCIe link is what its generation and lanes signal; protocol takes part of that, so a NIC at line
rate needs a margin. A slot may also train lower than it is built."""

from railweave.catalog.load import load_catalog
from railweave.catalog.nics import NicModel
from railweave.checks.registry import Breach, Breaches, NodeRead, rule
from railweave.diagnostics import Severity
from railweave.intent.model import Intent
from railweave.units import format_speed
from railweave.wording import either

RULE = rule(
    "P-1", "the PCIe slot carries all ports of the NIC", __doc__, "nodes: [{nics: {speed: 400G, pcie: gen4x16}}]"
)


@RULE.on_intent
def check_intended_slots(intent: Intent) -> Breaches:
    """Yield a breach for each slot of the intent that carries less than the ports of its NIC need.

    A need above the raw rate is an error, one above the rate that is left for data a warning.
    """
    catalog = load_catalog()
    for index, entry in enumerate(intent.nodes):
        nics = entry.nics
        nic = catalog.find_nic(nics.model)
        slot = catalog.find_pcie_slot(nics.pcie) if nics.pcie else catalog.best_slot(nic)
        total_gbps = nics.ports * nics.speed_gbps
        if nic is not None:
            # The ports of some NICs share one chip's bandwidth.
            total_gbps = nic.total_gbps(nics.ports, nics.speed_gbps)
        if slot is None:
            continue
        # Estimates with payloads of 256 and of 512 bytes.
        least_payload_gbps, most_payload_gbps = slot.payload_gbps
        if total_gbps <= most_payload_gbps:
            continue
        path = f"nodes[{index}].nics.pcie"
        ports = f"{nics.ports}x{format_speed(nics.speed_gbps)}"
        fix = _faster_slots(total_gbps, nic)
        if total_gbps > slot.raw_gbps:
            message = f"a PCIe slot {slot.id} carries {slot.raw_gbps:g} Gb/s, the NIC's {ports} ports need {total_gbps}"
            yield Breach(path, message, fix)
        else:
            message = (
                f"a PCIe slot {slot.id} leaves {least_payload_gbps:g} to {most_payload_gbps:g} Gb/s for data,"
                f" {ports} at line rate need {total_gbps}"
            )
            yield Breach(path, message, fix, Severity.WARNING)


@RULE.on_node
def check_trained_slots(node: NodeRead) -> Breaches:
    """Yield a breach for each port whose slot has trained with a lower rate than its NIC needs."""
    for port in node.ports:
        link = port.facts.get("pcie", "")
        raw_gbps = load_catalog().pcie_link_gbps(link)
        if raw_gbps is not None and raw_gbps < port.nic_gbps:
            message = (
                f"{port} has trained as {link} with {raw_gbps:.0f} Gb/s, its ports and {port.devices[-1]} run"
                f" {format_speed(port.nic_gbps)}"
            )
            fix = "seat the NIC in a slot that carries it, and look at LnkSta of lspci -vv"
            yield Breach("", message, fix, devices=port.devices)


def _faster_slots(total_gbps: int, nic: NicModel | None) -> str:
    """Return the fix: slots that carry ``total_gbps``, if possible only those that the NIC is made for."""
    catalog = load_catalog()
    slots = [slot for slot in map(catalog.pcie_slot, catalog.pcie_ids()) if slot.payload_gbps[0] >= total_gbps]
    made_for = [slot.id for slot in slots if nic is not None and slot.id in nic.pcie]
    names = made_for or [slot.id for slot in slots]
    if not names:
        return "use slower or fewer ports a NIC"
    return f"use a slot of {either(names)}, or slower ports"
