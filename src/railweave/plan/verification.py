"""Comparing what a device shows (interfaces, addresses, LLDP neighbors, BGP sessions) with what the fabric needs.

During a rollout the far end of a link may still run its old configuration. A check that depends on a far end is made
only where that far end is ``settled``: deployed and confirmed in this rollout, or unchanged by it.

Two cables are swapped where an end sees the far end of the other and the other way round; both ends of the cables show
the same swap, which is reported once.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace

from railweave.fabric.model import Fabric
from railweave.plan.expectation import Expectation, ExpectedNeighbor, ExpectedPort, ExpectedSession
from railweave.plan.model import Unapplied
from railweave.plan.outcome import CheckKind, VerifyCheck
from railweave.wording import compact, natural_key

AS_CONFIGURED = "as in CONFIG_DB"
CONFIRMED = "confirmed"
RUNNING = "running"


@dataclass(frozen=True, slots=True)
class PortState:
    """An interface: administratively enabled, operationally up, MTU in bytes."""

    enabled: bool
    up: bool
    mtu_bytes: int


@dataclass(frozen=True, slots=True)
class LldpNeighbor:
    """A neighbor as LLDP names it (IEEE 802.1AB): system name and port id."""

    system: str
    port: str


@dataclass(frozen=True, slots=True)
class SessionTimers:
    """The timers of a BGP session in seconds: those in force, and those that this end is configured with.

    The ends agree on the smaller hold time as the session opens (RFC 4271 section 4.2), and keep it while it is open.
    """

    keepalive_s: int
    hold_s: int
    configured_keepalive_s: int
    configured_hold_s: int


@dataclass(frozen=True, slots=True)
class BgpSession:
    """A BGP session: the neighbor's AS number and whether it is established (RFC 4271 section 8.2.2).

    ``prefixes`` is the number of prefixes accepted from the neighbor over all address families but IPv6,
    ``ipv6_prefixes`` of those of IPv6, ``ipv4_accepted`` and ``ipv4_announced`` (to it) that of IPv4 alone; -1 where
    unknown. ``families`` are the address families that both ends agreed on (``ipv4``). ``timers``
    is None where unknown.
    """

    remote_asn: int
    established: bool
    prefixes: int = -1
    ipv4_accepted: int = -1
    ipv4_announced: int = -1
    families: frozenset[str] = frozenset()
    ipv6_prefixes: int = -1
    timers: SessionTimers | None = None


@dataclass(frozen=True, slots=True)
class Counters:
    """Packets that ports lost so far, both directions together, read at ``at_s`` of a steady clock (seconds).

    A port that does not count is missing.
    """

    at_s: float
    errors: Mapping[str, int] = field(default_factory=dict)
    discards: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observation:
    """One device as it was read. ``addresses`` are ``10.0.0.1/31`` by interface, of both families, without those that
    are link-local; ``bgp`` is by the peer's address,
    or by interface for an unnumbered session, and so is ``bfd``, the state of BFD of the sessions that have it (``up``,
    ``down``), None where that is not known. ``unapplied`` says what the switch's daemons apply that differs from its
    configuration database, None where that is not known. ``bfd_ms`` is after how many
    milliseconds of silence it takes the neighbor for dead, None where that is not known. ``unseen`` are the fields of
    ports of which it does not tell what is in force. ``release`` is the SONiC release that it runs, empty where
    that is not known. ``waiting`` is the commit that waits for its confirmation or revert, ``broken`` which daemons a
    change ended that do not run, both in words. ``is_whole`` tells that the switch's own program answered, which shows
    all of this: what is not there then is unknown and said to be."""

    ports: Mapping[str, PortState] = field(default_factory=dict)
    addresses: Mapping[str, frozenset[str]] = field(default_factory=dict)
    lldp: Mapping[str, tuple[LldpNeighbor, ...]] = field(default_factory=dict)
    bgp: Mapping[str, BgpSession] = field(default_factory=dict)
    unapplied: tuple[Unapplied, ...] | None = None
    release: str = ""
    bfd: Mapping[str, str] | None = None
    waiting: str = ""
    unseen: tuple[str, ...] = ()
    bfd_ms: Mapping[str, int] | None = None
    broken: str = ""
    is_whole: bool = False


class _Everyone:
    """The container that holds every device."""

    def __contains__(self, _: object) -> bool:
        return True


EVERYONE: Container[str] = _Everyone()
"""All devices are settled: nothing is in motion."""


def check_device(
    expectation: Expectation, seen: Observation, settled: Container[str] = EVERYONE
) -> tuple[VerifyCheck, ...]:
    """Return every check of one device that can be judged while only ``settled`` devices stand still."""
    checks = (
        *_ports(expectation, seen, settled),
        *_addresses(expectation, seen),
        *_neighbors(expectation, seen, settled),
        *_sessions(expectation, seen, settled),
        *_daemons(expectation, seen),
    )
    left_out = expectation.skipped
    return tuple(replace(one, ok=True, skipped=left_out[one.kind]) if one.kind in left_out else one for one in checks)


def unsettled(expectation: Expectation, seen: Observation) -> tuple[VerifyCheck, ...]:
    """Return the failing checks of a device on which a commit waits, or of which a change ended daemons.

    What a device shows while a commit waits may be gone once its timer ends. It is no part of ``check_device``: a
    rollout checks devices while its own commits wait, and judges daemons by the outcome of its own change.
    """
    checks = []
    if seen.waiting:
        checks.append(_check(expectation, CheckKind.COMMIT, "commit", CONFIRMED, seen.waiting))
    if seen.broken:
        checks.append(_check(expectation, CheckKind.DAEMONS, "daemons", RUNNING, seen.broken))
    return tuple(check for check in checks if check.kind not in expectation.skipped)


def unreachable(device: str, reason: str) -> VerifyCheck:
    """Return the failing check of a device that could not be read."""
    return VerifyCheck(device, CheckKind.REACHABLE, device, "reachable", reason, False)


def _ports(expectation: Expectation, seen: Observation, settled: Container[str]) -> Iterable[VerifyCheck]:
    for port in expectation.ports:
        state = seen.ports.get(port.port)
        mtu = "no such interface" if state is None else str(state.mtu_bytes)
        yield _check(expectation, CheckKind.MTU, port.port, str(port.mtu_bytes), mtu)
        yield _link(expectation.device, port, state, settled)


def _link(device: str, port: ExpectedPort, state: PortState | None, settled: Container[str]) -> VerifyCheck:
    must_be_up = port.required and port.device in settled
    expected = "up" if must_be_up else "enabled"
    if state is None:
        return VerifyCheck(device, CheckKind.LINK, port.port, expected, "no such interface", False)
    actual = "up" if state.enabled and state.up else "enabled, down" if state.enabled else "shut down"
    return VerifyCheck(
        device, CheckKind.LINK, port.port, expected, actual, state.enabled and (state.up or not must_be_up)
    )


def _addresses(expectation: Expectation, seen: Observation) -> Iterable[VerifyCheck]:
    for one in expectation.addresses:
        held = seen.addresses.get(one.port, frozenset())
        expected, intended = ", ".join(one.all) or "none", frozenset(one.all)
        fits = held == intended if one.ours else held >= intended
        actual = expected if fits else ", ".join(sorted(held)) or "none"
        yield _check(expectation, CheckKind.ADDRESS, one.port, expected, actual)


def _neighbors(expectation: Expectation, seen: Observation, settled: Container[str]) -> Iterable[VerifyCheck]:
    for neighbor in expectation.neighbors:
        found = seen.lldp.get(neighbor.port, ())
        if neighbor.required and neighbor.device not in settled:
            continue
        if not found and not neighbor.required:
            yield _not_seen(expectation.device, neighbor)
            continue
        expected = f"{neighbor.device} {neighbor.port_names[0]}"
        actual = _seen_as(neighbor, found, expected)
        yield _check(expectation, CheckKind.LLDP, neighbor.port, expected, actual)


def _not_seen(device: str, neighbor: ExpectedNeighbor) -> VerifyCheck:
    """Return the check of a node that announces nothing, as one that is switched off: it is counted, and says so."""
    expected = f"{neighbor.device} {neighbor.port_names[0]}"
    return VerifyCheck(device, CheckKind.LLDP, neighbor.port, expected, "no neighbor", True, NODE_NOT_SEEN)


NODE_NOT_SEEN = "no neighbor is seen on a node port, as while the node is off or sends no LLDP"


def _seen_as(neighbor: ExpectedNeighbor, found: tuple[LldpNeighbor, ...], expected: str) -> str:
    if any(one.system == neighbor.device and one.port in neighbor.port_names for one in found):
        return expected
    return ", ".join(f"{one.system} {one.port}" for one in found) or "no neighbor"


def _sessions(expectation: Expectation, seen: Observation, settled: Container[str]) -> Iterable[VerifyCheck]:
    for session in expectation.sessions:
        if session.device in settled:
            expected = f"AS {session.remote_asn} established"
            yield _check(expectation, CheckKind.BGP, session.peer, expected, _session_text(session, seen))
            yield from _timers(expectation, session, seen)
            if seen.is_whole:
                yield from _uncounted(expectation, session, seen.bgp.get(session.peer))
            if session.bfd and seen.bfd is not None:
                yield _check(expectation, CheckKind.BFD, session.peer, "up", seen.bfd.get(session.peer, "none"))
                yield from _detection(expectation, session.peer, seen)
            if session.ipv6:
                yield _check(expectation, CheckKind.IPV6, session.peer, _CARRIED, _ipv6_text(session, seen))


def _timers(expectation: Expectation, session: ExpectedSession, seen: Observation) -> Iterable[VerifyCheck]:
    """Yield whether a session runs the timers of the intent, where the device shows them.

    Lines of the project's own template may say others: then it runs no longer ones than those that it is configured
    with, since the other end may have shorter ones.
    """
    found = seen.bgp.get(session.peer)
    if found is None or not session.hold_s:
        return
    timers = found.timers
    if timers is None and not seen.is_whole:
        return
    if timers is None:
        yield _not_shown(expectation, CheckKind.TIMERS, session.peer, timers_text(session.keepalive_s, session.hold_s))
        return
    actual = timers_text(timers.keepalive_s, timers.hold_s)
    if expectation.own_frr:
        expected = f"at most {timers_text(timers.configured_keepalive_s, timers.configured_hold_s)}"
        ok = timers.hold_s <= timers.configured_hold_s and timers.keepalive_s <= timers.configured_keepalive_s
    else:
        expected = timers_text(session.keepalive_s, session.hold_s)
        ok = actual == expected
    check = VerifyCheck(expectation.device, CheckKind.TIMERS, session.peer, expected, actual, ok)
    yield check if found.established else replace(check, actual=NOT_OPEN, ok=True, skipped=NO_TIMERS)


def _detection(expectation: Expectation, peer: str, seen: Observation) -> Iterable[VerifyCheck]:
    """Yield that BFD notices a silent neighbor in the time of FRR's own timers, which the ends agree on.

    FRR keeps other ones that somebody gave to a neighbor and does not print them with its lines.
    """
    if seen.bfd is None or seen.bfd.get(peer) != "up" or seen.bfd_ms is None or expectation.own_frr:
        return
    expected = _detects(BFD_DETECTS_MS)
    found = seen.bfd_ms.get(peer)
    actual = UNKNOWN_BFD if found is None else _detects(found)
    check = _check(expectation, CheckKind.TIMERS, f"{peer} (BFD)", expected, actual)
    yield check if found is not None else replace(check, ok=True, skipped=UNKNOWN_BFD)


BFD_DETECTS_MS = 3 * 300
"""Multiplier and interval of FRR (bfdd/bfd.h, BFD_DEFDETECTMULT, BFD_DEFREQUIREDMINRX); the intent has no others."""
UNKNOWN_BFD = "bfdd does not show the timers of both ends"


def _detects(milliseconds: int) -> str:
    return f"silence noticed after {milliseconds / 1000:g} s"


def _uncounted(expectation: Expectation, session: ExpectedSession, found: BgpSession | None) -> Iterable[VerifyCheck]:
    """Yield that an established session does not tell how many prefixes it carries, so that nobody knows of routes."""
    if found is None or not found.established or not session.own_prefixes:
        return
    if found.ipv4_accepted < 0 or found.ipv4_announced < 0:
        yield _not_shown(expectation, CheckKind.PREFIXES, session.peer, "prefixes counted")


def _not_shown(expectation: Expectation, kind: CheckKind, subject: str, expected: str) -> VerifyCheck:
    """Return the check of what a device does not show: it is counted, and says so."""
    return VerifyCheck(expectation.device, kind, subject, expected, NOT_SHOWN, True, UNKNOWN)


NOT_SHOWN = "not shown"
UNKNOWN = "the device does not show it, so whether it is as intended is unknown"
NOT_OPEN = "session not established"
NO_TIMERS = "a session that is not established has no timers in force"


def timers_text(keepalive_s: int, hold_s: int) -> str:
    """Return the timers of a session in words."""
    return f"keepalive {keepalive_s} s, hold {hold_s} s"


def _daemons(expectation: Expectation, seen: Observation) -> Iterable[VerifyCheck]:
    if seen.unapplied is not None:
        more = f"; and {len(seen.unapplied) - 1} more" if len(seen.unapplied) > 1 else ""
        actual = f"{seen.unapplied[0]}{more}" if seen.unapplied else AS_CONFIGURED
        yield _check(expectation, CheckKind.APPLIED, "daemons", AS_CONFIGURED, actual)
    elif seen.is_whole:
        yield _not_shown(expectation, CheckKind.APPLIED, "daemons", AS_CONFIGURED)


def _session_text(session: ExpectedSession, seen: Observation) -> str:
    found = seen.bgp.get(session.peer)
    if found is None:
        return "no such neighbor"
    return f"AS {found.remote_asn} {'established' if found.established else 'not established'}"


_CARRIED = "agreed on by both ends"


def _ipv6_text(session: ExpectedSession, seen: Observation) -> str:
    found = seen.bgp.get(session.peer)
    if found is None or not found.established:
        return "session not established"
    return _CARRIED if "ipv6" in found.families else "not agreed on"


_FIELDS = {"speed": "speed", "fec": "FEC"}


def unseen_warnings(unseen: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return in a sentence for each kind of device what of its ports could not be compared.

    ``unseen`` has the fields of ports by device (``Observation.unseen``).
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for device, fields in unseen.items():
        if fields:
            alike.setdefault(fields, []).append(device)
    words = {fields: " and ".join(_FIELDS.get(one, one) for one in fields) for fields in alike}
    return tuple(
        f"{compact(devices)}: SONiC does not report the {words[fields]} in force on ports, so it is not compared with"
        " the intent (FEC is reported from 202311 on, where the ASIC's SAI has it)"
        for fields, devices in alike.items()
    )


def missing_bfdd(expectation: Expectation, seen: Observation) -> str:
    """Return in a sentence that bfdd does not run where BFD is to watch sessions, else "".

    Of a session that bfdd never told of, bgpd says ``Unknown`` (run on FRR 8.4 and 10.3)."""
    states = seen.bfd or {}
    unknown = any(one.bfd and states.get(one.peer) == "unknown" for one in expectation.sessions)
    if not unknown or CheckKind.BFD in expectation.skipped:
        return ""
    return (
        f"{expectation.device} runs no bfdd, so BFD watches none of its sessions: bgpcfgd starts it"
        " (`docker exec bgp supervisorctl restart bgpcfgd`)"
    )


def _check(expectation: Expectation, kind: CheckKind, subject: str, expected: str, actual: str) -> VerifyCheck:
    return VerifyCheck(expectation.device, kind, subject, expected, actual, expected == actual)


End = str
"""``device port`` as LLDP checks write it."""


@dataclass(frozen=True, slots=True)
class SwappedCables:
    """Two cables of the plan, each as its two ends, that are plugged into each other's place."""

    one: tuple[End, End]
    other: tuple[End, End]

    def __str__(self) -> str:
        """Return which cables, and how to put it right."""
        shared = {end.partition(" ")[0] for end in self.one} & {end.partition(" ")[0] for end in self.other}
        where = f"exchange the plugs of {self.one[0]} and {self.other[0]}"
        if shared:
            device = min(shared, key=natural_key)
            where = f"at {device}, exchange the plugs of {_port(self.one, device)} and {_port(self.other, device)}"
        return f"the cables {' - '.join(self.one)} and {' - '.join(self.other)} are swapped: {where}"


