"""Switches that are replaced or leave for good.

A replacement has the role and name of the switch before it, and a new serial number, MAC address and host key. The
steps are ordered so that nothing carries traffic while hands are on it, and each tells from what is seen of the
device whether it is done.

A spine leaves when it is drained and its ports are quiet; a leaf when no GPU node is up on it and its ports are quiet.
A switch that does not answer is proven unused by its neighbors: every link to it is down at their ends.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from railweave.cabling.table import CableRow, cable_rows
from railweave.design.renumbering import MovedCable, moved_cables
from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.plan.shared_nics import sharing
from railweave.wording import command_line, first_few


class WorkProgress(StrEnum):
    """Whether a step of work is done."""

    DONE = "done"
    NEXT = "next"
    LATER = "later"


@dataclass(frozen=True, slots=True)
class WorkStep:
    """A step of work on a device: a command, or manual work if ``command`` is empty. ``details`` are its lines."""

    title: str
    command: str
    details: tuple[str, ...]
    progress: WorkProgress


@dataclass(frozen=True, slots=True)
class Condition:
    """What is seen of the switch at one place of the fabric; None is a value that could not be read."""

    # Something answers at its management address.
    answers: bool
    # It answers with the host key that is recorded.
    key_known: bool
    provisioned: bool | None = None
    as_intended: bool | None = None
    drained: bool | None = None
    verified: bool | None = None
    serial: str = ""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A ``WorkStep`` before it is known which step is next."""

    title: str
    command: str
    details: tuple[str, ...]
    done: bool


def replacement_steps(
    fabric: Fabric, switch: Switch, seen: Condition, *, target: str, new_serial: str = ""
) -> tuple[WorkStep, ...]:
    """Return the steps of replacing ``switch`` in their order; ``seen`` is the switch that is in its place now.

    If ``new_serial`` is empty, a switch that has the recorded host key and is provisioned counts as the old one.
    """
    return tuple(_with_progress(_drafts(fabric, switch, seen, target, new_serial)))


def _with_progress(drafts: tuple[_Draft, ...]) -> Iterator[WorkStep]:
    """Yield the steps with their progress: the first that is not done is next, and all after it are later."""
    has_next = False
    for draft in drafts:
        if has_next:
            progress = WorkProgress.LATER
        elif draft.done:
            progress = WorkProgress.DONE
        else:
            progress = WorkProgress.NEXT
            has_next = True
        yield WorkStep(draft.title, draft.command, draft.details, progress)


def _drafts(fabric: Fabric, switch: Switch, seen: Condition, target: str, new_serial: str) -> tuple[_Draft, ...]:
    """Return the steps of ``replacement_steps``, each with whether it is done by itself."""
    swapped = is_swapped(seen, new_serial)
    ready = swapped and bool(seen.provisioned) and bool(seen.as_intended)
    name = switch.name
    return (
        _out_of_traffic(fabric, switch, seen, target, swapped=swapped),
        _Draft(
            title="put the new switch in its place, every cable into the same port",
            command="",
            details=(*_hint_of_old_switch(seen, new_serial), *_cables(fabric, name)),
            done=swapped,
        ),
        _Draft(
            title="record its host key",
            command=command_line("trust", name, "--replace", target=target),
            details=("compare the fingerprint with the one on its console: until then this may be any machine",),
            done=swapped and seen.key_known,
        ),
        _Draft(
            title="provision it",
            command=command_line("deploy", "--provision", target=target),
            details=(f"the plan must name {name} alone; all others stay as they are",),
            done=ready,
        ),
        _Draft(
            title="verify its links, sessions and neighbors",
            command=command_line("verify", target=target),
            details=(),
            done=ready and bool(seen.verified),
        ),
    )


def is_swapped(seen: Condition, new_serial: str) -> bool:
    """Tell whether the new switch is in place: by serial number if possible, else by host key and configuration."""
    if not seen.answers:
        return False
    if new_serial and seen.serial:
        return seen.serial == new_serial
    return not seen.key_known or seen.provisioned is False


def _hint_of_old_switch(seen: Condition, new_serial: str) -> tuple[str, ...]:
    """Return a hint if the switch in place is, or may be, the old one."""
    if new_serial and seen.serial and seen.serial != new_serial:
        return (f"the installed switch has serial number {seen.serial}, not {new_serial}",)
    if not new_serial and seen.provisioned:
        return ("if that is done already, name the new switch with --serial: nothing else tells the two apart",)
    return ()


