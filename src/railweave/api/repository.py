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
        top_level = _git(folder, "rev-parse", "--show-toplevel")
        if top_level.returncode == 0:
            summary = f"inside the git repository {top_level.stdout.strip()}: commit the files there"
            return Repository(created=False, committed=False, summary=summary)
        if NO_REPOSITORY not in top_level.stderr:
            return _not_created(_reason(top_level))
        # Versions of git before 2.28 ignore the name of the branch.
        init = _git(folder, "-c", f"init.defaultBranch={BRANCH}", "init", "-q")
        if init.returncode:
            return _not_created(_reason(init))
        return _commit(folder)
    except OSError as fault:
        return _not_created(f"git cannot be run ({fault.strerror})")


def _not_created(reason: str) -> Repository:
    return Repository(created=False, committed=False, summary=f"no repository created: {reason}")


def _commit(folder: Path) -> Repository:
    """Commit the files of a new, empty repository."""
    # Without useConfigOnly git makes up an address from the names of the account and the machine.
    identity = _git(folder, "-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT")
    if identity.returncode:
        return _not_committed(
            "git does not know your name. Set it with `git config --global"
            f" user.name NAME` and `git config --global user.email ADDRESS`, then {_COMMIT_BY_HAND}"
        )
    for words in (("add", "-A"), ("commit", "-q", "-m", _SUBJECT)):
        result = _git(folder, *words)
        if result.returncode:
            return _not_committed(_reason(result))
    return Repository(created=True, committed=True, summary="new repository with a first commit")


def _not_committed(reason: str) -> Repository:
    return Repository(created=True, committed=False, summary=f"new repository, files not committed: {reason}")


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


def _reason(result: "subprocess.CompletedProcess[str]") -> str:
    """Return the first line of what git printed about a failure."""
    lines = (result.stderr or result.stdout).strip().splitlines()
    return lines[0] if lines else f"git exited with {result.returncode}"
