"""The git repository of a new project: `git init` and a first commit."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from railweave.api.design.git import NO_REPOSITORY

BRANCH = "main"
"""The first branch: the one that the pipelines of the starter project deploy."""

_SUBJECT = "A new fabric"
_COMMIT_BY_HAND = f"`git add -A && git commit -m '{_SUBJECT}'`"
# Inside a git hook these name another repository than that of the folder.
_OF_A_HOOK = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")


@dataclass(frozen=True, slots=True)
class Repository:
    """What git has of a new project: a repository of its own, a first commit in it, and a sentence that says so."""

    created: bool
    committed: bool
    summary: str


def create_repository(folder: Path) -> Repository:
    """Make ``folder`` a git repository and commit its files.

    Within a work tree of git nothing is created. The files stay uncommitted where git has no identity (``user.name``
    and ``user.email``) or refuses the commit. A missing git is no error, because a project works without it.
    """
    try:
        around = _git(folder, "rev-parse", "--show-toplevel")
        if around.returncode == 0:
            top = around.stdout.strip()
            return Repository(False, False, f"inside the git repository {top}: commit the files there")
        if NO_REPOSITORY not in around.stderr:
            return Repository(False, False, f"no repository created: {_reason(around)}")
        # A default branch of this name; versions of git before 2.28 ignore it.
        created = _git(folder, "-c", f"init.defaultBranch={BRANCH}", "init", "-q")
        if created.returncode:
            return Repository(False, False, f"no repository created: {_reason(created)}")
        return _commit(folder)
    except OSError as fault:
        return Repository(False, False, f"no repository created: git cannot be run ({fault.strerror})")


def _commit(folder: Path) -> Repository:
    """Commit the files of a repository that is empty."""
    # Without useConfigOnly git makes up an address from the names of the account and the machine.
    identity = _git(folder, "-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT")
    if identity.returncode:
        return Repository(
            True,
            False,
            "new repository, files not committed: git does not know your name. Set it with `git config --global"
            f" user.name NAME` and `git config --global user.email ADDRESS`, then {_COMMIT_BY_HAND}",
        )
    added = _git(folder, "add", "-A")
    if added.returncode:
        return Repository(True, False, f"new repository, files not committed: {_reason(added)}")
    committed = _git(folder, "commit", "-q", "-m", _SUBJECT)
    if committed.returncode:
        return Repository(True, False, f"new repository, files not committed: {_reason(committed)}")
    return Repository(True, True, "new repository with a first commit")


def _git(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run git in ``folder``, in English, without a terminal to ask on."""
    environ = {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}
    return subprocess.run(
        ["git", "-C", str(folder), *words],
        env={**environ, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def _reason(done: "subprocess.CompletedProcess[str]") -> str:
    """Return the first line of what git printed about a failure."""
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[0] if lines else f"git exited with {done.returncode}"
