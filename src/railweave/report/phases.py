"""Phases of a change: a table for a person, JSON, and the work order that a technician takes to the racks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from railweave.plan.phases import CableEnd, CableMove, Phase, PhaseKind
from railweave.report.markdown import cell
from railweave.units import format_speed
from railweave.wording import counted

_BY = {
    PhaseKind.PROVISION: "railweave",
    PhaseKind.SWITCHES: "railweave",
    PhaseKind.HOSTS: "railweave, or whoever runs the nodes",
    PhaseKind.CABLES: "railweave, then manual",
    PhaseKind.CLEANUP: "railweave",
}


def phases_view(phases: Sequence[Phase], base: str) -> RenderableType:
    """Return the phases as a table; ``base`` is what the command calls the fabric that runs."""
    if len(phases) == 1:
        return Text("one phase: `railweave deploy` does it in one step")
    table = _table("phase", "what", "by", "cables")
    said = ""
    for phase in phases:
        # What several phases are for is said once.
        what = phase.title if phase.why == said else f"{phase.title}: {phase.why}"
        table.add_row(str(phase.number), what, _BY[phase.kind], _count(phase))
        said = phase.why
    words = (
        f"`railweave deploy --from {base}` runs up to the next manual step and says what to do there;"
        " with `--phase N` it runs one phase"
    )
    return Group(table, Text(), Text(words))


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _count(phase: Phase) -> str:
    return str(len(phase.cables)) if phase.cables else ""


def deploy_command(phase: Phase, base: str) -> str:
    """Return the command that carries out a phase."""
    return f"railweave deploy --from {base} --phase {phase.number}"


def verify_command(phase: Phase, base: str) -> str:
    """Return the command that proves the cables of a phase."""
    return f"railweave verify --from {base} --phase {phase.number}"


def cables_view(phase: Phase, base: str, missing: Iterable[CableMove] | None = None) -> RenderableType:
    """Return what hands must do in a phase: the cables, or those that are ``missing`` still, and the proof."""
    left = phase.cables if missing is None else tuple(missing)
    table = _table("cable of", "from", "to", "speed", "length", "medium")
    for cable in left:
        table.add_row(
            rack(cable.stays),
            rack(cable.before),
            "taken out" if cable.after is None else rack(cable.after),
            format_speed(cable.speed_gbps),
            f"{cable.length_m} m",
            cable.media,
        )
    return Group(
        Text(f"phase {phase.number}: now {counted(len(left), 'cable')} must be moved by hand", style="bold yellow"),
        table,
        Text(),
        Text(f"then: {verify_command(phase, base)}, and on with railweave deploy --from {base}"),
    )


def nodes_text(phase: Phase, base: str, following: Phase | None) -> str:
    """Return what is left to whoever runs the GPU nodes, and how to go on with the phase ``following``."""
    both = "serves both markings" if phase.marks else "carries packets of both sizes"
    on = f" When all nodes have changed: {deploy_command(following, base)}" if following else ""
    return (
        f"phase {phase.number}: now the {len(phase.nodes.hosts)} GPU nodes must change ({_values(phase)}); their files"
        f" are made by `railweave render`. Every switch {both} meanwhile.{on}"
    )


def _values(phase: Phase) -> str:
    """Return what the nodes of a phase are to send."""
    lossless = [one for one in phase.nodes.policies.classes if one.lossless and phase.marks]
    marking = [f"{one.name}: DSCP {', '.join(map(str, one.dscp))}, priority {one.priority}" for one in lossless]
    size = [f"MTU {phase.node_mtu_bytes} bytes"] if phase.node_mtu_bytes else []
    return "; ".join((*marking, *size))


def rack(end: CableEnd) -> str:
    """Return an end as a technician finds it: device, number at the front, the port's own names."""
    part = f"/{end.subport}" if end.subport else ""
    return f"{end.device} port {end.panel}{part} ({end.alias}, {end.port})"


def phases_json(phases: Sequence[Phase]) -> dict[str, Any]:
    """Return the phases for programs."""
    return {
        "phases": [
            {
                "number": phase.number,
                "title": phase.title,
                "kind": phase.kind.value,
                "why": phase.why,
                "switches": len(phase.fabric.switches),
                "cables": [cable_json(cable) for cable in phase.cables],
            }
            for phase in phases
        ],
        "cables": sum(len(phase.cables) for phase in phases),
    }


def cable_json(cable: CableMove) -> Mapping[str, Any]:
    """Return one cable."""
    return {
        "stays": _end_json(cable.stays),
        "before": _end_json(cable.before),
        "after": None if cable.after is None else _end_json(cable.after),
        "speed_gbps": cable.speed_gbps,
        "length_m": cable.length_m,
        "media": cable.media,
    }


def _end_json(end: CableEnd) -> Mapping[str, Any]:
    return {
        "device": end.device,
        "port": end.port,
        "alias": end.alias,
        "panel": end.panel,
        "subport": end.subport,
    }


def work_order(phases: Sequence[Phase], base: str) -> str:
    """Return a work order as markdown: every phase with its commands, every cable with a box to tick."""
    fabric = phases[-1].fabric.name
    cables = sum(len(phase.cables) for phase in phases)
    lines = [f"# Work order: {cell(fabric)}, {counted(len(phases), 'phase')}, {counted(cables, 'cable')}", ""]
    lines.append(
        "Do the phases in order. Move cables only in the phase that names them, and all of them before the next."
    )
    for phase in phases:
        lines += ["", f"## Phase {phase.number}: {cell(phase.title)}", "", f"{cell(_sentence(phase.why))}", ""]
        lines += _phase_lines(phase, base, phases)
    return "\n".join(lines) + "\n"


def _phase_lines(phase: Phase, base: str, phases: Sequence[Phase]) -> list[str]:
    if phase.kind is PhaseKind.HOSTS:
        return [f"- [ ] {cell(f'{len(phase.nodes.hosts)} GPU nodes: {_values(phase)}')} (`railweave hosts apply`)"]
    command = "railweave deploy" if len(phases) == 1 else deploy_command(phase, base)
    lines = [f"- [ ] `{command}`"]
    if phase.cables:
        lines += [f"- [ ] {cell(_cable_line(cable))}" for cable in phase.cables]
        lines.append(f"- [ ] `{verify_command(phase, base)}`")
    return lines


def _cable_line(cable: CableMove) -> str:
    to = "out" if cable.after is None else f"to {rack(cable.after)}"
    medium = f"{format_speed(cable.speed_gbps)}, {cable.length_m} m, {cable.media}"
    return f"cable of {rack(cable.stays)}: from {rack(cable.before)} {to}; {medium}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
