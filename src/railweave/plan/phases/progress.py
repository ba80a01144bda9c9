"""How far a fabric has come through the phases of a change, determined from what its switches run.

Phase 0 is the base. The configuration of a switch may be the same in several phases, so the last phase that matches
counts; the fabric has done the phases that every switch has. A deployment continues from there, one step after the
other, up to one that waits for people.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railweave.diagnostics import Diagnostic, error
from railweave.hosts.outcome import HostsRun
from railweave.plan.consent import awaiting
from railweave.plan.lifecycle import Proof
from railweave.plan.outcome import DeployResult
from railweave.plan.phases.planning import CableMove, Phase, node_phases, phases_alike
from railweave.wording import command_line, compact, first_few

_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class PhaseProgress:
    """How far each switch has come through the phases of a change."""

    # The last phase whose configuration a device runs; None if it runs none of them.
    latest: Mapping[str, int | None]
    # Why devices could not be read.
    unreadable: Mapping[str, str]
    # Devices with a commit that is not confirmed: they may revert, so they are in no phase yet.
    waiting: tuple[str, ...] = ()

    @property
    def done(self) -> int:
        """Return the last phase that every known device has, 0 where none has left the base."""
        return min((number for number in self.latest.values() if number is not None), default=0)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Return the devices that run neither the base nor a phase."""
        return tuple(name for name, number in self.latest.items() if number is None)


def check_phase(
    progress: PhaseProgress, base: str, requested: int | None, phases: Sequence[Phase]
) -> tuple[Diagnostic, ...]:
    """Return why the ``requested`` phase (None: the next one) cannot begin or be repeated, as the switches show."""
    # Switches do not change in phases of nodes and in drains, so such a phase at the end may not have begun.
    first_repeatable = progress.done - phases_alike(phases, progress.done)
    return (
        *_check_readable(progress),
        *_check_confirmed(progress),
        *_check_known(progress, base, requested),
        *_check_order(progress, base, requested, first_repeatable),
    )


def check_reached(progress: PhaseProgress, number: int, base: str) -> tuple[Diagnostic, ...]:
    """Return an error if some switches have not done phase ``number`` of the change from ``base``."""
    diagnostics = (*_check_readable(progress), *_check_confirmed(progress))
    if diagnostics:
        return diagnostics
    behind = {name: latest for name, latest in progress.latest.items() if latest is None or latest < number}
    if not behind:
        return ()
    first, latest = next(iter(behind.items()))
    if latest is None:
        first_runs = "none of the phases"
    elif latest:
        first_runs = f"phase {latest}"
    else:
        first_runs = "the base"
    names = tuple(behind)
    text = f"phase {number} is not done on {first_few(names)}: {first} runs {first_runs}"
    fix = f"deploy it first: `{command_line('deploy', '--from', base)}`"
    return (error("RW518", text, devices=names, fix=fix),)


def _check_readable(progress: PhaseProgress) -> tuple[Diagnostic, ...]:
    if not progress.unreadable:
        return ()
    names = tuple(progress.unreadable)
    text = f"the progress of the change is unknown: {names[0]}: {progress.unreadable[names[0]]}"
    if len(names) > 1:
        text += f", and {len(names) - 1} more"
    return (error("RW518", text, devices=names, fix="restore access to it, then try again"),)


def _check_confirmed(progress: PhaseProgress) -> tuple[Diagnostic, ...]:
    if not progress.waiting:
        return ()
    return (awaiting(progress.waiting),)


def _check_known(progress: PhaseProgress, base: str, requested: int | None) -> tuple[Diagnostic, ...]:
    """Return an error if devices run neither the base nor a phase, unless the requested phase would repair them."""
    names = progress.unknown
    if not names:
        return ()
    some_are_known = len(names) < len(progress.latest)
    # Repeating a phase completes it on the devices on which it was interrupted.
    if requested is not None and some_are_known:
        return ()
    fix = f"name the revision that runs after --from; if it is {base}, fix them first: deploy it"
    if some_are_known and progress.done:
        repeat = command_line("deploy", "--from", base, "--phase", max(1, progress.done))
        fix += f", or repeat the phase that was interrupted: {repeat}"
    text = f"{first_few(names)} run neither {base} nor a phase of the change"
    return (error("RW518", text, devices=names, fix=fix),)


def _check_order(
    progress: PhaseProgress, base: str, requested: int | None, first_repeatable: int
) -> tuple[Diagnostic, ...]:
    """Return an error if the requested phase is over, or if a phase before it is not done everywhere."""
    if requested is None or first_repeatable <= requested <= progress.done + 1:
        return ()
    if requested < first_repeatable:
        return (_done_already(first_repeatable, requested),)
    behind = tuple(name for name, number in progress.latest.items() if number is not None and number < requested - 1)
    have = "has" if len(behind) == 1 else "have"
    text = f"phase {requested} cannot begin: {first_few(behind)} {have} not done phase {requested - 1}"
    fix = command_line("deploy", "--from", base, "--phase", progress.done + 1)
    return (error("RW518", text, devices=behind, fix=fix),)


def _done_already(done: int, requested: int) -> Diagnostic:
    fix = "to go back, reverse the change: the earlier intent, --from the later revision"
    return error("RW518", f"phase {done} is done already, so phase {requested} cannot be run again", fix=fix)


