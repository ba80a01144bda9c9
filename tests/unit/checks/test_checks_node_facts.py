"""Everything that `hosts apply` sets on a node has a mismatch that `check --facts` finds: made from the documents."""

import base64
import copy
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_stand_in import StandInNode, load

from railweave.catalog.load import load_catalog
from railweave.checks.facts import fact_findings, uncompared_findings
from railweave.design.build import design
from railweave.diagnostics import Diagnostic, Severity
from railweave.fabric.model import Fabric
from railweave.hosts.facts import node_facts
from railweave.hosts.packs import filled_steps
from railweave.hosts.render import HostRenderer
from railweave.hosts.settings import is_as_intended
from railweave.hosts.values import node_of
from railweave.intent.load import load_intent
from railweave.sonic.render.configure import Configurator
from railweave.templates import find_templates
from railweave_hosts.bundle import bundle

Pod = Callable[..., Fabric]
Document = dict[str, Any]
VENDORS = {"nvidia": "connectx-7", "broadcom": "broadcom-thor2", "amd": "amd-pollara-400", "intel": "connectx-7"}
PROGRAMS = Path(__file__).resolve().parents[3] / "templates" / "hosts"

DUAL_TOR = Path(__file__).resolve().parents[3] / "tests/golden/sonic_config/intents/dual-tor.yml"

LOSSLESS = "3"

NCCL_OTHERS = {
    "NCCL_IB_TC": ("0",),
    "NCCL_IB_HCA": ("=mlx5_9:1", "^mlx5,bnxt_re,ionic,irdma", "mlx5_0:2"),
    "NCCL_CROSS_NIC": ("1",),
    "NCCL_PXN_DISABLE": ("1",),
    "NCCL_SOCKET_IFNAME": ("rail0", "rail", "^lo"),
    "NCCL_IB_QPS_PER_CONNECTION": ("1",),
    "NCCL_IB_ROCE_VERSION_NUM": ("1",),
}
"""Other values of the variables that are set; a new variable needs its own."""
NCCL_OTHERS_BY_FAMILY: dict[bool, dict[str, tuple[str, ...]]] = {
    False: {"NCCL_IB_ADDR_FAMILY": ("AF_INET6",), "NCCL_IB_ADDR_RANGE": ("192.0.2.0/24",)},
    True: {"NCCL_IB_ADDR_FAMILY": ("AF_INET", "0"), "NCCL_IB_ADDR_RANGE": ("2001:db8::/48",)},
}
"""The same of those that go by the family of addresses, by whether that is IPv6."""
NCCL_LEAVING = {"NCCL_NET": ("Socket", "socket"), "NCCL_IB_DISABLE": ("1", "0x1")}
"""Variables that are not set and take NCCL off the fabric."""


def fabric_of(pod: Pod, vendor: str) -> Fabric:
    return pod(f"hosts: {{vendor: {vendor}, qps_per_connection: 4}}\n", nic=VENDORS[vendor])


def document_of(fabric: Fabric) -> Document:
    renderer = HostRenderer(fabric, find_templates())
    document: Document = json.loads(renderer.files(fabric.hosts[0])["rails.json"])
    return document


def reading_of(document: Document, speed_mbps: int = 400_000) -> Document:
    """Return what the facts program reads on a node that is as its document says."""
    wanted = {
        read["what"]: read["want"] for step in document["nic"]["steps"] for read in step["reads"] if "want" in read
    }
    interfaces = {
        port["name"]: {
            "mtu": port["mtu"],
            "state": "up",
            **_of_families(port, document["interfaces"]),
            "speed_mbps": str(speed_mbps),
            "autoneg": "off",
            "fec": "RS",
            "pcie_speed": "32.0 GT/s PCIe",
            "pcie_width": "16",
            "settings": copy.deepcopy(wanted),
        }
        for port in document["interfaces"]
    }
    return {"interfaces": interfaces, "sysctl": dict(document["sysctl"]), "nccl": dict(document["nccl"])}


