"""Properties of FRR changes, judged by a model of vtysh that is not the project's own.

The model knows a router, its neighbors and groups, lists, route maps and static routes, and takes commands one by one
in the order of the text, with FRR's traps: a list line under a taken number or with known content is not replaced, a
neighbor cannot change its group, and a group takes its members along.
"""

import re
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from railweave.sonic.frr import apply_delta, delta_text, frr_delta, frr_difference, parse_frr, render_frr

PEERS = ("10.0.0.1", "10.0.0.3", "10.0.0.5")
GROUPS = ("SPINES", "LEAVES")
LISTS = ("A", "B")
MAPS = ("IN", "OUT")


class Vtysh:
    """State: {context: {slot: line}}; raises AssertionError for a command that FRR would refuse or ignore."""

    def __init__(self, text: str) -> None:
        self.lines: dict[str, dict[str, str]] = {}
        self.feed(text)

    def feed(self, text: str) -> None:
        path: list[str] = []
        for raw in text.splitlines():
            line = raw.strip()
            if not line or line in ("!", "end") or line.startswith(("frr ", "hostname ")):
                continue
            if line.startswith("exit"):
                path.pop()
            elif re.match(r"(router bgp|route-map|address-family) ", line):
                self.enter(path, line)
            elif line.startswith("no ") and not re.match(r"no bgp (default|ebgp)", line):
                self.remove(path, line[3:])
            else:
                self.add(path, line)

    def enter(self, path: list[str], line: str) -> None:
        if line.startswith("router"):
            others = [one for one in self.lines if one.startswith("router bgp") and "/" not in one and one != line]
            assert not others, "BGP is already running with another AS number"
        if line.startswith("route-map"):
            head, _, number = line.rsplit(" ", 2)
            for other in ("permit", "deny"):
                old = f"{head} {other} {number}"
                if old != line and old in self.lines:
                    self.lines[line] = self.lines.pop(old)
        path.append(line)
        self.lines.setdefault("/".join(path), {})

    def remove(self, path: list[str], line: str) -> None:
        if line.startswith(("router bgp", "route-map")) and not path:
            assert line in self.lines, f"nothing to remove: {line}"
            for context in [one for one in self.lines if one == line or one.startswith(f"{line}/")]:
                del self.lines[context]
        elif re.match(r"neighbor \S+( peer-group)?$", line):
            self.remove_neighbor(path[0], line.split()[1])
        elif line.startswith(("bgp default", "bgp ebgp")):
            self.lines["/".join(path)].pop(f"no {line}", None)
        else:
            rows = self.lines["/".join(path)]
            gone = [slot for slot, one in rows.items() if one == line]
            assert gone, f"nothing to remove: {line}"
            del rows[gone[0]]

    def remove_neighbor(self, router: str, name: str) -> None:
        rows = self.lines[router]
        members = [one.split()[1] for one in rows.values() if one.endswith(f" peer-group {name}")]
        assert any(one.split()[1:2] == [name] for one in rows.values()), f"nothing to remove: {name}"
        for context, inner in self.lines.items():
            if context.startswith(router):
                for slot in [
                    key for key, one in inner.items() if one.split()[1:2] and one.split()[1] in [name, *members]
                ]:
                    del inner[slot]

    def add(self, path: list[str], line: str) -> None:
        context = "/".join(path)
        rows = self.lines.setdefault(context, {})
        words = line.split()
        if line.startswith(("bgp default", "bgp ebgp")):
            rows.pop(f"no {line}", None)
            return
        if line.startswith("ip prefix-list"):
            number, content = " ".join(words[:5]), " ".join(words[5:])
            assert rows.get(number, line) == line, f"keeps parts of the old line: {line}"
            assert not [
                one
                for key, one in rows.items()
                if key.startswith(" ".join(words[:3])) and one.endswith(f" {content}") and key != number
            ], f"ignored as a duplicate: {line}"
            rows[number] = line
            return
        if words[0] == "neighbor" and words[2:3] == ["peer-group"] and len(words) == 4:
            old = rows.get(f"neighbor {words[1]} peer-group=")
            assert old in (None, line), f"cannot change the group: {line}"
            assert f"neighbor {words[3]} peer-group" in rows, f"no such group: {line}"
            rows[f"neighbor {words[1]} peer-group="] = line
            return
        if words[0] == "neighbor" and len(path) == 2:
            known = {one.split()[1] for one in self.lines[path[0]].values() if one.startswith("neighbor")}
            assert words[1] in known, f"no such neighbor: {line}"
        rows[slot_of(line)] = line

    def entries(self) -> set[tuple[str, str]]:
        found = {(context, line) for context, rows in self.lines.items() for line in rows.values()}
        return found | {("", context) for context in self.lines if context and "/" not in context}


def slot_of(line: str) -> str:
    words = line.split()
    if words[0] == "neighbor":
        if words[2] == "timers" and words[3] == "connect":
            return " ".join(words[:4])
        if words[2] == "route-map":
            return f"neighbor {words[1]} route-map {words[-1]}"
        return " ".join(words[:3])
    if line.startswith(("bgp router-id", "match ip", "ip route", "set community")):
        return " ".join(words[: 4 if line.startswith("ip route") else 2])
    if words[0] in ("network", "maximum-paths"):
        return " ".join(words[: 2 if words[0] == "network" else 1])
    return line


