"""Phases of a change: a table for a terminal, JSON, and the work order that a technician takes to the racks."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from railweave.codec import as_json, members
from railweave.hosts.outcome import HostsRun
from railweave.hosts.values import marking
from railweave.plan.outcome import DeployResult
from railweave.plan.phases.class_change import lossless_dscp
from railweave.plan.phases.planning import CableEnd, CableMove, Phase, PhaseKind
from railweave.plan.phases.progress import OutOfUse, PhasedResult, Waiting, in_use
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
    PhaseKind.HOSTS: "railweave or the node operator",
    PhaseKind.CABLES: "railweave, then manual",
    PhaseKind.CLEANUP: "railweave",
}


def phases_view(phases: Sequence[Phase], base: str) -> RenderableType:
    """Return the phases as a table; ``base`` is the name of the running intent in the printed commands."""
    if len(phases) == 1:
        return Text(f"one phase: `{command_line('deploy')}` does it in one step")
    rows = []
    previous_reason = ""
    for phase in phases:
        title = phase.title
        # The reason of several phases is printed once, with the first of them.
        if phase.why != previous_reason:
            title += f": {phase.why}"
        previous_reason = phase.why
        rows.append((str(phase.number), title, _actor(phase), str(len(phase.cables) or "")))
    hint = (
        f"`{command_line('deploy', '--from', base)}` runs up to the next manual step and says what to do there;"
        " with `--phase N` it runs one phase"
    )
    return paragraphs(table("phase", "what", "by", "cables", rows=rows), Text(hint))


def _actor(phase: Phase) -> str:
    """Return who does a phase. Railweave drains switches alone; people take part when nodes are drained."""
    # The leaving devices of a phase are all switches or all nodes.
    if phase.is_drain and phase.leaving[0] in phase.fabric.switch_of:
        return "railweave"
    return _BY[phase.kind]


def stated_command(base: str) -> str:
    """Return the command that continues once nodes and jobs have changed."""
    return command_line("deploy", "--from", base, "--nodes-done")


def verify_command(phase: Phase, base: str) -> str:
    """Return the command that proves the cables of a phase."""
    return command_line("verify", "--from", base, "--phase", phase.number)


def cables_view(
    phase: Phase, base: str, missing: Iterable[CableMove] | None = None, *, simulated: bool = False
) -> RenderableType:
    """Return the cables to move in a phase, all or only the ``missing`` ones, and the command that checks them.

    ``simulated`` cables are those of a simulator, which a command moves instead of people.
    """
    cables = phase.cables
    if missing is not None:
        cables = tuple(missing)
    title = f"phase {phase.number}: now {counted(len(cables), 'cable')} must be moved"
    commands = f"then: {verify_command(phase, base)}, and on with {command_line('deploy', '--from', base)}"
    if simulated:
        commands = f"in the simulator: {rewire_command(phase, base)}\n{commands}"
    else:
        title += " by hand"
    return paragraphs([Text(title, style="bold yellow"), _cable_table(cables)], Text(commands))


def rewire_command(phase: Phase, base: str) -> str:
    """Return the command that moves the cables of a phase in the simulator."""
    return command_line("sim", "cable", "--from", base, "--phase", phase.number)


def rewired_view(phase: Phase, base: str, moved: int, added: int) -> RenderableType:
    """Return the cables of a phase that are in place in the simulator, and the command that checks them."""
    sentence = f"phase {phase.number}: {counted(moved, 'cable')} moved in the simulator"
    in_place = len(phase.cables) - moved
    if in_place:
        sentence += f", {in_place} in place already"
    if added:
        sentence += f"; {counted(added, 'new cable')} plugged into free ports"
    next_step = f"next: {verify_command(phase, base)}, then {command_line('deploy', '--from', base)}"
    return paragraphs(_cable_table(phase.cables), [verdict(True, sentence), Text(next_step)])


def rewired_json(phase: Phase, moved: int, added: int) -> dict[str, Any]:
    """Return the document of ``sim cable --from --json``."""
    return {**_named(phase), "cables": [cable_json(cable) for cable in phase.cables], "moved": moved, "added": added}


def _cable_table(cables: Iterable[CableMove]) -> RenderableType:
    """Return a table of the cables to move: the end that stays, and where the other end goes from and to."""
    rows = []
    for cable in cables:
        destination = _destination(cable)
        speed = format_speed(cable.speed_gbps)
        fixed_end = _fixed_end(cable)
        rows.append((fixed_end, rack(cable.before), destination, speed, f"{cable.length_m} m", _medium(cable)))
    return table("cable of", "from", "to", "speed", "length", "medium", rows=rows)


_ENDED = ", once all jobs that were started before have ended"


def nodes_text(waiting: Waiting, base: str) -> str:
    """Return the work on GPU nodes or their jobs that a phase waits for, and the command that continues then."""
    phase = waiting.phase
    # Devices that leave the fabric are still in use.
    if waiting.proofs:
        return (
            f"phase {phase.number} ({phase.title}) waits: {in_use(waiting.proofs)}\n{_how_to_leave(phase)}."
            f" Then: {command_line('deploy', '--from', base)}"
        )
    # No node has to change: only jobs that were started before are left.
    if not waiting.nodes:
        return (
            f"phase {phase.number} ({phase.title}) waits for the jobs that were started before: they still send the old"
            f" {' and '.join(phase.values)}. When they have ended: {stated_command(base)}"
        )
    lines = [f"now the {len(phase.nodes.hosts)} GPU nodes must change, all in one phase before any in the next:"]
    for node_phase in waiting.nodes:
        step = f"  phase {node_phase.number}: {node_phase.title} ({node_words(node_phase)})"
        if node_phase.drops:
            step += _ENDED
        warning = _roce_warning(node_phase)
        if warning:
            step += f"; {warning}"
        lines.append(step)
    closing = "The switches serve the nodes in all these phases."
    if waiting.following:
        closing += f" Then: {stated_command(base)}"
    return "\n".join([*lines, closing])


def _how_to_leave(phase: Phase) -> str:
    """Return the work on site before the ports of leaving devices can close."""
    names = compact(phase.leaving)
    if phase.leaving[0] in phase.fabric.host_of:
        return f"Move the jobs away and shut them down: {names}"
    return f"Wait until their ports carry nothing: {names}"


def out_of_use_view(phase: Phase) -> RenderableType:
    """Return a sentence: the leaving devices are out of use."""
    return verdict(True, f"out of use: {first_few(phase.leaving)}")


def _roce_warning(phase: Phase) -> str:
    """Return a warning that nodes with RoCE packets of two sizes may not connect; empty if a phase keeps the size."""
    if phase.roce_mtu_bytes is None:
        return ""
    old_bytes, new_bytes = phase.roce_mtu_bytes
    return (
        "until all nodes have done this phase, connections that rdma_cm opens between a changed and an"
        f" unchanged node may fail: RoCE packets go from {old_bytes} to {new_bytes} bytes, and the smaller end refuses"
        " the larger; start no job across both meanwhile"
    )


def node_words(phase: Phase) -> str:
    """Return the marking and the MTU that GPU nodes accept and send in a phase, as far as these change."""
    accepts, sends = phase.node_values
    parts = []
    if "marking" in phase.values:
        priorities = lossless_dscp(accepts.policies.classes)
        accepted = [f"DSCP {dscp} on priority {priority}" for dscp, priority in sorted(priorities.items())]
        parts.append(f"accept {', '.join(accepted)}")
        parts += _sent_marking(phase)
    if "MTU" in phase.values:
        accepted_bytes = accepts.policies.mtu.hosts_bytes
        sent_bytes = sends.policies.mtu.hosts_bytes
        mtu = f"MTU {accepted_bytes} bytes"
        if sent_bytes < accepted_bytes:
            mtu += f", routes limited to {sent_bytes}"
        parts.append(mtu)
    return "; ".join(parts)


def _sent_marking(phase: Phase) -> Iterator[str]:
    """Yield the DSCP that nodes send in a phase, and that of their congestion notifications if it changes."""
    sent = marking(phase.node_values.sends.policies.classes)
    if sent is None:
        return
    yield f"send DSCP {sent.dscp}"
    if phase.was is None:
        return
    before = marking(phase.was.sends.policies.classes)
    if before is None or before.cnp_dscp == sent.cnp_dscp:
        return
    # Congestion notification packets (CNP) answer marked packets; they may have no DSCP of their own.
    if sent.cnp_dscp is None:
        yield "notifications with no DSCP of their own"
    else:
        yield f"notifications with DSCP {sent.cnp_dscp}"


def rack(end: CableEnd) -> str:
    """Return an end for a technician: device, number on the front panel, the port's own names."""
    number = f"{end.panel}"
    # Only the ports of a breakout have a number of their own in the cage.
    if end.subport:
        number += f"/{end.subport}"
    return f"{end.device} port {number} ({end.alias}, {end.port})"


