"""Routes that go down and up again: announced by a leaf, or sent there by a static route."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from config_checks import check_config
from reference_intents import REFERENCE_INTENTS
from route_valleys import valleys

from railweave.catalog.load import load_catalog
from railweave.checks.facts import fact_findings
from railweave.checks.route_policy import BgpRoute, RoutePolicy, parse_prefix
from railweave.design.build import design
from railweave.diagnostics import Diagnostic, Severity
from railweave.fabric.model import Fabric
from railweave.fabric.policy import Ipv6Pool, Pool
from railweave.intent.load import load_intent
from railweave.sonic.document import RunningConfig, dump
from railweave.sonic.frr.document import parse_frr
from railweave.sonic.render.configure import Configurator
from railweave.templates import Templates, find_templates

Pod = Callable[..., Fabric]
Findings = Callable[..., tuple[Diagnostic, ...]]

SHIPPED = Path(__file__).resolve().parents[3] / "templates"
INTENTS = SHIPPED.with_name("intent")
OUT = "  neighbor {{ group.name }} route-map TO-{{ group.name }}-V4 out\n"
ALLOW = "  neighbor {{ group.name }} allowas-in 1\n"


def project(folder: Path, *changes: tuple[str, str]) -> Templates:
    """Return the templates of a project with an FRR file of its own."""
    text = (SHIPPED / "frr/frr.conf.j2").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    own = folder / "templates" / "frr"
    own.mkdir(parents=True)
    (own / "frr.conf.j2").write_text(text, encoding="utf-8")
    return Templates([folder / "templates", SHIPPED])


def of(found: Any, *codes: str) -> list[Diagnostic]:
    return [one for one in found if one.code in codes]


@pytest.mark.parametrize(
    "extra",
    ["", "addressing: {underlay: unnumbered}\n"],
    ids=["numbered", "unnumbered"],
)
def test_the_policy_that_comes_with_railweave_lets_no_switch_transit(pod: Pod, extra: str) -> None:
    assert not valleys(pod(extra))


@pytest.mark.parametrize(
    "path",
    [
        # 320 switches take seconds; lab-pods has the same tiers.
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem == "pods-512" else [])
        for path in REFERENCE_INTENTS
    ],
)
def test_no_switch_of_a_reference_intent_is_in_transit(path: Path) -> None:
    fabric = design(load_intent(path), load_catalog()).fabric
    assert fabric is not None
    assert not valleys(fabric)


def test_a_template_of_the_project_that_keeps_the_policy_is_fine(pod: Pod, tmp_path: Path) -> None:
    templates = project(
        tmp_path, (" bgp log-neighbor-changes\n", " bgp log-neighbor-changes\n bgp bestpath med confed\n")
    )
    assert not of(check_config(pod(), templates=templates), "V-1", "D-1")


def test_a_leaf_that_passes_on_the_nic_that_it_shares_is_told(tmp_path: Path) -> None:
    """Their addresses are its own to announce, so the mark of what came from above is the only guard."""
    intent = SHIPPED.with_name("tests") / "golden/sonic_config/intents/dual-tor.yml"
    fabric = design(load_intent(intent), load_catalog()).fabric
    assert fabric is not None
    assert not valleys(fabric)
    guard = "route-map TO-{{ group.name }}-V4 deny 100\n match community LEARNED-FROM-{{ group.name }}\nexit\n!\n"
    found = of(check_config(fabric, templates=project(tmp_path, (guard, ""))), "V-1")
    assert {one.devices[0] for one in found} == {one.name for one in fabric.tier_switches[0]}
    assert "it passes on 10.64.0.0/32 of tor-leaf3, learned from" in found[0].message


def test_leaves_without_their_route_map_are_told_also_where_the_as_path_still_stops_them(
    pod: Pod, tmp_path: Path
) -> None:
    found = check_config(pod(), templates=project(tmp_path, (OUT, "")))
    told = of(found, "V-1")
    assert [one.devices[0] for one in told] == ["pod-leaf1", "pod-leaf2"]
    assert all(one.severity is Severity.ERROR for one in told)
    assert "pod-leaf1 is in transit from pod-spine2 to pod-spine1: it passes on 10." in told[0].message
    assert "of pod-leaf2, learned from pod-spine2; only the AS path keeps pod-spine1 from taking it" in told[0].message
    assert told[0].where.file.endswith("templates/frr/frr.conf.j2")
    assert not of(found, "D-1")


@pytest.mark.parametrize("extra", ["", "addressing: {underlay: unnumbered}\n"], ids=["numbered", "unnumbered"])
def test_with_allowas_in_the_buffers_of_two_leaves_and_two_spines_wait_in_a_ring(
    pod: Pod, tmp_path: Path, extra: str
) -> None:
    found = check_config(pod(extra), templates=project(tmp_path, (OUT, ALLOW)))
    assert len(of(found, "V-1")) == 2
    (ring,) = of(found, "D-1")
    assert sorted(ring.devices) == ["pod-leaf1", "pod-leaf2", "pod-spine1", "pod-spine2"]
    assert ring.message.startswith("PFC of roce can deadlock: the buffers of ")
    assert (
        "pod-leaf1 and pod-leaf2" in ring.fix
        or "pod-leaf1, pod-leaf2" in ring.fix
        or "pod-leaf2, pod-leaf1" in ring.fix
    )


IPV6 = "addressing: {underlay: unnumbered, hosts_ipv6: fd00:10::/44}\n"


def test_leaves_without_their_route_map_of_ipv6_alone_are_told(pod: Pod, tmp_path: Path) -> None:
    assert not valleys(pod(IPV6))
    found = check_config(pod(IPV6), templates=project(tmp_path, (OUT.replace("V4", "V6"), "")))
    told = of(found, "V-1")
    assert [one.devices[0] for one in told] == ["pod-leaf1", "pod-leaf2"]
    assert "it passes on fd00:10:0:1::/64 of pod-leaf2, learned from pod-spine2" in told[0].message
    assert told[0].fix == "let pod-leaf1 announce its own prefixes only (route map TO-SPINES-V6)"


def test_a_static_route_of_ipv6_to_a_leaf_that_must_send_it_up_again_is_told(pod: Pod, tmp_path: Path) -> None:
    line = "{% if device == 'pod-spine1' %}\nipv6 route fd00:10:0:1::/64 Ethernet0\n{% endif %}\nrouter bgp"
    told = of(check_config(pod(IPV6), templates=project(tmp_path, ("router bgp", line))), "V-1")
    assert [one.devices for one in told] == [("pod-leaf1", "pod-spine1", "pod-spine2")]
    assert "a static route of pod-spine1 sends fd00:10:0:1::/64 to pod-leaf1" in told[0].message


def test_a_template_that_makes_an_exception_of_one_leaf_is_found_on_that_leaf(pod: Pod, tmp_path: Path) -> None:
    exception = "{% if device != 'pod-leaf2' %}\n" + OUT + "{% endif %}\n"
    told = of(check_config(pod(), templates=project(tmp_path, (OUT, exception))), "V-1")
    assert [one.devices[0] for one in told] == ["pod-leaf2"]


WIDE = (
    "!\nbgp community-list",
    "{% if device == 'pod-leaf1' %}\nip prefix-list OWN-PREFIXES seq 90 permit 10.32.0.0/11 le 32\n{% endif %}\n"
    "!\nbgp community-list",
)


@pytest.mark.parametrize(
    "match", [" match ip address prefix-list NOTHING\n", " match tag 7\n"], ids=["empty", "unknown"]
)
def test_a_list_of_one_leaf_that_permits_what_is_not_its_own_is_found(pod: Pod, tmp_path: Path, match: str) -> None:
    assert not of(check_config(pod(), templates=project(tmp_path / "guarded", WIDE)), "V-1")
    unguarded = project(tmp_path / "unguarded", WIDE, (" match community LEARNED-FROM-{{ group.name }}\n", match))
    told = of(check_config(pod(), templates=unguarded), "V-1")
    assert [one.devices[0] for one in told] == ["pod-leaf1"]


def test_without_a_lossless_class_a_valley_is_no_deadlock(pod: Pod, tmp_path: Path) -> None:
    lossy = (
        "traffic_classes:\n  - {name: roce, dscp: [26], priority: 3, share: 90}\n"
        "  - {name: cnp, dscp: [48], priority: 6, strict: true}\n"
        "  - {name: best-effort, dscp: default, priority: 0, share: 10}\n"
    )
    found = check_config(pod(lossy), templates=project(tmp_path, (OUT, ALLOW)))
    assert of(found, "V-1")
    assert not of(found, "D-1")


def static(pod: Pod, findings: Findings, prefix: str, hop: tuple[str, str], on: str) -> list[Diagnostic]:
    """Return what is said of a static route on ``on`` that leads over the link between ``hop``'s two switches."""
    fabric = pod()
    low, high = hop
    link = next(one for one in fabric.links if (one.lower, one.upper) == (low, high))
    address = link.network if on == low else link.network + 1
    dotted = ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))
    rows = f"overrides:\n  {on}:\n    STATIC_ROUTE: {{'default|{prefix}': {{nexthop: {dotted}}}}}\n"
    return of(findings(rows), "V-1", "D-1")


