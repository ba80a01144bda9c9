"""The files of a folder of the project at a git revision, written where code that reads files finds them."""

from collections.abc import Iterable, Iterator
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from railweave.api.design.git import run_git
from railweave.errors import RailweaveError

# Git's modes of plain files; a symbolic link has 120000, a submodule 160000.
_FILE_MODES = frozenset({"100644", "100755"})


class LinkedFileError(RailweaveError):
    """A file of a revision is a link, so its content is not of that revision."""


def folder_at(revision: str, folder: str) -> Path | None:
    """Return a copy of a folder of the project at a git revision, None where the revision has no files there.

    Equal files of one revision are one copy, which is kept until the process ends. Raises LinkedFileError for a file
    that is not a plain one, RailweaveError with git's own message.
    """
    named = f"{revision}^{{tree}}"
    # With -z git quotes no name. Names are bytes: one that is not UTF-8 survives the way to a file and back.
    listed = _git("ls-tree", "-r", "-z", named, "--", f"{folder}/").decode("utf-8", "surrogateescape")
    if not listed:
        return None
    return _copied(revision, folder, listed) / folder


@cache
def _copied(revision: str, folder: str, listed: str) -> Path:
    """Return the folder into which the files that ``git ls-tree`` listed are written."""
    copy = TemporaryDirectory(prefix=f"railweave-{folder}-")
    _copies.append(copy)
    root = Path(copy.name)
    blob_of = dict(_blobs(revision, folder, listed))
    for name, content in zip(blob_of, _contents(blob_of.values()), strict=True):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return root


def _blobs(revision: str, folder: str, listed: str) -> Iterator[tuple[str, str]]:
    for entry in listed.rstrip("\0").split("\0"):
        facts, _, name = entry.partition("\t")
        mode, _, blob = facts.split()
        if mode not in _FILE_MODES:
            raise LinkedFileError(f"{revision}:{name} is a link: {folder}/ has files of the project itself")
        yield name, blob


def _contents(blobs: Iterable[str]) -> Iterator[bytes]:
    """Yield the contents of blobs, read by one process."""
    read = BytesIO(_git("cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in blobs)))
    while header := read.readline():
        _, _, size_bytes = header.split()
        yield read.read(int(size_bytes))
        # `cat-file --batch` adds a newline to each content.
        read.readline()


_copies: list[TemporaryDirectory[str]] = []
"""The folders of revisions, which are removed when the process ends."""


def _git(*words: str, stdin: str = "") -> bytes:
    done = run_git(*words, stdin=stdin.encode())
    if done.returncode:
        raise RailweaveError(f"git {words[0]}: {done.stderr.decode(errors='replace').strip() or 'failed'}")
    return done.stdout
