"""Holding switches before traffic is led away, so that runners that share nothing exclude each other on the switches.

Whoever leads traffic away holds what it drains, and then the *registrar* of its plane: the first leaf, the same one for
everybody. Of two at least one meets the other's hold there, whichever spines they drain and whoever they ask for the
state of the others. Where the registrar does not answer, every switch of the plane is held.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from nornir.core import Nornir
from nornir.core.task import Result, Task

from napalm_sonic.program import new_id
from nornir_railweave.device.session import DEVICE_ERRORS, one_line, session
from nornir_railweave.target.connect import run_on
from railweave.fabric.model import Fabric
from railweave.switch_driver import Capability, HeldByOther
from railweave.wording import first_few

MANUAL_S = 120.0
"""How long the hold of a drain by hand lasts until the drain begins: the switches around are read meanwhile."""
_LATER_S = 5.0
"""So much longer a registrar is held than what is drained, which refuses its drain first, whatever the clocks do."""


@dataclass(frozen=True, slots=True)
class HoldResult:
    """Whether a switch is held for us. ``by`` says who else holds it, under the name ``hold``, for what (``message``)
    and how long at most; a ``silent`` one does not answer, or cannot write that it is held."""

    by: str = ""
    hold: str = ""
    message: str = ""
    silent: bool = False
    remaining_s: float = 0.0


def _alive(message: str) -> bool:
    """Return that whoever holds a switch may still act."""
    del message
    return False


@dataclass(slots=True)
class Holding:
    """What one command holds, all under one name, for so many seconds. ``has_ended`` tells by its message whether the
    holder of a switch cannot act any more, as a rollout that was killed; ``unread`` are switches known not to answer.

    ``everywhere`` tells that a registrar is silent, and so are routes that only show what was drained. ``others_s`` is
    how long those who were in the way may still hold.
    """

    nr: Nornir
    fabric: Fabric
    message: str
    seconds: float
    has_ended: Callable[[str], bool] = _alive
    unread: frozenset[str] = frozenset()
    name: str = field(default_factory=new_id)
    everywhere: bool = False
    others_s: float = 0.0
    _held: set[str] = field(default_factory=set)

    def take(self, peers_of: Mapping[str, Collection[str]]) -> str:
        """Hold switches of which these BGP peers are about to be drained; return who holds one already, else empty.

        Nothing is held then. A switch that is silent refuses its drain, which names a hold that it lacks.
        """
        planes = {self.fabric.switch_of[name].plane for name in peers_of}
        answers = self._take(peers_of, self.seconds)
        refused = _refused(answers)
        if not refused:
            registrars = [name for name in _registrars(self.fabric, planes) if name not in peers_of]
            answers = self._take(dict.fromkeys(registrars, ()), self.seconds + _LATER_S)
            self.everywhere = any(answers[name].silent for name in registrars)
            if self.everywhere:
                others = [one.name for one in self.fabric.switches if one.plane in planes and one.name not in peers_of]
                rest = dict.fromkeys((name for name in others if name not in registrars), ())
                answers |= self._take(rest, self.seconds + _LATER_S)
            refused = _refused(answers)
        if refused:
            self.others_s = max(one.remaining_s for one in answers.values())
            self.release()
        return refused

    def drained(self, names: Iterable[str]) -> None:
        """Note that switches were drained, which ends their hold there."""
        self._held.difference_update(names)

    def release(self) -> None:
        """Give up what is held; what cannot be given up ends by its own time."""
        if self._held:
            self._run(dict.fromkeys(self._held, ()), 0.0)
        self._held.clear()

    def _take(self, peers_of: Mapping[str, Collection[str]], seconds: float) -> dict[str, HoldResult]:
        asked = {name: one for name, one in peers_of.items() if name not in self.unread}
        found = self._run(asked, seconds)
        over = {name: one.hold for name, one in found.items() if one.by and self.has_ended(one.message)}
        if over:
            found |= self._run({name: asked[name] for name in over}, seconds, over)
        self._held.update(name for name, one in found.items() if not one.by and not one.silent)
        return {**dict.fromkeys(peers_of, HoldResult(silent=True)), **found}

    def _run(
        self, peers_of: Mapping[str, Collection[str]], seconds: float, over: Mapping[str, str] | None = None
    ) -> dict[str, HoldResult]:
        known = {name: peers for name, peers in peers_of.items() if name in self.nr.inventory.hosts}
        arguments = {"peers_of": known, "seconds": seconds, "message": self.message, "over": over or {}}
        found: dict[str, HoldResult] = run_on(self.nr, known, hold_device, hold=self.name, **arguments)
        return {name: one or HoldResult(silent=True) for name, one in found.items()}


def _registrars(fabric: Fabric, planes: Collection[int]) -> list[str]:
    """Return the switch of each plane on which all runners exclude each other."""
    first: dict[int, str] = {}
    for switch in fabric.switches:
        if switch.tier.attaches_nodes and switch.plane in planes:
            first.setdefault(switch.plane, switch.name)
    return [*first.values()]


def _refused(answers: Mapping[str, HoldResult]) -> str:
    return first_few([one.by for one in answers.values() if one.by], separator="; ")


def hold_device(
    task: Task,
    *,
    hold: str,
    peers_of: Mapping[str, Collection[str]],
    seconds: float,
    message: str,
    over: Mapping[str, str],
) -> Result:
    """Hold one switch, in the place of a hold ``over`` that is known to be nobody's, or with 0 seconds give that up; a
    ``HoldResult``. A driver without that capability holds nothing."""
    if task.is_dry_run():
        return Result(host=task.host, result=HoldResult())
    name = task.host.name
    other: HeldByOther | None = None
    with session(task) as opened:
        try:
            driver = opened.driver
            if driver.can(Capability.HOLD):
                other = driver.hold(hold, [*peers_of[name]], seconds=seconds, message=message, over=over.get(name, ""))
        except DEVICE_ERRORS:
            return Result(host=task.host, result=HoldResult(silent=True))
    if other is None:
        return Result(host=task.host, result=HoldResult())
    result = HoldResult(one_line(other.by), other.hold, other.message, remaining_s=other.remaining_s)
    return Result(host=task.host, result=result)