def test_a_static_route_of_a_spine_to_a_leaf_that_must_send_it_up_again_is_told(pod: Pod, findings: Findings) -> None:
    (told,) = static(pod, findings, "10.32.0.0/11", ("pod-leaf1", "pod-spine1"), "pod-spine1")
    assert told.code == "V-1"
    assert told.devices == ("pod-leaf1", "pod-spine1", "pod-spine2")
    assert "a static route of pod-spine1 sends 10.32.0.0/11 to pod-leaf1" in told.message
    assert told.where.path == "overrides"


def test_a_static_route_of_a_leaf_for_its_own_hosts_up_to_a_spine_is_told(pod: Pod, findings: Findings) -> None:
    (told,) = static(pod, findings, "10.32.0.0/31", ("pod-leaf1", "pod-spine1"), "pod-leaf1")
    assert told.devices == ("pod-leaf1", "pod-spine2", "pod-spine1")


@pytest.mark.parametrize(("prefix", "on"), [("192.0.2.0/24", "pod-spine1"), ("10.32.0.0/31", "pod-spine1"),
                                            ("0.0.0.0/0", "pod-leaf1")])  # fmt: skip
def test_static_routes_that_make_nobody_transit_are_not_told(
    pod: Pod, findings: Findings, prefix: str, on: str
) -> None:
    assert not static(pod, findings, prefix, ("pod-leaf1", "pod-spine1"), on)


