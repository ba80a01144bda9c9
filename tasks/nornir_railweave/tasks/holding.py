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

# How long the hold of a drain by hand lasts until the drain begins: the switches around are read meanwhile.
MANUAL_S = 120.0
# A registrar is held so much longer than what is drained: whatever the clocks do, the drain is refused first.
_LATER_S = 5.0


@dataclass(frozen=True, slots=True)
class HoldResult:
    """Whether a switch is held for us."""

    # A sentence that says who else holds it; empty for nobody.
    by: str = ""
    hold: str = ""
    message: str = ""
    # It does not answer, or cannot write that it is held.
    silent: bool = False
    # The other hold ends by itself after so many seconds.
    remaining_s: float = 0.0


def never_ended(message: str) -> bool:
    """Return that whoever holds a switch may still act."""
    del message
    return False


@dataclass(slots=True)
class Holding:
    """What one command holds, all under one name, for so many ``seconds``."""

    nr: Nornir
    fabric: Fabric
    message: str
    seconds: float
    # By the message of a hold: its holder cannot act any more, as a rollout that was killed.
    has_ended: Callable[[str], bool] = never_ended
    # Switches that did not answer when the plan was made: each would cost a timeout again.
    unread: frozenset[str] = frozenset()
    name: str = field(default_factory=new_id)
    # A registrar is silent, so two runners may miss each other there, and every switch of the plane is held.
    everywhere: bool = False
    # How many seconds those who were in the way may still hold.
    others_s: float = 0.0
    _held: set[str] = field(default_factory=set)

    def take(self, peers_of: Mapping[str, Collection[str]]) -> str:
        """Hold the switches whose BGP peers ``peers_of`` are about to be drained, and the registrars of their planes.

        Return who else holds one of them; nothing is held then. Return an empty text if all are held. A switch that
        does not answer is no reason to refuse here: its drain names a hold that it does not have, and fails.
        """
        results = self._take(peers_of, self.seconds)
        refused = _refused(results)
        if not refused:
            results |= self._take_registrars(peers_of)
            refused = _refused(results)
        if refused:
            self.others_s = max(result.remaining_s for result in results.values())
            self.release()
        return refused

    def _take_registrars(self, peers_of: Mapping[str, Collection[str]]) -> dict[str, HoldResult]:
        """Hold the registrars of these switches' planes; if one of them is silent, all switches of the planes.

        Return the result of each switch, and note in ``everywhere`` whether a registrar is silent.
        """
        planes = {self.fabric.switch_of[name].plane for name in peers_of}
        registrars = [name for name in _registrars(self.fabric, planes) if name not in peers_of]
        results = self._take(dict.fromkeys(registrars, ()), self.seconds + _LATER_S)
        self.everywhere = any(results[name].silent for name in registrars)
        if not self.everywhere:
            return results
        asked = {*peers_of, *registrars}
        rest = [switch.name for switch in self.fabric.switches if switch.plane in planes and switch.name not in asked]
        return results | self._take(dict.fromkeys(rest, ()), self.seconds + _LATER_S)

    def drained(self, names: Iterable[str]) -> None:
        """Note that switches were drained, which ends their hold there."""
        self._held.difference_update(names)

    def release(self) -> None:
        """Give up all holds; a switch that does not answer ends its hold by its own timer."""
        if self._held:
            self._run(dict.fromkeys(self._held, ()), 0.0)
        self._held.clear()

    def _take(self, peers_of: Mapping[str, Collection[str]], seconds: float) -> dict[str, HoldResult]:
        """Hold switches for ``seconds``; return the result of each, ``silent`` for a switch that did not answer."""
        readable = {name: peers for name, peers in peers_of.items() if name not in self.unread}
        results = self._run(readable, seconds)
        # A hold whose command does not run any more is replaced by ours, by a second request that names it.
        stale_holds = {name: result.hold for name, result in results.items() if self._is_stale(result)}
        if stale_holds:
            results |= self._run({name: readable[name] for name in stale_holds}, seconds, stale_holds)
        self._held.update(name for name, result in results.items() if _is_held(result))
        return {**dict.fromkeys(peers_of, HoldResult(silent=True)), **results}

    def _is_stale(self, result: HoldResult) -> bool:
        """Tell whether a switch is held by a command that does not run any more."""
        return bool(result.by) and self.has_ended(result.message)

    def _run(
        self, peers_of: Mapping[str, Collection[str]], seconds: float, over: Mapping[str, str] | None = None
    ) -> dict[str, HoldResult]:
        """Hold switches for ``seconds``, or end the holds with 0; return the result of each.

        ``over`` are the holds that this one replaces, by switch. A switch without an address is left out.
        """
        reached = {name: peers for name, peers in peers_of.items() if name in self.nr.inventory.hosts}
        arguments = {"peers_of": reached, "seconds": seconds, "message": self.message, "over": over or {}}
        results = run_on(self.nr, reached, hold_device, hold=self.name, **arguments)
        return {name: result or HoldResult(silent=True) for name, result in results.items()}


def _registrars(fabric: Fabric, planes: Collection[int]) -> list[str]:
    """Return the registrar of each of these planes: its first switch that attaches nodes."""
    registrar_of: dict[int, str] = {}
    for switch in fabric.switches:
        if switch.tier.attaches_nodes and switch.plane in planes:
            registrar_of.setdefault(switch.plane, switch.name)
    return [*registrar_of.values()]


def _is_held(result: HoldResult) -> bool:
    """Tell whether a switch is held by this command: it answered, and nobody else holds it."""
    return not result.by and not result.silent


def _refused(results: Mapping[str, HoldResult]) -> str:
    """Return who else holds switches; empty for nobody."""
    return first_few([result.by for result in results.values() if result.by], separator="; ")


def hold_device(
    task: Task,
    *,
    hold: str,
    peers_of: Mapping[str, Collection[str]],
    seconds: float,
    message: str,
    over: Mapping[str, str],
) -> Result:
    """Hold one switch under the name ``hold``, or end that hold with 0 ``seconds``; return a ``HoldResult``.

    ``over`` names, by switch, the hold that this one replaces because its command does not run any more. A driver that
    knows no holds does nothing.
    """
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
