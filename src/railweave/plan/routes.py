"""Whether IPv4 routes follow sessions: what each neighbor announces, and what is passed on to it.

An established session carries no route yet: bgpd announces one once zebra says that it is installed (``bgp
suppress-fib-pending``), which takes a moment on a busy switch, and for ever where the line was loaded before bgpd had
reached zebra (FRR 8.4 to 10.5, ``bgp_suppress_fib_pending_set`` of bgpd/bgpd.c): every path over this switch is
missing, though all sessions are up.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from railweave.plan.expectation import Expectation, ExpectedSession
from railweave.plan.observation import Observation, ObservedSession
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.plan.verification import EVERYONE
from railweave.wording import counted

WAIT_S = 30.0
"""How long a verification in which all else holds waits for routes. SONiC installs thousands a second; a switch that
an operator isolated by TSA announces its loopback alone for as long as that lasts."""


@dataclass(frozen=True, slots=True)
class SessionRoutes:
    """How many IPv4 prefixes a BGP session carries in one direction, and how many it must."""

    device: str
    neighbor: str
    peer: str
    # From ``device`` to ``neighbor``; else those that ``device`` accepted.
    announced: bool
    least: int
    actual: int

    @property
    def ok(self) -> bool:
        """Tell whether there are enough."""
        return self.actual >= self.least

    @property
    def check(self) -> VerifyCheck:
        """Return the numbers as a check of the session."""
        direction = "announced" if self.announced else "accepted"
        expected = f"at least {counted(self.least, 'prefix')} {direction}"
        return VerifyCheck(
            device=self.device,
            kind=CheckKind.PREFIXES,
            subject=self.peer,
            expected=expected,
            actual=f"{self.actual} {direction}",
            ok=self.ok,
        )

    def __str__(self) -> str:
        """Return a sentence with what is missing and what to look at."""
        count = counted(self.actual, "prefix")
        if self.announced:
            source = self.device
            carries = f"announces {count} to"
        else:
            source = self.neighbor
            carries = f"accepts {count} from"
        return (
            f"{self.device} {carries} {self.neighbor}, expected at least {self.least}: routes of {source} are not"
            " installed (`vtysh -c 'show bgp ipv4 unicast PREFIX json'` says fibPending), or TSA isolates it; if it"
            " does not, restart bgp there (`systemctl restart bgp`)"
        )


def session_routes(
    expectation: Expectation, seen: Observation, settled: Container[str] = EVERYONE
) -> tuple[SessionRoutes, ...]:
    """Return how many prefixes each established session to a ``settled`` switch carries, in each direction.

    A session must accept at least what the far end announces as its own. It must announce at least the switch's own
    prefixes and those accepted from other switches: to a switch above, those from below; to a switch below, those from
    above as well. Both are lower bounds: prefixes that several neighbors may announce alike count once.
    """
    established = []
    for session in expectation.sessions:
        state = seen.bgp.get(session.peer)
        if state is not None and state.established and session.device in settled:
            established.append((session, state))
    accepted = _accepted_prefixes(established)
    all_from_below = sum(accepted.from_below.values())
    routes: list[SessionRoutes] = []
    for session, state in established:
        passed_on = all_from_below
        if session.below:
            # The neighbor has the prefixes of its own origin itself, so the lower bound leaves them out.
            passed_on += accepted.from_above - accepted.from_below[session.origin]
        for announced, least, actual in (
            (False, session.own_prefixes, state.ipv4_accepted),
            (True, expectation.own_prefixes + passed_on, state.ipv4_announced),
        ):
            # -1: the switch does not count them.
            if actual >= 0:
                routes.append(
                    SessionRoutes(
                        device=expectation.device,
                        neighbor=session.device,
                        peer=session.peer,
                        announced=announced,
                        least=least,
                        actual=actual,
                    )
                )
    return tuple(routes)


class _AcceptedPrefixes(NamedTuple):
    """How many IPv4 prefixes a switch accepted from its neighbors."""

    # By the origin of the neighbor (``ExpectedSession.origin``).
    from_below: dict[str, int]
    from_above: int


def _accepted_prefixes(established: Iterable[tuple[ExpectedSession, ObservedSession]]) -> _AcceptedPrefixes:
    """Return how many different prefixes ``established`` sessions brought at least."""
    from_below: dict[str, int] = {}
    from_above = 0
    for session, state in established:
        if session.below:
            # Neighbors of one origin announce the same routes.
            from_below[session.origin] = max(from_below.get(session.origin, 0), state.ipv4_accepted)
        else:
            # Switches above announce much the same routes, so their counts are not added.
            from_above = max(from_above, state.ipv4_accepted)
    return _AcceptedPrefixes(from_below, from_above)


def missing_routes(routes: Iterable[SessionRoutes]) -> tuple[str, ...]:
    """Return a sentence for each switch that announces too few routes, and for each that accepts too few."""
    lacking = [session for session in routes if not session.ok]
    first_of_device: dict[str, SessionRoutes] = {}
    for session in lacking:
        if session.announced:
            first_of_device.setdefault(session.device, session)
    # The neighbors of a switch that announces too little lack routes because of it: the switch itself is reported.
    withholding = set(first_of_device)
    for session in lacking:
        if not session.announced and session.neighbor not in withholding:
            first_of_device.setdefault(session.device, session)
    return tuple(map(str, first_of_device.values()))
