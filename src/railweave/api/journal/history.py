"""Which state of a project is deployed: by its git history if the intent is in one, else by its journals."""

import hashlib
import subprocess
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from nornir_railweave.rollout.rollouts import rollouts
from railweave.api.journal.folder import journal_folder
from railweave.catalog.load import OWN_MODELS
from railweave.plan.lineage import Ancestry, History
from railweave.plan.model import Generation

_SOURCES = (Path("templates"), OWN_MODELS)
"""The folders of a project that decide its configurations beside the intent."""


def project_history(intent: Path, intent_sha256: str, fabric: str, running: Iterable[Generation] = ()) -> History:
    """Return the state of the project in the working directory, and how the states that switches run relate to it.

    ``intent`` is the project's file with the intent of ``fabric``; ``running`` are the states that switches run.
    """
    revision, dirty = _revision(intent)
    history = History(Generation(revision=revision, digest=sources_digest(intent_sha256), dirty=dirty))
    other_generations = [generation for generation in running if history.is_other(generation)]
    if revision:
        commits = {generation.revision for generation in other_generations if _is_of_a_commit(generation)}
        history = replace(history, ancestry={commit: _ancestry(revision, commit) for commit in commits})
    # A project may have thousands of journals, and only states without a commit are looked for in them.
    if not all(map(_is_of_a_commit, other_generations)):
        history = replace(history, deployed=_deployed_digests(fabric))
    return history


def _is_of_a_commit(generation: Generation) -> bool:
    return bool(generation.revision) and not generation.dirty


def sources_digest(intent_sha256: str) -> str:
    """Return the digest of an intent and of the templates and models of the project in the working directory."""
    digest = hashlib.sha256(intent_sha256.encode())
    for folder in _SOURCES:
        # Sorted: a folder lists its files in an order that differs between clones.
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            digest.update(f"\0{path}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _revision(intent: Path) -> tuple[str, bool]:
    """Return the commit that is checked out, and whether intent, templates or models differ from it.

    The commit is empty where the intent is in no git history: without git, without a commit, or never added.
    """
    head = _git("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    tracked = _git("ls-files", "--error-unmatch", "--", str(intent))
    changed_files = _git("status", "--porcelain", "--untracked-files=all", "--", str(intent), *map(str, _SOURCES))
    if head is None or tracked is None or changed_files is None:
        return "", False
    return head.strip(), bool(changed_files.strip())


def _ancestry(own: str, revision: str) -> Ancestry:
    """Return how the commit ``revision`` relates to the commit ``own`` that is checked out."""
    # What a switch reports is not passed to git unless it can be a commit: it could be an option.
    if not revision.isalnum() or _git("cat-file", "-e", f"{revision}^{{commit}}") is None:
        return _beyond_shallow_or(Ancestry.UNKNOWN)
    if _git("merge-base", "--is-ancestor", revision, own) is not None:
        return Ancestry.CONTAINED
    if _git("merge-base", "--is-ancestor", own, revision) is not None:
        return Ancestry.NEWER
    return _beyond_shallow_or(Ancestry.DIVERGED)


def _beyond_shallow_or(ancestry: Ancestry) -> Ancestry:
    """Return ``ancestry`` in a full clone; in a shallow one the commits that would show it may be missing."""
    if _is_shallow():
        return Ancestry.BEYOND_SHALLOW
    return ancestry


def _is_shallow() -> bool:
    return (_git("rev-parse", "--is-shallow-repository") or "").strip() == "true"


def _deployed_digests(fabric: str) -> Collection[str]:
    """Return the digests of the states that this project deployed on any target, by its journals."""
    return {
        rollout.metadata.sources_sha256
        for rollout in rollouts(journal_folder(), fabric)
        if rollout.metadata.sources_sha256 and rollout.changed
    }


def _git(*words: str) -> str | None:
    """Return what git printed; None where it failed, or is not there."""
    try:
        result = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    except OSError:
        return None
    if result.returncode:
        return None
    return result.stdout
