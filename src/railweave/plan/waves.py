"""The order of a rollout: canary first, plane by plane, and never more out of service than the policy allows.

A plane is a whole fabric of its own, so one is finished before the next is touched. In a plane spines go before leaves,
and what disturbs nothing before what does. A wave never holds two devices that share a link, so each can be verified
against neighbours that stand still. Disturbed leaves of one wave are of one rail, so that all other rails stay whole.

A change that both ends of a link have to make parts them: the link is down from the first end's wave until the
second's. The floors hold over that time too, or the rollout is refused.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from railweave.diagnostics import Diagnostic, Where, error
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric, Link, Role, Switch
from railweave.plan.limits import Breach, Limits
from railweave.plan.policy import DEFAULT_POLICY, RolloutPolicy

Wave = tuple[str, ...]

_INVENTORY_KEY = "rollout"


@dataclass(frozen=True, slots=True)
class Unmet:
    """A rule that no order of these devices can keep; ``key`` is the policy's, empty where it is not one of them.

    With ``parted`` it is a floor that is crossed while links wait for their second end.
    """

    key: str
    message: str
    fix: str
    devices: tuple[str, ...]
    parted: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """The waves of a rollout, and what of the policy they cannot keep."""

    waves: tuple[Wave, ...]
    unmet: tuple[Unmet, ...] = ()


def plan_waves(
    fabric: Fabric,
    changed: Collection[str],
    careful: Collection[str] = (),
    policy: RolloutPolicy = DEFAULT_POLICY,
    *,
    idle: Collection[str] = (),
    parted: Collection[Link] = (),
) -> tuple[Wave, ...]:
    """Return the waves of the ``changed`` devices.

    ``careful`` are those among them that carry traffic and that the change disturbs; ``idle`` are those that carry
    nothing yet; ``parted`` are the links of which both ends change what they must agree on.
    Raises RefusedError where no order keeps the policy.
    """
    order = arrange(fabric, changed, careful, policy, idle=idle, parted=parted)
    if order.unmet:
        raise RefusedError(unmet_diagnostics(order.unmet, policy))
    return order.waves


def unmet_diagnostics(unmet: Iterable[Unmet], policy: RolloutPolicy) -> tuple[Diagnostic, ...]:
    """Return the errors of what cannot be kept, at the policy's places where it has some."""
    return tuple(
        error(
            "RW514" if one.parted else "RW513",
            one.message if one.parted else f"the rollout policy can never be met: {one.message}",
            policy.places.get(one.key) or policy.places.get("") or Where(path=_path(one.key)),
            devices=one.devices,
            fix=f"{one.fix} (`{_INVENTORY_KEY}` in the target's inventory file)" if one.key else one.fix,
        )
        for one in unmet
    )


def _path(key: str) -> str:
    return f"{_INVENTORY_KEY}.{key}" if key else ""


def may_go(
    fabric: Fabric, policy: RolloutPolicy, out: Collection[str], wave: Collection[str], *, idle: Collection[str] = ()
) -> str:
    """Return why the devices of ``wave`` may not be taken out of service now; empty where they may.

    ``out`` are the devices that are out of service already: failed, lost or drained. ``wave`` holds those that the
    wave disturbs; ``idle`` are those that carry nothing yet, which may be in both without any effect.
    """
    moving = [name for name in wave if name not in idle]
    if not moving:
        return ""
    found = Limits(fabric, policy, idle).breach({*out, *moving})
    return found.message if found is not None else ""


def parted_by_limits(
    fabric: Fabric,
    waves: Iterable[Iterable[str]],
    careful: Collection[str],
    policy: RolloutPolicy,
    *,
    idle: Collection[str] = (),
) -> tuple[Wave, ...]:
    """Return ``waves`` in their order, each parted where its ``careful`` devices would together take too much.

    For waves that were made for another change: what disturbs nothing on the way there may disturb on the way back.
    """
    limits = Limits(fabric, policy, idle)
    found: list[Wave] = []
    for wave in waves:
        part: list[str] = []
        for name in wave:
            moving = [one for one in (*part, name) if one in careful]
            if part and name in careful and limits.breach(moving):
                found.append(tuple(part))
                part = []
            part.append(name)
        found += [tuple(part)] if part else []
    return tuple(found)


