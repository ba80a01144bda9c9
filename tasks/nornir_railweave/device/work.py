"""One device's part of a rollout, whatever made it: a plan to carry out, or an earlier rollout to take back.

A rollout (``rolling_out.roll_out``) knows nothing of intents and plans. It takes a ``Work`` for each device and carries
it through the same steps: read, drain, commit with the switch's timer, verify, undrain, hold, then keep or undo.

Who brings another kind of work implements ``Work``: ``PlannedWork`` (in ``planned``) is a deployment's. A rollback's
reads the device's rollback document once, and its ``read`` returns as ``delta`` whatever of that document the device
does not hold yet.
"""

from collections.abc import Container
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol

from railweave.plan.expectation import Expectation
from railweave.plan.health import Health
from railweave.plan.observation import Observation
from railweave.plan.outcome import VerifyCheck
from railweave.sonic.delta.change import Delta
from railweave.sonic.document import RunningConfig


class Standing(Enum):
    """Which configuration a device holds: the one before the work, the one after it, or neither in full."""

    OLD = auto()
    NEW = auto()
    BETWEEN = auto()


@dataclass(frozen=True, slots=True)
class Found:
    """What a device runs. ``sha256`` is the digest over what we own of it (``sonic.diff.running_sha256``).

    ``delta`` is what is still to be done, and ``done`` tells that the work is: a device whose digest is another than it
    should be is not, whatever its delta says. ``disconnects``: links and
    sessions go down with the work until their far ends follow, or there are none yet (a switch that is being
    provisioned), so nothing has to hold right after it because it held before. ``drained`` names the BGP peers that
    somebody has drained already, ``("*",)`` for all.
    """

    running: RunningConfig
    sha256: str
    delta: Delta
    done: bool
    disconnects: bool = False
    drained: tuple[str, ...] = ()


class Work(Protocol):
    """What is to be done on one device and how to tell whether it is done; called from that device's worker."""

    @property
    def device(self) -> str:
        """Return the device's name."""

    @property
    def before_sha256(self) -> str:
        """Return the digest of the configuration that the device must have now: read again, it is ``Standing.OLD``."""

    @property
    def drain(self) -> tuple[str, ...]:
        """Return the BGP peers to drain before the change, ``("*",)`` for the whole device, ``()`` for none."""

    def read(self, driver: Any, which: str = "running") -> Found:
        """Read the running (or ``startup``) configuration; raises the driver's exceptions and DocumentError."""

    def moved(self, found: Found) -> str:
        """Return in a sentence why ``found`` must not be worked on; empty where it is what the work was made for."""

    @property
    def expectation(self) -> Expectation:
        """Return what is to be seen on the device afterwards; used ports and sessions are watched by it."""

    def gate(self, seen: Observation, settled: Container[str], held: Health) -> tuple[VerifyCheck, ...]:
        """Return the checks that the device must pass after the change.

        ``settled`` are the devices that stand still in their new state; ``held`` are kind and subject of the checks of
        ``expectation`` that held before the change. A rollback returns those of ``held`` that must survive it.
        """


def standing(found: Found, work: Work) -> Standing:
    """Tell which configuration ``found`` is."""
    if found.done:
        return Standing.NEW
    return Standing.OLD if found.sha256 == work.before_sha256 else Standing.BETWEEN
