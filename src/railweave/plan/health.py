"""The health that a change must not take away.

While a rollout is on its way the far end of a link may still run its old configuration. What held over such a link
before the change must hold after it all the same, unless the change is one that both ends have to make: then the link
is down until the far end follows, and is judged there. A session that stands has to bring as many prefixes as before,
and ports must not lose more than before (``losses``).
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

from railweave.plan.expectation import Expectation
from railweave.plan.losses import Rates
from railweave.plan.observation import Observation
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.plan.verification import check_device

Health = frozenset[tuple[CheckKind, str]]
"""What held on a device: kind and subject of its checks."""

PREFIXES_OF_A_DEVICE = 2
"""The most prefixes that one switch announces: a leaf its loopback and the block of its hosts."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A device before its change: what held, the prefixes accepted from each peer, and the losses of its ports."""

    held: Health = frozenset()
    prefixes: Mapping[str, int] = field(default_factory=dict)
    losses: Rates = field(default_factory=dict)


def health(expectation: Expectation, seen: Observation) -> Health:
    """Return what of the intended state already holds, whatever the far ends run."""
    return frozenset((check.kind, check.subject) for check in check_device(expectation, seen) if check.ok)


def gate(
    expectation: Expectation, seen: Observation, settled: Container[str], before: Health
) -> tuple[VerifyCheck, ...]:
    """Return the checks that a device must pass now: all over links to ``settled`` devices, else what held before."""
    required = {(check.kind, check.subject): check for check in check_device(expectation, seen, settled)}
    for check in check_device(expectation, seen):
        if (check.kind, check.subject) in before:
            required[check.kind, check.subject] = check
    return tuple(required.values())


def accepted_prefixes(held: Health, seen: Observation) -> dict[str, int]:
    """Return the prefixes accepted over each session that held, where the device counts them."""
    return {
        peer: session.prefixes
        for peer, session in seen.bgp.items()
        if (CheckKind.BGP, peer) in held and session.prefixes >= 0
    }


def prefix_checks(
    device: str, before: Mapping[str, int], seen: Observation, peers: Iterable[str], moving: int = 0
) -> tuple[VerifyCheck, ...]:
    """Return for each of ``peers`` whether it still brings the prefixes that it brought ``before``.

    ``moving`` other devices change at the same time; what these announce may be missing, and they are judged by
    themselves.
    """
    checks: list[VerifyCheck] = []
    for peer in peers:
        least = max(0, before.get(peer, 0) - moving * PREFIXES_OF_A_DEVICE)
        session = seen.bgp.get(peer)
        if least and session is not None and session.prefixes >= 0:
            held = session.prefixes >= least
            checks.append(
                VerifyCheck(
                    device, CheckKind.PREFIXES, peer, f"at least {least} prefixes", f"{session.prefixes} prefixes", held
                )
            )
    return tuple(checks)
