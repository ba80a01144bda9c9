"""Traffic classes through which a running fabric gets other markings without dropping a lossless packet.

A node that marks with a code point that its switch does not take for lossless loses packets, and so does one whose NIC
pauses another priority. In between, the switches therefore know both: every code point that is lossless before or after
leads to its priority, and PFC, queues, buffers, ECN and watchdog serve the priorities of both (fabric-facts section 10:
switches first, then hosts, then the old goes). A code point has one priority on a switch, so one that keeps its code
point and gets another priority has no such way.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from railweave.diagnostics import Diagnostic, error
from railweave.errors import RefusedError
from railweave.fabric.policy import ClassRole, TrafficClass
from railweave.qos.mapping import DSCP_COUNT, notification_dscp

Classes = tuple[TrafficClass, ...]


def accept_both(base: Sequence[TrafficClass], head: Sequence[TrafficClass]) -> Classes | None:
    """Return the classes that serve nodes of ``base`` and of ``head`` alike; None where those of ``head`` do.

    Raises RefusedError (RW516) with every reason why there are none.
    """
    if not gives_up(base, head):
        return None
    diagnostics = tuple(_torn(base, head))
    if diagnostics:
        raise RefusedError(diagnostics)
    old = tuple(_only_before(base, head))
    names = {one.name for one in old}
    lossless = {one.name: _with_earlier_dscp(one, base, head) for one in head if one.lossless}
    marked = {dscp for one in (*lossless.values(), *old) for dscp in one.dscp}
    between = []
    for one in head:
        # A class that stays for a while keeps its name and with that its rows; the new one waits for the name.
        name = f"{one.name[:20]}-{one.priority}" if one.name in names else one.name
        if one.lossless:
            between.append(lossless[one.name]._replace(name=name))
        else:
            dscp = tuple(each for each in _with_earlier_notifications(one, base, head) if each not in marked)
            between.append(one._replace(name=name, dscp=dscp, priority=_priority_between(one, base, head)))
    return (*between, *old)


@dataclass(frozen=True, slots=True)
class MovedMarking:
    """A code point that is lossless on ``before`` and not, or on another priority, afterwards (None: not lossless)."""

    dscp: int
    before: int
    after: int | None

    def __str__(self) -> str:
        """Return the move in a clause."""
        to = "is no longer lossless" if self.after is None else f"goes to priority {self.after}"
        return f"DSCP {self.dscp}, lossless on priority {self.before}, {to}"


def moved_markings(base: Sequence[TrafficClass], head: Sequence[TrafficClass]) -> tuple[MovedMarking, ...]:
    """Return the code points that stop being lossless on their priority."""
    after = lossless_dscp(head)
    return tuple(
        MovedMarking(dscp, priority, after.get(dscp))
        for dscp, priority in sorted(lossless_dscp(base).items())
        if after.get(dscp) != priority
    )


def lossless_dscp(classes: Iterable[TrafficClass]) -> dict[int, int]:
    """Return the priority of each lossless code point."""
    return {dscp: one.priority for one in classes if one.lossless for dscp in one.dscp}


def notifying(classes: Iterable[TrafficClass]) -> set[int]:
    """Return the code points of congestion notifications."""
    return set(notification_dscp(classes))


def gives_up(base: Sequence[TrafficClass], head: Sequence[TrafficClass]) -> bool:
    """Tell whether nodes of ``base`` send something that ``head`` treats worse."""
    named = {dscp for one in head for dscp in one.dscp}
    return bool(moved_markings(base, head)) or not notifying(base) <= named


def _torn(base: Sequence[TrafficClass], head: Sequence[TrafficClass]) -> Iterable[Diagnostic]:
    """Yield an error for each code point that would need two priorities, and each priority of two classes."""
    used = {dscp for one in (*base, *head) for dscp in one.dscp}
    spare = next((dscp for dscp in (24, 26, 34, *range(DSCP_COUNT)) if dscp not in used), None)
    for moved in moved_markings(base, head):
        if moved.after is not None:
            yield error(
                "RW516",
                f"DSCP {moved.dscp} is to go from lossless priority {moved.before} to {moved.after}: a switch leads a"
                " code point to one priority only, and a node that pauses the other one loses packets",
                fix=f"give the class another code point in the same change, such as {spare}; a second change may"
                f" lead it back to {moved.dscp}",
            )
    kept = {one.priority: one for one in _only_before(base, head)}
    for one in head:
        if one.priority in kept and (one.lossless or _priority_before(one, base, head) is None):
            held = kept[one.priority]
            kind = "lossless" if one.lossless else "not lossless"
            yield error(
                "RW516",
                f"class `{one.name}`, which is {kind}, is to take priority {one.priority} while"
                f" `{held.name}` {'is lossless' if held.lossless else 'carries notifications'} on it until the nodes"
                " have changed",
                fix=f"leave `{one.name}` where it is, and change its priority afterwards",
            )


def _only_before(base: Sequence[TrafficClass], head: Sequence[TrafficClass]) -> Iterator[TrafficClass]:
    """Yield the lossless classes whose priority ``head`` has no lossless class on, and the class of notifications where
    ``head`` has none."""
    after = {one.priority for one in head if one.lossless}
    named = {dscp for one in head for dscp in one.dscp}
    for one in base:
        if one.lossless and one.dscp and one.priority not in after:
            yield one
        if one.role is ClassRole.CNP and not notifying(head):
            left = tuple(dscp for dscp in one.dscp if dscp not in named)
            if left:
                yield one._replace(dscp=left)


def _with_earlier_dscp(one: TrafficClass, base: Sequence[TrafficClass], head: Sequence[TrafficClass]) -> TrafficClass:
    """Return a lossless class of ``head`` with the code points that led to its priority before."""
    after = lossless_dscp(head)
    earlier = [dscp for dscp, priority in lossless_dscp(base).items() if priority == one.priority and dscp not in after]
    return one._replace(dscp=(*one.dscp, *sorted(earlier)))


def _with_earlier_notifications(
    one: TrafficClass, base: Sequence[TrafficClass], head: Sequence[TrafficClass]
) -> tuple[int, ...]:
    """Return the code points of a class of ``head``; that of notifications keeps those that no other class names."""
    if one.role is not ClassRole.CNP:
        return one.dscp
    named = {dscp for each in head for dscp in each.dscp}
    return (*one.dscp, *sorted(notifying(base) - named))


def _priority_between(one: TrafficClass, base: Sequence[TrafficClass], head: Sequence[TrafficClass]) -> int:
    """Return the priority of a class of ``head`` that is not lossless, while lossless ones of ``base`` stay."""
    if one.priority not in {each.priority for each in _only_before(base, head)}:
        return one.priority
    before = _priority_before(one, base, head)
    if before is None:
        raise ValueError(f"class {one.name} has no priority in between, which _torn refuses")
    return before


def _priority_before(one: TrafficClass, base: Sequence[TrafficClass], head: Sequence[TrafficClass]) -> int | None:
    """Return the priority that the class had in ``base``, None where it had none or another class takes it."""
    taken = {each.priority for each in (*head, *_only_before(base, head))}
    before = [each.priority for each in base if each.name == one.name and not each.lossless]
    return next((priority for priority in before if priority not in taken), None)
