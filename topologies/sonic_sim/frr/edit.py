"""Apply lines to a running configuration as vtysh and the daemons do.

A line that its context does not know is tried in the contexts around it, as vtysh does; what FRR refuses is raised.
"""

import re
from dataclasses import dataclass, field

from sonic_sim.frr.grammar import BGP, BGP_AF, CONFIG, DEFAULT_ON, ROUTE_MAP, identity, is_beginning, opens
from sonic_sim.frr.refusal import CMD_ERR_INCOMPLETE, CMD_ERR_NO_MATCH, RefusedLineError, refused_by_bgpd
from sonic_sim.frr.remove import Removal
from sonic_sim.frr.spelling import normal_header, normal_line
from sonic_sim.frr.tree import Context

_PEER_LINE = re.compile(r"^neighbor (?P<peer>\S+)(?: (?P<rest>.+))?$")


@dataclass(slots=True)
class Editor:
    """A configuration session: where it stands in the tree."""

    root: Context
    path: list[Context] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def line(self, text: str) -> None:
        """Apply one line. Raises RefusedLineError."""
        line = " ".join(text.split())
        if not line or line[0] in "!#":
            return
        # FRR prints exit-vrf and exit-address-family itself, so files come with them.
        if line in ("exit", "quit", "exit-address-family", "exit-vrf"):
            if self.path:
                self.path.pop()
            return
        if line == "end":
            self.path.clear()
            return
        # vtysh tries a line that a context does not know in the contexts around it.
        for depth in range(len(self.path), -1, -1):
            context = self.path[depth - 1] if depth else self.root
            if self._is_command(context.node, line):
                del self.path[depth:]
                self._apply(context, line)
                return
        if is_beginning(self.context.node, line.removeprefix("no ")):
            raise RefusedLineError(CMD_ERR_INCOMPLETE, self.context.node)
        raise RefusedLineError(CMD_ERR_NO_MATCH, self.context.node)

    @property
    def context(self) -> Context:
        """The context that lines go into."""
        return self.path[-1] if self.path else self.root

    def _is_command(self, node: str, line: str) -> bool:
        """Tell whether a context of this node knows a line, which may begin with ``no``."""
        plain = line.removeprefix("no ")
        if opens(node, plain) or identity(node, plain) is not None:
            return True
        if not line.startswith("no "):
            return False
        # ``no`` takes a command without its values, and a route-map without its entry.
        is_route_map = node == CONFIG and re.match(r"^route-map \S+$", plain) is not None
        return is_route_map or is_beginning(node, plain)

    def _apply(self, context: Context, line: str) -> None:
        """Apply a line in a context that knows it. Raises RefusedLineError."""
        if line.startswith("no "):
            Removal(self.root, context, self.notes).line(line.removeprefix("no "))
            return
        node = opens(context.node, line)
        if node is not None:
            self._open(context, node, line)
            return
        line = normal_line(context, line)
        if line in DEFAULT_ON.get(context.node, ()):
            was_off = context.lines.pop("no " + line, None) is not None
            # FRR shows a switch that is on by default only where it is off, except for those of interfaces.
            if not was_off and context.node == "interface":
                context.lines[line] = line
            return
        if context.node in (BGP, BGP_AF):
            self._check_neighbor(context, line)
        self._remove_replaced(context, line)
        self._note_missing_route_map(context, line)
        context.lines[identity(context.node, line) or line] = line

    def _note_missing_route_map(self, context: Context, line: str) -> None:
        """Note that a neighbor names a route-map that is not there: bgpd warns about that, and accepts the line."""
        words = line.split()
        if context.node != BGP_AF or words[0] != "neighbor":
            return
        if words[2] != "route-map":
            return
        if not any(header.startswith(f"route-map {words[3]} ") for header in self.root.children):
            self.notes.append(f"The route-map '{words[3]}' does not exist.")

    def _remove_replaced(self, context: Context, line: str) -> None:
        """Remove the lines of another identity that a line replaces.

        They are its negation, and a neighbor's filter of the same kind and direction.
        """
        words = line.split()
        context.lines.pop("no " + line, None)
        if context.node == BGP_AF and words[0] == "neighbor":
            context.remove_filter(words)

    def _open(self, context: Context, node: str, line: str) -> None:
        """Open the block that a line is the header of, which is made unless it is there. Raises RefusedLineError."""
        header = normal_header(node, line)
        if header not in context.children:
            if node == BGP:
                self._refuse_second_instance(context, header)
            elif node == ROUTE_MAP:
                _drop_entry(context, header)
        child = context.children.setdefault(header, Context(node, header))
        depth = self.path.index(context) + 1 if context in self.path else 0
        del self.path[depth:]
        self.path.append(child)

    def _refuse_second_instance(self, context: Context, header: str) -> None:
        """Raise RefusedLineError if the VRF of a new instance has one already, with another AS number."""
        for block in context.children.values():
            if block.node == BGP and _vrf_of(block.header) == _vrf_of(header):
                raise refused_by_bgpd(f"BGP is already running; AS is {block.header.split()[2]}")

    def _check_neighbor(self, context: Context, line: str) -> None:
        """Raise RefusedLineError if a line is of a neighbor, or names a peer group, that is not there."""
        peer_line = _PEER_LINE.match(line)
        if peer_line is None or peer_line["rest"] is None:
            return
        rest = peer_line["rest"]
        # These make the neighbor or the group.
        if rest.startswith(("remote-as", "interface")) or rest == "peer-group":
            return
        instance = context if context.node == BGP else self._instance(context)
        if rest.startswith("peer-group "):
            group = rest.split()[1]
            if f"neighbor {group} peer-group" not in instance.lines:
                raise refused_by_bgpd("% Configure the peer-group first")
        elif not instance.starting(f"neighbor {peer_line['peer']}"):
            raise refused_by_bgpd("% Specify remote-as or peer-group commands first")

    def _instance(self, family: Context) -> Context:
        """Return the BGP instance of an address family; the top level if it has none."""
        for child in self.root.children.values():
            if family in child.children.values():
                return child
        return self.root


def _vrf_of(header: str) -> str:
    """Return the VRF in the header ``router bgp N vrf NAME``; empty for the default one."""
    return header.partition(" vrf ")[2]


def _drop_entry(context: Context, header: str) -> None:
    """Remove the entry of a route-map with the same number: permit and deny replace each other."""
    _, name, _, sequence = header.split()
    for key in list(context.children):
        words = key.split()
        if words[:2] == ["route-map", name] and words[3] == sequence:
            del context.children[key]
