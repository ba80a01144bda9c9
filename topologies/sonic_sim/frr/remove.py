"""What ``no`` removes from a running configuration (bgpd/bgp_vty.c; the unexpected parts measured on 8.4.4)."""

from dataclasses import dataclass

from sonic_sim.frr.grammar import BGP, BGP_AF, CONFIG, DEFAULT_ON, NEXTHOP_TRACKING, VRF, identity
from sonic_sim.frr.refusal import refused_by_bgpd
from sonic_sim.frr.spelling import LIST_ENTRY, is_address, normal_header, normal_spelling
from sonic_sim.frr.tree import Context


@dataclass(slots=True)
class Removal:
    """What ``no`` does in a context."""

    root: Context
    here: Context
    notes: list[str]

    def line(self, line: str) -> None:
        """Remove what the line names. Raises RefusedLineError where FRR refuses."""
        here = self.here
        if line in DEFAULT_ON.get(here.node, ()) or (line in NEXTHOP_TRACKING and here.node in (CONFIG, VRF)):
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
            self._refuse_unknown_neighbor(line)
            self._plain(line)

    def _refuse_unknown_neighbor(self, line: str) -> None:
        """Refuse a neighbor of an address family that the instance does not have (8.4.4, measured)."""
        words = line.split()
        if self.here.node != BGP_AF or words[0] != "neighbor":
            return
        instance = next((one for one in self.root.children.values() if self.here in one.children.values()), None)
        if instance is not None and not any(one.starting(f"neighbor {words[1]}") for one in instance.walk()):
            raise refused_by_bgpd("% Specify remote-as or peer-group commands first")

    def _active_by_default(self) -> bool:
        """Tell whether neighbors of this address family are active without being told."""
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
            raise refused_by_bgpd("% Can't find BGP instance")

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
            # bgpd 8.4 deletes a neighbor that leaves its group, even one with an AS number of its own
            self._forget(peer)
        elif words[2:] == ["timers"]:
            self.here.lines.pop(f"{peer} timers", None)
        else:
            self._plain(line)

    def _unknown_neighbor(self, words: list[str], line: str, *, whole: bool) -> None:
        """Answer as bgpd 8.4 does: an address that is no neighbor is forgotten in silence, all else is refused."""
        if not whole:
            raise refused_by_bgpd("% Specify remote-as or peer-group commands first")
        if words[2:] == ["peer-group"]:
            raise refused_by_bgpd("% Create the peer-group first")
        if not is_address(words[1]):
            raise refused_by_bgpd("% Create the peer-group or interface first")

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
        if self._by_direction(line) or self._access_list(line) or self.here.remove(line):
            return
        key = identity(self.here.node, line)
        if key is not None and self.here.lines.pop(key, None) is not None:
            return
        self._missing(line)

    def _by_direction(self, line: str) -> bool:
        """Remove a neighbor's filter: bgpd looks at the direction alone, whatever filter is named (measured)."""
        words = line.split()
        if len(words) != 5 or words[0] != "neighbor" or words[2] not in ("route-map", "prefix-list", "filter-list"):
            return False
        for key in [one for one in self.here.starting(" ".join(words[:3])) if one.split()[-1] == words[-1]]:
            del self.here.lines[key]
        return True

    def _access_list(self, line: str) -> bool:
        """Remove the match of an access list; without more words it is not the one of a prefix list (measured)."""
        if line not in ("match ip address", "match ipv6 address"):
            return False
        if "prefix-list" not in self.here.lines.get(line, ""):
            self.here.lines.pop(line, None)
        return True

    def _missing(self, line: str) -> None:
        """Say what FRR says of a line that is not there; of most it says nothing."""
        if line.startswith("network "):
            raise refused_by_bgpd("% Can't find static route specified")
        if line.startswith(("bgp community-list ", "bgp large-community-list ")):
            raise refused_by_bgpd("% Can't find community-list")
        if line.startswith(("ip route ", "ipv6 route ")):
            self.notes.append("% Refusing to remove a non-existent route")

    def _numbered(self, line: str) -> str:
        entry = LIST_ENTRY.match(line)
        if entry and entry.group(2) is None:
            name, _, rest = entry.groups()
            for key in self.here.starting(f"{name} seq"):
                if self.here.lines[key].endswith(" " + rest):
                    return self.here.lines[key]
        return line
