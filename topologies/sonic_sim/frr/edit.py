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

_PEER_LINE = re.compile(r"^neighbor (\S+)(?: (.+))?$")


@dataclass(slots=True)
class Editor:
    """A configuration session: where it stands in the tree."""

    root: Context
    path: list[Context] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def here(self) -> Context:
        """The context that lines go into."""
        return self.path[-1] if self.path else self.root

    def line(self, text: str) -> None:
        """Apply one line. Raises RefusedLineError."""
        line = " ".join(text.split())
        if not line or line[0] in "!#":
            return
        if line in ("exit", "quit", "exit-address-family", "exit-vrf", "exit-address-family"):
            if self.path:
                self.path.pop()
            return
        if line == "end":
            self.path.clear()
            return
        depth = len(self.path)
        while True:
            here = self.path[depth - 1] if depth else self.root
            if self._known(here.node, line):
                del self.path[depth:]
                self._apply(here, line)
                return
            if depth == 0:
                break
            depth -= 1
        if is_beginning(self.here.node, line.removeprefix("no ")):
            raise RefusedLineError(CMD_ERR_INCOMPLETE, self.here.node)
        raise RefusedLineError(CMD_ERR_NO_MATCH, self.here.node)

    def _known(self, node: str, line: str) -> bool:
        plain = line.removeprefix("no ")
        if opens(node, plain) or identity(node, plain) is not None:
            return True
        if not line.startswith("no "):
            return False
        return is_beginning(node, plain) or bool(re.match(r"^route-map \S+$", plain) and node == CONFIG)

    def _apply(self, here: Context, line: str) -> None:
        if line.startswith("no "):
            Removal(self.root, here, self.notes).line(line.removeprefix("no "))
            return
        opened = opens(here.node, line)
        if opened is not None:
            self._open(here, opened, line)
            return
        line = normal_line(here, line)
        if line in DEFAULT_ON.get(here.node, ()):
            if here.lines.pop("no " + line, None) is None and here.node == "interface":
                here.lines[line] = line
            return
        if here.node in (BGP, BGP_AF):
            self._check_neighbor(here, line)
        self._replaced(here, line)
        self._note(here, line)
        here.lines[identity(here.node, line) or line] = line

    def _note(self, here: Context, line: str) -> None:
        """Say what bgpd says without refusing: a route-map may be named before it is there."""
        words = line.split()
        if here.node != BGP_AF or words[0] != "neighbor" or words[2] != "route-map":
            return
        if not any(header.startswith(f"route-map {words[3]} ") for header in self.root.children):
            self.notes.append(f"The route-map '{words[3]}' does not exist.")

    def _replaced(self, here: Context, line: str) -> None:
        """Remove the lines that this one takes the place of beyond those of its own identity."""
        words = line.split()
        here.lines.pop("no " + line, None)
        if here.node == BGP_AF and words[0] == "neighbor" and words[2] in ("route-map", "prefix-list", "filter-list"):
            for key in [one for one in here.starting(" ".join(words[:3])) if one.split()[-1] == words[-1]]:
                del here.lines[key]

    def _open(self, here: Context, node: str, line: str) -> None:
        header = normal_header(node, line)
        if node == BGP and header not in here.children:
            vrf = re.search(r" vrf \S+$", header)
            for other in here.children.values():
                same = re.search(r" vrf \S+$", other.header)
                if other.node == BGP and (same and same.group()) == (vrf and vrf.group()):
                    number = other.header.split()[2]
                    raise refused_by_bgpd(f"BGP is already running; AS is {number}")
        if node == ROUTE_MAP and header not in here.children:
            name, _, sequence = header.split()[1:]
            for key in [one for one in here.children if one.startswith(f"route-map {name} ")]:
                if key.split()[3] == sequence:
                    del here.children[key]
        context = here.children.setdefault(header, Context(node, header))
        depth = self.path.index(here) + 1 if here in self.path else 0
        del self.path[depth:]
        self.path.append(context)

    def _check_neighbor(self, here: Context, line: str) -> None:
        found = _PEER_LINE.match(line)
        if not found or found.group(2) is None:
            return
        peer = found.group(1)
        rest = found.group(2)
        instance = here if here.node == BGP else self._instance(here)
        if rest.startswith("remote-as") or rest == "peer-group" or rest.startswith("interface"):
            return
        if rest.startswith("peer-group "):
            group = rest.split()[1]
            if f"neighbor {group} peer-group" not in instance.lines:
                raise refused_by_bgpd("% Configure the peer-group first")
            return
        known = (f"neighbor {peer} {kind}" in instance.lines for kind in ("remote-as", "peer-group", "interface"))
        if not any(known) and not instance.starting(f"neighbor {peer}"):
            raise refused_by_bgpd("% Specify remote-as or peer-group commands first")

    def _instance(self, family: Context) -> Context:
        for child in self.root.children.values():
            if family in child.children.values():
                return child
        return self.root
