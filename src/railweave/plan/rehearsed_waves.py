"""What a fabric carried at every moment of a rehearsal, judged by the rules of the rollout policy.

Two records on one clock tell it: what the rollout did to which switch, and which cables of the simulated fabric carried
BGP.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.plan.capacity import Service, rails_out
from railweave.plan.model import Plan
from railweave.plan.policy import PolicyLimits
from railweave.plan.rehearsal import CapacityLeft, RehearsedWave
from railweave.plan.rollout_step import Step

CableEnds = tuple[str, str]
"""The two ends ``DEVICE:PORT`` of a cable in the order of text."""


class RolloutMoment(NamedTuple):
    """A step of the rollout, in seconds of a steady clock; ``device`` is empty where the whole rollout is meant."""

    at_s: float
    step: Step
    device: str = ""


class LinkMoment(NamedTuple):
    """Cables of the simulated fabric that began or ceased to carry BGP, on the same clock."""

    at_s: float
    device: str
    # How long the device has been busy so far, in seconds of its own clock.
    busy_s: float
    up: tuple[CableEnds, ...] = ()
    down: tuple[CableEnds, ...] = ()


_BEGINS = frozenset({Step.DRAINING, Step.APPLYING, Step.ROLLING_BACK})
_ENDS = frozenset({Step.CONFIRMED, Step.ROLLED_BACK, Step.OUTCOME})


@dataclass(slots=True)
class _Wave:
    """A wave that has begun, with what was observed so far; times are those of the records' clock."""

    began_s: float
    ended_s: float
    left: CapacityLeft | None = None
    # A dictionary as an ordered set: a rule that is broken several times in a wave is reported once.
    violations: dict[str, None] = field(default_factory=dict)
    # By switch, in seconds of its own clock.
    busy_s: dict[str, float] = field(default_factory=dict)


class _StateJudgment(NamedTuple):
    """What is left in one state of the fabric, and the rule of the policy that it breaks, empty if it breaks none."""

    left: CapacityLeft
    violation: str