def test_a_live_leaf_whose_route_map_was_taken_away_is_found_by_its_facts(pod: Pod) -> None:
    fabric = pod()
    configurator = Configurator(fabric, find_templates())
    config = configurator.device(fabric.switch_of["pod-leaf1"])
    frr = config.frr.replace("  neighbor SPINES route-map TO-SPINES-V4 out\n", "")
    files = {
        name: (f"{name}.json", dump(RunningConfig(config.config_db(), text))) for name, text in (("pod-leaf1", frr),)
    }
    (told,) = of(fact_findings(fabric, files, configurator), "V-1")
    assert told.where.file == "pod-leaf1.json"
    whole = {"pod-leaf1": ("pod-leaf1.json", dump(RunningConfig(config.config_db(), config.frr)))}
    assert not fact_findings(fabric, whole, configurator)


POLICY = """
router bgp 1
 neighbor UP peer-group
 neighbor 10.0.0.0 remote-as 2
 neighbor 10.0.0.0 peer-group UP
 neighbor 10.0.0.2 remote-as 2
 !
 address-family ipv4 unicast
  neighbor UP route-map IN in
  neighbor 10.0.0.2 prefix-list OWN out
  neighbor 10.0.0.2 route-map NOWHERE in
 exit-address-family
exit
ip prefix-list OWN seq 5 deny 10.1.0.0/16 ge 24 le 25
ip prefix-list OWN seq 10 permit 10.0.0.0/8 le 32
bgp community-list standard BLUE seq 5 permit 64512:1
route-map IN deny 10
 match community BLUE
exit
route-map IN permit 20
 match ip address prefix-list OWN
 set community 64512:1 additive
exit
"""


