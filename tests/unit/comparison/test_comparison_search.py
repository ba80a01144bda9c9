"""Every suggested design can be built, none is worse than the intent, and bounds are never above what they bound."""

from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from railweave import api
from railweave.api.design.intent import design_text
from railweave.catalog.load import load_catalog
from railweave.comparison.forms import Form, forms, variants
from railweave.comparison.hardware_choice import PortClass, most_down_ports, port_classes
from railweave.comparison.order import DesignOrder, value
from railweave.comparison.search import Refused, least_switches
from railweave.comparison.suggestion import SuggestedDesign, switches
from railweave.design.build import calculate
from railweave.diagnostics import error
from railweave.intent.load import document_of, load_intent
from railweave.intent.model import Shape
from railweave.report.suggestions import suggested_lines

ROOT = Path(__file__).resolve().parents[3]
CASES = {
    "small": ("pretraining", 4, 8, "nics: {count: 8, speed: 400G, model: connectx-7}"),
    "uneven": ("inference", 70, 4, "nics: {count: 2, speed: 400G, ports: 2, model: connectx-8}"),
    "planes": ("fine-tuning", 48, 8, "nics: {count: 8, speed: 400G, ports: 2, model: connectx-8}"),
    "large": ("pretraining", 128, 8, "nics: {count: 8, speed: 400G, model: connectx-7}"),
}
POD_CASES = {
    "pods": ("pretraining", 512, 8, "nics: {count: 8, speed: 400G, model: connectx-7}"),
    "pods at 2:1": ("inference", 700, 8, "nics: {count: 8, speed: 400G, model: connectx-7}"),
}
"""More nodes than two tiers of most models join."""
DELL = "{model: dell-z9664f}"
"""Its power is published, so that designs can be put in that order."""


def written(folder: Path, name: str, topology: str = "") -> Path:
    workload, count, gpus, nics = (CASES | POD_CASES)[name]
    path = folder / "own.yml"
    path.write_text(
        f"fabric: own\nworkload: {{kind: {workload}}}\n"
        f"nodes: [{{name: gpu, count: {count}, gpus: {gpus}, {nics}}}]\n"
        f"topology: {{leaf: {DELL}, spine: {DELL}{topology}}}\n"
    )
    return path


@pytest.mark.slow
@pytest.mark.parametrize("order", [DesignOrder.SWITCHES, DesignOrder.POWER])
@pytest.mark.parametrize("name", CASES)
def test_suggestions_are_accepted_by_check_and_never_worse(name: str, order: DesignOrder, tmp_path: Path) -> None:
    planes = ""
    if name in {"uneven", "planes"}:
        planes = ", planes: 2"
    suggested = api.suggest(api.open_project(written(tmp_path, name, planes)), order=order)
    present, *designs = suggested.comparison.alternatives
    values = []
    for design, (file, text) in zip(designs, suggested.texts.items(), strict=True):
        built = design_text(text, file).fabric
        assert (built.sizing.leaves, built.sizing.spines) == (design.sizing.leaves, design.sizing.spines)
        assert built.sizing.nodes == CASES[name][1]
        worth = value(order, design)
        assert worth is not None
        values.append(worth)
    assert values
    assert values == sorted(values)
    limit = value(order, present)
    assert limit is not None
    assert values[-1] <= limit


@pytest.mark.slow
def test_the_same_intent_gives_the_same_suggestions(tmp_path: Path) -> None:
    project = api.open_project(written(tmp_path, "small"))
    first, second = (suggested_lines(api.suggest(project)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", [*CASES, *POD_CASES])
def test_a_bound_is_never_above_the_sizes(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, name)
    intent = load_intent(path)
    catalog = load_catalog()
    model = "nokia-ixr7220-h4-64d"
    compared = 0
    for variant in variants(intent, document_of(path), catalog):
        classes = port_classes(catalog, intent.policies, variant.speeds_gbps, {model: Fraction(1)}, ())
        for form, ports in product(forms(variant, Shape.RAIL_OPTIMIZED), classes):
            bound = least_switches(variant, form, ports, ports)
            sizing = calculate(SuggestedDesign(variant, form, model, model).intent, catalog)
            if bound is not None and sizing is not None:
                leaves, spines = bound
                assert leaves <= sizing.leaves
                assert leaves + spines <= switches(sizing)
                compared += 1
    assert compared


def test_what_check_refuses_is_named_with_its_reason(tmp_path: Path) -> None:
    suggested = api.suggest(api.open_project(written(tmp_path, "small")), most=1)
    refused = tuple(
        Refused(f"design {number}", 3, error("H-1", "no headroom", fix="use shorter cables")) for number in range(6)
    )
    lines = suggested_lines(suggested._replace(refused=refused)).splitlines()
    assert "not suggested: design 0 (3 switches): H-1 no headroom" in lines
    assert "not suggested: 2 more designs that `check` refuses" in lines


def test_a_leaf_of_64_ports_has_32_down_at_one_to_one() -> None:
    ports = PortClass(("any",), ((400, 64), (800, 32)))
    assert most_down_ports(ports, 400, 400, Fraction(1)) == 32
    # Three parts down and one up; uplinks of twice the speed take the same cages.
    assert most_down_ports(ports, 400, 400, Fraction(3)) == 48
    assert most_down_ports(ports, 400, 800, Fraction(1)) == 32
    assert most_down_ports(ports, 200, 400, Fraction(1)) == 0


def test_forms_are_the_divisors_of_rails_and_planes(tmp_path: Path) -> None:
    path = written(tmp_path, "planes")
    variant, *_ = variants(load_intent(path), document_of(path), load_catalog())
    rails = [(shape, count) for shape in (Shape.RAIL_OPTIMIZED, Shape.RAIL_ONLY) for count in (2, 4, 8)]
    expected = {Form(shape, count, planes) for planes in (1, 2) for shape, count in rails}
    for planes in (1, 2):
        expected |= {Form(Shape.RACK_ALIGNED, 0, planes), Form(Shape.RACK_ALIGNED, 0, planes, one_switch=True)}
    assert set(forms(variant, Shape.RAIL_OPTIMIZED)) == expected


def test_nodes_without_gpus_are_not_put_on_rails_apart(tmp_path: Path) -> None:
    path = written(tmp_path, "small")
    path.write_text(path.read_text().replace("gpus: 8", "gpus: 0, role: storage"))
    variant, *_ = variants(load_intent(path), document_of(path), load_catalog())
    shapes = {form.shape for form in forms(variant, Shape.RAIL_OPTIMIZED)}
    assert shapes == {Shape.RAIL_OPTIMIZED, Shape.RACK_ALIGNED}


@pytest.mark.slow
def test_later_kinds_of_nodes_may_share_the_leaves_of_the_first() -> None:
    """Each rail has 8 ports of 400G, 8 of 200G and 4 of 100G: cages for 8, 4 and 1 of 400G on one leaf of 32."""
    suggested = api.suggest(api.open_project(ROOT / "intent" / "mixed-nodes.yml"))
    present, *designs = suggested.comparison.alternatives
    assert switches(present.sizing) == 22
    four_rails = [design for design in designs if design.sizing.rails == 4 and design.intent.startswith("rail-opt")]
    assert [(design.sizing.leaves, design.sizing.spines) for design in four_rails] == [(4, 2)]
    assert four_rails[0].changes.count("    share_leaves: true") == 2