def _out_of_traffic(fabric: Fabric, switch: Switch, seen: Condition, target: str, *, swapped: bool) -> _Draft:
    """Return the step that takes the old switch out of traffic. A leaf with nodes cannot be drained."""
    is_away = swapped or not seen.answers
    if not switch.tier.attaches_nodes:
        command = command_line("drain", switch.name, target=target)
        return _Draft("take it out of traffic", command, details=(), done=is_away or bool(seen.drained))
    nodes = sorted(fabric.nodes_on(switch.name), key=lambda host: fabric.host_of[host].number)
    if not nodes:
        return _Draft("take it out of traffic", command="", details=("no GPU node is attached",), done=True)
    network = "the fabric" if switch.rail is None else f"rail {switch.rail}"
    loss = f"{', '.join(nodes)} lose {network} while it is away; no other leaf can carry that"
    if fabric.nic_blocks:
        loss = (
            f"{', '.join(nodes)} lose one port of each NIC on {network} while it is away: its queue pairs end, what"
            f" uses the NIC's address moves to {', '.join(sharing(fabric, switch))}"
        )
    return _Draft("stop the jobs that use it", command="", details=(loss,), done=is_away)


def _cables(fabric: Fabric, device: str) -> tuple[str, ...]:
    """Return the cables of a device, one a line, by its own ports as they are labeled."""
    rows = [row for row in cable_rows(fabric) if device in (row.a_device, row.b_device)]
    return tuple(_cable(row, device) for row in rows)


def _cable(row: CableRow, device: str) -> str:
    """Return one cable of a device as ``port (label): far device, far port (label), medium and length``."""
    own_port = f"{row.a_port} ({row.a_alias})"
    far_port = f"{row.b_device} {row.b_port}"
    far_label = row.b_alias
    if row.b_device == device:
        own_port = f"{row.b_port} ({row.b_alias})"
        far_port = f"{row.a_device} {row.a_port}"
        far_label = row.a_alias
    # A NIC's port has no label of its own.
    if far_label:
        far_port += f" ({far_label})"
    return f"{own_port}: {far_port}, {row.media} {row.length_m} m"


@dataclass(frozen=True, slots=True)
class Leaving:
    """What a newer intent no longer has, and the cables that it moves."""

    switches: tuple[Switch, ...]
    hosts: tuple[str, ...]
    moved: tuple[MovedCable, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """What was seen of a switch that is to leave."""

    drained: bool = False
    # The traffic that still flows, in words; empty if its ports are quiet.
    busy: str = ""
    # GPU nodes whose links are up.
    hosts_up: tuple[str, ...] = ()
    # The neighbors' ports with a link to it, read only if the switch itself does not answer.
    far_ends_up: tuple[str, ...] = ()
    # Why the switch does not answer.
    error: str = ""


@dataclass(frozen=True, slots=True)
class Proof:
    """One condition for the removal of a switch, and what was seen."""

    device: str
    what: str
    expected: str
    actual: str

    @property
    def ok(self) -> bool:
        """Tell whether the condition is met."""
        return self.expected == self.actual


def leaving(base: Fabric, head: Fabric) -> Leaving:
    """Return what ``base`` has and ``head`` has no more. A switch that only gets another name does not leave."""
    head_switches = {(switch.tier, switch.number) for switch in head.switches}
    return Leaving(
        switches=tuple(switch for switch in base.switches if (switch.tier, switch.number) not in head_switches),
        hosts=tuple(host.name for host in base.hosts if host.name not in head.host_of),
        moved=moved_cables(base, head),
    )


def proofs(base: Fabric, gone: Leaving, seen: Mapping[str, Use]) -> tuple[Proof, ...]:
    """Return the conditions for the removal of each leaving switch, and whether they are met.

    ``seen`` has an entry for each of these switches.
    """
    all_proofs: list[Proof] = []
    for switch in gone.switches:
        all_proofs += _proofs_of_switch(base, gone, switch, seen[switch.name])
    return tuple(all_proofs)


def _proofs_of_switch(base: Fabric, gone: Leaving, switch: Switch, use: Use) -> Iterator[Proof]:
    """Yield the conditions for the removal of one switch; ``use`` is what was seen of it."""
    if use.error:
        # A switch that does not answer is judged by its neighbors alone.
        yield Proof(switch.name, "links to it at the far ends", "down", first_few(use.far_ends_up) or "down")
        return
    if switch.tier.attaches_nodes:
        staying = sorted(set(base.nodes_on(switch.name)) - set(gone.hosts), key=lambda host: base.host_of[host].number)
        yield Proof(switch.name, "GPU nodes of the newer intent on it", "none", first_few(staying) or "none")
        yield Proof(switch.name, "GPU nodes that are up on it", "none", first_few(use.hosts_up) or "none")
    else:
        state = "drained" if use.drained else "not drained"
        yield Proof(switch.name, "out of traffic", "drained", state)
    yield Proof(switch.name, "traffic on its ports", "quiet", use.busy or "quiet")
