"""Phases of a change: a table for a person, JSON, and the work order that a technician takes to the racks."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.hosts.outcome import HostsRun
from railweave.hosts.values import marking
from railweave.jsonable import as_json, members
from railweave.plan.class_change import lossless_dscp
from railweave.plan.outcome import DeployResult
from railweave.plan.phase_progress import OutOfUse, PhasedResult, Waiting, in_use
from railweave.plan.phases import CableEnd, CableMove, Phase, PhaseKind
from railweave.report.deployment import deploy_json
from railweave.report.hosts import hosts_json
from railweave.report.layout import cell, paragraphs, table, verdict
from railweave.report.retirement import proof_json
from railweave.units import format_speed
from railweave.wording import command_line, compact, counted, first_few

_BY = {
    PhaseKind.DRAIN: "railweave, then manual",
    PhaseKind.PROVISION: "railweave",
    PhaseKind.SWITCHES: "railweave",
    PhaseKind.HOSTS: "railweave, or whoever runs the nodes",
    PhaseKind.CABLES: "railweave, then manual",
    PhaseKind.CLEANUP: "railweave",
}


def phases_view(phases: Sequence[Phase], base: str) -> RenderableType:
    """Return the phases as a table; ``base`` is what the command calls the fabric that runs."""
    if len(phases) == 1:
        return Text(f"one phase: `{command_line('deploy')}` does it in one step")
    # What several phases are for is said once.
    said = ["", *(phase.why for phase in phases)]
    rows = (
        (
            str(phase.number),
            phase.title if phase.why == before else f"{phase.title}: {phase.why}",
            "railweave" if phase.is_drain and phase.leaving[0] in phase.fabric.switch_of else _BY[phase.kind],
            str(len(phase.cables) or ""),
        )
        for phase, before in zip(phases, said, strict=False)
    )
    words = (
        f"`{command_line('deploy', '--from', base)}` runs up to the next manual step and says what to do there;"
        " with `--phase N` it runs one phase"
    )
    return paragraphs(table("phase", "what", "by", "cables", rows=rows), Text(words))


def stated_command(base: str) -> str:
    """Return the command that goes on once nodes and jobs have changed."""
    return command_line("deploy", "--from", base, "--nodes-done")


def verify_command(phase: Phase, base: str) -> str:
    """Return the command that proves the cables of a phase."""
    return command_line("verify", "--from", base, "--phase", phase.number)


def cables_view(phase: Phase, base: str, missing: Iterable[CableMove] | None = None) -> RenderableType:
    """Return what hands must do in a phase: the cables, or those that are ``missing`` still, and the proof."""
    left = phase.cables if missing is None else tuple(missing)
    rows = (
        (
            _then(cable.stays, cable.stays_after),
            rack(cable.before),
            "taken out" if cable.after is None else rack(cable.after),
            format_speed(cable.speed_gbps),
            f"{cable.length_m} m",
            cable.media,
        )
        for cable in left
    )
    title = f"phase {phase.number}: now {counted(len(left), 'cable')} must be moved by hand"
    return paragraphs(
        [Text(title, style="bold yellow"), table("cable of", "from", "to", "speed", "length", "medium", rows=rows)],
        Text(f"then: {verify_command(phase, base)}, and on with {command_line('deploy', '--from', base)}"),
    )


_ENDED = ", once all jobs that were started before have ended"


def nodes_text(waiting: Waiting, base: str) -> str:
    """Return what is left to whoever runs the GPU nodes or their jobs, and how to go on."""
    phase, following = waiting.phase, waiting.following
    if waiting.proofs:
        return (
            f"phase {phase.number} ({phase.title}) waits: {in_use(waiting.proofs)}\n{_how_to_leave(phase)}."
            f" Then: {command_line('deploy', '--from', base)}"
        )
    on = f" Then: {stated_command(base)}" if following else ""
    if not waiting.nodes:
        return (
            f"phase {phase.number} ({phase.title}) waits for the jobs that were started before: they still send the old"
            f" {' and '.join(phase.values)}. When they have ended: {stated_command(base)}"
        )
    steps = "".join(
        f"\n  phase {one.number}: {one.title} ({node_words(one)}){_ENDED if one.drops else ''}{_window(one, '; ')}"
        for one in waiting.nodes
    )
    return (
        f"now the {len(phase.nodes.hosts)} GPU nodes must change, all in one phase before any in the next:{steps}"
        f"\nThe switches serve the nodes in all these phases.{on}"
    )


def _how_to_leave(phase: Phase) -> str:
    nodes = phase.leaving[0] in phase.fabric.host_of
    how = "Move the jobs away and shut them down" if nodes else "Wait until their ports carry nothing"
    return f"{how}: {compact(phase.leaving)}"


def out_of_use_view(phase: Phase) -> RenderableType:
    """Return that what leaves is out of use."""
    return verdict(True, f"out of use: {first_few(phase.leaving)}")


def _window(phase: Phase, before: str) -> str:
    """Return what may fail while the nodes have two sizes of RoCE packets; empty where they have one."""
    if phase.roce_mtu_bytes is None:
        return ""
    was, now = phase.roce_mtu_bytes
    return (
        f"{before}until all nodes have done this phase, connections that rdma_cm opens between a changed and an"
        f" unchanged node may fail: RoCE packets go from {was} to {now} bytes, and the smaller end refuses the larger;"
        " start no job across both meanwhile"
    )


def node_words(phase: Phase) -> str:
    """Return what the GPU nodes accept and send in a phase, as far as it changes."""
    accepts, sends = phase.node_values
    parts = []
    if "marking" in phase.values:
        points = lossless_dscp(accepts.policies.classes)
        parts.append("accept " + ", ".join(f"DSCP {dscp} on priority {points[dscp]}" for dscp in sorted(points)))
        if sent := marking(sends.policies.classes):
            parts.append(f"send DSCP {sent.dscp}")
            was = marking(phase.was.sends.policies.classes) if phase.was else None
            if was and was.cnp_dscp != sent.cnp_dscp:
                marked = "no DSCP of their own" if sent.cnp_dscp is None else f"DSCP {sent.cnp_dscp}"
                parts.append(f"notifications with {marked}")
    if "MTU" in phase.values:
        own, most = accepts.policies.mtu.hosts_bytes, sends.policies.mtu.hosts_bytes
        parts.append(f"MTU {own} bytes" + (f", routes limited to {most}" if most < own else ""))
    return "; ".join(parts)


def rack(end: CableEnd) -> str:
    """Return an end as a technician finds it: device, number at the front, the port's own names."""
    part = f"/{end.subport}" if end.subport else ""
    return f"{end.device} port {end.panel}{part} ({end.alias}, {end.port})"


