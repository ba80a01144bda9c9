"""A device's running configuration against the intended one, through a NAPALM driver."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from napalm_sonic.decoding import decoding
from railweave.fabric.model import Fabric
from railweave.fabric.releases import running_release
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.diff import DeviceDiff, diff, running_sha256
from railweave.sonic.document import RunningConfig, parse_running
from railweave.sonic.render.secret_rows import as_running
from railweave.sonic.rows import DeviceConfig

T = TypeVar("T")

IntendedConfig = Callable[[str], DeviceConfig]
"""A device's name to its intended configuration, called in the worker of that device."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What runs, its digest over what we own, and how it differs from what is intended."""

    running: RunningConfig
    sha256: str
    difference: DeviceDiff


def _own(_name: str, delta: Delta) -> Delta:
    return delta


@dataclass(frozen=True, slots=True)
class Comparer:
    """Compares the devices of one fabric. ``remove_conflicting`` plans the removal of foreign rows on our ports.

    ``unresolved``: the intended configurations refer to secrets that nobody here knows; what runs is taken for them.
    ``share`` returns a delta equal to that of the named device, one that others hold as well: every open session keeps
    its last comparison.
    """

    fabric: Fabric = field(repr=False)
    intended: IntendedConfig = field(repr=False)
    remove_conflicting: bool = False
    unresolved: bool = False
    share: Callable[[str, Delta], Delta] = field(default=_own, repr=False)

    def __call__(self, driver: Any, name: str, which: str = "running") -> Comparison:
        """Return how the running (or ``startup``) configuration of device ``name`` differs from the intended one.

        Raises what the driver raises, and DocumentError where its answer is no configuration.
        """
        running = running_of(driver, which)
        intended = as_running(self.intended(name), running) if self.unresolved else self.intended(name)
        platform = self.fabric.switch_of[name].panel.platform or None
        options = (name, platform, self.remove_conflicting)

        def compared() -> tuple[str, DeviceDiff]:
            difference = diff(name, running, intended, platform=platform, remove_conflicting=self.remove_conflicting)
            difference = replace(difference, delta=self.share(name, difference.delta))
            return running_sha256(running, intended), difference

        with decoding("its configuration"):
            return Comparison(running, *running.compared_with(intended, options, compared))


def switch_program(driver: Any) -> Any:
    """Return the client of the program on the switch, None where the driver has none."""
    program = getattr(driver, "revert_timer", None)
    return program if hasattr(program, "read") else None


def running_of(driver: Any, which: str = "running") -> RunningConfig:
    """Return what a driver's device runs (``startup``: boots); our own driver reads that with one command, by digest.

    ``known`` is what our driver was told of it last, by whichever answer. Raises what the driver raises, and
    DocumentError where its answer is no configuration.
    """
    program = switch_program(driver)
    if program is not None and which in ("running", "known"):
        reading = program.read() if which == "running" or program.known is None else program.known
        running: RunningConfig = reading.running
        return running
    return parse_running(driver.get_config(retrieve=which)[which])


def read_with_commit(driver: Any, read: Callable[[], T]) -> tuple[T, bool]:
    """Return what ``read`` reads of the running configuration, and whether a commit waits on the device.

    Our own driver's answer says both. Others are asked for the commit first: asked afterwards, one whose timer ended in
    between would be taken for confirmed.
    """
    if switch_program(driver) is None:
        pending = bool(driver.has_pending_commit())
        return read(), pending
    found = read()
    known = switch_program(driver).known
    return found, bool(known.status.pending if known is not None else driver.has_pending_commit())


def damage_of(driver: Any) -> str:
    """Return what is wrong with the state that a device keeps of its transactions, as it was read last; else empty."""
    known = getattr(switch_program(driver), "known", None)
    return "" if known is None else str(known.status.damage)


def broken_of(driver: Any) -> str:
    """Return in words which daemons the last change of a device ended for good, as it was read last; else empty."""
    known = getattr(switch_program(driver), "known", None)
    return "" if known is None else str(known.status.broken)


def known_generation(driver: Any) -> Mapping[str, Any]:
    """Return the generation of the intent that a device says it runs, as it was read last; empty where it says none."""
    known = getattr(switch_program(driver), "known", None)
    return {} if known is None else known.status.generation


def release_of(driver: Any) -> str:
    """Return the SONiC release that a device runs, as it was read last; empty where it was not told."""
    known = getattr(switch_program(driver), "known", None)
    return "" if known is None else running_release(known.image)


def unapplied_of(driver: Any) -> tuple[tuple[str, str, str, str], ...] | None:
    """Return what a device's daemons apply that differs from CONFIG_DB, as it was read last; None where that is not
    known."""
    known = getattr(switch_program(driver), "known", None)
    return None if known is None else known.unapplied


def unseen_of(driver: Any) -> tuple[str, ...]:
    """Return the fields of ports of which a device does not tell what is in force, as it was read last."""
    known = getattr(switch_program(driver), "known", None)
    return () if known is None else known.unseen
