"""The order of a rollout: canary first, plane by plane, and never more out of service than the policy allows.

A plane is a whole fabric of its own, so one is finished before the next is touched. In a plane spines go before leaves,
and hitless changes before disruptive ones. A wave never holds two devices that share a link, so each can be verified
against neighbors that do not change. Disruptive leaves of one wave are of one rail, so that all other rails stay whole.
In three tiers the same spine of every pod goes with the others, because the same paths lead over all of them.

Whether a device may go is judged in one place, ``WaveGate``: the planner lays the waves out by it, and the rollout asks
it again before each wave, with the devices that failed meanwhile.

A two-sided change is one that both ends of a link have to make: the link is down from the first end's wave until the
second's. The floors hold over that time too, or the rollout is refused.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from railweave.diagnostics import Diagnostic, Where, error
from railweave.fabric.devices import Switch
from railweave.fabric.links import Link
from railweave.fabric.model import Fabric
from railweave.plan.away import NOTHING_AWAY, Away
from railweave.plan.policy import DEFAULT_POLICY, PolicyLimits, PolicyViolation, RolloutPolicy
from railweave.plan.witness import Witness, witnesses
from railweave.wording import natural_key

Wave = tuple[str, ...]

_INVENTORY_KEY = "rollout"


class WaveGate:
    """Whether the devices of a wave may be changed together under a policy.

    ``disruptive`` are the devices that their change takes out of service for a while, ``unprovisioned`` those that
    carry no traffic yet, ``out_of_service`` and the links ``down`` carry none whatever the rollout does.
    """

    def __init__(
        self,
        fabric: Fabric,
        policy: RolloutPolicy,
        *,
        disruptive: Collection[str] = (),
        unprovisioned: Collection[str] = (),
        out_of_service: Collection[str] = (),
        down: Collection[Link] = (),
    ) -> None:
        self.fabric = fabric
        self._limits = PolicyLimits(fabric, policy, unprovisioned)
        self.disruptive = frozenset(disruptive) - frozenset(unprovisioned)
        self._out = tuple(sorted(out_of_service, key=natural_key))
        self._down = tuple(down)

    def takes_away(self, wave: Iterable[str]) -> tuple[str, ...]:
        """Return the devices of ``wave`` that their change takes out of service."""
        return tuple(name for name in wave if name in self.disruptive)

    def neighborhood(self, wave: Iterable[str]) -> tuple[str, ...]:
        """Return the switches beside those of ``wave`` whose traffic counts with theirs: all others of their planes."""
        moving = [self.fabric.switch_of[name] for name in self.takes_away(wave)]
        # A leaf is on no path between others, so leaves alone have no neighborhood.
        planes = {switch.plane for switch in moving if not switch.tier.attaches_nodes}
        beside = (switch for switch in self.fabric.switches if switch.plane in planes and switch not in moving)
        return tuple(switch.name for switch in beside)

    def witnesses(
        self, wave: Collection[str], failed: Collection[str], unread: Collection[str], turn: int
    ) -> tuple[Witness, ...]:
        """Return who shows whether the switches above the leaves beside ``wave`` carry traffic.

        Nobody where a floor could be crossed by single links that are drained: the switches themselves know these.
        ``unread`` are switches that do not answer.
        """
        out = {*self._out, *failed, *wave}
        if not self._limits.bears_lost_links(out, self._down):
            return ()
        planes = {self.fabric.switch_of[name].plane for name in wave}
        above = []
        answering = set()
        for switch in self.fabric.switches:
            if switch.name in out or not self._limits.runs(switch.name):
                continue
            if switch.plane in planes and not switch.tier.attaches_nodes:
                above.append(switch.name)
            if switch.name not in unread:
                answering.add(switch.name)
        return witnesses(self.fabric, above, answering, down=self._down, turn=turn)

    def violation(
        self, wave: Collection[str], failed: Collection[str] = (), away: Away = NOTHING_AWAY
    ) -> PolicyViolation | None:
        """Return the rule that ``wave`` breaks beside what is out of service, ``failed`` or ``away``; else None.

        A wave without a disruptive device breaks none. What is out of service counts if it shares paths, or nodes, with
        the wave: planes are fabrics of their own, and only the rollout itself keeps to one after the other.
        """
        moving = self.takes_away(wave)
        if not moving:
            return None
        candidates = (*self._out, *sorted(away.out - set(moving), key=natural_key))
        beside = tuple(dict.fromkeys(name for name in candidates if self._counts(name, moving)))
        down = [link for link in (*self._down, *away.down) if self._counts(link.upper, moving)]
        violation = self._limits.violation(dict.fromkeys((*beside, *failed, *moving)), down)
        if violation is None:
            return None
        return replace(violation, beside=beside)

    def _counts(self, name: str, moving: Collection[str]) -> bool:
        """Tell whether what is out of service shares paths with ``moving``: it is of a plane of theirs, or attaches the
        same nodes in another one, which would lose both."""
        switch = self.fabric.switch_of.get(name)
        if switch is None or switch.plane in {self.fabric.switch_of[device].plane for device in moving}:
            return True
        nodes = set(self.fabric.nodes_on(name))
        return any(not nodes.isdisjoint(self.fabric.nodes_on(device)) for device in moving)

    def floor_crossed(self, wave: Iterable[str], down: Collection[Link]) -> PolicyViolation | None:
        """Return the floor that is crossed while ``wave`` is changed and the links ``down`` are down; else None."""
        return self._limits.floors({*self._out, *self.disruptive.intersection(wave)}, (*self._down, *down))


@dataclass(frozen=True, slots=True)
class Order:
    """The waves of a rollout, and what of the policy they cannot keep."""

    waves: tuple[Wave, ...]
    violations: tuple[PolicyViolation, ...] = ()


def violation_diagnostics(violations: Iterable[PolicyViolation], policy: RolloutPolicy) -> tuple[Diagnostic, ...]:
    """Return the errors for rules that cannot be kept, at the policy's places if it has some."""
    return tuple(_diagnostic(violation, policy) for violation in violations)


