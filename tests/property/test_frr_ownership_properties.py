"""Whatever stands beside our FRR lines stays as it is: in a plan, a growth, a drift and a rollback."""

from functools import cache
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.intent.load import load_intent_text
from railweave.sonic.frr import FrrDocument, FrrEntry, apply_delta, delta_text, frr_difference, parse_frr, with_lines
from railweave.sonic.frr.lines import defined_neighbor
from railweave.sonic.frr.ownership import FrrScope
from railweave.sonic.render.configure import configure
from railweave.templates import find_templates

LAB = (Path(__file__).parents[2] / "intent" / "lab-4.yml").read_text(encoding="utf-8")
INTENTS = {
    "today": LAB,
    "grown": LAB.replace("count: 4\n", "count: 8\n").replace("sonic-vs, count: 2, ", "sonic-vs, count: 4, "),
    "on the first release": LAB + "sonic: {release: 202305}\n",
    "unnumbered": LAB + "addressing: {underlay: unnumbered}\n",
}
SWITCHES = ("lab-leaf1", "lab-spine1")

NAMES = st.sampled_from(("OPERATOR", "FROM-LEAVES-OLD", "TO_BGP_PEER_V4", "FABRIC", "OWN-PREFIXES-2", "V4", "SPINE"))
PEERS = st.sampled_from(("192.0.2.9", "192.0.2.10", "2001:db8::9", "FIREWALL", "Ethernet120", "LEAVES-2"))
PREFIXES = st.sampled_from(("192.0.2.0/24", "198.51.100.0/25", "203.0.113.7/32", "0.0.0.0/0"))
HOPS = st.sampled_from(("10.9.9.9", "192.0.2.1", "blackhole", "Ethernet120", "10.9.9.9 200"))


def _built(form: str, **parts: st.SearchStrategy[object]) -> st.SearchStrategy[str]:
    return st.fixed_dictionaries(parts).map(lambda found: form.format(**found))


NUMBERS = st.integers(1, 9)
TOP = st.one_of(
    _built("zebra nexthop-group keep {n}", n=NUMBERS),
    _built("zebra route-map delay-timer {n}", n=NUMBERS),
    _built("ip route {to} {via}", to=PREFIXES, via=HOPS),
    st.just("ipv6 route 2001:db8::/32 blackhole"),
    _built("ip prefix-list {name} seq {n} permit {to}", name=NAMES, n=NUMBERS, to=PREFIXES),
    _built("ipv6 prefix-list {name} seq {n} permit 2001:db8::/32", name=NAMES, n=NUMBERS),
    _built("access-list {name} seq {n} permit {to}", name=NAMES, n=NUMBERS, to=PREFIXES),
    _built("bgp as-path access-list {name} seq {n} permit ^65009$", name=NAMES, n=NUMBERS),
    _built("bgp community-list standard {name} seq {n} permit 65000:1", name=NAMES, n=NUMBERS),
    _built("bgp large-community-list expanded {name} seq {n} permit 65000:1:.*", name=NAMES, n=NUMBERS),
    _built("ip protocol static route-map {name}", name=NAMES),
    _built("vrf {vrf}\n ip route {to} {via}\nexit-vrf", vrf=st.sampled_from(("mgmt", "Vrf1")), to=PREFIXES, via=HOPS),
    _built("interface Ethernet{n}\n ip ospf area {n}\nexit", n=NUMBERS),
    _built("router ospf\n ospf router-id 192.0.2.{n}\nexit", n=NUMBERS),
    _built("router bgp 6500{n} vrf Vrf{n}\n neighbor {peer} remote-as 65009\nexit", n=NUMBERS, peer=PEERS),
    _built("route-map {name} permit {n}0\n match ip address prefix-list {used}\nexit", name=NAMES, n=NUMBERS,
           used=st.one_of(NAMES, st.just("FABRIC-PREFIXES"))),
)  # fmt: skip
IN_INSTANCE = st.one_of(
    _built(" neighbor {peer} remote-as 6500{n}", peer=PEERS, n=NUMBERS),
    _built(" neighbor {peer} description {n}", peer=PEERS, n=NUMBERS),
    _built(" neighbor {peer} timers {n} 30", peer=PEERS, n=NUMBERS),
    _built(" bgp cluster-id 192.0.2.{n}", n=NUMBERS),
    _built(" bgp listen range {to} peer-group FIREWALL", to=PREFIXES),
    _built(" coalesce-time {n}000", n=NUMBERS),
    st.just(" bgp graceful-restart"),
)
IN_FAMILY = st.one_of(
    _built("  network {to}", to=PREFIXES),
    _built("  redistribute static route-map {name}", name=NAMES),
    _built("  aggregate-address {to} summary-only", to=PREFIXES),
    _built("  neighbor {peer} activate", peer=PEERS),
    _built("  neighbor {peer} route-map {name} in", peer=PEERS, name=NAMES),
)


