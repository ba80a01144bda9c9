"""Two revisions compared: each is rendered with its own templates, and nobody says what runs where nothing was read."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from railweave import api
from railweave.api.deployment.rollback import phases_of
from railweave.api.design.intent import commit_at, designed_at
from railweave.api.design.revisions import phased_change
from railweave.api.project import Project
from railweave.api.targets.fabric import LiveFabric
from railweave.catalog.load import _Used, load_catalog, use_own_models
from railweave.errors import RailweaveError, RefusedError
from railweave.plan.document import plan_json
from railweave.plan.headline import headline
from railweave.plan.model import NodeFile
from railweave.plan.rollout import Rollout, RolloutMetadata
from railweave.report.plan_parts import remarks
from railweave.sonic.delta.change import Op
from railweave.templates import TemplateFaultError, _templates_of

ROOT = Path(__file__).resolve().parents[3]
GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.net", "-c", "init.defaultBranch=main")
INTENT = Path("intent/lab.yml")
TEMPLATE = Path("templates/frr/frr.conf.j2")
MODEL = Path("catalog/switches/acme-32.json")
LOGGED = " bgp log-neighbor-changes\n"


def git(*words: str) -> None:
    subprocess.run([*GIT, *words], check=True, capture_output=True)


def commit() -> None:
    git("add", "-A")
    git("commit", "-q", "-m", "as it is", "--allow-empty")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_Used, "own", _Used.own)
    INTENT.parent.mkdir()
    shutil.copy(ROOT / "intent/lab-4.yml", INTENT)
    git("init", "-q")
    commit()
    return Project(INTENT)


def with_own_template() -> None:
    TEMPLATE.parent.mkdir(parents=True)
    text = (ROOT / TEMPLATE).read_text(encoding="utf-8")
    assert LOGGED in text
    TEMPLATE.write_text(text.replace(LOGGED, ""), encoding="utf-8")
    _templates_of.cache_clear()


def without_template() -> None:
    TEMPLATE.unlink()
    _templates_of.cache_clear()


def test_a_template_of_the_head_alone_changes_every_switch(project: Project) -> None:
    assert not api.diff(project, "main").deltas
    with_own_template()
    plan = api.diff(project, "main")
    assert len(plan.deltas) == 4
    assert {(change.op, change.field) for _, change in plan.changes()} == {(Op.REMOVE, LOGGED.strip())}


@pytest.mark.slow
def test_a_template_of_both_revisions_changes_nothing_and_its_removal_does(project: Project) -> None:
    with_own_template()
    commit()
    assert not api.diff(project, "main").deltas
    without_template()
    assert {(change.op, change.field) for _, change in api.diff(project, "main").changes()} == {
        (Op.ADD, LOGGED.strip())
    }
    commit()
    assert len(api.diff(project, "main~1", "main").deltas) == 4, "two revisions, and not the working tree"


def test_a_template_of_nodes_changes_their_files(project: Project) -> None:
    template = Path("templates/hosts/sysctl.conf.j2")
    template.parent.mkdir(parents=True)
    template.write_text("net.core.rmem_max = 1\n", encoding="utf-8")
    _templates_of.cache_clear()
    plan = api.diff(project, "main")
    assert not plan.deltas
    nodes = tuple(f"gpu{number}" for number in range(1, 5))
    assert plan.node_files == (NodeFile("sysctl.conf", nodes),)
    assert headline(plan).endswith("templates change 1 file of 4 nodes.")
    assert remarks(plan, 0)[-1].text == (
        "templates/hosts/ changes sysctl.conf of gpu1…4: `railweave hosts apply` writes it"
    )
    document = plan_json(plan)
    assert document["node_files"] == [{"name": "sysctl.conf", "nodes": [*nodes]}]
    commit()
    assert not api.diff(project, "main").node_files


def with_own_model(alias: str) -> None:
    """Make a model of the project that of all switches; its title is ``alias``, with which its ports' labels begin."""
    MODEL.parent.mkdir(parents=True, exist_ok=True)
    shipped = json.loads(load_catalog().file_text("sonic-vs"))
    modes = [[name, [alias + "{cage}" for _ in aliases], not_on] for name, aliases, not_on in shipped["breakout_modes"]]
    own = {**shipped, "id": MODEL.stem, "title": alias, "breakout_modes": modes}
    MODEL.write_text(json.dumps(own), encoding="utf-8")
    INTENT.write_text(INTENT.read_text(encoding="utf-8").replace("sonic-vs", MODEL.stem), encoding="utf-8")
    use_own_models()


