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
from railweave.checks.facts import fact_findings
from railweave.diagnostics import Diagnostic, Severity
from railweave.fabric.model import Fabric
from railweave.hosts.facts import node_facts
from railweave.hosts.packs import filled_steps
from railweave.hosts.render import HostRenderer
from railweave.hosts.settings import is_as_intended
from railweave.hosts.values import node_of
from railweave.sonic.render.configure import Configurator
from railweave.templates import find_templates
from railweave_hosts.bundle import bundle

Pod = Callable[..., Fabric]
Document = dict[str, Any]
VENDORS = {"nvidia": "connectx-7", "broadcom": "broadcom-thor2", "amd": "amd-pollara-400", "intel": "connectx-7"}
PROGRAMS = Path(__file__).resolve().parents[3] / "templates" / "hosts"

LOSSLESS = "3"

NCCL_OTHERS = {
    "NCCL_IB_TC": ("0",),
    "NCCL_IB_HCA": ("=mlx5_9:1", "^mlx5,bnxt_re,ionic,irdma", "mlx5_0:2"),
    "NCCL_CROSS_NIC": ("1",),
    "NCCL_PXN_DISABLE": ("1",),
    "NCCL_SOCKET_IFNAME": ("rail0", "rail", "=rail1", "^lo"),
    "NCCL_IB_QPS_PER_CONNECTION": ("1",),
}
"""Other values of the variables that are set; a new variable needs its own."""
NCCL_LEAVING = {"NCCL_NET": ("Socket", "socket"), "NCCL_IB_DISABLE": ("1", "0x1")}
"""Variables that are not set and take NCCL off the fabric."""


def fabric_of(pod: Pod, vendor: str) -> Fabric:
    return pod(f"hosts: {{vendor: {vendor}, qps_per_connection: 4}}\n", nic=VENDORS[vendor])


def document_of(fabric: Fabric) -> Document:
    renderer = HostRenderer(fabric, find_templates())
    document: Document = json.loads(renderer.files(fabric.hosts[0])["rails.json"])
    return document


def reading_of(document: Document) -> Document:
    """Return what the facts program reads on a node that is as its document says."""
    wanted = {
        read["what"]: read["want"] for step in document["nic"]["steps"] for read in step["reads"] if "want" in read
    }
    interfaces = {
        port["name"]: {
            "mtu": port["mtu"],
            "state": "up",
            "addresses": [port["address"]],
            "rules": [{"table": str(port["table"])}],
            "routes": [{**route, "table": str(route["table"])} for route in port["routes"]],
            "speed_mbps": "400000",
            "settings": copy.deepcopy(wanted),
        }
        for port in document["interfaces"]
    }
    return {"interfaces": interfaces, "sysctl": dict(document["sysctl"]), "nccl": dict(document["nccl"])}


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


def mismatches(document: Document, reading: Document) -> Iterator[Mismatch]:
    yield from _network(reading)
    yield from _settings(document)
    for key, value in reading["sysctl"].items():
        yield Mismatch(("sysctl", key), str(1 - int(value) if value in "01" else 0))
    for key in reading["nccl"]:
        yield from (Mismatch(("nccl", key), other) for other in NCCL_OTHERS[key])
    for key, others in NCCL_LEAVING.items():
        yield from (Mismatch(("nccl", key), other) for other in others)


def _network(reading: Document) -> Iterator[Mismatch]:
    for name, port in reading["interfaces"].items():
        place = ("interfaces", name)
        yield Mismatch((*place, "mtu"), 1500)
        yield Mismatch((*place, "state"), "down")
        yield Mismatch((*place, "speed_mbps"), "200000")
        yield Mismatch((*place, "addresses"), ["192.0.2.1/31"])
        yield Mismatch((*place, "rules"), [{"table": "254"}])
        for number in range(len(port["routes"])):
            yield Mismatch((*place, "routes", number), None)
            yield Mismatch((*place, "routes", number, "via"), "192.0.2.1")


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


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_value_that_is_set_on_a_node_has_a_mismatch_that_is_found(pod: Pod, vendor: str) -> None:
    fabric = fabric_of(pod, vendor)
    document = document_of(fabric)
    reading = reading_of(document)
    missed = []
    for mismatch in mismatches(document, reading):
        findings = found(fabric, vendor, mismatch.apply(reading))
        if not any("gpu1" in finding.devices for finding in findings):
            missed.append(mismatch)
    assert not missed


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