def _port(cable: tuple[End, End], device: str) -> str:
    return next(end.partition(" ")[2] for end in cable if end.partition(" ")[0] == device)


@dataclass(frozen=True, slots=True)
class MovedPlug:
    """A cable of the plan, seen from ``end``, whose other plug is in ``actual`` instead of ``planned``."""

    end: End
    planned: End
    actual: End

    def __str__(self) -> str:
        """Return which cable, and how to put it right."""
        return (
            f"the cable of {self.end} goes to {self.actual} instead of {self.planned}: plug it back from {self.actual}"
            f" into {self.planned}"
        )


def with_port_names(fabric: Fabric, checks: Iterable[VerifyCheck]) -> tuple[VerifyCheck, ...]:
    """Return the checks with the ports of wrong neighbors by their names, as the plan has them; LLDP sends aliases."""
    checks = tuple(checks)
    names = _port_names(fabric, {one.actual.partition(" ")[0] for one in checks if _is_wrong_neighbor(one)})
    return tuple(replace(one, actual=names[one.actual]) if one.actual in names else one for one in checks)


def _is_wrong_neighbor(check: VerifyCheck) -> bool:
    return check.kind is CheckKind.LLDP and not check.ok


def misplugged_cables(fabric: Fabric, checks: Iterable[VerifyCheck]) -> tuple[SwappedCables | MovedPlug, ...]:
    """Return the swaps that failed LLDP checks show, then the other cables that lead elsewhere, in natural order.

    Both ends of a cable may show the same, which is reported once.
    """
    wrong = [check for check in with_port_names(fabric, checks) if _is_wrong_neighbor(check)]
    planned = {f"{check.device} {check.subject}": check.expected for check in wrong}
    seen = {f"{check.device} {check.subject}": check.actual for check in wrong}
    swaps = _swaps(planned, seen)
    told = {end for swap in swaps for cable in (swap.one, swap.other) for end in cable}
    switches = {
        f"{name} {port.name}"
        for name in {end.partition(" ")[0] for end in seen.values()} & fabric.switch_of.keys()
        for port in fabric.switch_of[name].panel.ports
    }
    moved: dict[frozenset[End], MovedPlug] = {}
    for end in sorted(seen, key=natural_key):
        if end not in told and seen[end] in switches:
            moved.setdefault(frozenset((end, seen[end])), MovedPlug(end, planned[end], seen[end]))
    return (*swaps, *moved.values())


def _swaps(planned: Mapping[End, End], seen: Mapping[End, End]) -> tuple[SwappedCables, ...]:
    owner = {far: end for end, far in planned.items()}
    found: dict[frozenset[tuple[End, End]], SwappedCables] = {}
    for end, actual in seen.items():
        other = owner.get(actual)
        if other is not None and seen[other] == planned[end]:
            cables = sorted(
                (_cable(end, planned[end]), _cable(other, planned[other])), key=lambda one: natural_key(one[0])
            )
            found.setdefault(frozenset(cables), SwappedCables(cables[0], cables[1]))
    return tuple(sorted(found.values(), key=lambda swap: natural_key(swap.one[0])))


def _cable(a: End, b: End) -> tuple[End, End]:
    first, second = sorted((a, b), key=natural_key)
    return first, second


def _port_names(fabric: Fabric, devices: set[str]) -> Mapping[str, str]:
    """Return the ends of these switches by alias: SONiC's LLDP sends the alias of a port, the plan has its name."""
    return {
        f"{name} {port.alias}": f"{name} {port.name}"
        for name in devices
        if name in fabric.switch_of
        for port in fabric.switch_of[name].panel.ports
    }
