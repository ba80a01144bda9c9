"""The state of a project by git: clean and dirty trees, shallow clones, other lines of history, no git at all."""

import json
import subprocess
from pathlib import Path

import pytest

from railweave.api.journal.history import project_history
from railweave.api.project import JOURNALS
from railweave.plan.lineage import Ancestry, History
from railweave.plan.model import Generation

INTENT = Path("intent/pod.yml")
GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.net", "-c", "init.defaultBranch=main")


def git(*words: str) -> str:
    return subprocess.run([*GIT, *words], check=True, capture_output=True, text=True).stdout.strip()


def commit(text: str) -> str:
    INTENT.write_text(text)
    git("add", ".")
    git("commit", "-qm", text)
    return git("rev-parse", "HEAD")


def history(*running: Generation) -> History:
    return project_history(INTENT, INTENT.read_text(), "pod", running)


def ancestry(revision: str) -> Ancestry:
    """Return how a commit that a switch runs relates to the one that is checked out."""
    return history(Generation(revision=revision, digest="9" * 64)).ancestry[revision]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for folder in ("intent", "templates/frr"):
        Path(folder).mkdir(parents=True)
    INTENT.write_text("one")
    Path("templates/frr/own.j2").write_text("a")
    return tmp_path


def test_a_project_without_git_has_a_digest_and_no_revision(project: Path) -> None:
    own = history().own
    assert own == Generation(digest=own.digest)
    assert history().own == own
    Path("templates/frr/own.j2").write_text("b")
    assert history().own.digest != own.digest, "templates count"
    own = history().own
    Path("catalog/switches").mkdir(parents=True)
    assert history().own == own
    Path("catalog/switches/acme-32.json").write_text("{}")
    assert history().own.digest != own.digest, "the project's models count"


def test_an_intent_that_was_never_added_is_in_no_history(project: Path) -> None:
    git("init", "-q")
    assert history().own.revision == ""
    git("commit", "-q", "--allow-empty", "-m", "empty")
    assert history().own.revision == ""


@pytest.mark.parametrize("touched", ["intent/pod.yml", "templates/frr/own.j2", "templates/new.j2", "catalog/nics.json"])
def test_a_tree_is_dirty_where_intent_templates_or_models_differ(project: Path, touched: str) -> None:
    git("init", "-q")
    head = commit("one")
    assert (history().own.revision, history().own.dirty) == (head, False)
    Path("notes").write_text("no part of the fabric")
    assert not history().own.dirty
    Path(touched).parent.mkdir(exist_ok=True)
    Path(touched).write_text("changed")
    assert (history().own.revision, history().own.dirty) == (head, True)


def test_ancestors_newer_and_diverged_commits_are_told_apart(project: Path) -> None:
    git("init", "-q")
    first, second = commit("one"), commit("two")
    git("checkout", "-q", "-b", "side", first)
    side = commit("side")
    assert ancestry(second) is Ancestry.DIVERGED
    git("checkout", "-q", first)
    assert [ancestry(one) for one in (first, second, side)] == [
        Ancestry.CONTAINED,
        Ancestry.NEWER,
        Ancestry.NEWER,
    ]
    git("checkout", "-q", second)
    assert [ancestry(one) for one in (first, second, side)] == [
        Ancestry.CONTAINED,
        Ancestry.CONTAINED,
        Ancestry.DIVERGED,
    ]
    for odd in ("0" * 40, "--help", "HEAD^{tree}"):
        assert ancestry(odd) is Ancestry.UNKNOWN


def test_a_shallow_clone_says_that_it_cannot_tell(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("init", "-q")
    first, second = commit("one"), commit("two")
    git("clone", "-q", "--depth", "1", f"file://{project}", "shallow")
    monkeypatch.chdir(project / "shallow")
    assert ancestry(second) is Ancestry.CONTAINED
    assert ancestry(first) is Ancestry.BEYOND_SHALLOW
    git("fetch", "-q", "--unshallow")
    assert ancestry(first) is Ancestry.CONTAINED


def test_a_machine_without_git_is_a_project_without_git(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("init", "-q")
    commit("one")
    monkeypatch.setenv("PATH", str(project))
    assert history().own.revision == ""


def test_what_a_project_deployed_is_its_own_under_a_second_name_of_the_target(project: Path) -> None:
    JOURNALS.mkdir(parents=True)
    opening = {
        "at": "2026-11-21T10:15:00Z", "step": "started", "device": "", "text": "", "fabric": "pod", "target": "lab",
        "sources_sha256": "d" * 64, "devices": {"leaf1": {"wave": 1}}, "waves": [["leaf1"]],
    }  # fmt: skip
    outcome = {"at": "", "step": "outcome", "device": "leaf1", "text": "", "outcome": "new"}
    journal = JOURNALS / "20261121T101500Z-pod-0a1b2c.jsonl"
    journal.write_text(f"{json.dumps(opening)}\n{json.dumps(outcome)}\n")
    deployed, foreign = Generation(digest="d" * 64), Generation(digest="e" * 64)
    assert history(deployed, foreign).discards(deployed) == ""
    assert history(deployed, foreign).discards(foreign)


def test_only_what_is_needed_to_judge_switches_is_looked_up(project: Path) -> None:
    git("init", "-q")
    head = commit("one")
    own = history().own
    assert (history(own).ancestry, history(own).deployed) == ({}, frozenset())
    assert history(Generation(revision=head, digest="9" * 64)).ancestry == {head: Ancestry.CONTAINED}
