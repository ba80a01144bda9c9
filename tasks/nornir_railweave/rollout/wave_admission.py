"""Whether a wave may start: what it drains is held for this rollout, and enough others carry traffic meanwhile."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
# Once until another runner's hold ends, and once more for the commits and drains that it left on switches.
_WAITS = 2


class WaveHold(NamedTuple):
    """The answer to a wave that is to start."""

    # The name of the hold on what it drains; empty where nothing is drained.
    name: str
    # Why the wave must not start; empty where it may.
    refusal: str


class _WaveRefusal(NamedTuple):
    """Why a wave must not start now; without a reason it may."""

    reason: str
    # After how many seconds that may have ended by itself; None where it does not.
    ends_in_s: float | None = None


_ADMITTED = _WaveRefusal("")


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

    def hold(self, number: int, wave: Sequence[str], failed: Collection[str]) -> WaveHold:
        """Hold the devices of a wave that are drained, and tell whether the wave may start.

        The ``failed`` devices of this rollout count as out of service. The wave is refused if another runner holds its
        devices, or if too much would be out of service. If that may end by itself, it is waited for. A hold lasts until
        the rollout ends, since the wave may be rolled back until then.
        """
        wanted = self._wanted(number, wave, failed)
        refusal = self._refusal(wanted)
        for _ in range(_WAITS):
            if refusal.ends_in_s is None:
                break
            self._context.announce(Event(Step.WAITING, text=f"up to {refusal.ends_in_s:.0f} s: {refusal.reason}"))
            refusal = self._later_refusal(wanted, refusal.ends_in_s)
        hold_name = self._holding.name if wanted.peers_of else ""
        return WaveHold(hold_name, refusal.reason)

    def _wanted(self, number: int, wave: Sequence[str], failed: Collection[str]) -> _WantedWave:
        """Return a wave with what it drains, and the switches that carry traffic beside it."""
        gate = self._context.gate
        beside = [name for name in gate.neighborhood(wave) if name not in failed]
        peers_of: dict[str, Collection[str]] = {}
        # Leaves alone have no switches beside them, as a leaf is on no path between others: nothing has to be held.
        if beside:
            drains = {name: self._jobs[name].drain for name in gate.takes_away(wave)}
            peers_of = {name: peers for name, peers in drains.items() if peers}
        return _WantedWave(number, wave, beside, peers_of, failed)

    def _later_refusal(self, wanted: _WantedWave, wait_s: float) -> _WaveRefusal:
        """Ask again until nothing that ends by itself refuses the wave, or ``wait_s`` seconds are over.

        Return the last refusal. Our own hold is renewed each time. The wait does not last until the end of another
        runner's rollout: if that runner is alive, it holds again before each of its waves.
        """
        clock = self._context.policy.clock
        deadline_s = clock.monotonic() + wait_s + _HOLD_POLL_S
        while True:
            clock.sleep(_HOLD_POLL_S)
            refusal = self._refusal(wanted)
            is_final = refusal.ends_in_s is None
            if is_final or clock.monotonic() >= deadline_s or self._control.asked() == ABORT:
                return refusal

    def _refusal(self, wanted: _WantedWave) -> _WaveRefusal:
        """Hold what the wave drains; return why the wave must not start now, ``_ADMITTED`` if it may.

        These count as out of service: devices of this rollout that failed, and switches that others drained since the
        plan was made, hold, or left with a commit that the switch may still revert.
        """
        if wanted.peers_of:
            held_by = self._holding.take(wanted.peers_of)
            if held_by:
                return _WaveRefusal(held_by, self._holding.others_s)
        gate = self._context.gate
        away = NOTHING_AWAY
        if wanted.beside:
            witnesses = gate.witnesses(wanted.wave, wanted.failed, self._context.unread, wanted.number)
            if self._holding.everywhere:
                # Another runner may hold switches that no witness shows, so each switch is asked.
                witnesses = ()
            # The plan has taken the switches that could not be read into account.
            asked = [name for name in wanted.beside if name not in self._context.unread]
            away = read_away(self._nr, gate.fabric, asked, witnesses, self._holding.name)
        violation = gate.violation(wanted.wave, wanted.failed, away)
        if violation is None:
            return _ADMITTED
        message = violation.message
        if violation.beside:
            message += f" ({first_few(violation.beside)} without traffic)"
        return _WaveRefusal(message, away.ends_in_s)
