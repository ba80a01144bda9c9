"""The end of a deployment in phases: the steps that were taken, and what people do before the next one."""

from dataclasses import dataclass

from railweave.hosts.outcome import HostsRun
from railweave.plan.outcome import DeployResult
from railweave.plan.phases import CableMove, Phase


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
