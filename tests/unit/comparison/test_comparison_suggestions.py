"""Suggested designs carry what the intent asks for, and no design that was tried is smaller."""

from pathlib import Path

import pytest
import yaml

from railweave import api
from railweave.api.design.intent import design_text, load_designed
from railweave.catalog.load import load_catalog
from railweave.cli.main import main
from railweave.comparison.nic_choices import nic_choices
from railweave.comparison.suggestion import switches
from railweave.errors import RefusedError, UsageError
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.intent.model import Shape
from railweave.report.comparison import comparison_json

pytestmark = pytest.mark.slow

INTENTS = Path(__file__).resolve().parents[3] / "intent"
MINIMAL = (INTENTS / "minimal.yml").read_text(encoding="utf-8")


def written(folder: Path, text: str) -> Path:
    path = folder / "own.yml"
    path.write_text(text, encoding="utf-8")
    return path


def bandwidth(fabric: Fabric) -> int:
    return sum(link.speed_gbps for link in fabric.links if link.is_access)


@pytest.mark.parametrize("name", ["pod-32", "mixed-nodes"])
def test_what_is_suggested_can_be_built_and_carries_the_same_nodes_at_the_same_ratio(name: str, tmp_path: Path) -> None:
    path = INTENTS / f"{name}.yml"
    own = load_designed(path).fabric
    suggested = api.suggest(api.open_project(path), out=tmp_path / "new")
    first, *others = suggested.comparison.alternatives
    assert first.intent == str(path)
    assert len(others) == len(suggested.texts)
    sizes = []
    for file, text in suggested.texts.items():
        assert (tmp_path / "new" / file).read_text(encoding="utf-8") == text
        designed = design_text(text, file)
        sizing = designed.fabric.sizing
        assert (sizing.nodes, sizing.gpus) == (own.sizing.nodes, own.sizing.gpus)
        assert sizing.oversubscription.leaf <= own.sizing.oversubscription.target + 1e-9
        assert bandwidth(designed.fabric) == bandwidth(own)
        sizes.append(len(designed.fabric.switches))
    assert sizes == sorted(sizes)
    assert sizes[-1] <= len(own.switches)


def test_shapes_rails_planes_and_uplink_speeds_are_explored(tmp_path: Path) -> None:
    suggested = api.suggest(api.open_project(written(tmp_path, MINIMAL)), most=24)
    topologies = [yaml.safe_load(text)["topology"] for text in suggested.texts.values()]
    assert {topology.get("shape", "rail-optimized") for topology in topologies} == set(Shape)
    assert {topology.get("planes", 1) for topology in topologies} == {1, 2}
    assert "800G" in {topology["leaf"].get("uplink_speed") for topology in topologies}


def test_a_rail_only_fabric_needs_2_switches_where_the_intent_has_12(tmp_path: Path) -> None:
    """16 nodes of 8 NICs are 128 ports: two rails of 64 on two switches of 64 ports, without a spine."""
    suggested = api.suggest(api.open_project(written(tmp_path, MINIMAL)))
    present, one_switch, first, *_ = suggested.comparison.alternatives
    assert (present.sizing.leaves, present.sizing.spines) == (8, 4)
    # All 128 ports on one switch, which is then all that can fail.
    assert one_switch.intent == "one switch: arista-7060x6-64pe"
    assert (one_switch.sizing.leaves, one_switch.sizing.spines) == (1, 0)
    assert first.intent == "rail-only, 2 rails: nokia-ixr7220-h4-64d"
    assert (first.sizing.leaves, first.sizing.spines, first.sizing.rails) == (2, 0, 2)
    assert "no path between rails in the network: the GPU links of a node carry that traffic (T-12)" in first.reasons


def test_one_design_keeps_the_shape_and_the_rails_of_the_intent() -> None:
    suggested = api.suggest(api.open_project(INTENTS / "pod-32.yml"))
    kept = [design for design in suggested.comparison.alternatives[1:] if design.intent.startswith("rail-optimized")]
    assert [design.sizing.rails for design in kept] == [4]


def test_the_changed_lines_turn_the_intent_into_the_suggested_one() -> None:
    path = INTENTS / "pod-32.yml"
    suggested = api.suggest(api.open_project(path))
    before = yaml.safe_load(path.read_text(encoding="utf-8"))
    for design, text in zip(suggested.comparison.alternatives[1:], suggested.texts.values(), strict=True):
        pasted = yaml.safe_load("\n".join(design.changes))
        left_out = {
            key for line in design.changes if "# leave out: " in line for key in line.split(": ")[1].split(", ")
        }
        topology = {key: value for key, value in before["topology"].items() if key not in left_out}
        nodes = pasted.get("nodes", before["nodes"])
        assert {**before, "nodes": nodes, "topology": {**topology, **pasted["topology"]}} == yaml.safe_load(text)


def test_nothing_larger_is_shown_beside_one_switch(tmp_path: Path) -> None:
    best = MINIMAL[: MINIMAL.index("topology:")] + "topology: {leaf: {model: arista-7060x6-64pe, count: 1}}\n"
    suggested = api.suggest(api.open_project(written(tmp_path, best)))
    assert {switches(design.sizing) for design in suggested.comparison.alternatives} == {1}


def test_growth_is_kept_also_where_the_intent_cannot_grow_so_far_itself(tmp_path: Path) -> None:
    grows = MINIMAL.replace("{kind: pretraining}", "{kind: pretraining, growth: {gpus: 512}}")
    path = written(tmp_path, grows)
    found = api.suggest(api.open_project(path), most=2)
    assert str(path) not in {one.intent for one in found.comparison.alternatives}
    for name, suggested in found.texts.items():
        assert design_text(suggested, name).fabric.sizing.limits.nodes * 8 >= 512


