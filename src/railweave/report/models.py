"""The catalog: a table of all models, one model in full, the JSON of both, and the reference page."""

from collections.abc import Iterable
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.catalog.model import Asic, Housing, NicModel
from railweave.checks.capability import CatalogCapability, SpeedUse, SwitchCapability
from railweave.jsonable import members
from railweave.report.layout import cell, code, markdown_table, paragraphs, table
from railweave.units import format_speed
from railweave.wording import counted


def models_json(found: CatalogCapability) -> dict[str, Any]:
    """Return the document of ``railweave models --json``."""
    return {
        "switches": [_switch_json(one) for one in found.switches],
        "nics": [_nic_json(one) for one in found.nics],
    }


def _switch_json(found: SwitchCapability) -> dict[str, Any]:
    model = found.model
    return {
        **members(model, "id", "title", "source", "platform"),
        "asic": str(model.asic),
        "buffer_bytes": model.asic.buffer_bytes,
        "buffer_slices": model.asic.slices and model.asic.slices.total,
        "cages": len(model.cages),
        "form_factor": model.cage_type.form_factor,
        "housing": model.housing and members(model.housing, *model.housing._fields),
        "speeds": [members(one, *one._fields) for one in found.speeds],
        "service_ports": [members(one, "name", "speed_gbps") for one in model.service_ports],
        "notes": list(found.notes),
    }


def _nic_json(nic: NicModel) -> dict[str, Any]:
    uses = {
        "uses": [
            {**members(one, *one._fields), "shared_gbps": nic.total_gbps(one.ports, one.speed_gbps)}
            for one in nic.combinations
        ]
    }
    refused = {"not_supported": [members(one, *one._fields) for one in nic.not_supported]}
    named = members(nic, "id", "title", "source", "form_factors", "pcie", "reorders", "not_public", "notes")
    return {**named, **uses, **refused}


def models_view(found: CatalogCapability) -> RenderableType:
    """Return tables of all models, or one model in full."""
    if len(found.switches) + len(found.nics) == 1:
        return paragraphs(*map(_switch_parts, found.switches), *map(_nic_parts, found.nics))
    switches = table(
        "switch",
        "cages",
        "ports by speed: lossless up to",
        rows=[(one.model.id, _cages(one), _speeds(one)) for one in found.switches],
    )
    nics = table("NIC", "ports", "PCIe", rows=[(one.id, _uses(one), _slots(one)) for one in found.nics])
    return paragraphs(switches, nics, Text("`railweave models MODEL` shows breakout, what is missing, and the source"))


def _switch_parts(found: SwitchCapability) -> list[RenderableType]:
    model = found.model
    about = f"{model.title} ({model.id}): {_cages(found)}, {_chip(model.asic)}"
    service = ", ".join(f"{one.name} {format_speed(one.speed_gbps)}" for one in model.service_ports)
    rows = [(*_speed_row(one), _lossless(one) or "no") for one in found.speeds]
    return [
        Text(about),
        Text(f"platform {model.platform}, source {model.source}"),
        *([Text(f"cages: {model.cage_type.source}")] if model.cage_type.source else []),
        *([Text(f"service ports: {service}")] if service else []),
        *([Text(f"{_box(model.housing)}: {model.housing.source}")] if model.housing else []),
        table("speed", "ports", "lanes", "breakout", "HWSKU", "lossless up to", rows=rows),
        *(Text(f"not lossless at {_at(speeds)}: {why}") for why, speeds in _missing(found).items()),
        *(Text(one) for one in found.notes),
    ]


def _box(housing: Housing) -> str:
    units = None if housing.rack_units is None else counted(housing.rack_units, "rack unit")
    power = None if housing.max_power_w is None else f"at most {housing.max_power_w:,} W"
    return ", ".join(one for one in (units, power) if one)


def _chip(asic: Asic) -> str:
    return f"{asic}, buffer{asic.slices}" if asic.slices and asic.slices.total > 1 else str(asic)


def _nic_parts(nic: NicModel) -> list[RenderableType]:
    refused = [Text(f"{one.ports}x{format_speed(one.speed_gbps)}: {one.reason}") for one in nic.not_supported]
    rest = [Text(one) for one in (nic.not_public, nic.notes) if one]
    cages = ", ".join(nic.form_factors) or "cages not public"
    about = f"{nic.title} ({nic.id}): {_uses(nic)}; PCIe {_slots(nic)}; {cages}"
    return [Text(about), Text(f"source: {nic.source}"), *refused, *rest]


