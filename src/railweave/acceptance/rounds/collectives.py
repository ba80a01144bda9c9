"""Collectives: which nodes run them together, and which operations a fabric can carry."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from railweave.acceptance.limits.collectives import Collective
from railweave.acceptance.narrowing import TestScope
from railweave.fabric.devices import Host
from railweave.fabric.model import Fabric

# All GPUs of an operation, in the order in which levels take them.
_OPERATIONS = (Collective.ALL_REDUCE, Collective.ALL_TO_ALL, Collective.ALL_GATHER)
# Rings keep to their rail. An exchange of all with all needs a way between rails: without one the test may hang
# (NCCL issue 2013).
_WITHIN_RAILS = (Collective.ALL_REDUCE, Collective.ALL_GATHER)

_LEAST_NODES = 2


def operations(fabric: Fabric, most: int) -> tuple[Collective, ...]:
    """Return the operations that a fabric can carry, at most ``most``."""
    possible = _WITHIN_RAILS if fabric.rail_only else _OPERATIONS
    return possible[:most]


def collective_groups(fabric: Fabric, gpus_of: Mapping[str, int], scope: TestScope | None) -> Iterator[list[Host]]:
    """Yield the GPU nodes of each entry of nodes that has at least two.

    ``gpus_of`` is the number of GPUs of a node, by the name of its entry. With a scope only nodes in it and as many
    outside it are in a group.
    """
    hosts = [host for host in fabric.hosts if host.runs_nccl and gpus_of.get(host.kind, 0)]
    for _, hosts_of_kind in groupby(hosts, key=lambda host: host.kind):
        group = list(hosts_of_kind)
        if scope is not None:
            group = _narrowed(fabric, group, scope)
        if len(group) >= _LEAST_NODES:
            yield group


def _narrowed(fabric: Fabric, hosts: Sequence[Host], scope: TestScope) -> list[Host]:
    """Return the nodes in the scope, then as many others; none if no node is in the scope."""
    in_scope = []
    outside = []
    for host in hosts:
        switches = {link.upper for link in fabric.uplinks_of[host.name]}
        if scope.holds_node(host.name) or not scope.switches.isdisjoint(switches):
            in_scope.append(host)
        else:
            outside.append(host)
    return in_scope + outside[: len(in_scope)]