def _diagnostic(violation: PolicyViolation, policy: RolloutPolicy) -> Diagnostic:
    """Return a violation as an error, at the inventory's line if one states the limit."""
    where = policy.places.get(violation.key) or policy.places.get("") or Where(path=_path(violation.key))
    fix = violation.fix
    if violation.key:
        fix += f" (`{_INVENTORY_KEY}` in the target's inventory file)"
    if violation.two_sided:
        return error("RW514", violation.message, where, devices=violation.devices, fix=fix)
    # Without the devices that are out of service already the limit looks stricter than it is.
    message = f"the rollout policy {_cannot_be_met(violation.beside)}: {violation.message}"
    return error("RW513", message, where, devices=violation.devices, fix=fix)


def _cannot_be_met(beside: Sequence[str]) -> str:
    if not beside:
        return "can never be met"
    verb = "is" if len(beside) == 1 else "are"
    return f"cannot be met while {', '.join(beside)} {verb} out of service"


def _path(key: str) -> str:
    if not key:
        return ""
    return f"{_INVENTORY_KEY}.{key}"


def split_by_limits(waves: Iterable[Iterable[str]], gate: WaveGate) -> Order:
    """Return ``waves`` in their order, each split where its disruptive devices would together take too much.

    For waves that were made for another change: what is hitless in one direction may be disruptive in the other.
    """
    parts = tuple(part for wave in waves for part in _parts(wave, gate))
    violations = []
    for part in parts:
        violation = gate.violation(part)
        if violation is not None:
            violations.append(replace(violation, devices=gate.takes_away(part)))
    return Order(parts, tuple(violations))


def _parts(wave: Iterable[str], gate: WaveGate) -> Iterator[Wave]:
    part: list[str] = []
    for name in wave:
        if part and name in gate.disruptive and gate.violation([*part, name]):
            yield tuple(part)
            part = []
        part.append(name)
    if part:
        yield tuple(part)


def lay_out(
    fabric: Fabric,
    changed: Collection[str],
    gate: WaveGate,
    *,
    wave_size: int = DEFAULT_POLICY.wave_size,
    two_sided: Collection[Link] = (),
    at_once: bool = False,
) -> Order:
    """Return waves of the ``changed`` devices that pass ``gate``, and beside them what no order of them can keep.

    ``at_once`` puts hitless changes into one wave without a canary, or into the fewest of ``wave_size``.
    """
    if at_once and gate.disruptive.isdisjoint(changed):
        return Order(_fewest_waves(fabric, changed, wave_size), ())
    ends = {name for link in two_sided for name in (link.upper, link.lower)}
    builder = _WaveBuilder(gate, wave_size, ends)
    switches = [switch for switch in fabric.switches if switch.name in changed]
    for _, group in groupby(sorted(switches, key=_rollout_order), key=_rollout_order):
        builder.add(list(group))
    waves = tuple(builder.waves)
    return Order(waves, (*builder.violations(), *_while_two_sided(gate, waves, two_sided)))