def phases_json(phases: Sequence[Phase]) -> dict[str, Any]:
    """Return the document of ``phases --json``."""
    shown = [
        {
            **members(phase, "number", "title", "kind", "why"),
            "switches": len(phase.fabric.switches),
            "cables": [cable_json(cable) for cable in phase.cables],
            "leaving": list(phase.leaving),
        }
        for phase in phases
    ]
    return {"phases": shown, "cables": sum(len(phase.cables) for phase in phases)}


def cable_json(cable: CableMove) -> dict[str, Any]:
    """Return a cable to move as JSON. A second moving end and a replaced medium are members only if it has them."""
    document = dict(as_json(cable))
    for optional in ("stays_after", "media_before"):
        if document[optional] is None:
            del document[optional]
    return document


def phased_json(result: PhasedResult) -> dict[str, Any]:
    """Return the document of ``deploy --from --json``: the steps taken, and the work that waits for people."""
    steps = [{**_named(step.phase), **_result_json(step.result)} for step in result.steps if step.result is not None]
    return {"phases": len(result.phases), "steps": steps, "waiting": _waiting_json(result)}


def _result_json(result: DeployResult | HostsRun | OutOfUse) -> dict[str, Any]:
    if isinstance(result, DeployResult):
        return deploy_json(result)
    if isinstance(result, OutOfUse):
        return {"proofs": list(map(proof_json, result.proofs))}
    return {"nodes": hosts_json(result)}


