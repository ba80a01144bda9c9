"""Removal of lines by ``no`` (bgpd/bgp_vty.c; the unexpected parts measured on 8.4.4)."""

from dataclasses import dataclass

from sonic_sim.frr.grammar import BGP, BGP_AF, CONFIG, DEFAULT_ON, NEXTHOP_TRACKING, VRF, identity
from sonic_sim.frr.refusal import refused_by_bgpd
from sonic_sim.frr.spelling import LIST_ENTRY, is_address, normal_header, normal_spelling
from sonic_sim.frr.tree import Context


@dataclass(slots=True)
class Removal:
    """The effect of ``no`` in a context."""

    root: Context
    context: Context
    notes: list[str]

    def line(self, line: str) -> None:
        """Remove the line or block that ``no`` names. Raises RefusedLineError if FRR refuses that."""
        context = self.context
        if self._is_on_by_default(line):
            self._switch_off(line)
        elif context.node == CONFIG and line.split(maxsplit=1)[0] in ("router", "route-map", "interface", "vrf"):
            self._remove_block(line)
        elif context.node == BGP and line.startswith("address-family"):
            context.children.pop(normal_header(BGP_AF, line), None)
        elif context.node == BGP and line.startswith("neighbor "):
            self._remove_from_neighbor(line)
        else:
            self._refuse_unknown_neighbor(line)
            self._remove_line(line)

    def _is_on_by_default(self, line: str) -> bool:
        """Tell whether a line is a switch that is on unless ``no`` says otherwise."""
        node = self.context.node
        if node == BGP_AF and line.endswith(" activate"):
            return self._active_by_default()
        if node in (CONFIG, VRF) and line in NEXTHOP_TRACKING:
            return True
        return line in DEFAULT_ON.get(node, ())

    def _switch_off(self, line: str) -> None:
        """Keep a switch that is on by default as a line that begins with ``no``."""
        self.context.lines.pop(line, None)
        self.context.lines["no " + line] = "no " + line

    def _refuse_unknown_neighbor(self, line: str) -> None:
        """Raise RefusedLineError for a neighbor that the instance of this address family does not have.

        That is how 8.4.4 behaves (measured).
        """
        words = line.split()
        instance = self._instance()
        if self.context.node != BGP_AF or words[0] != "neighbor":
            return
        if instance is None:
            return
        if not any(context.starting(f"neighbor {words[1]}") for context in instance.walk()):
            raise refused_by_bgpd("% Specify remote-as or peer-group commands first")

    def _instance(self) -> Context | None:
        """Return the BGP instance that the context is an address family of; None for another context."""
        for instance in self.root.children.values():
            if self.context in instance.children.values():
                return instance
        return None

    def _active_by_default(self) -> bool:
        """Tell whether neighbors of this address family are active by default."""
        instance = self._instance()
        if instance is None or "no bgp default ipv4-unicast" in instance.lines:
            return False
        return self.context.header == "address-family ipv4 unicast"

    def _remove_block(self, line: str) -> None:
        """Remove the block with this header from the top level, or all entries of a route-map.

        Raises RefusedLineError for an instance of BGP that is not there.
        """
        kind, *rest = line.split()
        children = self.context.children
        if line in children:
            del children[line]
        elif kind == "route-map" and len(rest) == 1:
            # Without a number all entries of the route-map go.
            for key in list(children):
                if key.startswith(f"route-map {rest[0]} "):
                    del children[key]
        elif kind == "router":
            raise refused_by_bgpd("% Can't find BGP instance")

    def _remove_from_neighbor(self, line: str) -> None:
        """Remove a neighbor of an instance, or one of its lines. Raises RefusedLineError if FRR refuses that."""
        words = line.split()
        peer = f"neighbor {words[1]}"
        is_group = words[2:] == ["peer-group"]
        # A neighbor is nothing without the line that makes it.
        removes_its_origin = len(words) > 2 and words[2] in ("remote-as", "interface")
        removes_neighbor = len(words) == 2 or removes_its_origin or is_group
        if not self.context.starting(peer):
            self._check_unknown_neighbor(words, removes_neighbor=removes_neighbor)
            return
        if removes_neighbor:
            self._forget(peer)
            if is_group:
                self._remove_from_members(words[1])
        elif words[2] == "peer-group":
            # bgpd 8.4 deletes a neighbor that leaves its group, even one with an AS number of its own.
            self._forget(peer)
        elif words[2:] == ["timers"]:
            self.context.lines.pop(f"{peer} timers", None)
        else:
            self._remove_line(line)

    def _check_unknown_neighbor(self, words: list[str], *, removes_neighbor: bool) -> None:
        """Raise RefusedLineError, as bgpd 8.4 does, if something is to be removed from a neighbor that is not there.

        To remove a neighbor by its address is no mistake.
        """
        if not removes_neighbor:
            raise refused_by_bgpd("% Specify remote-as or peer-group commands first")
        if words[2:] == ["peer-group"]:
            raise refused_by_bgpd("% Create the peer-group first")
        if not is_address(words[1]):
            raise refused_by_bgpd("% Create the peer-group or interface first")

    def _forget(self, peer: str) -> None:
        """Remove all lines of a neighbor, ``neighbor PEER``, from the instance and its address families."""
        for context in self.context.walk():
            context.remove(peer)

    def _remove_from_members(self, group: str) -> None:
        """Remove a peer group from the neighbors that name it."""
        for key, line in list(self.context.lines.items()):
            words = line.split()
            if words[0] == "neighbor" and words[2:] == ["peer-group", group]:
                del self.context.lines[key]
                # A member without an AS number of its own is nothing without its group.
                if not self.context.starting(f"neighbor {words[1]} remote-as"):
                    self._forget(f"neighbor {words[1]}")

    def _remove_line(self, line: str) -> None:
        """Remove the line that ``line`` names: the whole line, its beginning, or one with other values."""
        line = self._numbered(normal_spelling(line))
        # bgpd looks at the direction of a neighbor's filter alone, whatever filter is named (measured).
        if self.context.remove_filter(line.split()):
            return
        if self._remove_access_list(line) or self.context.remove(line):
            return
        key = identity(self.context.node, line)
        if key is not None and self.context.lines.pop(key, None) is not None:
            return
        self._report_missing(line)

    def _remove_access_list(self, line: str) -> bool:
        """Remove the match of an access list; return False if the line means something else."""
        if line not in ("match ip address", "match ipv6 address"):
            return False
        # Without more words it is not the match of a prefix list (measured).
        if "prefix-list" not in self.context.lines.get(line, ""):
            self.context.lines.pop(line, None)
        return True

    def _report_missing(self, line: str) -> None:
        """Report a missing line as FRR does; most are removed in silence."""
        if line.startswith("network "):
            raise refused_by_bgpd("% Can't find static route specified")
        if line.startswith(("bgp community-list ", "bgp large-community-list ")):
            raise refused_by_bgpd("% Can't find community-list")
        if line.startswith(("ip route ", "ipv6 route ")):
            self.notes.append("% Refusing to remove a non-existent route")

    def _numbered(self, line: str) -> str:
        """Return a list's entry with the number that it has, if it was given without; other lines as they are."""
        entry = LIST_ENTRY.match(line)
        if entry is None or entry["number"] is not None:
            return line
        for key in self.context.starting(f"{entry['name']} seq"):
            if self.context.lines[key].endswith(f" {entry['rule']}"):
                return self.context.lines[key]
        return line
