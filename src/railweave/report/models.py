"""The catalog: a table of all models, one model in full, the JSON of both, and the reference page."""

from collections.abc import Iterable
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.catalog.balancing import Balancing, balancing_methods
from railweave.catalog.model import Asic, Housing, Hwsku, SwitchModel
from railweave.checks.capability import CatalogCapability, SpeedUse, SwitchCapability
from railweave.codec import members
from railweave.report.layout import cell, code, markdown_table, paragraphs, table
from railweave.report.nics import nic_json, nic_parts, nic_tables, nics_sections
from railweave.units import format_speed
from railweave.wording import counted, listed


def models_json(models: CatalogCapability) -> dict[str, Any]:
    """Return the document of ``railweave models --json``."""
    return {
        "switches": [_switch_json(capability) for capability in models.switches],
        "nics": [nic_json(nic, models.slots) for nic in models.nics],
    }


def _switch_json(capability: SwitchCapability) -> dict[str, Any]:
    """Return a switch model for the document, with what it can do at each speed."""
    model = capability.model
    return {
        **members(model, "id", "title", "source", "platform"),
        "asic": str(model.asic),
        "buffer_bytes": model.asic.buffer_bytes,
        "buffer_slices": model.asic.slices and model.asic.slices.total,
        "cages": len(model.cages),
        "form_factor": model.cage_type.form_factor,
        "housing": model.housing and members(model.housing, *model.housing._fields),
        "speeds": [members(speed, *speed._fields) for speed in capability.speeds],
        "service_ports": [members(port, "name", "speed_gbps") for port in model.service_ports],
        "buffer_sets": [_sets_json(hwsku) for hwsku in model.hwskus if hwsku.buffer_sets],
        "load_balancing": [members(method, *method._fields) for method in capability.balancing],
        "notes": list(capability.notes),
    }


def _sets_json(hwsku: Hwsku) -> dict[str, Any]:
    return {
        "hwsku": hwsku.name,
        "taken": hwsku.buffer_set or None,
        "sets": [members(buffer_set, *buffer_set._fields) for buffer_set in hwsku.buffer_sets],
    }


def models_view(models: CatalogCapability) -> RenderableType:
    """Return tables of all models, or one model in full."""
    # The command was given the name of a model.
    if len(models.switches) + len(models.nics) == 1:
        nics = [nic_parts(nic, models.slots) for nic in models.nics]
        return paragraphs(*map(_switch_parts, models.switches), *nics)
    switches = table(
        "switch",
        "cages",
        "ports by speed: lossless up to",
        rows=[(switch.model.id, _cages(switch), _speeds(switch)) for switch in models.switches],
    )
    return paragraphs(
        switches,
        *nic_tables(models.nics),
        Text("`railweave models MODEL` shows breakout, what is missing, and the source"),
    )


def _switch_parts(capability: SwitchCapability) -> list[RenderableType]:
    """Return one switch in full: its hardware, a table of its speeds, and what is missing or special."""
    model = capability.model
    about = [
        f"{model.title} ({model.id}): {_cages(capability)}, {_chip(model.asic)}",
        f"platform {model.platform}, source {model.source}",
    ]
    if model.cage_type.source:
        about.append(f"cages: {model.cage_type.source}")
    if model.service_ports:
        ports = ", ".join(f"{port.name} {format_speed(port.speed_gbps)}" for port in model.service_ports)
        about.append(f"service ports: {ports}")
    if model.housing:
        about.append(f"{_housing_text(model.housing)}: {model.housing.source}")
    rows = [(*_speed_row(speed), _lossless(speed) or "no") for speed in capability.speeds]
    speeds = table("speed", "ports", "lanes", "breakout", "HWSKU", "lossless up to", rows=rows)
    notes = [f"not lossless at {_speeds_text(speeds_gbps)}: {why}" for why, speeds_gbps in _missing(capability).items()]
    notes += _buffer_set_lines(model)
    notes += [_balancing_text(method) for method in capability.balancing]
    notes += capability.notes
    return [*map(Text, about), speeds, *map(Text, notes)]


def _balancing_text(method: Balancing) -> str:
    if method.release is None:
        return f"no {method.title}: {method.missing}"
    return f"{method.title} from SONiC {method.release} on: {method.source}"


def _balancing_table(models: CatalogCapability) -> str:
    """Return a section of markdown with the first SONiC release that has each method of load balancing, by chip."""
    releases_by_chip: dict[str, list[str]] = {}
    for capability in models.switches:
        releases = [method.release or "none" for method in capability.balancing]
        releases_by_chip[str(capability.model.asic)] = releases
    methods = balancing_methods()
    titles = ("chip", *(method.title for method in methods.values()))
    reasons = "".join(f"- {cell(method.title)}, none: {cell(method.missing)}.\n" for method in methods.values())
    rows = [(cell(chip), *releases) for chip, releases in sorted(releases_by_chip.items())]
    heading = "## Load balancing by chip\n\nThe first SONiC release of the community that has it."
    return f"{heading}\n\n{markdown_table(titles, rows)}\n{reasons}"