@dataclass(frozen=True, slots=True)
class NodeProgress:
    """How far each node has come through the phases in which nodes change.

    ``latest`` is the last such phase that a node has done, and the number before the first one if it has done none. It
    is None for a node that matches no phase, for instance because one failed halfway.
    """

    latest: Mapping[str, int | None]

    def done(self, phases: Sequence[Phase]) -> int:
        """Return the last of ``phases`` that every node has."""
        reached = [number for number in self.latest.values() if number is not None]
        none_done = phases[0].number - 1
        some_match_no_phase = len(reached) < len(self.latest)
        if some_match_no_phase:
            # These nodes were interrupted on the way to the furthest phase, so it is repeated.
            furthest = max(reached, default=none_done)
            return max(none_done, furthest - 1)
        return min(reached, default=none_done)

    def check(self, phase: Phase, base: str) -> tuple[Diagnostic, ...]:
        """Return why ``phase`` cannot begin or be repeated, as the nodes show."""
        requested = phase.number
        furthest = max((number for number in self.latest.values() if number is not None), default=0)
        if furthest > requested:
            return (_done_already(furthest, requested),)
        behind = tuple(name for name, number in self.latest.items() if _is_behind(number, phase))
        if not behind:
            return ()
        text = f"phase {requested} cannot begin: {compact(behind, _MOST_NAMED)} would still change"
        fix = f"`{command_line('deploy', '--from', base, '--phase', requested - 1)}` changes the nodes"
        return (error("RW518", text, devices=behind, fix=fix),)


def _is_behind(latest: int | None, phase: Phase) -> bool:
    """Tell whether a node must do an earlier phase before ``phase`` can begin."""
    if latest is None:
        # Any phase of nodes repairs the node. A phase that drops old values on switches needs it repaired before.
        return not phase.is_of_nodes
    return latest < phase.number - 1


def check_statement(phase: Phase, phases: Sequence[Phase], base: str, *, managed: bool) -> Diagnostic:
    """Return the error that nobody has stated that jobs have stopped sending the values that ``phase`` drops.

    If the nodes are not ``managed``, it also asks whether they have done the phases of nodes before.
    """
    node_phases_before = node_phases(phases, phase.number - 1) or (phase,)
    numbers = f"phase {node_phases_before[0].number}"
    if len(node_phases_before) > 1:
        numbers = f"phases {node_phases_before[0].number} to {node_phases_before[-1].number}"
    # railweave sees the files of nodes that it manages; nobody can see the settings inside a running job.
    nodes_clause = ""
    if not managed:
        nodes_clause = f"whether all {len(phase.nodes.hosts)} GPU nodes have done {numbers}, and "
    return error(
        "RW518",
        f"phase {phase.number} cannot begin: nobody has stated {nodes_clause}that no job still sends the old"
        f" {' and '.join(phase.values)}: a running job keeps what it was started with",
        fix=f"when this is so: `{command_line('deploy', '--from', base, '--phase', phase.number, '--nodes-done')}`",
    )


def check_unused(phase: Phase, proofs: Sequence[Proof], base: str) -> tuple[Diagnostic, ...]:
    """Return an error if devices that ``phase`` takes out of use are still in use: the next phase cannot begin then."""
    used = tuple(dict.fromkeys(proof.device for proof in proofs if not proof.ok))
    if not used:
        return ()
    return (
        error(
            "RW518",
            f"phase {phase.number + 1} cannot begin: {first_few(used)} are in use: {in_use(proofs)}",
            devices=used,
            fix=f"`{command_line('deploy', '--from', base, '--phase', phase.number)}` drains them; shut GPU nodes down;"
            " or, if they may lose their links, deploy with --remove-live",
        ),
    )


def in_use(proofs: Sequence[Proof]) -> str:
    """Return which proofs are missing, in words."""
    missing = [f"{proof.device}: {proof.what} {proof.actual}" for proof in proofs if not proof.ok]
    return first_few(missing, _MOST_NAMED, "; ")


@dataclass(frozen=True, slots=True)
class OutOfUse:
    """Everything that a phase took out of use, with the proofs."""

    proofs: tuple[Proof, ...]
    ok: bool = True


@dataclass(frozen=True, slots=True)
class PhaseStep:
    """A phase that was carried out, on switches or on GPU nodes; ``result`` is None if the operator declined."""

    phase: Phase
    result: DeployResult | HostsRun | OutOfUse | None

    @property
    def ok(self) -> bool:
        """Tell whether the phase was deployed without a failure."""
        return self.result is not None and self.result.ok


@dataclass(frozen=True, slots=True)
class Waiting:
    """A phase that waits for people.

    Without cables, nodes or proofs it waits for jobs to end that still send the values that the phase drops.
    """

    phase: Phase
    # To be moved by hand.
    cables: tuple[CableMove, ...] = ()
    # The phases in which the GPU nodes are to change.
    nodes: tuple[Phase, ...] = ()
    # The phase after the change of the nodes; None if it is the last one.
    following: Phase | None = None
    # That what leaves is unused; some of them are missing.
    proofs: tuple[Proof, ...] = ()


@dataclass(frozen=True, slots=True)
class PhasedResult:
    """The steps of a deployment in phases; ``base`` is what the command calls the running intent."""

    base: str
    phases: tuple[Phase, ...]
    steps: tuple[PhaseStep, ...]
    waiting: Waiting | None
    # The switches are simulated, so a command moves the cables.
    simulated: bool = False

    @property
    def ok(self) -> bool:
        """Tell whether every step was deployed without a failure."""
        return all(step.ok for step in self.steps)

    @property
    def interrupted(self) -> bool:
        """Tell whether a person stopped the last step."""
        if not self.steps:
            return False
        result = self.steps[-1].result
        return isinstance(result, DeployResult) and result.interrupted