def _fewest_waves(fabric: Fabric, changed: Collection[str], wave_size: int) -> tuple[Wave, ...]:
    names = [switch.name for switch in fabric.switches if switch.name in changed]
    return tuple(tuple(names[start : start + wave_size]) for start in range(0, len(names), wave_size))


def _rollout_order(switch: Switch) -> tuple[int, int]:
    """Return the plane and then the tier, the top first, which go one after the other; the order within them is the
    fabric's."""
    return (switch.plane, -switch.tier.level)


def _column(switch: Switch) -> int:
    """Return what switches of a tier have in common that go together: the rail, or the group of super-spines."""
    if switch.rail is not None:
        return switch.rail
    if switch.group is not None:
        return switch.group
    return -1


class _WaveBuilder:
    """Waves in the making, group by group; ``two_sided`` are the ends of links that both have to change."""

    def __init__(self, gate: WaveGate, wave_size: int, two_sided: Collection[str]) -> None:
        self.waves: list[Wave] = []
        self._gate = gate
        self._size = wave_size
        self._two_sided = two_sided
        self._canaried: set[tuple[int, bool]] = set()
        self._violations: dict[PolicyViolation, list[str]] = {}

    def add(self, switches: Sequence[Switch]) -> None:
        """Add the waves of one tier of one plane: hitless changes, then disruptive ones."""
        hitless = [switch for switch in switches if switch.name not in self._gate.disruptive]
        disruptive = [switch for switch in switches if switch.name in self._gate.disruptive]
        self._add(self._after_canary(hitless, disruptive=False), disruptive=False)
        # Links whose ends both change stay down until the leaves follow, so those spines wait for all others.
        disruptive.sort(key=lambda switch: (switch.name in self._two_sided, _column(switch)))
        rest = self._after_canary(disruptive, disruptive=True)
        for _, rail in groupby(rest, key=lambda switch: switch.rail):
            self._add(rail, disruptive=True)

    def violations(self) -> Iterator[PolicyViolation]:
        """Yield the violations, each with the devices that cause it."""
        for violation, names in self._violations.items():
            devices = tuple(names)
            if not violation.key.startswith("floor."):
                yield replace(violation, devices=devices)
                continue
            which = "it" if len(devices) == 1 else f"any one of {len(devices)} switches"
            message = f"with {which} out of service, {violation.message}"
            yield replace(violation, message=message, fix=f"{violation.fix}, or add spines", devices=devices)

    def _after_canary(self, switches: Sequence[Switch], *, disruptive: bool) -> Sequence[Switch]:
        """Send the first device of its kind alone, ahead of all others; return those that follow."""
        if not switches or (switches[0].tier.level, disruptive) in self._canaried:
            return switches
        self._canaried.add((switches[0].tier.level, disruptive))
        self._add(switches[:1], disruptive=disruptive)
        return switches[1:]

    def _add(self, switches: Iterable[Switch], *, disruptive: bool) -> None:
        wave: list[str] = []
        for switch in switches:
            if disruptive:
                self._try_alone(switch.name)
            if wave and (len(wave) == self._size or (disruptive and self._gate.violation([*wave, switch.name]))):
                self.waves.append(tuple(wave))
                wave = []
            wave.append(switch.name)
        if wave:
            self.waves.append(tuple(wave))

    def _try_alone(self, name: str) -> None:
        """Record a device that may not even go alone: then no order keeps the policy."""
        violation = self._gate.violation([name])
        if violation is not None:
            self._violations.setdefault(violation, []).append(name)


def _while_two_sided(gate: WaveGate, waves: Iterable[Wave], two_sided: Collection[Link]) -> Iterator[PolicyViolation]:
    """Yield the floor that is crossed first while links wait for their second end."""
    done: set[str] = set()
    for number, wave in enumerate(waves, start=1):
        done.update(wave)
        down = [link for link in two_sided if (link.upper in done) != (link.lower in done)]
        if not down:
            continue
        violation = gate.floor_crossed(wave, down)
        if violation is not None:
            yield PolicyViolation(
                violation.key,
                f"both ends of {len(two_sided)} links have to change, and a link is down until its second end does; "
                f"in wave {number} {violation.message}",
                f"{violation.fix}, or deploy with --renumber if an outage is acceptable",
                wave,
                two_sided=True,
            )
            # The waves after it add links to the same loss.
            return
