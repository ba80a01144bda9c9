"""A deployment from an older clone, or from a copy, is refused by what the switches keep; a rollback goes back."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from counted_fabric import Counted, deployed_fabric
from in_process import run_here

pytestmark = pytest.mark.slow

INTENT = Path("intent/lab-4.yml")
GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.net", "-c", "init.defaultBranch=main")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[tuple[Path, Counted]]:
    folder = tmp_path / "first"
    folder.mkdir()
    with deployed_fabric(folder, INTENT.name) as counted:
        yield folder, counted


def railweave(folder: Path, *words: str) -> str:
    """Return the exit status of a command and what it said, in one line."""
    done = run_here([*words, "--intent", str(INTENT), "--target", "sim"], folder, os.environ, 300)
    return f"{done.returncode}: {' '.join((done.stdout + done.stderr).split())}"


def git(folder: Path, *words: str) -> str:
    return subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def timers(folder: Path, keepalive: int) -> None:
    """Change the intent by one line of every switch."""
    lines = [line for line in (folder / INTENT).read_text().splitlines() if not line.startswith("bgp:")]
    (folder / INTENT).write_text("\n".join([*lines, f"bgp: {{keepalive: {keepalive}, hold: 9}}", ""]))


def test_an_older_clone_is_refused_with_nothing_done_and_goes_on_once_it_has_pulled(
    project: tuple[Path, Counted],
) -> None:
    first, counted = project
    (first / ".gitignore").write_text(".railweave/\n")
    git(first, "init", "-q")
    git(first, "add", ".")
    git(first, "commit", "-qm", "begin")
    old = first.parent / "old"
    git(first, "clone", "-q", str(first), str(old))
    shutil.copytree(first / ".railweave", old / ".railweave", ignore=shutil.ignore_patterns("*.sock"))
    timers(first, 2)
    git(first, "commit", "-qam", "newer")
    here, there = (git(folder, "rev-parse", "--short=12", "HEAD") for folder in (first, old))
    assert railweave(first, "deploy", "--yes").startswith("0: ")

    counted.clear()
    refused = railweave(old, "deploy", "--yes")
    assert refused.startswith("1: ")
    for words in ("RW526", f"run commit {here}", "a commit that this clone does not have", f"This is commit {there};"):
        assert words in refused
    assert {asked["channels"] for asked in counted.asked.values()} == {1}, "read, and nothing else"
    planned = railweave(old, "plan")
    assert planned.startswith("0: ")
    assert "RW526" in planned

    git(old, "pull", "-q")
    timers(old, 1)
    assert railweave(old, "deploy", "--yes").startswith("0: ")
    assert "an uncommitted state" in railweave(first, "deploy", "--yes")
    assert railweave(first, "deploy", "--yes", "--discard-newer").startswith("0: ")


def test_without_git_the_journals_tell_and_a_rollback_goes_back_a_generation(project: tuple[Path, Counted]) -> None:
    first, _ = project
    copy = first.parent / "copy"
    for keepalive in (2, 1):
        timers(first, keepalive)
        assert railweave(first, "deploy", "--yes").startswith("0: ")
        if keepalive == 2:
            shutil.copytree(first, copy, ignore=shutil.ignore_patterns("*.sock", "journal"))
    refused = railweave(copy, "deploy", "--yes")
    assert refused.startswith("1: ")
    assert "a state that was never committed and that this project did not deploy" in refused
    assert railweave(first, "rollback", "--yes").startswith("0: ")
    assert railweave(copy, "plan").startswith("0: ")
    assert "RW526" not in railweave(copy, "plan"), "the switches run the content of the copy again"
