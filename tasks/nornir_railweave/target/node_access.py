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
    """Return the ``hosts:`` of ``target``; on a simulator with nodes, with their addresses, user and keys.

    None if neither states how the nodes are reached.
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
    """Return the real seconds in which a second of a test passes: less than 1 on a simulator that hurries."""
    if target.source is not Source.SIM:
        return 1.0
    try:
        return started_endpoints(fabric, target, state_dir).pace or 1.0
    except RefusedError:
        return 1.0
