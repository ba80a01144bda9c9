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

    ``disruptive`` are the devices that their change takes out of service for a while; ``unprovisioned`` devices carry
    no traffic yet. The devices ``out_of_service`` and the links ``down`` carry none, whatever the rollout does.
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
        """Return the other switches in the planes of the wave's disruptive spines: their drains add to its loss."""
        disrupted = [self.fabric.switch_of[name] for name in self.takes_away(wave)]
        # A leaf is on no path between others, so leaves alone have no neighborhood.
        planes = {switch.plane for switch in disrupted if not switch.tier.attaches_nodes}
        others = (switch for switch in self.fabric.switches if switch.plane in planes and switch not in disrupted)
        return tuple(switch.name for switch in others)

    def witnesses(
        self, wave: Collection[str], failed: Collection[str], unread: Collection[str], turn: int
    ) -> tuple[Witness, ...]:
        """Return the switches to ask whether the spines beside ``wave`` carry traffic.

        The result is empty if single drained links could cross a floor, since only the spines themselves report these.
        ``failed`` devices are out of service, ``unread`` ones do not answer. ``turn`` varies which switches are asked.
        """
        out = {*self._out, *failed, *wave}
        if not self._limits.bears_lost_links(out, self._down):
            return ()
        planes = {self.fabric.switch_of[name].plane for name in wave}
        spines = []
        answering = set()
        for switch in self.fabric.switches:
            in_service = switch.name not in out and self._limits.runs(switch.name)
            if not in_service:
                continue
            if switch.plane in planes and not switch.tier.attaches_nodes:
                spines.append(switch.name)
            if switch.name not in unread:
                answering.add(switch.name)
        return witnesses(self.fabric, spines, answering, down=self._down, turn=turn)

    def violation(
        self, wave: Collection[str], failed: Collection[str] = (), away: Away = NOTHING_AWAY
    ) -> PolicyViolation | None:
        """Return the rule of the policy that the change of ``wave`` would break; None if it breaks none.

        A wave without a disruptive device breaks none. ``failed`` devices count as out of service. What is out of
        service already, or ``away``, counts only if it shares paths or nodes with the wave, since each plane is a
        fabric of its own.
        """
        disrupted = self.takes_away(wave)
        if not disrupted:
            return None
        out_of_service = (*self._out, *sorted(away.out - set(disrupted), key=natural_key))
        beside = tuple(dict.fromkeys(name for name in out_of_service if self._affects(name, disrupted)))
        down = [link for link in (*self._down, *away.down) if self._affects(link.upper, disrupted)]
        violation = self._limits.violation(dict.fromkeys((*beside, *failed, *disrupted)), down)
        if violation is None:
            return None
        return replace(violation, beside=beside)

    def _affects(self, name: str, disrupted: Collection[str]) -> bool:
        """Tell whether a switch out of service adds to the loss of the ``disrupted`` ones.

        It does if it is in the plane of one of them, or attaches the same nodes in another plane.
        """
        switch = self.fabric.switch_of.get(name)
        planes = {self.fabric.switch_of[device].plane for device in disrupted}
        if switch is None or switch.plane in planes:
            return True
        nodes = set(self.fabric.nodes_on(name))
        return any(not nodes.isdisjoint(self.fabric.nodes_on(device)) for device in disrupted)

    def floor_crossed(self, wave: Iterable[str], down: Collection[Link]) -> PolicyViolation | None:
        """Return the floor that is crossed while ``wave`` is changed and the links ``down`` are down; else None."""
        return self._limits.floors({*self._out, *self.disruptive.intersection(wave)}, (*self._down, *down))


@dataclass(frozen=True, slots=True)
class Order:
    """The waves of a rollout, and the rules of the policy that they break."""

    waves: tuple[Wave, ...]
    violations: tuple[PolicyViolation, ...] = ()


def violation_diagnostics(violations: Iterable[PolicyViolation], policy: RolloutPolicy) -> tuple[Diagnostic, ...]:
    """Return the errors for rules of ``policy`` that cannot be kept, at the places where the inventory states them."""
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
    """Return ``waves`` in their order, each split where its disruptive devices together would break the policy.

    This is for waves that were laid out for another change: what is hitless in one direction may be disruptive in the
    other.
    """
    parts = tuple(part for wave in waves for part in _allowed_parts(wave, gate))
    violations = []
    for part in parts:
        violation = gate.violation(part)
        if violation is not None:
            violations.append(replace(violation, devices=gate.takes_away(part)))
    return Order(parts, tuple(violations))


