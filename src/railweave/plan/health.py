"""The health that a change must not take away: what held before, and how fast ports lose packets.

While a rollout is on its way the far end of a link may still run its old configuration. What held over such a link
before the change must hold after it all the same, unless the change is one that both ends have to make: then the link
is down until the far end follows, and is judged there. A session that stands has to bring as many prefixes as before.

A counter of lost packets alone says nothing: it may have stood where it stands for a year. What counts is how fast it
rises, so two readings make a rate, and the rate before the change is held against the rate after it.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

from railweave.fabric.model import Fabric
from railweave.plan.expectation import Expectation
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.plan.verification import BgpSession, Counters, Observation, check_device

Rates = Mapping[tuple[CheckKind, str], float]
"""Lost packets a second, by kind (errors or discards) and port."""

UNCHANGED_PER_S = 1.0
"""A rate up to this is no loss: a retrained link and a single bad frame are not what a change is rolled back for."""

FACTOR = 2.0
"""Traffic varies between two readings; up to this factor a rate counts as unchanged."""


@dataclass(frozen=True, slots=True)
class LossWatch:
    """Two readings of one device's counters in a row."""

    earlier: Counters
    later: Counters

    @property
    def seconds(self) -> float:
        """Return the time between the readings."""
        return self.later.at_s - self.earlier.at_s

    def rates(self, ports: Iterable[str]) -> Rates:
        """Return how fast the counters of ``ports`` rose; a counter that began anew (a reload) did not rise."""
        found: dict[tuple[CheckKind, str], float] = {}
        if self.seconds <= 0:
            return found
        for port in ports:
            for kind, earlier, later in (
                (CheckKind.ERRORS, self.earlier.errors, self.later.errors),
                (CheckKind.DISCARDS, self.earlier.discards, self.later.discards),
            ):
                if port in earlier and port in later:
                    found[kind, port] = max(0, later[port] - earlier[port]) / self.seconds
        return found


def loss_checks(device: str, before: Rates, now: Rates) -> tuple[VerifyCheck, ...]:
    """Return a check for every counter of ``now``; a port that was not watched before is held against none lost."""
    return tuple(_check(device, kind, port, before.get((kind, port), 0.0), rate) for (kind, port), rate in now.items())


def _check(device: str, kind: CheckKind, port: str, before: float, now: float) -> VerifyCheck:
    allowed = max(UNCHANGED_PER_S, before * FACTOR)
    return VerifyCheck(device, kind, port, f"at most {allowed:.1f}/s", f"{now:.1f}/s", now <= allowed)


Health = frozenset[tuple[CheckKind, str]]
"""What held on a device: kind and subject of its checks."""

PREFIXES_OF_A_DEVICE = 2
"""The most prefixes of a family that one switch announces: a leaf its loopback and the block of its hosts."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A device before its change: what held, the prefixes accepted from each peer, the peers whose sessions
    lacked routes, and the losses of its ports."""

    held: Health = frozenset()
    prefixes: Mapping[str, int] = field(default_factory=dict)
    lacking: frozenset[str] = frozenset()
    losses: Rates = field(default_factory=dict)


def health(expectation: Expectation, seen: Observation) -> Health:
    """Return what of the intended state already holds, whatever the far ends run."""
    return frozenset(
        (check.kind, check.subject) for check in check_device(expectation, seen) if check.ok and not check.skipped
    )


def gate(
    expectation: Expectation, seen: Observation, settled: Container[str], before: Health
) -> tuple[VerifyCheck, ...]:
    """Return the checks that a device must pass now: all over links to ``settled`` devices, else what held before."""
    required = {(check.kind, check.subject): check for check in check_device(expectation, seen, settled)}
    for check in check_device(expectation, seen):
        # The ends of a session agree on timers, so a far end that has its earlier ones decides, too.
        if (check.kind, check.subject) in before and check.kind is not CheckKind.TIMERS:
            required[check.kind, check.subject] = check
    # What daemons and sessions did not take before a change is not the change's doing; `verify` and `drift` tell of it.
    return tuple(one for key, one in required.items() if one.kind not in _TAKEN_LATER or key in before)


_TAKEN_LATER = frozenset({CheckKind.APPLIED, CheckKind.TIMERS})


def accepted_prefixes(held: Health, seen: Observation, *, to_nodes: bool = True) -> dict[str, int]:
    """Return the prefixes accepted over each session that held, where the device counts them; those of IPv6 apart,
    where the session is to carry them.

    Where IPv4 is not to lead ``to_nodes`` only half of its prefixes have to stay: whoever announces a host block, which
    is refused then, announces a loopback as well.
    """
    return {
        subject: count if to_nodes or kind is not CheckKind.BGP else -(-count // PREFIXES_OF_A_DEVICE)
        for peer, session in seen.bgp.items()
        for kind, subject, count in _counted_prefixes(peer, session)
        if (kind, peer) in held and count >= 0
    }


def _counted_prefixes(peer: str, session: BgpSession) -> tuple[tuple[CheckKind, str, int], ...]:
    """Return the prefixes of each family, with the check that tells whether the session carries them."""
    ipv6 = f"{peer} IPv6"
    return (CheckKind.BGP, peer, session.prefixes), (CheckKind.IPV6, ipv6, session.ipv6_prefixes)


def prefixes_behind(fabric: Fabric, device: str) -> int:
    """Return the most prefixes that others may miss while a switch changes: its own, and those that it alone passes on
    to its group of super-spines."""
    below = fabric.below(device) if fabric.uplinks_of.get(device) else ()
    return PREFIXES_OF_A_DEVICE * (1 + len(below))


def prefix_checks(
    device: str, before: Mapping[str, int], seen: Observation, peers: Iterable[str], missing: int = 0
) -> tuple[VerifyCheck, ...]:
    """Return for each of ``peers`` whether it still brings the prefixes that it brought ``before``.

    Up to ``missing`` may be absent: those of other devices that change at the same time, which are judged by
    themselves.
    """
    checks: list[VerifyCheck] = []
    for peer in peers:
        session = seen.bgp.get(peer)
        for _, subject, count in () if session is None else _counted_prefixes(peer, session):
            least = max(0, before.get(subject, 0) - missing)
            if least and count >= 0:
                words = f"at least {least} prefixes", f"{count} prefixes"
                checks.append(VerifyCheck(device, CheckKind.PREFIXES, subject, *words, count >= least))
    return tuple(checks)
