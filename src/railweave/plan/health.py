"""The health that a change must preserve: the checks that passed before, and how fast ports lose packets.

During a rollout the far end of a link may still run its old configuration. A check that passed over such a link before
the change must pass after it too, unless both ends have to change: then the link is down until the far end follows, and
is checked there. An established session must bring as many prefixes as before.

A counter of lost packets alone says nothing: its losses may be a year old. What counts is how fast it rises, so two
readings make a rate, and the rate before the change is compared with the rate after it.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

from railweave.fabric.model import Fabric
from railweave.plan.expectation import Expectation
from railweave.plan.observation import Counters, Observation, ObservedSession
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.plan.verification import check_device

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
        rates: dict[tuple[CheckKind, str], float] = {}
        if self.seconds <= 0:
            return rates
        for port in ports:
            for kind, earlier, later in (
                (CheckKind.ERRORS, self.earlier.errors, self.later.errors),
                (CheckKind.DISCARDS, self.earlier.discards, self.later.discards),
            ):
                if port in earlier and port in later:
                    rates[kind, port] = max(0, later[port] - earlier[port]) / self.seconds
        return rates


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
    """A device before its change."""

    # The checks that passed.
    held: Health = frozenset()
    # Accepted prefixes by peer.
    prefixes: Mapping[str, int] = field(default_factory=dict)
    # Peers whose sessions lacked routes already.
    lacking: frozenset[str] = frozenset()
    # Lost packets a second.
    losses: Rates = field(default_factory=dict)


def health(expectation: Expectation, seen: Observation) -> Health:
    """Return which checks pass already, whatever the far ends run."""
    checks = check_device(expectation, seen)
    return frozenset((check.kind, check.subject) for check in checks if check.ok and not check.skipped)


def gate(
    expectation: Expectation, seen: Observation, settled: Container[str], before: Health
) -> tuple[VerifyCheck, ...]:
    """Return the checks that a device must pass now: all over links to ``settled`` devices, else what held before."""
    required = {(check.kind, check.subject): check for check in check_device(expectation, seen, settled)}
    for check in check_device(expectation, seen):
        # The ends of a session agree on timers, so a far end that has its earlier ones decides, too.
        if (check.kind, check.subject) in before and check.kind is not CheckKind.TIMERS:
            required[check.kind, check.subject] = check
    # A value that daemons and sessions had not taken before a change is not its fault; `verify` and `drift` report it.
    return tuple(check for key, check in required.items() if check.kind not in _TAKEN_LATER or key in before)


_TAKEN_LATER = frozenset({CheckKind.APPLIED, CheckKind.TIMERS})


def accepted_prefixes(held: Health, seen: Observation, *, to_nodes: bool = True) -> dict[str, int]:
    """Return the prefixes accepted over each session that held, if the device counts them; IPv6 prefixes separately,
    for a session that is to carry them."""
    accepted = {}
    for peer, session in seen.bgp.items():
        for kind, subject, count in _counted_prefixes(peer, session):
            if (kind, peer) not in held or count < 0:
                continue
            accepted[subject] = count
            if kind is CheckKind.BGP and not to_nodes:
                # If IPv4 does not lead to nodes, host blocks are refused from now on and loopbacks stay: half, rounded
                # up.
                accepted[subject] = -(-count // PREFIXES_OF_A_DEVICE)
    return accepted


def _counted_prefixes(peer: str, session: ObservedSession) -> tuple[tuple[CheckKind, str, int], ...]:
    """Return the prefixes of each family, with the check that tells whether the session carries them."""
    ipv6 = f"{peer} IPv6"
    return (CheckKind.BGP, peer, session.prefixes), (CheckKind.IPV6, ipv6, session.ipv6_prefixes)


def prefixes_behind(fabric: Fabric, device: str) -> int:
    """Return the most prefixes that others may miss while a switch changes: its own, and those that it alone passes on
    to its group of super-spines."""
    switches = 1
    # A leaf has no switches below, and a spine of two tiers passes on what other spines announce as well.
    if fabric.uplinks_of.get(device):
        switches += len(fabric.below(device))
    return PREFIXES_OF_A_DEVICE * switches


def prefix_checks(
    device: str, before: Mapping[str, int], seen: Observation, peers: Iterable[str], missing: int = 0
) -> tuple[VerifyCheck, ...]:
    """Return for each of ``peers`` whether it still brings the prefixes that it brought ``before``.

    Up to ``missing`` may be absent: those of other devices that change at the same time and have checks of their own.
    """
    checks: list[VerifyCheck] = []
    for peer in peers:
        session = seen.bgp.get(peer)
        # A lost session fails its own check.
        if session is None:
            continue
        for _, subject, count in _counted_prefixes(peer, session):
            least = max(0, before.get(subject, 0) - missing)
            # A session that does not count its prefixes (-1) proves nothing.
            if least and count >= 0:
                expected = f"at least {least} prefixes"
                actual = f"{count} prefixes"
                checks.append(VerifyCheck(device, CheckKind.PREFIXES, subject, expected, actual, count >= least))
    return tuple(checks)
