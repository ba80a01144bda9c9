"""Rules of thumb: what designs meet, and the page that shows it."""

from pathlib import Path

import pytest

from railweave import api
from railweave.api.starter import design_intent
from railweave.comparison.alternative import Comparison
from railweave.errors import RailweaveError
from railweave.report.page.compare_page import rules

INTENTS = Path(__file__).resolve().parents[3] / "intent"
POD = (INTENTS / "pod-32.yml").read_text(encoding="utf-8")


BANDWIDTH = """
fabric: f
workload: {{kind: {kind}}}
nodes: [{{name: gpu, count: {nodes}, gpus: {gpus}, nics: {{count: 8, speed: 400G}}}}]
topology: {{leaf: {{ports: 64, speed: 400G}}, spine: {{ports: 64, speed: 400G}}}}
"""


def compared(tmp_path: Path, *changes: tuple[str, str], html: Path | None = None) -> Comparison:
    projects = [api.open_project(INTENTS / "pod-32.yml")]
    for number, (before, after) in enumerate(changes):
        assert before in POD
        path = tmp_path / f"variant{number}.yml"
        path.write_text(POD.replace(before, after), encoding="utf-8")
        projects.append(api.open_project(path))
    return api.compare(projects, html=html)


def met_by(found: Comparison) -> list[dict[str, tuple[str, bool | None]]]:
    return [{one.key: (one.value, one.met) for one in each.guidelines} for each in found.alternatives]


def test_every_design_is_measured_by_the_same_rules(tmp_path: Path) -> None:
    wide = "spine: {model: nokia-ixr7220-h4-64d, count: 4}"
    few = "spine: {model: nokia-ixr7220-h4-64d, count: 2}"
    spine = "spine: {model: nvidia-sn4700, count: 4}"
    plain, variant, two = met_by(compared(tmp_path, (spine, wide), (spine, few)))
    assert plain == {
        "ratio": ("1:1, advised 1:1", True),
        "gpu_bandwidth": ("200, advised 400", False),
        "tiers": ("2 tiers, 4 rails, 1 plane", None),
        "spines": ("4", True),
        "leaf_ports": ("100 %", True),
        "spine_ports": ("100 %", True),
    }
    assert variant["spine_ports"] == ("50 %", False)
    assert two["spines"] == ("2", False)


def test_the_ratio_is_that_of_the_workload(tmp_path: Path) -> None:
    paths = []
    text = (INTENTS / "lab-4.yml").read_text(encoding="utf-8")
    for kind in ("pretraining", "inference"):
        paths.append(tmp_path / f"{kind}.yml")
        paths[-1].write_text(text.replace("kind: inference", f"kind: {kind}"), encoding="utf-8")
    strict, loose = met_by(api.compare([api.open_project(path) for path in paths]))
    assert strict["ratio"] == ("2:1, advised 1:1", False)
    assert loose["ratio"] == ("2:1, advised 4:1", True)


@pytest.mark.parametrize(
    ("kind", "nodes", "gpus", "value", "met"),
    [
        ("pretraining", 4, 8, "400, advised 400", True),
        ("mixed", 4, 16, "200, advised 400", False),
        ("fine-tuning", 4, 16, "200, advised 200", True),
        ("inference", 4, 32, "100, advised 200", False),
        ("pretraining", 1, 16, "200, advised 400", None),
    ],
)
def test_a_gpu_has_the_bandwidth_of_the_workload(
    tmp_path: Path, kind: str, nodes: int, gpus: int, value: str, met: bool | None
) -> None:
    path = tmp_path / "f.yml"
    path.write_text(BANDWIDTH.format(kind=kind, nodes=nodes, gpus=gpus), encoding="utf-8")
    variant, _ = met_by(api.compare([api.open_project(path), api.open_project(INTENTS / "pod-32.yml")]))
    assert variant["gpu_bandwidth"] == (value, met)


def test_large_fabrics_have_a_third_tier_or_rails_or_planes(tmp_path: Path) -> None:
    text = """
fabric: f
workload: {kind: pretraining}
nodes: [{name: gpu, count: 256, gpus: 8, nics: {count: NICS, speed: 400G}}]
topology: {shape: rack-aligned, leaf: {ports: 64, speed: 400G}, spine: {ports: 64, speed: 400G}}
"""
    paths = [tmp_path / "flat.yml", tmp_path / "rails.yml"]
    paths[0].write_text(text.replace("NICS", "4"), encoding="utf-8")
    paths[1].write_text(text.replace("NICS", "4").replace("rack-aligned", "rail-optimized"), encoding="utf-8")
    flat, rails = met_by(api.compare([api.open_project(path) for path in paths]))
    assert flat["tiers"] == ("2 tiers, 1 rail, 1 plane", False)
    assert rails["tiers"] == ("2 tiers, 4 rails, 1 plane", True)


def test_a_design_without_spines_has_no_rule_about_them(tmp_path: Path) -> None:
    path = tmp_path / "rail-only.yml"
    path.write_text(design_intent("rail-only"), encoding="utf-8")
    found = api.compare([api.open_project(path), api.open_project(INTENTS / "pod-32.yml")])
    only = found.alternatives[0]
    assert {one.key: one.met for one in only.guidelines} == {
        "ratio": None,
        "gpu_bandwidth": True,
        "tiers": None,
        "spines": None,
        "leaf_ports": True,
    }
    assert len({rule.name for rule in rules(found)}) == len(rules(found))


def test_a_page_has_every_figure_and_runs_nothing(tmp_path: Path) -> None:
    out = tmp_path / "designs.html"
    compared(tmp_path, ("nvidia-sn4700", "nokia-ixr7220-h4-64d"), html=out)
    page = out.read_text(encoding="utf-8")
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert page.count('<th scope="row">') > 20
    assert "✗ 50 %" in page


def test_a_page_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(RailweaveError, match="cannot be written: No such file or directory"):
        compared(tmp_path, ("nvidia-sn4700", "nokia-ixr7220-h4-64d"), html=tmp_path / "absent" / "x.html")
