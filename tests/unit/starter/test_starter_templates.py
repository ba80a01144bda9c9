"""The starter projects: copied whole into an empty folder, good from the first moment."""

from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from nornir_railweave.target.target_file import load_target
from railweave.api.designing import load_designed
from railweave.api.starter import init, starter_templates
from railweave.cli.main import main
from railweave.errors import RailweaveError, UsageError
from railweave.plan.drift import load_rules

ROOT = Path(__file__).resolve().parents[3]


def test_templates_are_listed_by_the_first_line_of_their_readme(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--list"]) == 0
    listed = capsys.readouterr().out
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
    assert asked == [f"./wheels/railweave-{version('railweave')}-py3-none-any.whl[sim]"]
    assert f"'./railweave-{version('railweave')}-py3-none-any.whl[sim]'" in (tmp_path / "new/Makefile").read_text()


def test_a_folder_that_holds_anything_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(RailweaveError, match="not an empty folder"):
        init(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_an_unknown_template_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there are: gitops, minimal"):
        init(tmp_path / "new", "gitpos")
    assert not (tmp_path / "new").exists()