def _of_families(port: Document, ports: list[Document]) -> Document:
    """Return addresses, rules and routes as `ip` shows them; rules come by priority, those of a NIC's address too."""
    read: Document = {}
    if "address" in port:
        rules = port.get("rules") or [[port["rule_priority"], port["address"].split("/")[0], str(port["table"])]]
        addresses = port.get("addresses", [port["address"]])
        of_nic = [rule for other in ports for rule in other.get("rules", [])[1:] if f"{rule[1]}/32" in addresses]
        read = {"addresses": addresses, "rules": _rules([*rules[:1], *sorted(of_nic)]), "routes": _routes(port)}
    if "ipv6" in port:
        own = port["ipv6"]
        source = own["address"].split("/")[0]
        rules = [[port["rule_priority"], source, str(port["table"])]]
        read |= {"ipv6_addresses": [own["address"]], "ipv6_rules": _rules(rules), "ipv6_routes": _routes(own)}
    return copy.deepcopy(read)


def _rules(rules: list[Any]) -> list[dict[str, str]]:
    return [{"from": source, "table": table, "priority": str(priority)} for priority, source, table in rules]


def _routes(family: Document) -> list[Document]:
    return [{**route, "table": str(route["table"])} for route in family["routes"]]


@cache
def configurator(fabric_id: int, fabric: Callable[[], Fabric]) -> Configurator:
    return Configurator(fabric(), find_templates())


def found(fabric: Fabric, vendor: str, reading: Document) -> list[Diagnostic]:
    text = json.dumps(node_facts(reading, vendor))
    findings = fact_findings(fabric, {"gpu1": ("gpu1.json", text)}, configurator(id(fabric), lambda: fabric))
    return [finding for finding in findings if finding.severity is not Severity.INFO]


class Mismatch(NamedTuple):
    """A value of a reading, by its keys, that is replaced; None is one that is removed."""

    place: tuple[Any, ...]
    value: Any

    def apply(self, reading: Document) -> Document:
        changed = copy.deepcopy(reading)
        part = changed
        for key in self.place[:-1]:
            part = part[key]
        if self.value is None:
            del part[self.place[-1]]
        else:
            part[self.place[-1]] = self.value
        return changed


def mismatches(reading: Document) -> Iterator[Mismatch]:
    yield from _network(reading)
    for key, value in reading["sysctl"].items():
        yield Mismatch(("sysctl", key), str(1 - int(value) if value in "01" else 0))
    by_ipv6 = reading["nccl"].get("NCCL_IB_ADDR_FAMILY") == "AF_INET6"
    others = NCCL_OTHERS | NCCL_OTHERS_BY_FAMILY[by_ipv6]
    yield Mismatch(("nccl", "NCCL_SOCKET_IFNAME"), f"={next(iter(reading['interfaces']))}")
    for key in reading["nccl"]:
        yield from (Mismatch(("nccl", key), other) for other in others[key])
    for key, leaving in NCCL_LEAVING.items():
        yield from (Mismatch(("nccl", key), other) for other in leaving)


OTHERS = {
    "mtu": 1500,
    "state": "down",
    "speed_mbps": "25000",
    "autoneg": "on",
    "fec": "Off",
    "pcie_speed": "8.0 GT/s PCIe",
    "pcie_width": "4",
}
"""Another value of what Linux shows of an interface; lists and settings have their own."""


def _network(reading: Document) -> Iterator[Mismatch]:
    for name, port in reading["interfaces"].items():
        for fact, value in port.items():
            place = ("interfaces", name, fact)
            if fact in OTHERS:
                yield Mismatch(place, OTHERS[fact])
            elif fact.removeprefix("ipv6_") == "addresses":
                yield from _address_mismatches(place, value)
            elif fact.removeprefix("ipv6_") == "rules":
                yield from _rule_mismatches(place, value)
            elif fact.removeprefix("ipv6_") == "routes":
                yield from _route_mismatches(place, value)
            else:
                assert fact == "settings", f"{fact} needs a mismatch"


