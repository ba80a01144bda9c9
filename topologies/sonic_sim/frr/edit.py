"""Apply lines to a running configuration as vtysh and the daemons do, with their error texts.

Sources: FRR vtysh/vtysh.c (``vtysh_config_from_file``: a line that its node does not know is tried in the parents) and
bgpd/bgp_vty.c (texts of the refusals). A refused line does not stop the others; the last error is the exit status.
"""

import ipaddress
import re
from dataclasses import dataclass, field

from sonic_sim.frr.grammar import (
    BGP,
    BGP_AF,
    CONFIG,
    DEFAULT_ON,
    NODE_NUMBERS,
    ROUTE_MAP,
    identity,
    is_beginning,
    opens,
)
from sonic_sim.frr.tree import Context

CMD_ERR_NO_MATCH = 2
CMD_ERR_INCOMPLETE = 4
CMD_WARNING_CONFIG_FAILED = 13

_COMMUNITIES = {
    "65535:0": "graceful-shutdown",
    "65535:65281": "no-export",
    "65535:65282": "no-advertise",
    "65535:65283": "local-AS",
    "65535:666": "blackhole",
}
_LISTS = re.compile(
    r"^((?:ip|ipv6) prefix-list \S+|bgp as-path access-list \S+|"
    r"bgp (?:large-)?community-list (?:standard|expanded) \S+)"
    r"(?: seq (\d+))? ((?:permit|deny) .+)$"
)
_PEER_LINE = re.compile(r"^neighbor (\S+)(?: (.+))?$")


class RefusedLineError(Exception):
    """A line that vtysh or bgpd refuses; ``node`` is where it was given, ``daemon_text`` what bgpd says."""

    def __init__(self, status: int, node: str, daemon_text: str = "") -> None:
        """Keep why the line is refused."""
        super().__init__(daemon_text or str(status))
        self.status = status
        self.node = node
        self.daemon_text = daemon_text

    def of_file(self, number: int, line: str) -> str:
        """Return what ``vtysh -f`` says of a line; the number in brackets is FRR's own of the node."""
        if self.status == CMD_WARNING_CONFIG_FAILED:
            return f"line {number}: Failure to communicate[{self.status}] to bgpd, line: {line}\n\n"
        place = NODE_NUMBERS.get(self.node, NODE_NUMBERS[CONFIG])
        if self.status == CMD_ERR_INCOMPLETE:
            return f"line {number}: % Command incomplete[{place}]: {line}\n\n"
        return f"line {number}: % Unknown command[{place}]: {line}\n"

    def of_prompt(self, line: str) -> str:
        """Return what ``vtysh -c`` says of a line."""
        words = "Command incomplete" if self.status == CMD_ERR_INCOMPLETE else "Unknown command"
        return f"{self.daemon_text or f'% {words}: {line}'}\n"


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
        if here.node == ROUTE_MAP and words[0] == "match" and words[2:3] == ["address"]:
            here.remove(" ".join(words[:3]))
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
                    raise _bgpd(f"BGP is already running; AS is {number}")
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
        peer, rest = found.group(1), found.group(2)
        instance = here if here.node == BGP else self._instance(here)
        if rest.startswith("remote-as") or rest == "peer-group" or rest.startswith("interface"):
            return
        if rest.startswith("peer-group "):
            group = rest.split()[1]
            if f"neighbor {group} peer-group" not in instance.lines:
                raise _bgpd("% Configure the peer-group first")
            return
        known = (f"neighbor {peer} {kind}" in instance.lines for kind in ("remote-as", "peer-group", "interface"))
        if not any(known) and not instance.starting(f"neighbor {peer}"):
            raise _bgpd("% Specify remote-as or peer-group commands first")

    def _instance(self, family: Context) -> Context:
        for child in self.root.children.values():
            if family in child.children.values():
                return child
        return self.root


def _bgpd(text: str) -> RefusedLineError:
    return RefusedLineError(CMD_WARNING_CONFIG_FAILED, BGP, text)


def normal_header(node: str, line: str) -> str:
    """Return the header as FRR shows it."""
    if node == BGP_AF and line.split()[1:] in (["ipv4"], ["ipv6"]):
        return line + " unicast"
    return line


def normal_line(here: Context, line: str) -> str:
    """Return a line as FRR will show it: networks masked, list entries numbered, communities named."""
    entry = _LISTS.match(line) if here.node == CONFIG else None
    if entry:
        name, sequence, rest = entry.groups()
        if name.startswith("ip"):
            rest = " ".join(_masked(word) for word in rest.split())
            rest = re.sub(r" le (\d+) ge (\d+)$", r" ge \2 le \1", rest)
        if sequence is None:
            sequence = _next_sequence(here, name, rest)
        return f"{name} seq {sequence} {rest}"
    if line.startswith(("network ", "ip route ", "ipv6 route ", "aggregate-address ")):
        return " ".join(_masked(word) for word in line.split())
    if line.startswith("set community "):
        return " ".join(_COMMUNITIES.get(word, word) for word in line.split())
    return line


def _masked(word: str) -> str:
    if "/" not in word:
        return word
    try:
        return str(ipaddress.ip_network(word, strict=False))
    except ValueError:
        return word


