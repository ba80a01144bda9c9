"""Hardware of an intent against the catalog: ids, NIC ports, PCIe slots (fabric-facts sections 3.1 and 3.2)."""

from collections.abc import Iterator, Sequence

from railweave.catalog.load import Catalog
from railweave.catalog.nics import NicModel, PcieSlot
from railweave.diagnostics import Diagnostic, Where, error, info, warning
from railweave.intent.model import Intent, Nics
from railweave.units import format_speed
from railweave.wording import either, suggestion


def hardware_findings(intent: Intent, catalog: Catalog) -> Iterator[Diagnostic]:
    """Yield what the catalog says against the intent's switches, cables, NICs and slots."""
    yield from _switches(intent, catalog)
    yield from _media(intent, catalog)
    for index, entry in enumerate(intent.nodes):
        path = f"nodes[{index}].nics"
        nic = catalog.find_nic(entry.nics.model)
        slot = catalog.find_pcie_slot(entry.nics.pcie)
        if nic is None:
            yield _unknown(intent, f"{path}.model", "NIC model", entry.nics.model, catalog.nic_ids())
        else:
            yield from _nic_ports(intent, path, entry.nics, nic)
        if slot is None:
            yield _unknown(intent, f"{path}.pcie", "PCIe slot", entry.nics.pcie, catalog.pcie_ids())
        else:
            use = nic.find(entry.nics.ports, entry.nics.speed_gbps) if nic else None
            total_gbps = use.shared_gbps if use else entry.nics.ports * entry.nics.speed_gbps
            way_out = _faster_slots(total_gbps, nic, catalog)
            yield from _slot(slot, entry.nics, total_gbps, intent.where(f"{path}.pcie"), way_out)


def _switches(intent: Intent, catalog: Catalog) -> Iterator[Diagnostic]:
    topology = intent.topology
    for name, tier in (("leaf", topology.leaf), ("spine", topology.spine), ("super_spine", topology.super_spine)):
        path = f"topology.{name}"
        if tier is None:
            continue
        if tier.inline is not None:
            yield info(
                "RW113",
                f"`{path}` has no catalog model: the fabric can be sized, not configured",
                intent.where(path),
                fix="name a `model` of the catalog to render its configuration",
            )
        elif tier.model is not None and catalog.find_switch(tier.model) is None:
            yield _unknown(intent, f"{path}.model", "switch model", tier.model, catalog.switch_ids())


def _media(intent: Intent, catalog: Catalog) -> Iterator[Diagnostic]:
    cabling = intent.cabling
    known = [medium.id for medium in catalog.media()]
    for name, cable in (("host", cabling.host), ("leaf_spine", cabling.leaf_spine)):
        if cable.media is not None and cable.media not in known:
            yield _unknown(intent, f"cabling.{name}.media", "media", cable.media, [*known, "auto"])


def _nic_ports(intent: Intent, path: str, nics: Nics, nic: NicModel) -> Iterator[Diagnostic]:
    """P-2: the NIC has such ports, and they carry their speed together."""
    asked = f"{nics.ports}x{format_speed(nics.speed_gbps)}"
    use = nic.find(nics.ports, nics.speed_gbps)
    if use is None:
        known = nic.refusal_of(nics.ports, nics.speed_gbps)
        can_be = either([f"{one.ports}x{format_speed(one.speed_gbps)}" for one in nic.combinations])
        reason = f": {known.reason}" if known else ""
        way_out = f"{known.way_out}; " if known else ""
        yield error(
            "P-2",
            f"{nic.title} cannot have {asked} ports{reason}",
            intent.where(f"{path}.speed"),
            fix=f"{way_out}it can be {can_be}",
        )
    elif use.shared_gbps < nics.ports * nics.speed_gbps:
        yield warning(
            "P-2",
            f"the {asked} ports of {nic.title} share {format_speed(use.shared_gbps)}",
            intent.where(f"{path}.ports"),
            fix="count on the shared bandwidth, or use one port",
        )


def _slot(slot: PcieSlot, nics: Nics, total_gbps: int, where: Where, way_out: str) -> Iterator[Diagnostic]:
    """P-1: the raw PCIe link decides, what is left for data is the margin."""
    ports = f"{nics.ports}x{format_speed(nics.speed_gbps)}"
    if total_gbps > slot.raw_gbps:
        yield error(
            "P-1",
            f"a PCIe slot {slot.id} carries {slot.raw_gbps:g} Gb/s, the NIC's {ports} ports need {total_gbps}",
            where,
            fix=way_out,
        )
    elif total_gbps > slot.payload_gbps[1]:
        low, high = slot.payload_gbps
        yield warning(
            "P-1",
            f"a PCIe slot {slot.id} leaves {low:g} to {high:g} Gb/s for data, {ports} at line rate need {total_gbps}",
            where,
            fix=way_out,
        )


def _faster_slots(total_gbps: int, nic: NicModel | None, catalog: Catalog) -> str:
    slots = [slot for slot in map(catalog.pcie_slot, catalog.pcie_ids()) if slot.payload_gbps[0] >= total_gbps]
    made_for = [slot.id for slot in slots if nic is not None and slot.id in nic.pcie]
    names = made_for or [slot.id for slot in slots]
    return f"use a slot of {either(names)}, or slower ports" if names else "use slower or fewer ports a NIC"


def _unknown(intent: Intent, path: str, what: str, wanted: str, known: Sequence[str]) -> Diagnostic:
    return error(
        "RW101",
        f"{path}: the catalog has no {what} `{wanted}`",
        intent.where(path),
        fix=f"{suggestion(wanted, known)}it has {', '.join(known)}",
    )
