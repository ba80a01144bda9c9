"""From a file to an intent: defaults, identity, and files that are none."""

import hashlib
import re
from fractions import Fraction
from pathlib import Path

import pytest
from reference_intents import REFERENCE_INTENTS

from railweave.checks.intent import check_intent
from railweave.diagnostics import Diagnostic, has_errors
from railweave.errors import RefusedError
from railweave.fabric.policy import Addressing, BgpPolicy, ClassRole, Mtu, Pool, TrafficClass
from railweave.intent.load import load_intent, load_intent_text
from railweave.intent.model import InlineModel, Reserve, Shape
from railweave.units import parse_ipv4

PROJECT = Path(__file__).parents[3]
SMALLEST = """\
fabric: mini
workload: {kind: mixed}
nodes: [{name: gpu, count: 16, gpus: 8, nics: {count: 8, speed: 400G, model: connectx-7}}]
topology: {leaf: {model: nvidia-sn4700}, spine: {ports: 64, speed: 400G}}
"""


def refusal(path: Path) -> Diagnostic:
    with pytest.raises(RefusedError) as refused:
        load_intent(path)
    (fault,) = refused.value.diagnostics
    return fault


@pytest.mark.parametrize("path", REFERENCE_INTENTS, ids=lambda path: path.name)
def test_a_reference_intent_is_sound(path: Path) -> None:
    findings = check_intent(load_intent(path))
    assert not has_errors(findings)
    assert not [one for one in findings if one.severity == "warning"]


def test_reference_intents_have_fabrics_of_their_own() -> None:
    names = [load_intent(path).fabric for path in REFERENCE_INTENTS]
    assert len(set(names)) == len(names)


def test_the_minimal_intent_is_under_ten_lines() -> None:
    assert len((PROJECT / "intent" / "minimal.yml").read_text().splitlines()) < 10


def test_the_wide_pod_grows_by_its_two_counts_alone() -> None:
    text = (PROJECT / "intent" / "pod-32-wide.yml").read_text()
    grown = text.replace("count: 32", "count: 64").replace("h4-64d, count: 4}\n", "h4-64d, count: 8}\n", 1)
    intent = load_intent_text(grown, "i.yml")
    assert (intent.nodes[0].count, intent.topology.leaf.count, intent.topology.spine.count) == (64, 8, 4)
    assert not has_errors(check_intent(intent))


def test_the_lab_asks_for_what_it_teaches() -> None:
    topology = load_intent(PROJECT / "intent" / "lab-4.yml").topology
    assert (topology.rails, topology.stripe, topology.links_per_pair) == (2, 4, 1)
    assert topology.oversubscription == Fraction(2)
    assert (topology.reserve.leaves, topology.reserve.spines) == (4, 4)


def test_everything_left_out_has_its_default() -> None:
    intent = load_intent_text(SMALLEST, "i.yml")
    topology = intent.topology
    assert topology.shape is Shape.RAIL_OPTIMIZED
    assert (topology.rails, topology.tiers, topology.planes, topology.stripe) == (None, None, 1, None)
    assert topology.oversubscription is None
    assert (topology.leaf.model, topology.leaf.inline, topology.leaf.count) == ("nvidia-sn4700", None, None)
    assert (topology.leaf.downlink_gbps, topology.leaf.uplink_gbps) == (None, None)
    assert (topology.spine.model, topology.spine.inline) == (None, InlineModel(64, 400))
    assert topology.super_spine is None
    assert topology.reserve == Reserve()
    assert (intent.nodes[0].nics.ports, intent.nodes[0].nics.pcie, intent.nodes[0].first_stripe) == (1, None, None)
    assert (intent.cabling.host.length_m, intent.cabling.host.media) == (20, None)
    assert (intent.cabling.leaf_spine.length_m, intent.cabling.leaf_spine.media) == (30, None)
    assert (intent.cabling.spine_super_spine.length_m, intent.cabling.spine_super_spine.media) == (100, None)
    policies = intent.policies
    assert policies.mtu == Mtu(9100, 9000)
    assert policies.bgp == BgpPolicy(3, 9)
    assert policies.overrides.rows == {}
    assert policies.addressing == Addressing(
        unnumbered=False,
        loopbacks=Pool(parse_ipv4("10.255.0.0"), 16),
        links=Pool(parse_ipv4("10.192.0.0"), 11),
        hosts=Pool(parse_ipv4("10.32.0.0"), 11),
        core=Pool(parse_ipv4("10.224.0.0"), 12),
        leaf_asn=4_210_000_000,
        spine_asn=4_200_001_000,
        super_spine_asn=4_200_000_000,
    )
    assert policies.classes == (
        TrafficClass("roce", ClassRole.RDMA, (26,), False, True, 3, False, 90),
        TrafficClass("cnp", ClassRole.CNP, (48,), False, False, 6, True, 0),
        TrafficClass("best-effort", ClassRole.BULK, (), True, False, 0, False, 10),
    )