def _waiting_json(result: PhasedResult) -> dict[str, Any] | None:
    """Return the phase that waits for people, what it waits for, and the command after that; None if none waits."""
    waiting = result.waiting
    if waiting is None:
        return None
    if waiting.cables:
        reason = "cables"
        next_command = verify_command(waiting.phase, result.base)
    elif waiting.proofs:
        reason = "removal"
        next_command = command_line("deploy", "--from", result.base)
    else:
        reason = "nodes" if waiting.nodes else "jobs"
        # Without a following phase nothing is left to continue with.
        next_command = stated_command(result.base) if waiting.following else ""
    return {
        **_named(waiting.phase),
        "for": reason,
        "cables": [cable_json(cable) for cable in waiting.cables],
        "proofs": list(map(proof_json, waiting.proofs)),
        "then": next_command,
    }


def _named(phase: Phase) -> dict[str, Any]:
    return members(phase, "number", "title", "kind")


def waiting_view(result: PhasedResult) -> RenderableType:
    """Return the work of people before the next phase; empty if none waits for them."""
    waiting = result.waiting
    if waiting is None:
        return Text()
    if waiting.cables:
        return cables_view(waiting.phase, result.base, waiting.cables, simulated=result.simulated)
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
    """Return the lines of a phase with a box to tick each; ``phases`` are all phases of its change."""
    lines = []
    options: list[str | int] = ["--from", base, "--phase", phase.number]
    if phase.drops:
        lines.append("- [ ] no job runs that was started before")
        options.append("--nodes-done")
    if phase.kind is PhaseKind.HOSTS:
        command = command_line("hosts", "apply", *options)
        lines.append(f"- [ ] {cell(f'{len(phase.nodes.hosts)} GPU nodes: {node_words(phase)}')} (`{command}`)")
        return [*_warning_lines(phase), *lines]
    # A change of one phase is an ordinary deployment.
    if len(phases) == 1:
        options = []
    lines.append(f"- [ ] `{command_line('deploy', *options)}`")
    # Leaving nodes, unlike switches, are shut down in the phase that drains them.
    removes_switches = bool(phase.leaving) and phase.leaving[0] not in phase.nodes.host_of
    if phase.is_drain:
        lines.append(f"- [ ] {cell(_how_to_leave(phase))}")
    elif removes_switches:
        names = cell(compact(phase.leaving))
        lines.append(f"- [ ] power off {names}; remove addresses and host keys from `inventory/`")
    if phase.cables:
        lines += [f"- [ ] {cell(_cable_line(cable))}" for cable in phase.cables]
        lines.append(f"- [ ] `{verify_command(phase, base)}`")
    return lines


def _warning_lines(phase: Phase) -> list[str]:
    """Return the warning above the boxes of a phase of the GPU nodes, if there is one."""
    warning = _roce_warning(phase)
    if not warning:
        return []
    return [cell(_sentence(warning)), ""]


def _cable_line(cable: CableMove) -> str:
    """Return what a technician does with a cable: exchange it, take it out, or move one end of it."""
    medium = f"{format_speed(cable.speed_gbps)}, {cable.length_m} m, {_medium(cable)}"
    if cable.is_exchanged:
        return f"cable of {rack(cable.stays)}: exchange it, to {rack(cable.before)} as before; {medium}"
    destination = "out"
    if cable.after is not None:
        destination = f"to {rack(cable.after)}"
    return f"cable of {_fixed_end(cable)}: from {rack(cable.before)} {destination}; {medium}"


def _destination(cable: CableMove) -> str:
    """Return the place of a cable's moving end after the phase."""
    if cable.after is None:
        return "taken out"
    if cable.is_exchanged:
        return "the same port"
    return rack(cable.after)


def _medium(cable: CableMove) -> str:
    """Return the medium of a cable, and the medium that it replaces if there is one."""
    if cable.media_before is None:
        return cable.media
    return f"{cable.media} in place of {cable.media_before}"


def _fixed_end(cable: CableMove) -> str:
    """Return the end of a cable that keeps its port; if both ends move, the old and the new port of the lower one."""
    if cable.stays_after is None:
        return rack(cable.stays)
    return f"{rack(cable.stays)}, now {rack(cable.stays_after)}"


def _sentence(text: str) -> str:
    # Unlike str.capitalize this leaves names such as SONiC and RoCE as they are.
    return f"{text[:1].upper()}{text[1:]}."
