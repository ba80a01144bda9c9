"""Values that both ends of a path share, and who must accept a new one before who may send it.

Switches and GPU nodes change one by one, so at any moment every member may have the value of the phase before or of the
phase after. Nothing is lost when all of them accept what any of them sends; so every such value changes in one order:

    switches accept both, nodes accept both, nodes send the new, nodes drop the old, switches drop the old

| value | a switch accepts | a node accepts | a node sends |
|---|---|---|---|
| marking | code point, queue, priority group, PFC, ECN | priority of the code point, PFC, DCQCN | RDMA, notifications |
| MTU | the MTU of its ports | the MTU of its NICs | the MTU of its routes |

A step that changes nothing falls away: a larger MTU has nothing to drop, a smaller one nothing to accept. Speed and FEC
have no value that serves both: ``speed_change`` takes a spine at a time.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from railweave.fabric.model import Fabric
from railweave.fabric.policy import Mtu, Policies
from railweave.hosts.values import marking
from railweave.plan.phases.class_change import Classes, accept_both, gives_up, lossless_dscp, notifying


class SharedValue(NamedTuple):
    """A value that both ends of a path share."""

    name: str
    # Words for titles: both values, and one of them.
    both: str
    single: str
    # Whether members with the policies before and after lose packets of each other.
    changes: Callable[[Policies, Policies], bool]
    # Returns the last policies with a value that serves the first and the second.
    serving_both: Callable[[Policies, Policies, Policies], Policies]


def _marking_changes(base: Policies, head: Policies) -> bool:
    return gives_up(base.classes, head.classes) or not _takes_rdma_of(base.classes, head.classes)


def _takes_rdma_of(accepting: Classes, sending: Classes) -> bool:
    """Tell whether members with the classes ``accepting`` treat RDMA and notifications as those of ``sending`` do."""
    sent = marking(sending)
    if sent is None:
        return True
    if sent.priority in sent.lossless and lossless_dscp(accepting).get(sent.dscp) != sent.priority:
        return False
    return sent.cnp_dscp is None or sent.cnp_dscp in notifying(accepting)


def _both_markings(base: Policies, head: Policies, policies: Policies) -> Policies:
    return policies._replace(classes=accept_both(base.classes, head.classes) or head.classes)


def _mtu_changes(base: Policies, head: Policies) -> bool:
    # The fabric carries what its nodes send (rule M-1), so only what nodes send can lose packets.
    return base.mtu.hosts_bytes != head.mtu.hosts_bytes


def _both_sizes(base: Policies, head: Policies, policies: Policies) -> Policies:
    return policies._replace(mtu=Mtu(*map(max, base.mtu, head.mtu)))


SHARED_VALUES = (
    SharedValue("marking", "both markings", "marking", _marking_changes, _both_markings),
    SharedValue("MTU", "both packet sizes", "packet size", _mtu_changes, _both_sizes),
)


class NodeValues(NamedTuple):
    """What GPU nodes are made from: they accept what ``accepts`` says, and send what ``sends`` says."""

    accepts: Fabric
    sends: Fabric

    @property
    def shared(self) -> tuple[object, ...]:
        """Return all that decides about shared values on a node."""
        accepts = self.accepts.policies
        sends = self.sends.policies
        return frozenset(accepts.classes), accepts.mtu.hosts_bytes, frozenset(sends.classes), sends.mtu.hosts_bytes


class SharedChange(NamedTuple):
    """The shared values that change, and what switches and nodes are while they do.

    ``switches`` accept both. ``before`` is how the nodes begin; they go through ``accepting`` and ``sending`` to
    ``after``.
    """

    values: tuple[SharedValue, ...]
    switches: Fabric
    before: NodeValues
    accepting: NodeValues
    sending: NodeValues
    after: NodeValues


def shared_change(base: Fabric, head: Fabric) -> SharedChange | None:
    """Return how shared values get from ``base`` to ``head``; None where members of both serve each other.

    Raises RefusedError where no member can accept both.
    """
    changing = tuple(value for value in SHARED_VALUES if value.changes(base.policies, head.policies))
    if not changing:
        return None
    policies = head.policies
    for value in changing:
        policies = value.serving_both(base.policies, head.policies, policies)
    both = replace(head, policies=policies)
    # A larger MTU, for instance, serves both as it is: then the switches have no phase of their own at the end.
    switches = head if of_switches(both) == of_switches(head) else both
    was = replace(head, policies=head.policies._replace(classes=base.policies.classes, mtu=base.policies.mtu))
    return SharedChange(
        changing,
        switches,
        before=NodeValues(was, was),
        accepting=NodeValues(both, was),
        sending=NodeValues(both, head),
        after=NodeValues(head, head),
    )


def of_switches(fabric: Fabric) -> tuple[object, ...]:
    """Return what the configuration of the switches is made from."""
    # Switches have the fabric's MTU alone, and their rows do not depend on the order of classes.
    classes = tuple(sorted(fabric.policies.classes, key=lambda traffic_class: traffic_class.name))
    policies = fabric.policies._replace(mtu=fabric.policies.mtu._replace(hosts_bytes=0), classes=classes)
    return policies, fabric.switches, fabric.links, fabric.host_blocks


def words(values: Sequence[SharedValue], how: str) -> str:
    """Return the changing values in words: ``both markings and both packet sizes``, or ``the new marking``."""
    if how == "both":
        return " and ".join(value.both for value in values)
    return " and ".join(f"the {how} {value.single}" for value in values)
