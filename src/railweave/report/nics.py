"""NICs of the catalog: what buyers compare as a table, one NIC in full, their JSON and their part of the page."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.catalog.nics import NicModel, PcieSlot, StatedList, StatedNumber, StatedText
from railweave.codec import members
from railweave.report.layout import cell, code, markdown_table, table
from railweave.units import format_speed

UNKNOWN = "unknown"
"""Shown for a fact that no public source states."""

_Fact = StatedNumber | StatedText | StatedList | None
_FACTS = {
    "power_w": "power",
    "message_rate_mps": "message rate",
    "reordering": "packet reordering",
    "virtual_functions": "SR-IOV virtual functions",
    "security": "security",
}
"""The facts by the name of their field, each with the words before its value."""
_UNITS = {
    "power_w": "W",
    "message_rate_mps": "million/s",
    "virtual_functions": "a port",
}
_COMPARED = ("NIC", "power", "PCIe", "message rate", "packet reordering", "SR-IOV functions", "security")


def nic_json(nic: NicModel, slots: Mapping[str, PcieSlot]) -> dict[str, Any]:
    """Return a NIC in the document of ``railweave models --json``; what is unknown is null."""
    document = members(nic, "id", "title", "source", "form_factors", "pcie", "reorders", "not_public", "notes")
    document["pcie_slots"] = [
        members(slots[slot_id], "id", "generation", "lanes", "slots", "raw_gbps") for slot_id in nic.pcie
    ]
    document["facts"] = members(nic.facts, *_FACTS)
    document["uses"] = [
        {
            **members(combination, *combination._fields),
            "shared_gbps": nic.total_gbps(combination.ports, combination.speed_gbps),
        }
        for combination in nic.combinations
    ]
    document["not_supported"] = [members(unsupported, *unsupported._fields) for unsupported in nic.not_supported]
    return document


def nic_tables(nics: Iterable[NicModel]) -> list[RenderableType]:
    """Return a table of the ports of all NICs, and one of what buyers compare."""
    models = list(nics)
    ports = table("NIC", "ports", "PCIe", rows=[(nic.id, ports_text(nic), _slots(nic)) for nic in models])
    compared = table(*_COMPARED, rows=[(nic.id, *_compared(nic)) for nic in models])
    return [ports, compared]


def _compared(nic: NicModel) -> tuple[str, ...]:
    """Return the cells of a NIC below ``_COMPARED``, without its name."""
    return (
        _value(nic, "power_w"),
        _slots(nic),
        _value(nic, "message_rate_mps"),
        _value(nic, "reordering"),
        _value(nic, "virtual_functions"),
        _value(nic, "security"),
    )


def _value(nic: NicModel, name: str) -> str:
    """Return the fact ``name`` of a NIC in words, without its source; ``UNKNOWN`` if no source states it."""
    fact: _Fact = getattr(nic.facts, name)
    if fact is None:
        return UNKNOWN
    if isinstance(fact, StatedNumber):
        return f"{fact.value:,g} {_UNITS[name]}"
    if isinstance(fact, StatedList):
        return ", ".join(fact.value)
    return fact.value


def nic_parts(nic: NicModel, slots: Mapping[str, PcieSlot]) -> list[RenderableType]:
    """Return the lines of one NIC, each fact with its source."""
    cages = ", ".join(nic.form_factors) or "cages not public"
    lines = [f"{nic.title} ({nic.id}): {ports_text(nic)}; PCIe {_slots(nic)}; {cages}", f"source: {nic.source}"]
    lines += [_slot_line(slots[slot_id]) for slot_id in nic.pcie]
    lines += [_fact_line(nic, name) for name in _FACTS]
    lines += _unsupported(nic)
    lines += [sentence for sentence in (nic.not_public, nic.notes) if sentence]
    return [*map(Text, lines)]


def _slot_line(slot: PcieSlot) -> str:
    return f"PCIe {slot.id}: generation {slot.generation}, {slot.lanes} lanes, {slot.raw_gbps:g} Gb/s"


def _fact_line(nic: NicModel, name: str) -> str:
    fact: _Fact = getattr(nic.facts, name)
    text = f"{_FACTS[name]}: {_value(nic, name)}"
    if fact is None:
        return text
    return f"{text} ({fact.source})"


def nics_sections(nics: Iterable[NicModel]) -> list[str]:
    """Return the paragraphs of NICs in the reference page of the catalog."""
    rows = []
    compared = []
    source_lines = []
    for nic in nics:
        rows.append([code(nic.id), cell(nic.title), cell(ports_text(nic)), cell(_slots(nic)), cell(_about(nic))])
        compared.append([code(nic.id), *map(cell, _compared(nic))])
        sources = _sources(nic)
        if sources:
            source_lines.append(f"- {code(nic.id)}: {cell(sources)}.")
    return [
        "## NICs\n",
        markdown_table(("id", "NIC", "ports", "PCIe", "source and what is not public"), rows),
        "## NICs compared\n",
        "What buyers compare, as far as anybody has published it, with the sources below.\n",
        markdown_table(_COMPARED, compared),
        "\n".join(source_lines) + "\n",
    ]


def _sources(nic: NicModel) -> str:
    """Return the sources of all facts of a NIC."""
    facts = ((name, getattr(nic.facts, name)) for name in _FACTS)
    return "; ".join(f"{_FACTS[name]}: {fact.source}" for name, fact in facts if fact is not None)


def _about(nic: NicModel) -> str:
    """Return the source of a NIC and what it lacks or needs, as sentences."""
    sentences = (nic.source, *_unsupported(nic), nic.not_public, nic.notes)
    return ". ".join(sentence.rstrip(".") for sentence in sentences if sentence)


def _unsupported(nic: NicModel) -> list[str]:
    """Return the numbers and speeds of ports that a NIC cannot have, each with the reason."""
    return [
        f"{unsupported.ports}x{format_speed(unsupported.speed_gbps)}: {unsupported.reason}"
        for unsupported in nic.not_supported
    ]


def ports_text(nic: NicModel) -> str:
    """Return the combinations of ports and speed of a NIC in words."""
    uses = (f"{combination.ports}x{format_speed(combination.speed_gbps)}" for combination in nic.combinations)
    return ", ".join(uses) or "not public"


def _slots(nic: NicModel) -> str:
    return ", ".join(nic.pcie) or "not public"
