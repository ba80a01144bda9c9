"""The state of a fabric between deployments: what its switches run, what is open on them, and what to do next."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from railweave.plan.lineage import generation_of
from railweave.plan.manual_drain import WHOLE
from railweave.plan.model import Generation
from railweave.plan.rollout import Rollout
from railweave.sonic.frr.maintenance import Maintenance
from railweave.switch_driver import CommitStatus
from railweave.wording import command_line

_NO_COMMIT = CommitStatus(pending=False)


@dataclass(frozen=True, slots=True)
class SwitchStatus:
    """What one switch reports of itself."""

    device: str
    # Why it was not read; all else is unknown then.
    error: str = ""
    # The last commit, and the state that the switch keeps of its commits.
    commit: CommitStatus = _NO_COMMIT
    # BGP peers that are drained, ``("*",)`` for the whole switch.
    drained: tuple[str, ...] = ()
    maintenance: Maintenance = Maintenance.NONE

    @property
    def generation(self) -> Generation:
        """Return the state of the intent that the switch runs, as given with its last confirmed commit."""
        return generation_of(self.commit.generation)

    @property
    def waits_for(self) -> str:
        """Return the commit that awaits confirmation, in words; empty if there is none."""
        if not self.commit.pending:
            return ""
        # Drivers of others may not say more than that a commit is pending.
        return self.commit.waits_for or f"commit {self.commit.commit_id}".rstrip()

    @property
    def needs_recovery(self) -> bool:
        """Tell whether the switch needs `recover`, because what is wrong does not end by itself."""
        return bool(self.commit.damage or self.commit.broken) or self.commit.overdue


@dataclass(frozen=True, slots=True)
class LastAcceptance:
    """What the project remembers of the last verdict on a fabric."""

    # ISO 8601 with a zone.
    at: str
    # The commit of the project when it was judged; empty without git.
    commit: str
    level: str
    verdict: str
    # The intent has changed since its tests were planned.
    outdated: bool = False
    # The digest of what each switch ran while it was tested, empty if nobody recorded them.
    running: Mapping[str, str] = field(default_factory=dict)

    def is_of(self, device: str, generation: Generation) -> bool:
        """Tell whether a switch with ``generation`` runs what was accepted, by its digest or else by its commit.

        A switch of which neither is known counts as accepted.
        """
        if device in self.running:
            return generation.digest == self.running[device]
        return not self.commit or generation.revision in ("", self.commit)


@dataclass(frozen=True, slots=True)
class FabricStatus:
    """The switches of a fabric on one target, and the rollouts that are not finished, newest first."""

    fabric: str
    target: str
    switches: tuple[SwitchStatus, ...]
    rollouts: tuple[Rollout, ...] = field(default=())
    # The last rollout, if its limit left switches behind the intent.
    limited: Rollout | None = None
    accepted: LastAcceptance | None = None

    @property
    def read(self) -> tuple[SwitchStatus, ...]:
        """Return the switches that were read."""
        return tuple(switch for switch in self.switches if not switch.error)

    @property
    def unread(self) -> tuple[SwitchStatus, ...]:
        """Return the switches that were not read."""
        return tuple(switch for switch in self.switches if switch.error)

    @property
    def armed(self) -> tuple[SwitchStatus, ...]:
        """Return the switches on which a commit awaits confirmation."""
        return tuple(switch for switch in self.switches if switch.commit.pending)

    @property
    def drained(self) -> tuple[SwitchStatus, ...]:
        """Return the switches that are drained, wholly or towards some peers."""
        return tuple(switch for switch in self.switches if switch.drained)

    @property
    def in_maintenance(self) -> tuple[SwitchStatus, ...]:
        """Return the switches that SONiC's own maintenance takes out of service."""
        return tuple(switch for switch in self.switches if switch.maintenance is not Maintenance.NONE)

    @property
    def deployed_since(self) -> tuple[str, ...]:
        """Return the switches that run something else than what was accepted last."""
        accepted = self.accepted
        if accepted is None:
            return ()
        return tuple(switch.device for switch in self.read if not accepted.is_of(switch.device, switch.generation))

    @property
    def generations(self) -> dict[Generation, tuple[str, ...]]:
        """Return the switches that were read, by the state of the intent that they run."""
        devices: dict[Generation, list[str]] = {}
        for switch in self.read:
            devices.setdefault(switch.generation.content, []).append(switch.device)
        return {generation: tuple(names) for generation, names in devices.items()}

    @property
    def commit(self) -> str:
        """Return the git commit that all switches run; empty if they differ, or if one is unread or has none."""
        generations = list(self.generations)
        if self.unread or len(generations) != 1 or generations[0].dirty:
            return ""
        return generations[0].revision

    @property
    def next_steps(self) -> tuple[str, ...]:
        """Return the commands to run next, the most urgent first."""
        return tuple(self._next_steps())

    def _next_steps(self) -> Iterator[str]:
        """Yield the commands of ``next_steps``."""
        damaged = [switch.device for switch in self.switches if switch.needs_recovery]
        if damaged:
            yield command_line("recover", *damaged, target=self.target)
        for rollout in self.rollouts:
            if rollout.alive:
                yield command_line("rollout", "show", rollout.name)
            else:
                yield command_line("deploy", "--resume", rollout.name, target=self.target)
        if self.rollouts:
            return
        # A rollout drains and undrains by itself; without one an operator did.
        if self.drained:
            yield command_line("undrain", *(switch.device for switch in self.drained), target=self.target)
        yield command_line("plan", target=self.target)


def is_drained_whole(switch: SwitchStatus) -> bool:
    """Tell whether all peers of a switch are drained."""
    return switch.drained == WHOLE
