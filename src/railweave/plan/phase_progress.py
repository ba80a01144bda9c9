"""How far a fabric has come through the phases of a change, told by what its switches run.

Phase 0 is the base. The configuration of a switch may be the same in several phases, so the last phase whose
configuration it runs is what counts; the fabric has done the phases that every switch has. A deployment takes one
step after the other from there, up to one that waits for people.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from railweave.diagnostics import Diagnostic, error
from railweave.hosts.outcome import HostsRun
from railweave.plan.outcome import DeployResult
from railweave.plan.phases import CableMove, Phase
from railweave.wording import first_few


@dataclass(frozen=True, slots=True)
class PhaseProgress:
    """``latest`` is the last phase whose configuration a device runs, None where it runs none of them; ``unreadable``
    says of a device why it could not be read."""

    latest: Mapping[str, int | None]
    unreadable: Mapping[str, str]

    @property
    def done(self) -> int:
        """Return the last phase that every known device has, 0 where none has left the base."""
        return min((number for number in self.latest.values() if number is not None), default=0)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Return the devices that run neither the base nor a phase."""
        return tuple(name for name, number in self.latest.items() if number is None)


def check_phase(progress: PhaseProgress, base: str, asked: int | None) -> tuple[Diagnostic, ...]:
    """Return why the phase ``asked`` for (None: the next one) cannot begin or be repeated, as far as switches tell."""
    return (*_unreadable(progress), *_unknown(progress, base, asked), *_order(progress, base, asked))


def _unreadable(progress: PhaseProgress) -> tuple[Diagnostic, ...]:
    if not progress.unreadable:
        return ()
    names = tuple(progress.unreadable)
    first = f"{names[0]}: {progress.unreadable[names[0]]}"
    more = f", and {len(names) - 1} more" if len(names) > 1 else ""
    fix = "restore access to it, then try again"
    return (error("RW518", f"the progress of the change is unknown: {first}{more}", devices=names, fix=fix),)


def _unknown(progress: PhaseProgress, base: str, asked: int | None) -> tuple[Diagnostic, ...]:
    known = [name for name, number in progress.latest.items() if number is not None]
    if not progress.unknown or (asked is not None and known):
        return ()
    names = progress.unknown
    fix = f"railweave deploy --from {base} --phase {max(1, progress.done)}"
    return (
        error(
            "RW518",
            f"{first_few(names)} run neither {base} nor a phase of the change",
            devices=names,
            fix=f"name the revision that runs after --from; if it is {base}, fix them first: deploy it"
            + (f", or repeat the phase that was interrupted: {fix}" if known and progress.done else ""),
        ),
    )


def _order(progress: PhaseProgress, base: str, asked: int | None) -> tuple[Diagnostic, ...]:
    if asked is None or progress.done in {asked - 1, asked}:
        return ()
    if progress.done > asked:
        behind, text = (), f"phase {progress.done} is done already, so phase {asked} cannot be run again"
        fix = "to go back, reverse the change: the earlier intent, --from the later revision"
        return (error("RW518", text, devices=behind, fix=fix),)
    late = tuple(name for name, number in progress.latest.items() if number is not None and number < asked - 1)
    have = "has" if len(late) == 1 else "have"
    text = f"phase {asked} cannot begin: {first_few(late)} {have} not done phase {asked - 1}"
    fix = f"railweave deploy --from {base} --phase {progress.done + 1}"
    return (error("RW518", text, devices=late, fix=fix),)


@dataclass(frozen=True, slots=True)
class PhaseStep:
    """A phase that was deployed, to the switches or to the GPU nodes; ``result`` is None if the operator declined."""

    phase: Phase
    result: DeployResult | HostsRun | None

    @property
    def ok(self) -> bool:
        """Tell whether the phase was deployed without a failure."""
        return self.result is not None and self.result.ok


@dataclass(frozen=True, slots=True)
class Waiting:
    """A phase that waits for people: for ``cables`` to move, or for the GPU nodes to change if there are none.

    ``following`` is the phase after the change of the nodes, None if it is the last one.
    """

    phase: Phase
    cables: tuple[CableMove, ...] = ()
    following: Phase | None = None


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