def route(prefix: str, *communities: str) -> BgpRoute:
    found = parse_prefix(prefix)
    assert found is not None
    return BgpRoute(found, frozenset(communities))


@pytest.mark.parametrize(
    ("prefix", "communities", "kept"),
    [
        ("10.2.0.0/24", (), {"64512:1"}),
        ("10.2.0.0/24", ("64512:9",), {"64512:1", "64512:9"}),
        ("10.2.0.0/24", ("64512:1",), None),
        ("10.1.7.0/24", (), None),
        ("10.1.0.0/16", (), {"64512:1"}),
        ("192.0.2.0/24", (), None),
    ],
)
def test_a_route_is_taken_as_its_route_map_has_it(
    prefix: str, communities: tuple[str, ...], kept: set[str] | None
) -> None:
    found = RoutePolicy(parse_frr(POLICY)).takes(route(prefix, *communities), "10.0.0.0")
    assert (found and set(found.communities)) == kept


def test_a_peers_own_lists_count_and_a_map_that_is_nowhere_denies() -> None:
    policy = RoutePolicy(parse_frr(POLICY))
    assert policy.passes_on(route("10.1.7.0/24"), "10.0.0.0") is not None
    assert policy.passes_on(route("10.1.7.0/24"), "10.0.0.2") is None
    assert policy.takes(route("10.2.0.0/24"), "10.0.0.2") is None


POLICY_OF_BOTH = """
router bgp 1
 neighbor UP peer-group
 neighbor Ethernet0 interface peer-group UP
 neighbor Ethernet4 interface peer-group OLD
 !
 address-family ipv4 unicast
  neighbor UP activate
  neighbor UP route-map V4 in
 exit-address-family
 !
 address-family ipv6 unicast
  neighbor UP activate
  neighbor UP route-map V6 in
 exit-address-family
exit
ip prefix-list POOL seq 5 permit 10.0.0.0/8 le 32
ipv6 prefix-list POOL-V6 seq 5 permit fd00::/8 ge 64 le 64
ipv6 prefix-list LONG-V6 seq 5 permit fd00::/8 ge 65
route-map V4 permit 10
 match ip address prefix-list POOL
exit
route-map V6 permit 10
 match ipv6 address prefix-list POOL-V6
exit
route-map V6 permit 20
 match ipv6 address prefix-list LONG-V6
 set community 64512:6
exit
"""


@pytest.mark.parametrize(
    ("prefix", "peer", "kept"),
    [
        ("10.1.0.0/16", "Ethernet0", set()),
        ("fd00:10::/64", "Ethernet0", set()),
        ("fd00:10::/127", "Ethernet0", {"64512:6"}),
        ("fd00:10::/48", "Ethernet0", None),
        ("2001:db8::/64", "Ethernet0", None),
        ("fd00:10::/64", "Ethernet4", None),
    ],
)
def test_each_family_has_the_policy_and_the_neighbors_of_its_own(prefix: str, peer: str, kept: set[str] | None) -> None:
    found = RoutePolicy(parse_frr(POLICY_OF_BOTH)).takes(route(prefix), peer)
    assert (None if found is None else set(found.communities)) == kept


def test_words_that_are_no_prefix_are_none() -> None:
    assert parse_prefix("fd00::/8") == Ipv6Pool(0xFD << 120, 8)
    assert parse_prefix("fd00::x/8") is None
    assert parse_prefix("any") is None
    assert parse_prefix("10.0.0.1") == Pool(0x0A000001, 32)
