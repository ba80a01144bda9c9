"""A new project is a git repository with a first commit, where git is there and knows who commits."""

import subprocess
from pathlib import Path

import pytest

from railweave.api.repository import create_repository
from railweave.cli.main import main

IDENTITY = "[user]\nname = engineer\nemail = engineer@example.net\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with one file, outside every work tree, with a git of known settings."""
    (tmp_path / "gitconfig").write_text(IDENTITY, encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "fabric"
    folder.mkdir()
    (folder / "README.md").write_text("# A fabric\n", encoding="utf-8")
    return folder


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout


def test_the_files_are_the_first_commit_on_main(project: Path) -> None:
    repository = create_repository(project)
    assert (repository.created, repository.committed) == (True, True)
    assert repository.summary == "new repository with a first commit"
    assert git(project, "log", "--format=%s by %ae on %D") == "A new fabric by engineer@example.net on HEAD -> main\n"
    assert git(project, "ls-files") == "README.md\n"
    assert git(project, "status", "--porcelain") == ""


def test_within_a_work_tree_nothing_is_created(project: Path) -> None:
    create_repository(project)
    inner = project / "site" / "fabric"
    inner.mkdir(parents=True)
    repository = create_repository(inner)
    assert not repository.created
    assert repository.summary == f"inside the git repository {project}: commit the files there"
    assert not (inner / ".git").exists()


def test_without_an_identity_the_files_stay_uncommitted(project: Path, tmp_path: Path) -> None:
    (tmp_path / "gitconfig").write_text("", encoding="utf-8")
    repository = create_repository(project)
    assert (repository.created, repository.committed) == (True, False)
    assert repository.summary == (
        "new repository, files not committed: git does not know your name. Set it with `git config --global user.name"
        " NAME` and `git config --global user.email ADDRESS`, then `git add -A && git commit -m 'A new fabric'`"
    )
    assert git(project, "status", "--porcelain") == "?? README.md\n"


def test_a_commit_that_git_refuses_is_reported_with_its_reason(project: Path, tmp_path: Path) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "pre-commit").write_text("#!/bin/sh\necho 'no ticket named' >&2\nexit 1\n", encoding="utf-8")
    (hooks / "pre-commit").chmod(0o755)
    (tmp_path / "gitconfig").write_text(f"{IDENTITY}[core]\nhooksPath = {hooks}\n", encoding="utf-8")
    repository = create_repository(project)
    assert (repository.created, repository.committed) == (True, False)
    assert repository.summary == "new repository, files not committed: no ticket named"


def test_a_machine_without_git_gets_a_project_without_a_repository(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    repository = create_repository(project)
    assert not repository.created
    assert repository.summary == "no repository created: git cannot be run (No such file or directory)"


def test_init_says_what_git_has_and_which_extra_is_missing(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("railweave.api.simulator.sim.find_spec", lambda name: None if name == "asyncssh" else name)
    monkeypatch.chdir(project.parent)
    assert main(["init", "new", "--template", "minimal"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.endswith(
        "git: new repository with a first commit"
        " note: the simulator needs the extra railweave[sim] (missing: asyncssh): pip install 'railweave[sim]'"
        " next: cd new && make deploy"
    )