def _address_mismatches(place: tuple[Any, ...], addresses: list[str]) -> Iterator[Mismatch]:
    yield Mismatch(place, [*addresses, "192.0.2.1/31"])
    for number in range(len(addresses)):
        yield Mismatch((*place, number), None)
        yield Mismatch((*place, number), "192.0.2.1/31")


def _rule_mismatches(place: tuple[Any, ...], rules: list[Document]) -> Iterator[Mismatch]:
    yield Mismatch(place, [*rules, {"table": "254", "priority": "3000"}])
    for number in range(len(rules)):
        yield Mismatch((*place, number), None)
        yield Mismatch((*place, number, "table"), "254")
        yield Mismatch((*place, number, "priority"), "32767")


def _route_mismatches(place: tuple[Any, ...], routes: list[Document]) -> Iterator[Mismatch]:
    own_table = routes[0]["table"]
    yield Mismatch(place, [*routes, {"to": "192.0.2.0/24", "via": "192.0.2.1", "table": own_table, "metric": 0}])
    for number, route in enumerate(routes):
        yield Mismatch((*place, number), None)
        others = {"to": "192.0.2.0/24", "via": "192.0.2.1", "table": "77", "metric": 7777, "mtu": 1400}
        if "src" in route:
            others["src"] = "192.0.2.1"
        yield from (Mismatch((*place, number, key), other) for key, other in others.items())
        if "src" in route:
            yield Mismatch((*place, number, "src"), None)


def _settings(document: Document) -> Iterator[Mismatch]:
    for read in (read for step in document["nic"]["steps"] for read in step["reads"] if "want" in read):
        place = ("interfaces", "rail0", "settings", read["what"])
        if isinstance(read["want"], str):
            yield Mismatch(place, _other_word(read["want"]))
            continue
        for key, value in read["want"].items():
            yield Mismatch((*place, key), _other_entry(read, value))


def _other_entry(read: Mapping[str, Any], value: str) -> str:
    if read.get("at_least"):
        return str(int(value) - 1)
    if read["what"] == "dscp to priority":
        # Which lossy priority a code point without a class has is of no matter.
        return "0" if value == LOSSLESS else LOSSLESS
    return _other_word(value)


def _other_word(word: str) -> str:
    others = {"dscp": "pcp", "DSCP": "PCP", "on": "off", "off": "on", "enable": "disable", "disable": "enable"}
    if word in others:
        return others[word]
    if " " in word and word.replace(" ", "").isdigit():
        return "1" + word[1:]
    return str((int(word) + 4) % 8) if word.isdigit() and int(word) < 8 else "1"


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_node_that_is_as_its_document_says_shows_nothing(pod: Pod, vendor: str) -> None:
    fabric = fabric_of(pod, vendor)
    assert not found(fabric, vendor, reading_of(document_of(fabric)))


@pytest.mark.parametrize(
    "vendor", [pytest.param(vendor, marks=() if vendor == "nvidia" else pytest.mark.slow) for vendor in VENDORS]
)
def test_every_value_that_is_set_on_a_node_has_a_mismatch_that_is_found(pod: Pod, vendor: str) -> None:
    fabric = fabric_of(pod, vendor)
    document = document_of(fabric)
    assert not missed_on(fabric, vendor, [*mismatches(reading_of(document)), *_settings(document)])


ADDRESSES = {
    "both families": "addressing: {hosts: 10.32.0.0/11, hosts_ipv6: fd00:10::/44}",
    "IPv6 preferred": "addressing: {hosts: 10.32.0.0/11, hosts_ipv6: fd00:10::/44}\nhosts: {rdma_family: ipv6}",
    "IPv6 alone": "addressing: {hosts: none, underlay: unnumbered, hosts_ipv6: fd00:10::/44}",
}