def entries_of(text: str) -> set[tuple[str, str]]:
    return {(one.context.replace(" / ", "/"), one.line) for one in parse_frr(text).entries}


@st.composite
def configurations(draw: st.DrawFn) -> str:
    lines = list(_policies(draw))
    if draw(st.booleans()):
        lines.append(f"ip route 10.32.0.0/26 blackhole {draw(st.sampled_from([250, 251]))}")
    if draw(st.integers(0, 5)):
        lines.extend(_router(draw))
    return "\n".join(["frr defaults traditional", *lines, "end", ""])


def _policies(draw: st.DrawFn) -> Iterator[str]:
    for name in LISTS:
        contents = draw(st.permutations(["permit 10.0.0.0/8 le 32", "permit 10.0.0.0/8", "deny 10.9.0.0/16"]))
        numbers = draw(st.lists(st.sampled_from([5, 10, 15]), unique=True, max_size=3))
        for number, content in zip(sorted(numbers), contents, strict=False):
            yield f"ip prefix-list {name} seq {number} {content}"
    for name in MAPS:
        for number in sorted(draw(st.lists(st.sampled_from([10, 20]), unique=True))):
            yield f"route-map {name} {draw(st.sampled_from(['permit', 'deny']))} {number}"
            if draw(st.booleans()):
                yield f" match ip address prefix-list {draw(st.sampled_from(LISTS))}"
            if draw(st.booleans()):
                yield f" set community {draw(st.sampled_from(['1:1', '1:2 additive']))}"
            yield "exit"


def _router(draw: st.DrawFn) -> Iterator[str]:
    yield f"router bgp {draw(st.sampled_from([65001, 65001, 65002]))}"
    yield f" bgp router-id 10.255.0.{draw(st.sampled_from([1, 2]))}"
    yield " no bgp default ipv4-unicast"
    if draw(st.booleans()):
        yield " no bgp ebgp-requires-policy"
    groups = [name for name in GROUPS if draw(st.booleans())]
    inner: list[str] = []
    for name in groups:
        yield f" neighbor {name} peer-group"
        inner.extend(_neighbor(draw, name))
    for name in PEERS:
        if draw(st.booleans()):
            group = draw(st.sampled_from([None, *groups]))
            yield f" neighbor {name} remote-as {draw(st.sampled_from([65100, 65101]))}"
            if group:
                yield f" neighbor {name} peer-group {group}"
            if draw(st.booleans()):
                yield f" neighbor {name} timers {draw(st.sampled_from(['3 9', '1 3']))}"
            inner.extend(_neighbor(draw, name) if not group else [])
    yield " !"
    yield " address-family ipv4 unicast"
    yield from (f"  network 10.32.{number}.0/26" for number in range(3) if draw(st.booleans()))
    yield from inner
    yield " exit-address-family"
    yield "exit"


def _neighbor(draw: st.DrawFn, name: str) -> Iterator[str]:
    if draw(st.booleans()):
        yield f"  neighbor {name} activate"
    if draw(st.booleans()):
        yield f"  neighbor {name} route-map {draw(st.sampled_from(MAPS))} in"


@given(configurations(), configurations())
def test_the_delta_of_two_configurations_turns_one_into_the_other(running: str, wanted: str) -> None:
    device = Vtysh(running)
    assert device.entries() >= entries_of(running)
    device.feed(frr_delta(parse_frr(running), parse_frr(wanted)))
    assert visible(device) == entries_of(wanted)


def visible(device: Vtysh) -> set[tuple[str, str]]:
    """Leave out what FRR's text does not show: an address family without lines is no context."""
    return {(context, line) for context, line in device.entries() if not line.startswith("address-family")}


@given(configurations(), configurations())
def test_the_project_s_own_model_agrees_on_what_a_delta_does(running: str, wanted: str) -> None:
    before, after = parse_frr(running), parse_frr(wanted)
    assert set(apply_delta(frr_delta(before, after), before).entries) == set(after.entries)


@given(configurations())
def test_equal_configurations_have_no_delta_whatever_their_layout(text: str) -> None:
    document = parse_frr(text)
    assert frr_delta(document, parse_frr(render_frr(document))) == ""
    flat = "\n".join(line.strip() for line in text.splitlines())
    assert frr_delta(document, parse_frr(flat)) == ""


@given(configurations(), configurations(), st.randoms(use_true_random=False))
def test_the_order_in_which_a_plan_lists_lines_does_not_matter(running: str, wanted: str, order: object) -> None:
    removed, added = map(list, frr_difference(parse_frr(running), parse_frr(wanted)))
    order.shuffle(removed)  # type: ignore[attr-defined]
    order.shuffle(added)  # type: ignore[attr-defined]
    device = Vtysh(running)
    device.feed(delta_text(removed, added))
    assert visible(device) == entries_of(wanted)
