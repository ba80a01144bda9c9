"""The stores by what RAILWEAVE_JOURNALS says; whatever else it says is a folder.

git:REMOTE#BRANCH    a branch (by default ``railweave-journals``) of a remote of the project's repository, or a URL
s3:// gs:// az://    an object store; needs the extra ``railweave[journals]``
"""

import re

from nornir_railweave.journals.store import Store, StoreError

_OBJECT_STORE = re.compile(r"(s3|gs|az|file)://")
_STORE = re.compile(r"git:|\w+://")


def is_store(place: str) -> bool:
    """Tell whether RAILWEAVE_JOURNALS names a store rather than a folder."""
    return bool(_STORE.match(place))


def open_store(place: str) -> Store:
    """Return the store that ``place`` names. Raises StoreError if it names none that can be used."""
    if place.startswith("git:"):
        from nornir_railweave.journals.git_branch import GitBranch

        remote, _, branch = place.removeprefix("git:").partition("#")
        return GitBranch(remote, branch or "railweave-journals")
    if not _OBJECT_STORE.match(place):
        raise StoreError(f"RAILWEAVE_JOURNALS={place}: name a folder, git:REMOTE#BRANCH, s3://, gs:// or az://")
    from nornir_railweave.journals.object_store import open_object_store

    return open_object_store(place)
