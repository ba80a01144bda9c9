"""Traffic classes through which a running fabric gets other markings without dropping a lossless packet.

A node that marks with a code point that its switch does not take for lossless loses packets, and so does one whose NIC
pauses another priority. In between, the switches therefore know both: every code point that is lossless before or after
leads to its priority, and PFC, queues, buffers, ECN and watchdog serve the priorities of both: switches first, then
hosts, then the old goes. A code point has one priority on a switch, so one that keeps its code point and gets another
priority has no such way.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
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
    diagnostics = tuple(_unservable(base, head))
    if diagnostics:
        raise RefusedError(diagnostics)
    old = tuple(_only_before(base, head))
    old_names = {traffic_class.name for traffic_class in old}
    lossless = {new.name: _with_earlier_dscp(new, base, head) for new in head if new.lossless}
    marked = _named_dscp((*lossless.values(), *old))
    between = []
    # Lossless classes take the code points of nodes that have not changed yet; the others must not name them too.
    for new in head:
        name = new.name
        if name in old_names:
            # The old class keeps its name and with it its rows; the new one takes the name in the last phase.
            name = f"{name[:20]}-{new.priority}"
        if new.lossless:
            between.append(lossless[new.name]._replace(name=name))
        else:
            notified = new._replace(dscp=_with_earlier_notifications(new, base, head))
            priority = _priority_between(new, base, head)
            between.append(_without_dscp(notified, marked)._replace(name=name, priority=priority))
    return (*between, *old)


@dataclass(frozen=True, slots=True)
class MovedMarking:
    """A code point that is lossless on ``before`` and not, or on another priority, afterwards (None: not lossless)."""

    dscp: int
    before: int
    after: int | None

    def __str__(self) -> str:
        """Return the move in a clause."""
        source = f"DSCP {self.dscp}, lossless on priority {self.before}"
        if self.after is None:
            return f"{source}, is no longer lossless"
        return f"{source}, goes to priority {self.after}"


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
    lossless = (traffic_class for traffic_class in classes if traffic_class.lossless)
    return {dscp: traffic_class.priority for traffic_class in lossless for dscp in traffic_class.dscp}


def notifying(classes: Iterable[TrafficClass]) -> set[int]:
    """Return the code points of congestion notifications."""
    return set(notification_dscp(classes))


def gives_up(base: Sequence[TrafficClass], head: Sequence[TrafficClass]) -> bool:
    """Tell whether nodes of ``base`` send something that ``head`` treats worse."""
    return bool(moved_markings(base, head)) or not notifying(base) <= _named_dscp(head)


def _named_dscp(classes: Iterable[TrafficClass]) -> set[int]:
    """Return the code points that classes name; all others go to the default class."""
    return {dscp for traffic_class in classes for dscp in traffic_class.dscp}


def _unservable(base: Sequence[TrafficClass], head: Sequence[TrafficClass]) -> Iterator[Diagnostic]:
    """Yield an error for each code point that would need two priorities, and each priority of two classes."""
    spare = _spare_dscp((*base, *head))
    yield from (_two_priorities(moved, spare) for moved in moved_markings(base, head) if moved.after is not None)
    old_of = {old.priority: old for old in _only_before(base, head)}
    for new in head:
        old = old_of.get(new.priority)
        # A class that is not lossless can stay on its priority before, if it had one.
        if old is not None and (new.lossless or _priority_before(new, base, head) is None):
            yield _two_classes(old, new)


def _spare_dscp(classes: Iterable[TrafficClass]) -> int | None:
    """Return a code point that no class names, None if all are in use."""
    used = _named_dscp(classes)
    # CS3, AF31 and AF41 are common for RDMA; any other free code point serves as well.
    return next((dscp for dscp in (24, 26, 34, *range(DSCP_COUNT)) if dscp not in used), None)


def _two_priorities(moved: MovedMarking, spare: int | None) -> Diagnostic:
    return error(
        "RW516",
        f"DSCP {moved.dscp} is to go from lossless priority {moved.before} to {moved.after}: a switch leads a"
        " code point to one priority only, and a node that pauses the other one loses packets",
        fix=f"give the class another code point in the same change, such as {spare}; a second change may"
        f" lead it back to {moved.dscp}",
    )


def _two_classes(old: TrafficClass, new: TrafficClass) -> Diagnostic:
    kind = "lossless" if new.lossless else "not lossless"
    use = "is lossless" if old.lossless else "carries notifications"
    return error(
        "RW516",
        f"class `{new.name}`, which is {kind}, is to take priority {new.priority} while"
        f" `{old.name}` {use} on it until the nodes have changed",
        fix=f"leave `{new.name}` where it is, and change its priority afterwards",
    )


def _only_before(base: Sequence[TrafficClass], head: Sequence[TrafficClass]) -> Iterator[TrafficClass]:
    """Yield the lossless classes whose priority has no lossless class in ``head``, and the class of notifications if
    ``head`` has none."""
    lossless_after = _lossless_priorities(head)
    notifies = bool(notifying(head))
    for old in base:
        # A lossless class without code points receives nothing.
        if old.lossless and old.dscp and old.priority not in lossless_after:
            yield old
        if old.role is ClassRole.CNP and not notifies:
            left = _without_dscp(old, _named_dscp(head))
            if left.dscp:
                yield left


def _lossless_priorities(classes: Iterable[TrafficClass]) -> set[int]:
    return {traffic_class.priority for traffic_class in classes if traffic_class.lossless}


def _without_dscp(traffic_class: TrafficClass, taken: Collection[int]) -> TrafficClass:
    return traffic_class._replace(dscp=tuple(dscp for dscp in traffic_class.dscp if dscp not in taken))


def _with_earlier_dscp(new: TrafficClass, base: Sequence[TrafficClass], head: Sequence[TrafficClass]) -> TrafficClass:
    """Return a lossless class of ``head`` with the code points that led to its priority before."""
    after = lossless_dscp(head)
    earlier = [dscp for dscp, priority in lossless_dscp(base).items() if priority == new.priority and dscp not in after]
    return new._replace(dscp=(*new.dscp, *sorted(earlier)))


def _with_earlier_notifications(
    new: TrafficClass, base: Sequence[TrafficClass], head: Sequence[TrafficClass]
) -> tuple[int, ...]:
    """Return the code points of a class of ``head``; the class of notifications keeps those that no other one names."""
    if new.role is not ClassRole.CNP:
        return new.dscp
    return (*new.dscp, *sorted(notifying(base) - _named_dscp(head)))


def _priority_between(new: TrafficClass, base: Sequence[TrafficClass], head: Sequence[TrafficClass]) -> int:
    """Return the priority of a class of ``head`` that is not lossless, while lossless ones of ``base`` stay."""
    if new.priority not in {old.priority for old in _only_before(base, head)}:
        return new.priority
    before = _priority_before(new, base, head)
    if before is None:
        raise ValueError(f"class {new.name} has no priority in between, which _unservable refuses")
    return before


def _priority_before(new: TrafficClass, base: Sequence[TrafficClass], head: Sequence[TrafficClass]) -> int | None:
    """Return the priority that the class had in ``base``, None where it had none or another class takes it."""
    taken = {other.priority for other in (*head, *_only_before(base, head))}
    before = [old.priority for old in base if old.name == new.name and not old.lossless]
    return next((priority for priority in before if priority not in taken), None)