# What is read of IPv4 is among every value that is set.
@pytest.mark.slow
@pytest.mark.parametrize("name", ADDRESSES)
def test_every_address_rule_and_route_of_a_node_has_a_mismatch_that_is_found(pod: Pod, name: str) -> None:
    fabric = pod(f"{ADDRESSES[name]}\n")
    assert not missed_on(fabric, "nvidia", list(mismatches(reading_of(document_of(fabric)))))


@pytest.mark.slow
def test_nics_that_several_leaves_share_have_mismatches_that_are_found() -> None:
    fabric = design(load_intent(DUAL_TOR), load_catalog()).fabric
    assert fabric is not None
    assert not missed_on(fabric, "nvidia", list(mismatches(reading_of(document_of(fabric)))))


def missed_on(fabric: Fabric, vendor: str, seeded: list[Mismatch]) -> list[Mismatch]:
    """Return the mismatches of the first node of a fabric that are not found; without one nothing is found."""
    reading = reading_of(document_of(fabric), fabric.hosts[0].ports[0].speed_gbps * 1000)
    assert not found(fabric, vendor, reading)
    assert {mismatch.place[0] for mismatch in seeded} == reading.keys()
    return [
        mismatch
        for mismatch in seeded
        if not any("gpu1" in finding.devices for finding in found(fabric, vendor, mismatch.apply(reading)))
    ]


@pytest.mark.parametrize(
    ("vendor", "setting", "value", "effect"),
    [
        ("nvidia", "dcqcn reaction point 3", "0", "senders do not slow down when congestion is reported to them"),
        ("nvidia", "dcqcn notification point 3", "0", "receivers report no congestion, so PFC pauses instead"),
        ("broadcom", "dcqcn", "0", "congestion slows no sender down, so PFC pauses instead"),
        ("amd", "dcqcn", "Disabled", "congestion slows no sender down, so PFC pauses instead"),
        ("intel", "dcqcn", "0", "congestion slows no sender down, so PFC pauses instead"),
    ],
)
def test_dcqcn_that_is_off_is_found_with_what_it_costs(
    pod: Pod, vendor: str, setting: str, value: str, effect: str
) -> None:
    fabric = fabric_of(pod, vendor)
    reading = Mismatch(("interfaces", "rail0", "settings", setting), value).apply(reading_of(document_of(fabric)))
    (finding,) = found(fabric, vendor, reading)
    wanted = "Enabled" if vendor == "amd" else "1"
    assert (finding.code, finding.severity) == ("N-6", Severity.ERROR)
    assert finding.message == f"{setting} of gpu1:rail0 is {value}, and pod-leaf1 needs {wanted}: {effect}"


def test_a_setting_that_no_tool_showed_is_named_and_not_compared(pod: Pod) -> None:
    fabric = fabric_of(pod, "nvidia")
    reading = Mismatch(("interfaces", "rail0", "settings", "dcbx"), None).apply(reading_of(document_of(fabric)))
    (finding,) = found(fabric, "nvidia", reading)
    assert (finding.code, finding.severity) == ("RW404", Severity.WARNING)
    assert "the facts of gpu1 do not tell dcbx of nics.rail0:" in finding.message


@pytest.mark.parametrize("vendor", VENDORS)
def test_what_is_read_on_a_node_after_a_change_shows_nothing(pod: Pod, vendor: str, tmp_path: Path) -> None:
    """The facts program runs on the stand-in of a node, with the tools of its vendor."""
    fabric = fabric_of(pod, vendor)
    renderer = HostRenderer(fabric, find_templates())
    files = renderer.files(fabric.hosts[0])
    sent = json.loads(
        base64.b64decode(bundle(files, renderer.places, fabric.policies.hosts.network, renderer.programs()))
    )
    document = sent["document"]
    document["interfaces"] = document["interfaces"][:1]
    document["sysctl"] = {key: value for key, value in document["sysctl"].items() if "all" in key or "rail0" in key}
    host = load(PROGRAMS / "railweave_host.py", "railweave_host")
    change = load(PROGRAMS / "railweave_change.py", "railweave_change")
    program = load(PROGRAMS / "railweave_facts.py", "railweave_facts")
    node = StandInNode(tmp_path, f"{load_catalog().vendor_pack(vendor).rdma_prefix}0", host, change)
    assert node.run("apply", sent)["problems"] == []

    reading = program.facts(node._machine(host.Machine(str(tmp_path))), document)

    facts = node_facts({**reading, "nccl": document["nccl"]}, vendor)
    findings = fact_findings(
        fabric, {"gpu1": ("gpu1.json", json.dumps(facts))}, configurator(id(fabric), lambda: fabric)
    )
    assert {"state": "up", "mtu": 9000}.items() <= facts["nics"]["rail0"].items()
    assert [finding.message for finding in findings if "rail1" not in finding.message] == []


