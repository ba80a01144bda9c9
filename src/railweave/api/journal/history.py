"""The state of a project that is deployed, by git where the intent is in a git history, else by its journals."""

import hashlib
import subprocess
from collections.abc import Collection
from functools import partial
from pathlib import Path

from nornir_railweave.rollout.rollouts import rollouts
from railweave.api.journal.folder import journal_folder
from railweave.plan.lineage import Ancestry, History
from railweave.plan.model import Generation

_TEMPLATES = Path("templates")


def project_history(intent: Path, intent_sha256: str, fabric: str) -> History:
    """Return the history of the project in the working directory, whose intent for ``fabric`` is that file."""
    revision, dirty = _revision(intent)
    own = Generation(revision=revision, digest=sources_digest(intent_sha256), dirty=dirty)
    return History(own, partial(_ancestry, revision), partial(_deployed, fabric))


def sources_digest(intent_sha256: str) -> str:
    """Return the digest of an intent and of the templates of the project in the working directory."""
    digest = hashlib.sha256(intent_sha256.encode())
    for path in sorted(path for path in _TEMPLATES.rglob("*") if path.is_file()):
        digest.update(f"\0{path}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _revision(intent: Path) -> tuple[str, bool]:
    """Return the commit that is checked out, and whether intent or templates differ from it.

    The commit is empty where the intent is in no git history: without git, without a commit, or never added.
    """
    head = _git("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    tracked = _git("ls-files", "--error-unmatch", "--", str(intent))
    changed = _git("status", "--porcelain", "--untracked-files=all", "--", str(intent), str(_TEMPLATES))
    if head is None or tracked is None or changed is None:
        return "", False
    return head.strip(), bool(changed.strip())


def _ancestry(own: str, revision: str) -> Ancestry:
    if not revision.isalnum() or _git("cat-file", "-e", f"{revision}^{{commit}}") is None:
        return Ancestry.BEYOND_SHALLOW if _is_shallow() else Ancestry.UNKNOWN
    if _git("merge-base", "--is-ancestor", revision, own) is not None:
        return Ancestry.CONTAINED
    if _git("merge-base", "--is-ancestor", own, revision) is not None:
        return Ancestry.NEWER
    return Ancestry.BEYOND_SHALLOW if _is_shallow() else Ancestry.DIVERGED


def _is_shallow() -> bool:
    return (_git("rev-parse", "--is-shallow-repository") or "").strip() == "true"


def _deployed(fabric: str) -> Collection[str]:
    """Return the digests of the states that this project deployed, by its journals, under whatever name of a target."""
    return {one.sources_sha256 for one in rollouts(journal_folder(), fabric) if one.sources_sha256 and one.changed}


def _git(*words: str) -> str | None:
    """Return what git printed; None where it failed, or is not there."""
    try:
        done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None