def test_nics_are_tried_in_every_mode_of_the_same_bandwidth(tmp_path: Path) -> None:
    path = written(tmp_path, MINIMAL)
    found = api.suggest(api.open_project(path), most=24)
    planes = {yaml.safe_load(text)["topology"].get("planes", 1) for text in found.texts.values()}
    assert planes == {1, 2}


def test_nics_are_chosen_by_the_workload_the_most_bandwidth_first(tmp_path: Path) -> None:
    inference = (INTENTS / "pod-32.yml").read_text(encoding="utf-8").replace("kind: pretraining", "kind: inference")
    found = api.suggest(api.open_project(written(tmp_path, inference)), most=8, nics=True)
    chosen = found.comparison.alternatives[1:]
    bandwidths = [one.gpu_gbps for one in chosen]
    assert bandwidths == [800, 400, 400, 200, 200, 100, 100, 50]
    assert [one.intent.partition(":")[0] for one in chosen[:3]] == ["8 × 2 × 400G", "8 × 400G", "4 × 2 × 400G"]
    for name, text in found.texts.items():
        sizing = design_text(text, name).fabric.sizing
        assert (sizing.nodes, sizing.gpus) == (32, 256)
        assert sizing.rails == yaml.safe_load(text)["nodes"][0]["nics"]["count"]


def test_a_training_node_has_a_nic_for_every_gpu_and_others_may_share_one() -> None:
    text = (INTENTS / "pod-32.yml").read_text(encoding="utf-8")
    for workload, counts in (("pretraining", {8}), ("mixed", {8}), ("fine-tuning", {8, 4}), ("inference", {8, 4})):
        intent = load_intent_text(text.replace("kind: pretraining", f"kind: {workload}"), "pod.yml")
        found = nic_choices(intent, load_catalog())
        assert {one.per_node for one in found} == counts
        assert {one.model.partition("-")[0] for one in found} <= {"connectx", "bluefield"}
        for one in found:
            assert load_catalog().nic(one.model).find(one.ports, one.speed_gbps) is not None


def test_nics_are_not_chosen_for_several_kinds_of_nodes() -> None:
    with pytest.raises(UsageError, match="--nics chooses the NICs of one kind of nodes, and this intent has several"):
        api.suggest(api.open_project(INTENTS / "mixed-nodes.yml"), nics=True)


def test_devices_of_the_present_design_are_left_out(tmp_path: Path) -> None:
    overrides = "overrides: {mini-leaf1: {BANNER_MESSAGE: {global: {motd: hello}}}}\n"
    found = api.suggest(api.open_project(written(tmp_path, MINIMAL + overrides)), most=1)
    assert [set(yaml.safe_load(one)) for one in found.texts.values()] == [{"fabric", "workload", "nodes", "topology"}]


def test_nodes_that_nothing_carries_get_the_errors_of_their_intent(tmp_path: Path) -> None:
    path = written(tmp_path, MINIMAL.replace("speed: 400G", "speed: 40G"))
    with pytest.raises(RefusedError) as refused:
        api.suggest(api.open_project(path), out=tmp_path / "new")
    assert "P-2" in {one.code for one in refused.value.diagnostics}
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (["a.yml", "b.yml", "--suggest"], "--suggest takes one intent and no --html: compare what --out writes"),
        (["a.yml", "b.yml", "--out", "x"], "--out, --nics and --order are for --suggest"),
        (["a.yml", "b.yml", "--nics"], "--out, --nics and --order are for --suggest"),
        (["a.yml", "b.yml", "--order", "cost"], "--out, --nics and --order are for --suggest"),
        (
            ["a.yml", "--suggest", "--order", "cost"],
            "an order by cost takes the prices of switches: add `--prices FILE`",
        ),
        (
            ["a.yml", "--suggest", "--order", "powr"],
            "unknown order `powr`: did you mean `power`? write switches, cost or power",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    words: list[str], refusal: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *words]) != 0
    assert refusal in " ".join(capsys.readouterr().err.split())


def test_every_suggestion_says_why_and_what_speaks_against_it() -> None:
    path = INTENTS / "pod-32.yml"
    found = api.suggest(api.open_project(path), most=1)
    own, suggested = found.comparison.alternatives
    assert not own.reasons
    assert suggested.reasons == (
        "6 switches in 2 tiers, 2 fewer than the original intent",
        "32 ports down and 16 up on a leaf: 1:1",
        "200 Gb/s for each GPU, on 1 plane",
        "room for 32 nodes without moving a cable",
        "with a spine lost, 2:1 on a leaf",
        "the worst single failure, that of pod1-leaf1, leaves 0 % of a rail",
        "rule of thumb not met: Gb/s of a GPU for the workload (200, advised 400)",
        "rule of thumb not met: 4 spines or more a plane (2)",
    )
    assert suggested.intent == "rail-optimized, 4 rails, uplinks of 800G: nokia-ixr7220-h5-32d"
    head = f"# {suggested.intent}\n# 6 switches in 2 tiers, 2 fewer than"
    assert found.texts["suggestion-1.yml"].startswith(head)
    [of_document] = comparison_json(found.comparison)["designs"][1:]
    assert of_document["reasons"] == list(suggested.reasons)


def test_a_suggestion_names_the_growth_that_it_has_room_for() -> None:
    grown = api.suggest(api.open_project(INTENTS / "pod-32-wide.yml"), most=1)
    why = grown.comparison.alternatives[-1].reasons
    assert "room for 64 nodes without moving a cable; `check` accepts the growth to 512 GPUs" in why
