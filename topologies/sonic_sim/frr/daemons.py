"""Which of FRR's daemons keeps which lines, and the configuration of one that missed some.

Source: FRR, vtysh/vtysh.h (VTYSH_RMAP, VTYSH_ACL and their later forms) and the daemons that a command is installed in;
run on FRR 8.4.4 and 10.3 with one daemon after another.
"""

from collections.abc import Iterable

from sonic_sim.frr.grammar import BGP, ROUTE_MAP, VRF
from sonic_sim.frr.show import Build
from sonic_sim.frr.tree import Context

# Stands for the lines that every daemon keeps for itself: vtysh shows one that any of them has.
SHARED = "all"

_SHARED_LINES = ("ip prefix-list ", "ipv6 prefix-list ", "access-list ", "ip access-list ", "ipv6 access-list ")
_ROUTES = ("ip route ", "ipv6 route ")
# How many seconds after zebra each daemon listens: supervisord starts the others once zebra's socket is there
# (sonic-buildimage, dockers/docker-fpm-frr/frr/supervisord).
LISTENS_S = {"mgmtd": 0.0, "zebra": 0.0, "staticd": 1.0, "bgpd": 2.0}
# ``vtysh -b`` waits for bgpd's process, not its socket.
LOADS_S = 3.0


def keeper(build: Build, node: str, line: str) -> str:
    """Return the daemon that keeps a line of the top level, or a block with this ``node``; SHARED if all keep it."""
    line = line.removeprefix("no ")
    if node == ROUTE_MAP or line.startswith(_SHARED_LINES):
        return SHARED
    if node == BGP or line.startswith("bgp "):
        return "bgpd"
    if line.startswith(_ROUTES):
        # mgmtd took over staticd's configuration in FRR 10.0.
        return "mgmtd" if build.since(10, 0) else "staticd"
    return "zebra"


def part_of(root: Context, build: Build, names: Iterable[str]) -> Context:
    """Return the lines of a configuration that the daemons with these names keep."""
    daemons = frozenset(names)
    lines = {key: line for key, line in root.lines.items() if keeper(build, root.node, line) in daemons}
    children = {}
    for header, child in root.children.items():
        if child.node == VRF:
            # zebra keeps the VRF itself, staticd or mgmtd its static routes.
            part = part_of(child, build, daemons)
            if "zebra" in daemons or part.lines:
                children[header] = part
        elif keeper(build, child.node, header) in daemons:
            children[header] = child
    return Context(root.node, root.header, lines, children)


def merged(parts: Iterable[Context]) -> Context:
    """Return the configuration that vtysh shows for those of several daemons; the last one wins where two differ."""
    result: Context | None = None
    for part in parts:
        if result is None:
            result = part.copy()
            continue
        result.lines.update(part.lines)
        for header, child in part.children.items():
            if header in result.children:
                result.children[header] = merged((result.children[header], child))
            else:
                result.children[header] = child.copy()
    return result or Context("config")