def arrange(
    fabric: Fabric,
    changed: Collection[str],
    careful: Collection[str] = (),
    policy: RolloutPolicy = DEFAULT_POLICY,
    *,
    idle: Collection[str] = (),
    parted: Collection[Link] = (),
) -> Order:
    """Return the waves as ``plan_waves`` does, with what they cannot keep beside them instead of an exception."""
    ends = {name for link in parted for name in (link.upper, link.lower)}
    making = _Making(Limits(fabric, policy, idle), policy.wave_size, frozenset(careful) - frozenset(idle), ends)
    switches = [switch for switch in fabric.switches if switch.name in changed]
    for _, group in groupby(sorted(switches, key=_turn), key=_turn):
        making.add(list(group))
    waves = tuple(making.waves)
    return Order(waves, (*making.unmet(), *_while_parted(making, waves, parted)))


_RANK = {Role.SUPER_SPINE: 0, Role.SPINE: 1, Role.LEAF: 2}


def _turn(switch: Switch) -> tuple[int, int]:
    """Return the plane and then the tier, which go one after the other; the order within them is the fabric's."""
    return (switch.plane, _RANK[switch.role])


class _Making:
    """Waves in the making, group by group."""

    def __init__(self, limits: Limits, wave_size: int, careful: frozenset[str], parted: Collection[str]) -> None:
        self.waves: list[Wave] = []
        self.limits = limits
        self.careful = careful
        self._size = wave_size
        self._parted = parted
        self._tried: set[tuple[Role, bool]] = set()
        self._unmet: dict[Breach, list[str]] = {}

    def add(self, switches: Sequence[Switch]) -> None:
        """Add the waves of one tier of one plane: what disturbs nothing, then what does."""
        calm = [switch for switch in switches if switch.name not in self.careful]
        disturbed = [switch for switch in switches if switch.name in self.careful]
        self._add(self._after_canary(calm, disturbs=False), disturbs=False)
        # Links that are parted stay down until the leaves follow, so those spines wait for all others.
        disturbed.sort(key=lambda switch: (switch.name in self._parted, -1 if switch.rail is None else switch.rail))
        rest = self._after_canary(disturbed, disturbs=True)
        for _, rail in groupby(rest, key=lambda switch: switch.rail):
            self._add(rail, disturbs=True)

    def unmet(self) -> Iterator[Unmet]:
        """Yield what cannot be kept, with the devices that it is about."""
        for found, devices in self._unmet.items():
            if found.key.startswith("floor."):
                which = "it" if len(devices) == 1 else f"any one of {len(devices)} switches"
                message, fix = f"with {which} out of service, {found.message}", f"{found.fix}, or add spines"
                yield Unmet(found.key, message, fix, tuple(devices))
            else:
                yield Unmet(found.key, found.message, found.fix, tuple(devices))

    def _after_canary(self, switches: Sequence[Switch], *, disturbs: bool) -> Sequence[Switch]:
        """Send the first device of its kind alone, ahead of all others; return those that follow."""
        if not switches or (switches[0].role, disturbs) in self._tried:
            return switches
        self._tried.add((switches[0].role, disturbs))
        self._add(switches[:1], disturbs=disturbs)
        return switches[1:]

    def _add(self, switches: Iterable[Switch], *, disturbs: bool) -> None:
        wave: list[str] = []
        for switch in switches:
            if disturbs:
                self._try_alone(switch.name)
            if wave and (len(wave) == self._size or (disturbs and self.limits.breach([*wave, switch.name]))):
                self.waves.append(tuple(wave))
                wave = []
            wave.append(switch.name)
        if wave:
            self.waves.append(tuple(wave))

    def _try_alone(self, name: str) -> None:
        """Note where a device may not even go alone: then no order keeps the policy."""
        found = self.limits.breach([name])
        if found is not None:
            self._unmet.setdefault(found, []).append(name)


def _while_parted(making: _Making, waves: Iterable[Wave], parted: Collection[Link]) -> Iterator[Unmet]:
    """Yield the floor that is crossed first while links wait for their second end."""
    if not parted:
        return
    done: set[str] = set()
    for number, wave in enumerate(waves, start=1):
        done.update(wave)
        down = [link for link in parted if (link.upper in done) != (link.lower in done)]
        found = making.limits.floors([name for name in wave if name in making.careful], down) if down else None
        if found is not None:
            yield Unmet(
                found.key,
                f"both ends of {len(parted)} links have to change, and a link is down until its second end does; "
                f"in wave {number} {found.message}",
                f"{found.fix}, or deploy with --renumber if the fabric may stand still for that time",
                wave,
                parted=True,
            )
            return