def _allowed_parts(wave: Iterable[str], gate: WaveGate) -> Iterator[Wave]:
    """Yield parts of ``wave`` in its order, each as long as ``gate`` allows."""
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
    """Return waves of the ``changed`` devices that pass ``gate``, and the violations that no order can avoid.

    A wave has at most ``wave_size`` devices. ``two_sided`` are the links that need a change at both ends. ``at_once``
    puts hitless changes into the fewest waves, without a canary.
    """
    if at_once and gate.disruptive.isdisjoint(changed):
        return Order(_fewest_waves(fabric, changed, wave_size), ())
    ends_of_two_sided = {name for link in two_sided for name in (link.upper, link.lower)}
    builder = _WaveBuilder(gate, wave_size, ends_of_two_sided)
    switches = [switch for switch in fabric.switches if switch.name in changed]
    for _, group in groupby(sorted(switches, key=_rollout_order), key=_rollout_order):
        builder.add(list(group))
    waves = tuple(builder.waves)
    return Order(waves, (*builder.violations(), *_two_sided_violation(gate, waves, two_sided)))


def _fewest_waves(fabric: Fabric, changed: Collection[str], wave_size: int) -> tuple[Wave, ...]:
    names = [switch.name for switch in fabric.switches if switch.name in changed]
    return tuple(tuple(names[start : start + wave_size]) for start in range(0, len(names), wave_size))


def _rollout_order(switch: Switch) -> tuple[int, int]:
    """Return the sort key of a rollout: planes one after the other, and in a plane the tiers from the top.

    Switches of one tier keep the order of the fabric.
    """
    return (switch.plane, -switch.tier.level)


def _column(switch: Switch) -> int:
    """Return the number that tells which switches of a tier change together: the rail, or the group of super-spines.

    It is -1 for a switch that has neither.
    """
    if switch.rail is not None:
        return switch.rail
    if switch.group is not None:
        return switch.group
    return -1


class _WaveBuilder:
    """Builds waves, one tier of a plane after the other; ``two_sided`` are switches with links of two-sided changes."""

    def __init__(self, gate: WaveGate, wave_size: int, two_sided: Collection[str]) -> None:
        self.waves: list[Wave] = []
        self._gate = gate
        self._size = wave_size
        self._two_sided = two_sided
        self._canaried: set[tuple[int, bool]] = set()
        """Tier levels, with whether the changes are disruptive, that have had a canary."""
        self._violations: dict[PolicyViolation, list[str]] = {}
        """Violations with the devices of which each causes it even alone."""

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
        """Add a wave of the first device, the canary, and return the other devices.

        Nothing is added if the tier has had a canary for this kind of change; then all devices are returned.
        """
        if not switches:
            return switches
        tier_and_kind = (switches[0].tier.level, disruptive)
        if tier_and_kind in self._canaried:
            return switches
        self._canaried.add(tier_and_kind)
        self._add(switches[:1], disruptive=disruptive)
        return switches[1:]

    def _add(self, switches: Iterable[Switch], *, disruptive: bool) -> None:
        """Add the fewest waves of ``switches`` in this order that the wave size and the policy allow."""
        wave: list[str] = []
        for switch in switches:
            if disruptive:
                self._check_alone(switch.name)
            if wave and not self._fits(wave, switch.name, disruptive=disruptive):
                self.waves.append(tuple(wave))
                wave = []
            wave.append(switch.name)
        if wave:
            self.waves.append(tuple(wave))

    def _fits(self, wave: Sequence[str], name: str, *, disruptive: bool) -> bool:
        """Tell whether the device ``name`` may join ``wave``, whose changes are all disruptive or all hitless."""
        if len(wave) == self._size:
            return False
        return not disruptive or self._gate.violation([*wave, name]) is None

    def _check_alone(self, name: str) -> None:
        """Record the violation of a device that breaks the policy even alone: no order avoids it."""
        violation = self._gate.violation([name])
        if violation is not None:
            self._violations.setdefault(violation, []).append(name)


def _two_sided_violation(
    gate: WaveGate, waves: Iterable[Wave], two_sided: Collection[Link]
) -> Iterator[PolicyViolation]:
    """Yield the violation of the floor that is crossed first while ``two_sided`` links wait for their second end."""
    changed: set[str] = set()
    for number, wave in enumerate(waves, start=1):
        changed.update(wave)
        # A link is down as long as one of its ends has changed and the other has not.
        down = [link for link in two_sided if (link.upper in changed) != (link.lower in changed)]
        if not down:
            continue
        violation = gate.floor_crossed(wave, down)
        if violation is not None:
            yield PolicyViolation(
                key=violation.key,
                message=(
                    f"both ends of {len(two_sided)} links have to change, and a link is down until its second end does;"
                    f" in wave {number} {violation.message}"
                ),
                fix=f"{violation.fix}, or deploy with --renumber if an outage is acceptable",
                devices=wave,
                two_sided=True,
            )
            # The waves after it add links to the same loss.
            return
