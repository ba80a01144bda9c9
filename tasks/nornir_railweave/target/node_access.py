"""How the GPU nodes of a fabric are reached: as the target says, or as its running simulator does."""

from dataclasses import replace
from pathlib import Path

from nornir_railweave.target.inventory import STATE_DIR
from nornir_railweave.target.model import Source, Target
from nornir_railweave.target.reach import started_endpoints
from railweave.errors import RefusedError
from railweave_hosts.access import Connection, HostAccess, NodeAddress, NodeLogin

_USER = "root"


def node_access(fabric: str, target: Target, state_dir: Path = STATE_DIR) -> HostAccess | None:
    """Return how the GPU nodes are reached: as ``hosts:`` of ``target`` says, or None if it does not say it.

    On a simulator with nodes, their addresses, user and keys are those that the simulator wrote when it started.
    """
    if target.source is not Source.SIM:
        return target.hosts
    try:
        endpoints = started_endpoints(fabric, target, state_dir)
    except RefusedError:
        # Without a simulator there are no nodes either; commands that need switches say so.
        return target.hosts
    if not endpoints.nodes:
        return target.hosts
    login = NodeLogin(
        username=_USER,
        key_file=Path(endpoints.key_file),
        known_hosts=Path(endpoints.known_hosts),
        become=False,
    )
    nodes = {name: NodeAddress(node.address, node.port) for name, node in endpoints.nodes.items()}
    return replace(target.hosts or HostAccess(), connection=Connection.SSH, nodes=nodes, login=login)


def pace_of_tests(fabric: str, target: Target, state_dir: Path = STATE_DIR) -> float:
    """Return how many real seconds a second of a test takes: 1, or less on a simulator that runs faster."""
    if target.source is not Source.SIM:
        return 1.0
    try:
        return started_endpoints(fabric, target, state_dir).pace or 1.0
    except RefusedError:
        return 1.0