def without_model() -> None:
    MODEL.unlink()
    shutil.copy(ROOT / "intent/lab-4.yml", INTENT)
    use_own_models()


def test_a_switch_model_of_both_revisions_is_that_of_each(project: Project) -> None:
    with_own_model("first")
    commit()
    assert not api.diff(project, "main").deltas
    with_own_model("second")
    plan = api.diff(project, "main")
    assert len(plan.deltas) == 4
    assert {(change.table, change.field) for _, change in plan.changes()} >= {("PORT", "alias")}
    commit()
    assert len(api.diff(project, "main~1", "main").deltas) == 4, "two revisions, and not the working tree"


def test_a_switch_model_that_only_the_base_has_is_that_of_the_base(project: Project) -> None:
    with_own_model("first")
    commit()
    without_model()
    assert len(api.diff(project, "main").deltas) == 4
    assert {line.part for line in api.bom(project, against="main").lines} >= {"first"}


def test_a_fault_of_a_switch_model_names_its_revision(project: Project) -> None:
    with_own_model("first")
    MODEL.write_text("{}", encoding="utf-8")
    commit()
    without_model()
    with pytest.raises(RefusedError) as refused:
        api.diff(project, "main")
    assert {diagnostic.where.file for diagnostic in refused.value.diagnostics} == {f"main:{MODEL}"}


def test_phases_begin_with_the_templates_of_the_base(project: Project) -> None:
    with_own_template()
    change = phased_change(project, "main")
    assert change.running.templates.folders != change.designed.templates.folders


def test_a_phase_begins_at_the_commit_that_its_base_named(project: Project) -> None:
    commit_of_base = commit_at("main")
    two_spines = "spine: {model: sonic-vs, count: 2}"
    text = INTENT.read_text(encoding="utf-8")
    assert two_spines in text
    INTENT.write_text(text.replace(two_spines, two_spines.replace("2", "4")), encoding="utf-8")
    commit()
    assert commit_at("main") != commit_of_base, "the change was merged while it was deployed"
    designed = designed_at("", INTENT)
    fabric = SimpleNamespace(designed=designed, target=SimpleNamespace(name="sim"))
    metadata = RolloutMetadata(base="main", base_commit=commit_of_base, phase=1)
    rollout = Rollout("one", Path("one"), "lab", "sim", designed.intent.sha256, metadata=metadata)
    for base_commit, spine_count in ((commit_of_base, 2), ("", 4)):
        kept = replace(rollout, metadata=replace(metadata, base_commit=base_commit))
        phases = phases_of(kept, cast(LiveFabric, fabric), project)
        assert phases is not None
        assert len(phases.change.before.tier_switches[1]) == spine_count


@pytest.mark.parametrize("revision", ["", "no-such-branch", "--help", str(INTENT)])
def test_what_is_no_revision_has_no_commit(project: Project, revision: str) -> None:
    assert commit_at(revision) == ""


def test_a_fault_of_a_template_names_its_revision(project: Project) -> None:
    TEMPLATE.parent.mkdir(parents=True)
    TEMPLATE.write_text("{{ nothing }}\n", encoding="utf-8")
    commit()
    without_template()
    with pytest.raises(RailweaveError, match=r"main:templates/frr/frr\.conf\.j2:1:1: 'nothing' is undefined"):
        api.diff(project, "main")


def test_a_link_is_no_template(project: Project) -> None:
    TEMPLATE.parent.mkdir(parents=True)
    TEMPLATE.symlink_to("/etc/hostname")
    commit()
    with pytest.raises(TemplateFaultError, match=r"main:templates/frr/frr\.conf\.j2 is a link"):
        designed_at("main", INTENT)


def test_a_diff_says_nothing_of_what_runs(project: Project) -> None:
    assert headline(api.diff(project, "main")) == "lab: no changes: both intents configure 4 devices alike."