@cache
def ours(intent: str, switch: str) -> str:
    fabric = design(load_intent_text(INTENTS[intent], "lab-4.yml"), load_catalog()).fabric
    assert fabric is not None
    return configure(fabric, fabric.switch_of[switch], find_templates()).frr


@st.composite
def foreign_lines(draw: st.DrawFn, router: str = "") -> str:
    """Return lines of others, inside ``router`` too."""
    top = draw(st.lists(TOP, max_size=6))
    inner = draw(st.lists(IN_INSTANCE, max_size=4)) if router else []
    family = draw(st.lists(IN_FAMILY, max_size=4)) if router else []
    six = draw(st.lists(IN_FAMILY, max_size=2)) if router else []
    blocks = [("ipv4", family), ("ipv6", six), ("l2vpn evpn", [line for line in six if "activate" in line])]
    for name, lines in blocks:
        if lines:
            inner += [f" address-family {name if ' ' in name else name + ' unicast'}", *lines, " exit-address-family"]
    return "\n".join([*top, *([router, *inner, "exit"] if inner else []), ""])


def router_of(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith("router bgp"))


def beside(text: str, others: str) -> tuple[FrrDocument, frozenset[FrrEntry]]:
    """Return what runs where ``others`` stand beside ``text``, and the lines that are theirs alone."""
    document = parse_frr(f"frr version 10.3\n{text}{others}")
    own = set(parse_frr(f"frr version 10.3\n{text}").entries)
    return document, frozenset(entry for entry in document.entries if entry not in own)


def moved(running: FrrDocument, target: FrrDocument) -> frozenset[FrrEntry]:
    removed, added = frr_difference(running, target)
    return frozenset((*removed, *added))


@given(st.data(), st.sampled_from(SWITCHES), st.sampled_from(sorted(INTENTS)), st.sampled_from(sorted(INTENTS)))
def test_foreign_lines_are_in_no_delta_and_survive_a_change_and_its_rollback(
    data: st.DataObject, switch: str, before: str, after: str
) -> None:
    text, wanted = ours(before, switch), parse_frr(ours(after, switch))
    running, foreign = beside(text, data.draw(foreign_lines(router_of(text))))
    scope = FrrScope(running, wanted)
    assert foreign <= set(scope.unmanaged)
    target = scope.beside(wanted)
    removed, added = frr_difference(running, target)
    assert not foreign & {*removed, *added}
    changed = apply_delta(delta_text(removed, added), running)
    assert moved(changed, target) == frozenset()
    assert foreign <= set(changed.entries)
    # Somebody configures more before the rollback: that stays too.
    _, later = beside(text, data.draw(foreign_lines()))
    now = with_lines(changed, (), [entry for entry in later if entry not in changed.entries])
    back = FrrScope(now, wanted).beside(running)
    assert not (foreign | later) & moved(now, back)
    assert set(back.entries) == {*running.entries, *later}


@given(st.data(), st.sampled_from(SWITCHES))
def test_a_line_of_ours_that_is_gone_is_found_among_foreign_ones(data: st.DataObject, switch: str) -> None:
    text = ours("today", switch)
    wanted = parse_frr(text)
    running, foreign = beside(text, data.draw(foreign_lines(router_of(text))))
    plain = [one for one in running.entries if one in wanted.entries and not defined_neighbor(one.line)]
    gone = data.draw(st.sampled_from(plain))
    drifted = with_lines(running, [gone], ())
    delta = moved(drifted, FrrScope(drifted, wanted).beside(wanted))
    if gone.line == "no bgp default ipv4-unicast":
        # Without the line FRR activates every neighbor; that of others stays active when the line comes back.
        neighbors = {entry.line.split()[1] for entry in foreign if entry.line.startswith("neighbor ")}
        delta -= {entry for entry in delta if entry.line in {f"neighbor {name} activate" for name in neighbors}}
    assert delta == {gone}


FACTORY = """\
router bgp 65100
 neighbor PEER_V4 peer-group
 neighbor 10.0.0.1 remote-as 65200
 neighbor 10.0.0.1 peer-group PEER_V4
exit
"""


@given(st.data(), st.sampled_from(SWITCHES))
def test_foreign_lines_survive_a_first_provisioning(data: st.DataObject, switch: str) -> None:
    running, foreign = beside(FACTORY, data.draw(foreign_lines()))
    wanted = parse_frr(ours("today", switch))
    target = FrrScope(running, wanted, frozenset({"10.0.0.1"})).beside(wanted)
    # What SONiC's own templates name is SONiC's.
    kept = {one for one in foreign if "TO_BGP_PEER_V4" not in (one.context or one.line).split()}
    assert kept <= set(target.entries)
    assert not kept & moved(running, target)
