"""How far a fabric has come through the phases of a change, read from what its switches run.

Phase 0 is the base. The configuration of a switch may be the same in several phases, so the last phase whose
configuration it runs is what counts; the fabric has done the phases that every switch has. A deployment takes one
step after the other from there, up to one that waits for people.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railweave.diagnostics import Diagnostic, error
from railweave.hosts.outcome import HostsRun
from railweave.plan.consent import awaiting
from railweave.plan.lifecycle import Proof
from railweave.plan.outcome import DeployResult
from railweave.plan.phases import CableMove, Phase, node_phases, phases_alike
from railweave.wording import command_line, compact, first_few

_MOST_NAMED = 4


@dataclass(frozen=True, slots=True)
class PhaseProgress:
    """``latest`` is the last phase whose configuration a device runs, None where it runs none of them; ``unreadable``
    says of a device why it could not be read, and ``waiting`` names those on which a commit waits: what they run is not
    confirmed, so they are in no phase yet."""

    latest: Mapping[str, int | None]
    unreadable: Mapping[str, str]
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
    progress: PhaseProgress, base: str, asked: int | None, phases: Sequence[Phase]
) -> tuple[Diagnostic, ...]:
    """Return why the phase ``asked`` for (None: the next one) cannot begin or be repeated, as far as switches tell.

    They look alike through those of ``phases`` in which nodes change, and those that take something out of use.
    """
    begun = progress.done - phases_alike(phases, progress.done)
    unclear = (*_unreadable(progress), *_waiting(progress))
    return (*unclear, *_unknown(progress, base, asked), *_order(progress, base, asked, begun))


def check_reached(progress: PhaseProgress, number: int) -> tuple[Diagnostic, ...]:
    """Return that switches have not done phase ``number``, which is to be verified; nothing where all have."""
    if unclear := (*_unreadable(progress), *_waiting(progress)):
        return unclear
    late = {name: latest for name, latest in progress.latest.items() if latest is None or latest < number}
    if not late:
        return ()
    first, latest = next(iter(late.items()))
    if latest is None:
        runs = "none of the phases"
    elif latest:
        runs = f"phase {latest}"
    else:
        runs = "the base"
    names = tuple(late)
    text = f"phase {number} is not done on {first_few(names)}: {first} runs {runs}"
    return (error("RW518", text, devices=names, fix="deploy it, then verify it"),)


def _unreadable(progress: PhaseProgress) -> tuple[Diagnostic, ...]:
    if not progress.unreadable:
        return ()
    names = tuple(progress.unreadable)
    first = f"{names[0]}: {progress.unreadable[names[0]]}"
    more = f", and {len(names) - 1} more" if len(names) > 1 else ""
    fix = "restore access to it, then try again"
    return (error("RW518", f"the progress of the change is unknown: {first}{more}", devices=names, fix=fix),)


def _waiting(progress: PhaseProgress) -> tuple[Diagnostic, ...]:
    return (awaiting(progress.waiting),) if progress.waiting else ()


def _unknown(progress: PhaseProgress, base: str, asked: int | None) -> tuple[Diagnostic, ...]:
    known = [name for name, number in progress.latest.items() if number is not None]
    if not progress.unknown or (asked is not None and known):
        return ()
    names = progress.unknown
    fix = command_line("deploy", "--from", base, "--phase", max(1, progress.done))
    return (
        error(
            "RW518",
            f"{first_few(names)} run neither {base} nor a phase of the change",
            devices=names,
            fix=f"name the revision that runs after --from; if it is {base}, fix them first: deploy it"
            + (f", or repeat the phase that was interrupted: {fix}" if known and progress.done else ""),
        ),
    )


def _order(progress: PhaseProgress, base: str, asked: int | None, begun: int) -> tuple[Diagnostic, ...]:
    if asked is None or begun <= asked <= progress.done + 1:
        return ()
    if begun > asked:
        return (_done_already(begun, asked),)
    late = tuple(name for name, number in progress.latest.items() if number is not None and number < asked - 1)
    have = "has" if len(late) == 1 else "have"
    text = f"phase {asked} cannot begin: {first_few(late)} {have} not done phase {asked - 1}"
    fix = command_line("deploy", "--from", base, "--phase", progress.done + 1)
    return (error("RW518", text, devices=late, fix=fix),)


def _done_already(done: int, asked: int) -> Diagnostic:
    fix = "to go back, reverse the change: the earlier intent, --from the later revision"
    return error("RW518", f"phase {done} is done already, so phase {asked} cannot be run again", fix=fix)


@dataclass(frozen=True, slots=True)
class NodeProgress:
    """The last phase of those in which nodes change that each node has, the number before the first one where it has
    none yet; None where it is as in none of them, such as a node on which a phase failed halfway."""

    latest: Mapping[str, int | None]

    def done(self, phases: Sequence[Phase]) -> int:
        """Return the last of ``phases`` that every node has.

        A node that is as in none of them was on the way to the furthest one, so that is taken again.
        """
        known = [number for number in self.latest.values() if number is not None]
        before = phases[0].number - 1
        if len(known) < len(self.latest):
            return max(before, max(known, default=before) - 1)
        return min(known, default=before)

    def check(self, phase: Phase, base: str) -> tuple[Diagnostic, ...]:
        """Return why ``phase`` cannot begin or be repeated, as far as nodes tell.

        One that drops the old values on switches asks all nodes to be as in the phase before.
        """
        asked = phase.number
        ahead = [number for number in self.latest.values() if number is not None and number > asked]
        if ahead:
            return (_done_already(max(ahead), asked),)
        late = tuple(
            name
            for name, number in self.latest.items()
            if (number is None and not phase.is_of_nodes) or (number is not None and number < asked - 1)
        )
        if not late:
            return ()
        found = f"{compact(late, _MOST_NAMED)} would still change"
        fix = f"`{command_line('deploy', '--from', base, '--phase', asked - 1)}` changes the nodes"
        return (error("RW518", f"phase {asked} cannot begin: {found}", devices=late, fix=fix),)


def check_statement(phase: Phase, phases: Sequence[Phase], base: str, *, managed: bool) -> Diagnostic:
    """Return that ``phase`` drops what nodes may still send, as long as nobody states that they do not."""
    before = node_phases(phases, phase.number - 1) or (phase,)
    numbers = f"phase {before[0].number}" if len(before) == 1 else f"phases {before[0].number} to {before[-1].number}"
    unseen = "" if managed else f"whether all {len(phase.nodes.hosts)} GPU nodes have done {numbers}, and "
    return error(
        "RW518",
        f"phase {phase.number} cannot begin: nobody has stated {unseen}that no job still sends the old"
        f" {' and '.join(phase.values)}: a running job keeps what it was started with",
        fix=f"when this is so: `{command_line('deploy', '--from', base, '--phase', phase.number, '--nodes-done')}`",
    )


def check_unused(phase: Phase, proofs: Sequence[Proof], base: str) -> tuple[Diagnostic, ...]:
    """Return that what ``phase`` takes out of use is in use still, so that the phase after it cannot begin."""
    used = tuple(dict.fromkeys(one.device for one in proofs if not one.ok))
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
    """Return what shows that something is in use still."""
    missing = [f"{one.device}: {one.what} {one.actual}" for one in proofs if not one.ok]
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
    """A phase that waits for people: for ``cables`` to move, for the GPU nodes to change as in ``nodes``, phases from
    this one on, for what leaves to be unused, of which ``proofs`` are missing, or, if there is none of these, for jobs
    to end that still send what this phase drops.

    ``following`` is the phase after the change of the nodes, None if it is the last one.
    """

    phase: Phase
    cables: tuple[CableMove, ...] = ()
    nodes: tuple[Phase, ...] = ()
    following: Phase | None = None
    proofs: tuple[Proof, ...] = ()


@dataclass(frozen=True, slots=True)
class PhasedResult:
    """The steps of a deployment in phases; ``base`` is what the command calls the running intent."""

    base: str
    phases: tuple[Phase, ...]
    steps: tuple[PhaseStep, ...]
    waiting: Waiting | None

    @property
    def ok(self) -> bool:
        """Tell whether every step was deployed without a failure."""
        return all(step.ok for step in self.steps)

    @property
    def interrupted(self) -> bool:
        """Tell whether a person stopped the last step."""
        last = self.steps[-1].result if self.steps else None
        return isinstance(last, DeployResult) and last.interrupted