def test_a_ratio_needs_no_quotes() -> None:
    text = SMALLEST.replace("topology: {", "topology: {oversubscription: 1.5:1, ")
    assert load_intent_text(text, "i.yml").topology.oversubscription == Fraction(3, 2)


def test_auto_is_the_same_as_leaving_a_key_out() -> None:
    written = SMALLEST.replace(
        "topology: {",
        "topology: {tiers: auto, rails: auto, stripe: auto, links_per_pair: auto, oversubscription: auto, ",
    )
    assert load_intent_text(written, "i.yml").topology == load_intent_text(SMALLEST, "i.yml").topology


def test_overrides_keep_their_rows_as_text_and_lists_of_text() -> None:
    rows = (
        'overrides: {leaf: {NTP_SERVER: {"10.9.9.9": {}}, VLAN: {Vlan5: {members: [Ethernet0, "4"], vlanid: "5"}}}}\n'
    )
    assert load_intent_text(SMALLEST + rows, "i.yml").policies.overrides.rows == {
        "leaf": {
            "NTP_SERVER": {"10.9.9.9": {}},
            "VLAN": {"Vlan5": {"members": ("Ethernet0", "4"), "vlanid": "5"}},
        }
    }


def test_the_hash_is_of_the_bytes_of_the_file(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + SMALLEST.replace("\n", "\r\n").encode()
    (tmp_path / "i.yml").write_bytes(data)
    assert load_intent(tmp_path / "i.yml").sha256 == hashlib.sha256(data).hexdigest()


def test_loading_text_and_file_give_the_same_intent(tmp_path: Path) -> None:
    path = tmp_path / "i.yml"
    path.write_text(SMALLEST)
    assert load_intent(path) == load_intent_text(SMALLEST, str(path))


def test_a_missing_file_names_the_one_that_was_meant() -> None:
    fault = refusal(PROJECT / "intent" / "pod32.yml")
    assert (fault.code, fault.message) == ("RW001", "there is no such file")
    assert re.search(r"did you mean .*pod-32\.yml\?", fault.fix)


def test_a_missing_file_elsewhere_says_what_to_name(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none" / "x.yml").fix == "name an intent file, like intent/pod-32.yml"


def test_a_folder_names_its_files() -> None:
    fault = refusal(PROJECT / "intent")
    assert (fault.code, fault.message) == ("RW001", "this is a folder")
    assert "minimal.yml" in fault.fix


def test_a_path_that_no_file_can_have_is_refused() -> None:
    assert refusal(Path("a\0b.yml")).code == "RW001"


def test_an_endless_file_is_refused() -> None:
    assert refusal(Path("/dev/zero")).code == "RW007"


def test_an_unreadable_file_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", deny)
    fault = refusal(tmp_path / "i.yml")
    assert fault.code == "RW001"
    assert "permission denied" in fault.message