class Judge:
    """Follows both records of a rehearsal, and reports the capacity left and the rules broken in each wave."""

    def __init__(self, fabric: Fabric, plan: Plan, carrying: Iterable[CableEnds]) -> None:
        """``carrying`` are the cables that carried BGP when the rollout began: others cannot be lost."""
        self._fabric = fabric
        self._plan = plan
        self._limits = PolicyLimits(fabric, plan.policy, plan.unprovisioned)
        self._service = Service(fabric, plan.unprovisioned)
        self._disruptive = plan.disruptive - plan.unprovisioned
        carried = set(carrying)
        links = {cable_of(fabric, link): link for link in fabric.fabric_links}
        self._links = {cable: link for cable, link in links.items() if cable in carried}
        in_service = [link for link in links.values() if not {link.lower, link.upper} & plan.unprovisioned]
        self._down_before = frozenset(in_service) - frozenset(self._links.values())
        self._out: set[str] = set(plan.out_of_service)
        self._down: set[Link] = set()
        self._judgments: dict[tuple[frozenset[str], frozenset[Link]], _StateJudgment] = {}
        judgment = self._judge_state()
        self.before = judgment.left
        self._violation_before = judgment.violation

    def waves(
        self, rollout: Sequence[RolloutMoment], links: Sequence[LinkMoment], workers: int
    ) -> tuple[RehearsedWave, ...]:
        """Return the waves that were begun, by the moments of both records.

        ``workers`` is how many switches are changed at once.
        """
        begun: list[_Wave] = []
        total_busy_s: dict[str, float] = {}
        moments: list[RolloutMoment | LinkMoment] = sorted((*rollout, *links), key=lambda moment: moment.at_s)
        for moment in moments:
            if isinstance(moment, LinkMoment):
                may_have_less = self._follow_links(moment)
                newly_busy_s = moment.busy_s - total_busy_s.get(moment.device, 0.0)
                total_busy_s[moment.device] = moment.busy_s
                if begun:
                    wave_busy_s = begun[-1].busy_s
                    wave_busy_s[moment.device] = wave_busy_s.get(moment.device, 0.0) + newly_busy_s
            else:
                may_have_less = self._follow_rollout(moment, begun)
            if begun and may_have_less:
                self._judge_wave(begun[-1])
        # A rollout that stops does not begin the waves after that.
        begun_waves = zip(self._plan.waves, begun, strict=False)
        return tuple(self._rehearsed(devices, wave, workers) for devices, wave in begun_waves)

    def _rehearsed(self, devices: tuple[str, ...], wave: _Wave, workers: int) -> RehearsedWave:
        return RehearsedWave(
            devices=devices,
            elapsed_s=wave.ended_s - wave.began_s,
            switch_s=_duration_s(wave.busy_s, workers),
            left=wave.left or self.before,
            violations=tuple(wave.violations),
        )

    def _follow_rollout(self, moment: RolloutMoment, begun: list[_Wave]) -> bool:
        """Apply a step of the rollout. Tell whether less may be in service from now on.

        A step that begins a wave adds it to ``begun``.
        """
        if moment.step is Step.WAVE:
            begun.append(_Wave(moment.at_s, moment.at_s))
            self._follow_step(moment)
            return True
        if begun and moment.step in _ENDS:
            # Not the last moment of all: after the last wave comes the verification of the whole fabric.
            begun[-1].ended_s = moment.at_s
        return self._follow_step(moment)

    def _follow_links(self, moment: LinkMoment) -> bool:
        """Apply the links that go down and then those that come up. Tell whether more were down for a moment."""
        count_before = len(self._down)
        self._down |= {self._links[cable] for cable in moment.down if cable in self._links}
        more_are_down = len(self._down) > count_before
        self._down -= {self._links[cable] for cable in moment.up if cable in self._links}
        return more_are_down

    def _follow_step(self, moment: RolloutMoment) -> bool:
        """Apply a step of one device. Tell whether it goes out of service."""
        if moment.device not in self._disruptive:
            return False
        if moment.step in _BEGINS and moment.device not in self._out:
            self._out.add(moment.device)
            return True
        if moment.step in _ENDS:
            self._out.discard(moment.device)
        return False

    def _judge_wave(self, wave: _Wave) -> None:
        """Update the worst capacity and the violations of ``wave`` by the present state."""
        judgment = self._judge_state()
        wave.left = judgment.left if wave.left is None else wave.left.worst(judgment.left)
        # A rule that was broken before the rollout does not count against it.
        if judgment.violation not in ("", self._violation_before):
            wave.violations[judgment.violation] = None

    def _judge_state(self) -> _StateJudgment:
        """Return what is left in the present state, and the rule that it breaks."""
        out = frozenset(self._out)
        down = frozenset(self._down) | self._down_before
        # A rollout comes back to the same state after each device, and judging a large fabric takes long.
        if (out, down) not in self._judgments:
            violation = self._limits.violation(out, down)
            uplink_percent, _ = self._service.least_uplinks(out, down)
            left = CapacityLeft(
                round(uplink_percent, 3),
                self._service.least_paths(out, down),
                rails_out(self._fabric, out, unprovisioned=self._plan.unprovisioned, down=down),
            )
            self._judgments[out, down] = _StateJudgment(left, "" if violation is None else violation.message)
        return self._judgments[out, down]


def _duration_s(busy_s: Mapping[str, float], workers: int) -> float:
    """Return how many seconds ``workers`` take for switches that are each busy for ``busy_s`` seconds."""
    worker_ends_s = [0.0] * max(1, min(workers, len(busy_s)))
    # The longest first to the worker that is free first: at most 4/3 of the best schedule (Graham 1969).
    for seconds in sorted(busy_s.values(), reverse=True):
        first_free = min(range(len(worker_ends_s)), key=worker_ends_s.__getitem__)
        worker_ends_s[first_free] += seconds
    return max(worker_ends_s)


def cable_of(fabric: Fabric, link: Link) -> CableEnds:
    """Return the two ends of a link between switches, in the order of text."""
    lower = f"{link.lower}:{fabric.switch_of[link.lower].panel.ports[link.lower_port].name}"
    upper = f"{link.upper}:{fabric.switch_of[link.upper].panel.ports[link.upper_port].name}"
    first, second = sorted((lower, upper))
    return first, second