@pytest.mark.parametrize(
    ("family", "words", "facts"),
    [(4, "rule", ("tables", "rule_priorities")), (4, "route", ("routes",)), (6, "rule", ("ipv6_tables",)),
     (6, "route", ("ipv6_routes",))],
)  # fmt: skip
def test_what_a_node_could_not_show_is_unknown_and_not_empty(
    pod: Pod, family: int, words: str, facts: tuple[str, ...], tmp_path: Path
) -> None:
    fabric = pod(f"{ADDRESSES['both families']}\n")
    document = document_of(fabric)
    load(PROGRAMS / "railweave_host.py", "railweave_host")
    program = load(PROGRAMS / "railweave_facts.py", "railweave_facts")
    machine = program.node.Machine(str(tmp_path))
    links = [{"ifname": "rail0", "mtu": 9000, "flags": ["UP"], "addr_info": []}]

    def run(command: list[str]) -> str:
        if list(command[:5]) == ["ip", "-j", "-N", f"-{family}", words]:
            raise program.node.FaultError("Terminated")
        return json.dumps(links if "address" in command else [])

    machine.run = run
    read = node_facts(program.facts(machine, {**document, "nic": {"steps": []}}), None)
    assert set(facts).isdisjoint(read["nics"]["rail0"])
    of_others = {"tables", "rule_priorities", "routes", "ipv6_tables", "ipv6_routes"} - set(facts)
    assert of_others <= read["nics"]["rail0"].keys()
    files = {"gpu1": ("gpu1.json", json.dumps(read))}
    (lacks,) = uncompared_findings(fabric, files)
    assert all(f"{fact} of rail0" in lacks.message for fact in facts)


def reads_of(vendor: str, pod: Pod) -> list[Mapping[str, Any]]:
    fabric = fabric_of(pod, vendor)
    node = node_of(fabric, fabric.hosts[0])
    assert node.marking is not None
    steps = filled_steps(load_catalog().vendor_pack(vendor), node.marking, node.receive)
    return [read for step in steps for read in step["reads"]]


NUMBERS = st.integers(0, 63).map(str)
WORDS = st.one_of(NUMBERS, st.sampled_from(["on", "off", "dscp", "pcp", "enabled", "104", "105", "106", "N/A"]))


@given(data=st.data())
@pytest.mark.parametrize("vendor", VENDORS)
def test_a_setting_is_judged_as_the_node_itself_does(pod: Pod, vendor: str, data: st.DataObject) -> None:
    program = load(PROGRAMS / "railweave_host.py", "railweave_host")
    read = data.draw(st.sampled_from(reads_of(vendor, pod)))
    want = read.get("want", "1")
    if isinstance(want, Mapping):
        values = NUMBERS if read.get("at_least") else st.one_of(st.sampled_from(sorted(want.values())), WORDS)
        changes = data.draw(st.dictionaries(st.one_of(st.sampled_from(sorted(want)), NUMBERS), values, max_size=3))
        base = data.draw(st.sampled_from([dict(want), {}]))
        actual: Any = {**base, **changes} or {"0": "0"}
    else:
        actual = data.draw(st.one_of(st.just(want), WORDS))

    assert is_as_intended(read, actual) is program._holds(read, actual)