def models_page(found: CatalogCapability) -> str:
    """Return the reference page of the catalog in markdown."""
    parts = [_PAGE]
    for one in found.switches:
        model = one.model
        rows = [[cell(text) for text in (*_speed_row(use), _lossless(use) or "no")] for use in one.speeds]
        missing = [f"- Not lossless at {_at(speeds)}: {cell(why)}." for why, speeds in _missing(one).items()]
        notes = [f"- {cell(note.rstrip('.'))}." for note in one.notes]
        if model.housing:
            notes.append(f"- {cell(_box(model.housing))}; source: {code(model.housing.source)}.")
        parts += [
            f"## {cell(model.title)}\n",
            f"{code(model.id)}, {cell(_cages(one))}, {cell(_chip(model.asic))}. Source: {code(model.source)}; "
            f"cages: {cell(model.cage_type.source)}.\n",
            markdown_table(("speed", "ports", "lanes", "breakout", "HWSKU", "lossless up to"), rows),
            *(["\n".join([*missing, *notes]) + "\n"] if missing or notes else []),
        ]
    rows = [[code(nic.id), *map(cell, (nic.title, _uses(nic), _slots(nic), _about_nic(nic)))] for nic in found.nics]
    parts += ["## NICs\n", markdown_table(("id", "NIC", "ports", "PCIe", "source and what is not public"), rows)]
    return "\n".join([*parts, _LEFT_OUT])


_LEFT_OUT = """## Not in the catalog

Each can be [a model of your own](../how-to/own-models.md) once its facts are known, except those with cages of several
lane counts: all cages of a model are alike, and ports beside them are service ports.

| switch | why |
|---|---|
| Cisco 8101, 8102 | `sonic-net/sonic-buildimage` has an empty `device/cisco`, Cisco's files are not public |
| Edgecore AS9817-64O | pull request 18493: `platform.json` lists 54 of its 64 cages |
| Edgecore AS9817-32D, AS9817-32O | pull request 11805: no source states their form factors |
| Celestica DS4100, DS4101 | pull request 28275: its files name two form factors for the same cages |
| UfiSpace S9311-64D | `platform.json` names each lane twice and lacks the mode of `hwsku.json` |
| NVIDIA SN6600-LD, SN6810-LD | no source states the form factor of their cages |
| Arista 7060X6-16PE-384C, Supermicro SSE-T8196, Micas W6520, Nokia D4, NVIDIA SN3420 | cages of several lane counts |
"""

_PAGE = """# The catalog

Generated by `railweave models --markdown`. Lossless up to: the longest cable at which all ports of that speed can be
lossless at once with the default traffic classes. Other classes, lengths or fewer ports: `railweave check`.
"""


def _about_nic(nic: NicModel) -> str:
    refused = [f"{one.ports}x{format_speed(one.speed_gbps)}: {one.reason}" for one in nic.not_supported]
    return ". ".join(one.rstrip(".") for one in (nic.source, *refused, nic.not_public, nic.notes) if one)


def _cages(found: SwitchCapability) -> str:
    model = found.model
    return f"{len(model.cages)} {model.cage_type.form_factor}"


def _speeds(found: SwitchCapability) -> str:
    return ", ".join(f"{one.ports}x{format_speed(one.speed_gbps)}: {_lossless(one) or 'no'}" for one in found.speeds)


def _speed_row(one: SpeedUse) -> tuple[str, str, str, str, str]:
    return (
        format_speed(one.speed_gbps),
        f"{one.ports} ({one.ports_per_cage} in each of {one.cages} cages)",
        f"{one.lanes}x{one.lane_gbps}G",
        one.breakout or "native",
        one.hwsku,
    )


def _lossless(one: SpeedUse) -> str:
    return "" if one.lossless_m is None else f"{one.lossless_m} m"


def _missing(found: SwitchCapability) -> dict[str, list[int]]:
    """Return why speeds are not lossless, each reason with its speeds."""
    reasons: dict[str, list[int]] = {}
    for one in found.speeds:
        if one.lossless_m is None:
            reasons.setdefault(one.missing, []).append(one.speed_gbps)
    return reasons


def _at(speeds_gbps: Iterable[int]) -> str:
    return ", ".join(map(format_speed, speeds_gbps))


def _uses(nic: NicModel) -> str:
    return ", ".join(f"{one.ports}x{format_speed(one.speed_gbps)}" for one in nic.combinations) or "not public"


def _slots(nic: NicModel) -> str:
    return ", ".join(nic.pcie) or "not public"