def _buffer_set_lines(model: SwitchModel) -> list[str]:
    """Return a line for each HWSKU with several sets of buffer settings: the sets, and the one that is used."""
    return [_buffer_set_line(hwsku) for hwsku in model.hwskus if hwsku.buffer_sets]


def _buffer_set_line(hwsku: Hwsku) -> str:
    """Return the buffer settings that an HWSKU uses, and the sets to choose from, with their lossless roles."""
    sets = []
    for buffer_set in hwsku.buffer_sets:
        roles = listed(buffer_set.lossless_roles) if buffer_set.lossless_roles else "no role"
        sets.append(f"{buffer_set.name} (lossless for {roles})")
    used_settings = "those that SONiC loads by itself"
    if hwsku.buffer_set:
        used_settings = f"those of its set {hwsku.buffer_set}"
    return f"buffers of {hwsku.name} are {used_settings}; its sets: {listed(sets)}"


def _housing_text(housing: Housing) -> str:
    """Return the height and the power of a switch in words, as far as its data sheet states them."""
    parts = []
    if housing.rack_units is not None:
        parts.append(counted(housing.rack_units, "rack unit"))
    if housing.max_power_w is not None:
        parts.append(f"at most {housing.max_power_w:,} W")
    return ", ".join(parts)


def _chip(asic: Asic) -> str:
    """Return an ASIC in words, with the slices of its buffer if there are several: ports share one slice only."""
    if asic.slices and asic.slices.total > 1:
        return f"{asic}, buffer{asic.slices}"
    return str(asic)


def models_page(models: CatalogCapability) -> str:
    """Return the reference page of the catalog in markdown."""
    parts = [_PAGE]
    for capability in models.switches:
        parts += _switch_sections(capability)
    parts.append(_balancing_table(models))
    parts += nics_sections(models.nics)
    return "\n".join([*parts, _LEFT_OUT])


def _switch_sections(capability: SwitchCapability) -> list[str]:
    """Return the paragraphs of a switch model in the reference page."""
    model = capability.model
    rows = [[*map(cell, _speed_row(speed)), cell(_lossless(speed) or "no")] for speed in capability.speeds]
    notes = [f"- Not lossless at {_speeds_text(speeds)}: {cell(why)}." for why, speeds in _missing(capability).items()]
    notes += [f"- {cell(line)}." for line in _buffer_set_lines(model)]
    # Notes are written by people, with a full stop or without.
    notes += [f"- {cell(note.rstrip('.'))}." for note in capability.notes]
    if model.housing:
        notes.append(f"- {cell(_housing_text(model.housing))}; source: {code(model.housing.source)}.")
    sections = [
        f"## {cell(model.title)}\n",
        f"{code(model.id)}, {cell(_cages(capability))}, {cell(_chip(model.asic))}. Source: {code(model.source)}; "
        f"cages: {cell(model.cage_type.source)}.\n",
        markdown_table(("speed", "ports", "lanes", "breakout", "HWSKU", "lossless up to"), rows),
    ]
    if notes:
        sections.append("\n".join(notes) + "\n")
    return sections


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


def _cages(capability: SwitchCapability) -> str:
    model = capability.model
    return f"{len(model.cages)} {model.cage_type.form_factor}"


def _speeds(capability: SwitchCapability) -> str:
    return ", ".join(
        f"{speed.ports}x{format_speed(speed.speed_gbps)}: {_lossless(speed) or 'no'}" for speed in capability.speeds
    )


def _speed_row(speed: SpeedUse) -> tuple[str, str, str, str, str]:
    """Return the cells of a speed: the speed, its ports, lanes, breakout and HWSKU."""
    return (
        format_speed(speed.speed_gbps),
        f"{speed.ports} ({speed.ports_per_cage} in each of {speed.cages} cages)",
        f"{speed.lanes}x{speed.lane_gbps}G",
        speed.breakout or "native",
        speed.hwsku,
    )


def _lossless(speed: SpeedUse) -> str:
    """Return the length of the longest lossless cable as text, empty if no length is lossless at the speed."""
    if speed.lossless_m is None:
        return ""
    return f"{speed.lossless_m} m"


def _missing(capability: SwitchCapability) -> dict[str, list[int]]:
    """Return the speeds in Gb/s at which a switch cannot be lossless, by the reason."""
    speeds_by_reason: dict[str, list[int]] = {}
    for speed in capability.speeds:
        if speed.lossless_m is None:
            speeds_by_reason.setdefault(speed.missing, []).append(speed.speed_gbps)
    return speeds_by_reason


def _speeds_text(speeds_gbps: Iterable[int]) -> str:
    return ", ".join(map(format_speed, speeds_gbps))