def phases_json(phases: Sequence[Phase]) -> dict[str, Any]:
    """Return the phases for programs."""
    shown = [
        {
            **members(one, "number", "title", "kind", "why"),
            "switches": len(one.fabric.switches),
            "cables": [cable_json(cable) for cable in one.cables],
            "leaving": list(one.leaving),
        }
        for one in phases
    ]
    return {"phases": shown, "cables": sum(len(phase.cables) for phase in phases)}


def cable_json(cable: CableMove) -> dict[str, Any]:
    """Return one cable."""
    told = dict(as_json(cable))
    if cable.stays_after is None:
        del told["stays_after"]
    return told


def phased_json(result: PhasedResult) -> dict[str, Any]:
    """Return the contract of ``deploy --from --json``: the steps that were taken, and what waits for people."""
    steps = [{**_named(step.phase), **_done_json(done)} for step in result.steps if (done := step.result) is not None]
    return {"phases": len(result.phases), "steps": steps, "waiting": _waiting_json(result)}


def _done_json(done: DeployResult | HostsRun | OutOfUse) -> dict[str, Any]:
    if isinstance(done, DeployResult):
        return deploy_json(done)
    return {"proofs": list(map(proof_json, done.proofs))} if isinstance(done, OutOfUse) else {"nodes": hosts_json(done)}


def _waiting_json(result: PhasedResult) -> dict[str, Any] | None:
    waiting = result.waiting
    if waiting is None:
        return None
    if waiting.cables:
        then = verify_command(waiting.phase, result.base)
    elif waiting.proofs:
        then = command_line("deploy", "--from", result.base)
    else:
        then = stated_command(result.base) if waiting.following else ""
    cables = [cable_json(cable) for cable in waiting.cables]
    reason = "cables" if cables else "nodes" if waiting.nodes else "removal" if waiting.proofs else "jobs"
    found = list(map(proof_json, waiting.proofs))
    return {**_named(waiting.phase), "for": reason, "cables": cables, "proofs": found, "then": then}


def _named(phase: Phase) -> dict[str, Any]:
    return members(phase, "number", "title", "kind")


def waiting_view(result: PhasedResult) -> RenderableType:
    """Return what people do before the next phase; empty if nothing waits for them."""
    waiting = result.waiting
    if waiting is None:
        return Text()
    if waiting.cables:
        return cables_view(waiting.phase, result.base, waiting.cables)
    return Text(nodes_text(waiting, result.base))


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
    stated = ["- [ ] no job runs that was started before"] if phase.drops else []
    option = ["--nodes-done"] if phase.drops else []
    if phase.kind is PhaseKind.HOSTS:
        command = command_line("hosts", "apply", "--from", base, "--phase", phase.number, *option)
        window = [cell(_sentence(text))] if (text := _window(phase, "")) else []
        lines = [*stated, f"- [ ] {cell(f'{len(phase.nodes.hosts)} GPU nodes: {node_words(phase)}')} (`{command}`)"]
        return [*window, *([""] if window else []), *lines]
    in_phases = ["--from", base, "--phase", phase.number, *option] if len(phases) > 1 else []
    command = command_line("deploy", *in_phases)
    lines = [*stated, f"- [ ] `{command}`"]
    if phase.is_drain:
        lines.append(f"- [ ] {cell(_how_to_leave(phase))}")
    elif phase.leaving and phase.leaving[0] not in phase.nodes.host_of:
        lines.append(
            f"- [ ] power off {cell(compact(phase.leaving))}; remove addresses and host keys from `inventory/`"
        )
    if phase.cables:
        lines += [f"- [ ] {cell(_cable_line(cable))}" for cable in phase.cables]
        lines.append(f"- [ ] `{verify_command(phase, base)}`")
    return lines


def _cable_line(cable: CableMove) -> str:
    to = "out" if cable.after is None else f"to {rack(cable.after)}"
    medium = f"{format_speed(cable.speed_gbps)}, {cable.length_m} m, {cable.media}"
    return f"cable of {_then(cable.stays, cable.stays_after)}: from {rack(cable.before)} {to}; {medium}"


def _then(end: CableEnd, after: CableEnd | None) -> str:
    """Return an end, and where it is moved to if it is."""
    return rack(end) if after is None else f"{rack(end)}, now {rack(after)}"


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
