"""A rollout on its way: wave by wave, brought whole, then kept whole or undone whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nornir.core import Nornir

from nornir_railweave.control import Control, Unasked
from nornir_railweave.events import Events, silent
from nornir_railweave.policy import Policy
from nornir_railweave.work import Work
from railweave.fabric.model import Fabric
from railweave.plan.outcome import DeviceOutcome


@dataclass(frozen=True, slots=True)
class Terms:
    """What a rollout goes by.

    ``settled`` are the devices that already stand in their new state, ``out`` those that carry no traffic or cannot be
    reached: a wave that would take too much beside them is not begun.
    """

    fabric: Fabric
    policy: Policy
    settled: frozenset[str] = frozenset()
    out: frozenset[str] = frozenset()
    announce: Events = silent
    control: Control = Unasked()


@dataclass(frozen=True, slots=True)
class RolledOut:
    """The end of a rollout. ``stopped_by`` is the reason of a stop in one sentence, empty where it went through.

    ``outcomes`` has every device that was worked on. ``undone`` were new and were taken back with their wave,
    ``failed`` had a fault of their own, ``drained`` are still drained by us.
    """

    outcomes: Mapping[str, DeviceOutcome]
    stopped_by: str = ""
    interrupted: bool = False
    waves_done: int = 0
    undone: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    drained: tuple[str, ...] = ()


def roll_out(nr: Nornir, works: Mapping[str, Work], waves: Sequence[Sequence[str]], terms: Terms) -> RolledOut:
    """Carry out ``works``, which has every device of ``waves``, and return how each of them ended.

    A device that fails is taken back alone while fewer than ``max_failures`` have; the one that reaches the budget
    takes its whole wave back with it and stops the rollout.
    """
    del nr, works, waves, terms
    return RolledOut({})
