"""The starter projects: copied whole into an empty folder, good from the first moment."""

from pathlib import Path

import pytest
import yaml
from by_check import sampled

from nornir_railweave.target.target_file import load_target
from railweave import __version__
from railweave.api.design.intent import design_text, load_designed
from railweave.api.starter import INTENT, SCHEMA_LINE, design_intent, init, starter_designs, starter_templates
from railweave.bom.bill import bill
from railweave.catalog.load import load_catalog
from railweave.cli.main import main
from railweave.diagnostics import Severity
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.plan.drift import load_rules

ROOT = Path(__file__).resolve().parents[3]


def test_templates_are_listed_by_the_first_line_of_their_readme(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--list"]) == 0
    listed = " ".join(capsys.readouterr().out.split())
    assert starter_templates() == {
        "gitops": "A fabric kept in git, deployed by a pipeline",
        "minimal": "A fabric kept in git, deployed by hand",
    }
    assert all(purpose in listed for purpose in starter_templates().values())


def test_a_complete_repository_is_made_with_its_dot_files(tmp_path: Path) -> None:
    folder = tmp_path / "fabric"
    written = {str(path.relative_to(folder)) for path in init(folder)}
    assert written == {
        ".github/workflows/fabric.yml",
        ".gitignore",
        ".gitlab-ci.yml",
        ".pre-commit-config.yaml",
        "CODEOWNERS",
        "Containerfile",
        "Makefile",
        "README.md",
        "drift-ignore.yml",
        "intent/fabric.yml",
        "intent/intent.schema.json",
        "inventory/production.example.yml",
        "inventory/sim.yml",
        "requirements.in",
        "switch/sudoers-railweave",
    }
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == written


@pytest.mark.parametrize("template", sorted(starter_templates()))
def test_every_template_holds_a_good_intent_and_good_targets(template: str, tmp_path: Path) -> None:
    init(tmp_path / "new", template)
    assert load_designed(tmp_path / "new/intent/fabric.yml").fabric.switches
    for target in (tmp_path / "new/inventory").glob("*.yml"):
        load_target(target)
    assert load_rules(tmp_path / "new/drift-ignore.yml") == ()
    for name in (".github/workflows/fabric.yml", ".gitlab-ci.yml", ".pre-commit-config.yaml"):
        if (file := tmp_path / "new" / name).exists():
            assert yaml.safe_load(file.read_text(encoding="utf-8"))


def test_the_example_of_a_target_is_the_repositorys_own(tmp_path: Path) -> None:
    init(tmp_path / "new")
    name = "inventory/production.example.yml"
    assert (tmp_path / "new" / name).read_bytes() == (ROOT / name).read_bytes()


def test_a_project_asks_no_index_for_railweave_but_for_the_wheel_of_this_version(tmp_path: Path) -> None:
    init(tmp_path / "new")
    asked = [
        line
        for line in (tmp_path / "new/requirements.in").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    assert asked == [f"./wheels/railweave-{__version__}-py3-none-any.whl[sim]"]
    assert f"'./railweave-{__version__}-py3-none-any.whl[sim]'" in (tmp_path / "new/Makefile").read_text()


def test_a_folder_that_holds_anything_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(RailweaveError, match="not an empty folder"):
        init(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_an_unknown_template_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there are: gitops, minimal"):
        init(tmp_path / "new", "gitpos")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("design", sampled(starter_designs(), every=3))
def test_every_design_is_built_without_an_error_and_says_where_it_comes_from(design: str, tmp_path: Path) -> None:
    init(tmp_path / "new", "minimal", design=design)
    text = (tmp_path / "new" / INTENT).read_text(encoding="utf-8").removeprefix(SCHEMA_LINE)
    assert text == design_intent(design)
    head = [line for line in text.splitlines() if line.startswith("# ")]
    assert head[1].startswith("# Source: ")
    assert any(line.startswith("# Scale: ") for line in head)
    designed = load_designed(tmp_path / "new" / INTENT)
    assert {one.code for one in designed.diagnostics if one.severity is Severity.WARNING} <= {"RW209"}
    assert bill(designed.fabric, load_catalog()).remarks == (), "all of it can be bought"
    # The example of a target names switches that every design with two tiers has.
    assert "pod1-leaf1" in designed.fabric.switch_of


@pytest.mark.parametrize(
    ("design", "sizes"),
    [
        ("superpod", (16, 8, 0, 512)),
        ("superpod-pods", (128, 128, 64, 4096)),
        ("rack-aligned", (16, 18, 0, 288)),
        ("two-planes-200g", (16, 120, 0, 960)),
        ("mi300x", (16, 8, 0, 512)),
    ],
)
def test_a_design_has_the_sizes_of_its_source(design: str, sizes: tuple[int, ...]) -> None:
    sizing = design_text(design_intent(design), "intent.yml").fabric.sizing
    assert (sizing.leaves, sizing.spines, sizing.super_spines, sizing.links.leaf_spine) == sizes


@pytest.mark.parametrize("units", [1, 2, 4, 8, 16])
def test_a_superpod_scales_as_published(units: int) -> None:
    sizing = design_text(design_intent("superpod", 32 * units), "intent.yml").fabric.sizing
    assert (sizing.nodes, sizing.leaves, sizing.tiers) == (32 * units, 8 * units, 3 if units == 16 else 2)


def test_a_design_that_does_not_scale_so_far_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(RefusedError) as refused:
        init(tmp_path / "new", design="rail-only", nodes=200)
    found = [one.message for one in refused.value.diagnostics if one.severity is Severity.ERROR]
    assert found == ["200 nodes need 200 ports on the one switch of a rail; a switch with 64 ports holds 64 nodes"]
    assert not (tmp_path / "new").exists()


def test_an_unknown_design_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        init(tmp_path / "new", design="suprpod")
    assert str(refused.value) == "no design 'suprpod': did you mean `superpod`? `railweave init --list` shows them"


def test_a_number_of_nodes_needs_a_design(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        init(tmp_path / "new", nodes=8)
    assert str(refused.value) == "the number of nodes is that of a design: name it with --design, or edit the intent"


def test_designs_are_listed_in_the_order_of_their_names() -> None:
    names = list(starter_designs())
    assert names == sorted(names)
    assert names.index("superpod") < names.index("superpod-pods")


def test_designs_are_listed_beside_the_templates(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--list"]) == 0
    listed = " ".join(capsys.readouterr().out.split())
    assert all(f"{name} " in listed and purpose in listed for name, purpose in starter_designs().items())
    assert len(starter_designs()) == 10


def test_an_intent_names_the_schema_that_lies_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    init(tmp_path / "new")
    first, second = (tmp_path / "new" / INTENT).read_text(encoding="utf-8").splitlines()[:2]
    assert first == "# yaml-language-server: $schema=intent.schema.json"
    assert second.startswith("# The desired state of the fabric.")
    assert main(["schema", "intent"]) == 0
    assert (tmp_path / "new" / INTENT).with_name("intent.schema.json").read_text("utf-8") == capsys.readouterr().out
