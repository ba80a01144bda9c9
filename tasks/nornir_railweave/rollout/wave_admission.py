"""Whether a wave may start: what it drains is held for this rollout, and enough others carry traffic meanwhile."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from nornir.core import Nornir

from nornir_railweave.device.jobs import DeviceJob
from nornir_railweave.events import Event, Step
from nornir_railweave.rollout.control import ABORT, InterruptibleControl
from nornir_railweave.rollout.looking_away import read_away
from nornir_railweave.rollout.rollout_context import RolloutContext
from nornir_railweave.tasks.holding import Holding
from railweave.plan.away import NOTHING_AWAY
from railweave.wording import first_few

_HOLD_POLL_S = 2.0
# Once until another runner's hold ends, and once more for what it left behind on further switches.
_WAITS = 2


@dataclass(frozen=True, slots=True)
class _WantedWave:
    """A wave that is to start."""

    number: int
    wave: Sequence[str]
    # The switches that carry traffic beside it.
    beside: Sequence[str]
    # The peers away from which each switch is drained.
    peers_of: Mapping[str, Collection[str]]
    # The devices of the rollout that failed before.
    failed: Collection[str]


class WaveAdmission:
    """Admits the waves of one rollout."""

    def __init__(
        self,
        nr: Nornir,
        jobs: Mapping[str, DeviceJob],
        context: RolloutContext,
        holding: Holding,
        control: InterruptibleControl,
    ) -> None:
        self._nr = nr
        self._jobs = jobs
        self._context = context
        self._holding = holding
        self._control = control

    def hold(self, number: int, wave: Sequence[str], failed: Collection[str]) -> tuple[str, str]:
        """Hold the devices of a wave that are drained, then ask for the drains of the others.

        ``failed`` devices of this rollout count as out of service. Return the hold's name, empty where nothing is
        drained, and why the wave must not start: another runner holds its devices, or it would take too much out of
        service. A hold lasts until the rollout ends: what a wave was changed to may be rolled back.
        """
        wanted = self._wanted(number, wave, failed)
        why, ends_in_s = self._refusal(wanted)
        for _ in range(_WAITS):
            if ends_in_s is None:
                break
            self._context.announce(Event(Step.WAITING, text=f"up to {ends_in_s:.0f} s: {why}"))
            why, ends_in_s = self._later_refusal(wanted, ends_in_s)
        if not wanted.peers_of:
            return "", why
        return self._holding.name, why

    def _wanted(self, number: int, wave: Sequence[str], failed: Collection[str]) -> _WantedWave:
        """Return what a wave takes away, and who carries traffic beside it."""
        gate = self._context.gate
        beside = [name for name in gate.neighborhood(wave) if name not in failed]
        peers_of: dict[str, Collection[str]] = {}
        if beside:
            drains = {name: self._jobs[name].drain for name in gate.takes_away(wave)}
            peers_of = {name: peers for name, peers in drains.items() if peers}
        return _WantedWave(number, wave, beside, peers_of, failed)

    def _later_refusal(self, wanted: _WantedWave, wait_s: float) -> tuple[str, float | None]:
        """Ask again until nothing refuses the wave, or ``wait_s`` seconds are over; return the last refusal.

        A runner that lives holds again before each wave, so this does not wait for the end of a rollout. Our own hold
        is renewed each time.
        """
        clock = self._context.policy.clock
        deadline_s = clock.monotonic() + wait_s + _HOLD_POLL_S
        while True:
            clock.sleep(_HOLD_POLL_S)
            why, ends_in_s = self._refusal(wanted)
            if ends_in_s is None or clock.monotonic() >= deadline_s or self._control.asked() == ABORT:
                return why, ends_in_s

    def _refusal(self, wanted: _WantedWave) -> tuple[str, float | None]:
        """Hold what the wave drains; return why it must not start now, and after how many seconds that may have ended.

        None where nothing ends by itself. What failed counts as out of service, and so does what others drained
        since the plan was made, hold, or left with a commit that the switch still may revert.
        """
        if wanted.peers_of:
            held_by = self._holding.take(wanted.peers_of)
            if held_by:
                return held_by, self._holding.others_s
        gate = self._context.gate
        away = NOTHING_AWAY
        if wanted.beside:
            witnesses = gate.witnesses(wanted.wave, wanted.failed, self._context.unread, wanted.number)
            if self._holding.everywhere:
                witnesses = ()
            # The plan judged of the switches that were not read for it.
            asked = [name for name in wanted.beside if name not in self._context.unread]
            away = read_away(self._nr, gate.fabric, asked, witnesses, self._holding.name)
        violation = gate.violation(wanted.wave, wanted.failed, away)
        if violation is None:
            return "", None
        message = violation.message
        if violation.beside:
            message += f" ({first_few(violation.beside)} without traffic)"
        return message, away.ends_in_s
