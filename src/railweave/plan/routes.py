"""Whether IPv4 routes follow sessions: what each neighbor announces, and what is passed on to it.

An established session carries no route yet: bgpd announces one once zebra says that it is installed (``bgp
suppress-fib-pending``), which takes a moment on a busy switch, and for ever where the line was loaded before bgpd had
reached zebra (FRR 8.4 to 10.5, ``bgp_suppress_fib_pending_set`` of bgpd/bgpd.c): every path over this switch is
missing, though all sessions are up.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass

from railweave.plan.expectation import Expectation
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.plan.verification import EVERYONE, Observation
from railweave.wording import counted

WAIT_S = 30.0
"""How long a verification in which all else holds waits for routes. SONiC installs thousands a second; a switch that
an operator isolated by TSA announces its loopback alone for as long as that lasts."""


@dataclass(frozen=True, slots=True)
class SessionRoutes:
    """How many IPv4 prefixes the session of ``device`` with ``neighbor`` over ``peer`` carries one way, and must."""

    device: str
    neighbor: str
    peer: str
    announced: bool
    least: int
    actual: int

    @property
    def ok(self) -> bool:
        """Tell whether there are enough."""
        return self.actual >= self.least

    @property
    def check(self) -> VerifyCheck:
        """Return this as a check of the session."""
        way = "announced" if self.announced else "accepted"
        expected = f"at least {counted(self.least, 'prefix')} {way}"
        return VerifyCheck(self.device, CheckKind.PREFIXES, self.peer, expected, f"{self.actual} {way}", self.ok)

    def __str__(self) -> str:
        """Return in a sentence what is missing, and what to look at."""
        way = "announces {} to" if self.announced else "accepts {} from"
        counts = way.format(counted(self.actual, "prefix"))
        source = self.device if self.announced else self.neighbor
        return (
            f"{self.device} {counts} {self.neighbor}, expected at least {self.least}: routes of {source} are not"
            " installed (`vtysh -c 'show bgp ipv4 unicast PREFIX json'` says fibPending), or TSA isolates it; if it"
            " does not, restart bgp there (`systemctl restart bgp`)"
        )


def session_routes(
    expectation: Expectation, seen: Observation, settled: Container[str] = EVERYONE
) -> tuple[SessionRoutes, ...]:
    """Return for each established session to a ``settled`` switch what it carries either way, and must at least.

    At least what the far end announces as its own is accepted. At least its own prefixes and those that it accepted
    of other switches are announced: to a switch above those from below, to one below those from above as well. Both
    are lower bounds: what several neighbors bring, which may be the same, counts once. What a session does not count
    (-1) is left out.
    """
    up = [
        (one, seen.bgp[one.peer])
        for one in expectation.sessions
        if one.device in settled and one.peer in seen.bgp and seen.bgp[one.peer].established
    ]
    below: dict[str, int] = {}
    above = 0
    for session, state in up:
        if session.below:
            below[session.origin] = max(below.get(session.origin, 0), state.ipv4_accepted)
        else:
            # Switches above bring much the same routes.
            above = max(above, state.ipv4_accepted)
    total = sum(below.values())
    found: list[SessionRoutes] = []
    for session, state in up:
        passed_on = total - below[session.origin] + above if session.below else total
        for announced, least, actual in (
            (False, session.own_prefixes, state.ipv4_accepted),
            (True, expectation.own_prefixes + passed_on, state.ipv4_announced),
        ):
            if actual >= 0:
                found.append(SessionRoutes(expectation.device, session.device, session.peer, announced, least, actual))
    return tuple(found)


def missing_routes(found: Iterable[SessionRoutes]) -> tuple[str, ...]:
    """Return a sentence for every switch that withholds routes, by the first session that lacks them, and for one that
    does not accept what another announces."""
    lacking = [one for one in found if not one.ok]
    said: dict[str, SessionRoutes] = {}
    for one in lacking:
        if one.announced:
            said.setdefault(one.device, one)
    withheld = set(said)
    for one in lacking:
        if not one.announced and one.neighbor not in withheld:
            said.setdefault(one.device, one)
    return tuple(str(one) for one in said.values())
