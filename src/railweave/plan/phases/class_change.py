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
    """Return classes that serve the nodes of both ``base`` and ``head``; None if the classes of ``head`` do.

    Raises RefusedError (RW516) with every reason why no classes can.
    """
    if not gives_up(base, head):
        return None
    diagnostics = tuple(_unservable(base, head))
    if diagnostics:
        raise RefusedError(diagnostics)
    old_classes = tuple(_only_before(base, head))
    old_names = {old.name for old in old_classes}
    lossless = {new.name: _with_earlier_dscp(new, base, head) for new in head if new.lossless}
    # Lossless classes take the code points of nodes that have not changed yet; the others must not name them too.
    reserved_dscp = _named_dscp((*lossless.values(), *old_classes))
    new_classes = []
    for new in head:
        if new.lossless:
            serving_both = lossless[new.name]
        else:
            serving_both = _lossy_serving_both(new, base, head, reserved_dscp)
        if new.name in old_names:
            # The old class keeps its name and with it its rows; the new one takes the name in the last phase.
            serving_both = serving_both._replace(name=f"{new.name[:20]}-{new.priority}")
        new_classes.append(serving_both)
    return (*new_classes, *old_classes)


def _lossy_serving_both(
    new: TrafficClass, base: Sequence[TrafficClass], head: Sequence[TrafficClass], reserved_dscp: Collection[int]
) -> TrafficClass:
    """Return a class of ``head`` that is not lossless, as it serves the nodes of both."""
    dscp = tuple(code for code in _dscp_of_lossy(new, base, head) if code not in reserved_dscp)
    return new._replace(dscp=dscp, priority=_priority_between(new, base, head))


@dataclass(frozen=True, slots=True)
class MovedMarking:
    """A code point that is lossless on priority ``before``, and on another one afterwards; None if not lossless."""

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
    unused = _unused_dscp((*base, *head))
    for moved in moved_markings(base, head):
        if moved.after is not None:
            yield _two_priorities(moved, unused)
    old_of_priority = {old.priority: old for old in _only_before(base, head)}
    for new in head:
        old = old_of_priority.get(new.priority)
        if old is None:
            continue
        # A class that is not lossless can stay on its earlier priority, if it had one.
        can_wait = not new.lossless and _priority_before(new, base, head) is not None
        if not can_wait:
            yield _two_classes(old, new)


def _unused_dscp(classes: Iterable[TrafficClass]) -> int | None:
    """Return a code point that no class names, None if all are in use."""
    used = _named_dscp(classes)
    # CS3, AF31 and AF41 are common for RDMA; any other free code point serves as well.
    candidates = (24, 26, 34, *range(DSCP_COUNT))
    return next((dscp for dscp in candidates if dscp not in used), None)


def _two_priorities(moved: MovedMarking, unused: int | None) -> Diagnostic:
    return error(
        "RW516",
        f"DSCP {moved.dscp} is to go from lossless priority {moved.before} to {moved.after}: a switch leads a"
        " code point to one priority only, and a node that pauses the other one loses packets",
        fix=f"give the class another code point in the same change, such as {unused}; a second change may"
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
    """Yield the classes of ``base`` that old nodes still need and that ``head`` lacks.

    These are the lossless classes whose priority has no lossless class in ``head``, and the class of notifications if
    ``head`` has none.
    """
    lossless_priorities = {new.priority for new in head if new.lossless}
    named_dscp = _named_dscp(head)
    head_has_notifications = bool(notifying(head))
    for old in base:
        # A lossless class without code points receives nothing.
        if old.lossless and old.dscp and old.priority not in lossless_priorities:
            yield old
        if old.role is ClassRole.CNP and not head_has_notifications:
            yield from _with_unnamed_dscp(old, named_dscp)


def _with_unnamed_dscp(old: TrafficClass, named_dscp: Collection[int]) -> Iterator[TrafficClass]:
    """Yield a class with its code points that no class of the head names; nothing if there are none."""
    dscp = tuple(code for code in old.dscp if code not in named_dscp)
    if dscp:
        yield old._replace(dscp=dscp)


def _with_earlier_dscp(new: TrafficClass, base: Sequence[TrafficClass], head: Sequence[TrafficClass]) -> TrafficClass:
    """Return a lossless class of ``head`` with the code points that led to its priority before."""
    after = lossless_dscp(head)
    before = lossless_dscp(base)
    earlier = [dscp for dscp, priority in before.items() if priority == new.priority and dscp not in after]
    return new._replace(dscp=(*new.dscp, *sorted(earlier)))


def _dscp_of_lossy(new: TrafficClass, base: Sequence[TrafficClass], head: Sequence[TrafficClass]) -> tuple[int, ...]:
    """Return the code points of a class of ``head`` that is not lossless.

    The class of notifications keeps its earlier ones that no class of ``head`` names.
    """
    if new.role is not ClassRole.CNP:
        return new.dscp
    return (*new.dscp, *sorted(notifying(base) - _named_dscp(head)))


def _priority_between(new: TrafficClass, base: Sequence[TrafficClass], head: Sequence[TrafficClass]) -> int:
    """Return the priority of a class of ``head`` that is not lossless, while classes of ``base`` are still served."""
    if new.priority not in {old.priority for old in _only_before(base, head)}:
        return new.priority
    before = _priority_before(new, base, head)
    if before is None:
        raise ValueError(f"class {new.name} has no priority in between, which _unservable refuses")
    return before


def _priority_before(new: TrafficClass, base: Sequence[TrafficClass], head: Sequence[TrafficClass]) -> int | None:
    """Return the priority that the class had in ``base``; None if it was not there, or another class takes it."""
    in_use = {traffic_class.priority for traffic_class in (*head, *_only_before(base, head))}
    for old in base:
        if old.name == new.name and not old.lossless and old.priority not in in_use:
            return old.priority
    return None