def _next_sequence(here: Context, name: str, rest: str) -> str:
    numbers = []
    for key in here.starting(f"{name} seq"):
        number = key.split(" seq ")[1].split()[0]
        if here.lines[key] == f"{name} seq {number} {rest}":
            return number
        numbers.append(int(number))
    return str(max(numbers, default=0) // 5 * 5 + 5)


@dataclass(slots=True)
class Removal:
    """What ``no`` does in a context."""

    root: Context
    here: Context
    notes: list[str]

    def line(self, line: str) -> None:
        """Remove what the line names. Raises RefusedLineError where FRR refuses."""
        here = self.here
        if line in DEFAULT_ON.get(here.node, ()):
            here.lines.pop(line, None)
            here.lines["no " + line] = "no " + line
            return
        if here.node == CONFIG and line.split(maxsplit=1)[0] in ("router", "route-map", "interface", "vrf"):
            self._context(line)
        elif here.node == BGP and line.startswith("address-family"):
            here.children.pop(normal_header(BGP_AF, line), None)
        elif here.node == BGP and line.startswith("neighbor "):
            self._neighbor(line)
        elif here.node == BGP_AF and line.endswith(" activate") and self._active_by_default():
            here.lines.pop(line, None)
            here.lines["no " + line] = "no " + line
        else:
            self._plain(line)

    def _active_by_default(self) -> bool:
        """Tell whether neighbours of this address family are active without being told."""
        for instance in self.root.children.values():
            if self.here in instance.children.values():
                default = "no bgp default ipv4-unicast" not in instance.lines
                return default and self.here.header == "address-family ipv4 unicast"
        return False

    def _context(self, line: str) -> None:
        kind, *rest = line.split()
        children = self.here.children
        if line in children:
            del children[line]
        elif kind == "route-map" and len(rest) == 1:
            for key in [one for one in children if one.startswith(f"route-map {rest[0]} ")]:
                del children[key]
        elif kind == "router":
            raise _bgpd("% Can't find BGP instance")

    def _neighbor(self, line: str) -> None:
        words = line.split()
        peer = f"neighbor {words[1]}"
        whole = len(words) == 2 or words[2] in ("remote-as", "interface") or words[2:] == ["peer-group"]
        if not self.here.starting(peer):
            self._unknown_neighbor(words, line, whole=whole)
            return
        if whole:
            self._forget(peer)
            if words[2:] == ["peer-group"]:
                self._leave_group(words[1])
        elif words[2] == "peer-group":
            # bgpd 8.4 deletes a neighbour that leaves its group, even one with an AS number of its own
            self._forget(peer)
        elif words[2:] == ["timers"]:
            self.here.lines.pop(f"{peer} timers", None)
        else:
            self._plain(line)

    def _unknown_neighbor(self, words: list[str], line: str, *, whole: bool) -> None:
        """Answer as bgpd 8.4 does: an address that is no neighbour is forgotten in silence, all else is refused."""
        if not whole:
            raise _bgpd("% Specify remote-as or peer-group commands first")
        if words[2:] == ["peer-group"]:
            raise _bgpd("% Create the peer-group first")
        if not _is_address(words[1]):
            raise _bgpd("% Create the peer-group or interface first")

    def _forget(self, peer: str) -> None:
        for context in self.here.walk():
            context.remove(peer)

    def _leave_group(self, group: str) -> None:
        for key, line in list(self.here.lines.items()):
            words = line.split()
            if words[0] == "neighbor" and words[2:] == ["peer-group", group]:
                del self.here.lines[key]
                if not self.here.starting(f"neighbor {words[1]} remote-as"):
                    self._forget(f"neighbor {words[1]}")

    def _plain(self, line: str) -> None:
        line = self._numbered(normal_spelling(line))
        words = line.split()
        if len(words) == 5 and words[0] == "neighbor" and words[2] in ("route-map", "prefix-list", "filter-list"):
            # bgpd looks at the direction alone, whatever filter is named (8.4.4, measured)
            for key in [one for one in self.here.starting(" ".join(words[:3])) if one.split()[-1] == words[-1]]:
                del self.here.lines[key]
            return
        if line in ("match ip address", "match ipv6 address"):
            # without more words this is the access list's, a prefix list stays
            self.here.lines.pop(f"{line} access-list", None)
            return
        if self.here.remove(line):
            return
        key = identity(self.here.node, line)
        if key is not None and self.here.lines.pop(key, None) is not None:
            return
        if line.startswith("network "):
            raise _bgpd("% Can't find static route specified")
        if line.startswith(("bgp community-list ", "bgp large-community-list ")):
            raise _bgpd("% Can't find community-list")
        if line.startswith(("ip route ", "ipv6 route ")):
            self.notes.append("% Refusing to remove a non-existent route")

    def _numbered(self, line: str) -> str:
        entry = _LISTS.match(line)
        if entry and entry.group(2) is None:
            name, _, rest = entry.groups()
            for key in self.here.starting(f"{name} seq"):
                if self.here.lines[key].endswith(" " + rest):
                    return self.here.lines[key]
        return line


def normal_spelling(line: str) -> str:
    """Mask the networks of a line that is to be removed."""
    if line.startswith(("network ", "ip route ", "ipv6 route ", "ip prefix-list ", "ipv6 prefix-list ")):
        return " ".join(_masked(word) for word in line.split())
    return line


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
