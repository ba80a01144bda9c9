"""The health that a change must not take away.

While a rollout is on its way the far end of a link may still run its old configuration. What held over such a link
before the change must hold after it all the same, unless the change is one that both ends have to make: then the link
is down until the far end follows, and is judged there. A session that stands has to bring as many prefixes as before,
and ports must not lose more than before (``losses``).
"""

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

from railweave.plan.expectation import Expectation
from railweave.plan.losses import Rates
from railweave.plan.observation import Observation
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.plan.verification import check_device
from railweave.sonic.change import FRR_TABLE, Change, Op

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


# Both ends of a link state these, and the link or the session is down while they differ.
_BOTH_ENDS_FIELDS = frozenset({"autoneg", "fec", "lanes", "link_training", "speed", "subport"})
_BOTH_ENDS_TABLES = frozenset({"BREAKOUT_CFG", "INTERFACE"})
_BOTH_ENDS_LINE = re.compile(r"^(router bgp|neighbor \S+ (remote-as|password|local-as))\b")


def needs_both_ends(changes: Iterable[Change]) -> bool:
    """Tell whether ``changes`` take something away that both ends of a link must agree on."""
    return any(_needs_both_ends(change) for change in changes if change.op is not Op.ADD)


def _needs_both_ends(change: Change) -> bool:
    if change.table == FRR_TABLE:
        return bool(_BOTH_ENDS_LINE.match(change.field or ""))
    if change.table == "PORT":
        return change.field is None or change.field in _BOTH_ENDS_FIELDS
    return change.table in _BOTH_ENDS_TABLES


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

    ``moving`` other devices are at work at the same moment; what these announce may be missing, and they are judged by
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
