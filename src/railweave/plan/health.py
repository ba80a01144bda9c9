"""The health that a change must preserve: the checks that passed before, and how fast ports lose packets.

During a rollout the far end of a link may still run its old configuration. A check that passed over such a link before
the change must pass after it too, unless both ends have to change: then the link is down until the far end follows, and
is checked there. An established session must bring as many prefixes as before.

A counter of lost packets alone says nothing: its losses may be a year old. What counts is how fast it rises, so two
readings make a rate, and the rate before the change is compared with the rate after it.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

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
        """Return how fast the counters of ``ports`` rose.

        A counter that started again at 0, as after a reload, has the rate 0. Ports that are not in both readings are
        left out.
        """
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
    """Return a check for each rate of ``now``: that it is not much higher than ``before`` the change.

    A port without a rate before counts as one without losses.
    """
    checks = []
    for (kind, port), rate in now.items():
        rate_before = before.get((kind, port), 0.0)
        allowed = max(UNCHANGED_PER_S, rate_before * FACTOR)
        checks.append(
            VerifyCheck(
                device=device,
                kind=kind,
                subject=port,
                expected=f"at most {allowed:.1f}/s",
                actual=f"{rate:.1f}/s",
                ok=rate <= allowed,
            )
        )
    return tuple(checks)


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
    """Return the checks that pass now, also those over links whose far ends run another configuration."""
    checks = check_device(expectation, seen)
    return frozenset((check.kind, check.subject) for check in checks if check.ok and not check.skipped)


def gate(
    expectation: Expectation, seen: Observation, settled: Container[str], before: Health
) -> tuple[VerifyCheck, ...]:
    """Return the checks that a device must pass after its change.

    These are the checks of the device itself and of its links to ``settled`` devices, and all checks that passed
    ``before``.
    """
    required = {(check.kind, check.subject): check for check in check_device(expectation, seen, settled)}
    for check in check_device(expectation, seen):
        passed_before = (check.kind, check.subject) in before
        # The ends of a session agree on timers, so they also depend on a far end that is not settled.
        if passed_before and check.kind is not CheckKind.TIMERS:
            required[check.kind, check.subject] = check
    checks = []
    for key, check in required.items():
        # A change is not blamed for values that daemons did not apply before it; `verify` and `drift` report them.
        if key in before or check.kind not in _MAY_LAG:
            checks.append(check)
    return tuple(checks)


_MAY_LAG = frozenset({CheckKind.APPLIED, CheckKind.TIMERS})
"""Checks of values that daemons and sessions may apply long after they were configured."""


def accepted_prefixes(held: Health, seen: Observation, *, to_nodes: bool = True) -> dict[str, int]:
    """Return the number of prefixes accepted over each session whose checks ``held``, by subject of ``prefix_checks``.

    Sessions that do not count their prefixes are left out. ``to_nodes`` tells whether IPv4 still leads to nodes after
    the change.
    """
    accepted = {}
    for peer, session in seen.bgp.items():
        for family in _prefixes_by_family(peer, session):
            if (family.kind, peer) not in held or family.accepted < 0:
                continue
            accepted[family.subject] = family.accepted
            if family.kind is CheckKind.BGP and not to_nodes:
                # Of a leaf's prefixes the loopback stays and the host block is refused from now on: half, rounded up.
                accepted[family.subject] = ceil(family.accepted / PREFIXES_OF_A_DEVICE)
    return accepted


class _FamilyPrefixes(NamedTuple):
    """The accepted prefixes of one address family of a session."""

    # The check that tells whether the session carries this family.
    kind: CheckKind
    subject: str
    # -1 if unknown.
    accepted: int


def _prefixes_by_family(peer: str, session: ObservedSession) -> tuple[_FamilyPrefixes, ...]:
    return (
        _FamilyPrefixes(CheckKind.BGP, peer, session.prefixes),
        _FamilyPrefixes(CheckKind.IPV6, f"{peer} IPv6", session.ipv6_prefixes),
    )


def prefixes_behind(fabric: Fabric, device: str) -> int:
    """Return the most prefixes that other switches may miss while this one changes.

    These are its own, and those of the switches below that only it passes on to its group of super-spines.
    """
    switches = 1
    # A leaf has no switches below, and a spine of two tiers passes on what other spines announce as well.
    if fabric.uplinks_of.get(device):
        switches += len(fabric.below(device))
    return PREFIXES_OF_A_DEVICE * switches


def prefix_checks(
    device: str, before: Mapping[str, int], seen: Observation, peers: Iterable[str], missing: int = 0
) -> tuple[VerifyCheck, ...]:
    """Return the checks that ``peers`` still announce as many prefixes as ``before``, one for each address family.

    Up to ``missing`` prefixes may be absent: those of other devices that change at the same time and have checks of
    their own.
    """
    checks: list[VerifyCheck] = []
    for peer in peers:
        session = seen.bgp.get(peer)
        # A lost session fails its own check.
        if session is None:
            continue
        for family in _prefixes_by_family(peer, session):
            least = max(0, before.get(family.subject, 0) - missing)
            # A session that does not count its prefixes (-1) proves nothing.
            if least and family.accepted >= 0:
                checks.append(
                    VerifyCheck(
                        device=device,
                        kind=CheckKind.PREFIXES,
                        subject=family.subject,
                        expected=f"at least {least} prefixes",
                        actual=f"{family.accepted} prefixes",
                        ok=family.accepted >= least,
                    )
                )
    return tuple(checks)
