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
    tree = f"{revision}^{{tree}}"
    # With -z git quotes no name. Names are bytes: one that is not UTF-8 survives the way to a file and back.
    listing = _git("ls-tree", "-r", "-z", tree, "--", f"{folder}/").decode("utf-8", "surrogateescape")
    if not listing:
        return None
    return _copied(revision, folder, listing) / folder


@cache
def _copied(revision: str, folder: str, listing: str) -> Path:
    """Write the files of a listing of ``git ls-tree`` into a new folder, and return that folder."""
    copy = TemporaryDirectory(prefix=f"railweave-{folder}-")
    _copies.append(copy)
    root = Path(copy.name)
    blob_of = dict(_blobs(revision, folder, listing))
    for name, content in zip(blob_of, _contents(blob_of.values()), strict=True):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return root


def _blobs(revision: str, folder: str, listing: str) -> Iterator[tuple[str, str]]:
    """Yield name and blob of each file in a listing of ``git ls-tree -z``; raises LinkedFileError for a link."""
    for entry in listing.rstrip("\0").split("\0"):
        # MODE blob HASH, a tab, and the name.
        attributes, _, name = entry.partition("\t")
        mode, _, blob = attributes.split()
        if mode not in _FILE_MODES:
            raise LinkedFileError(f"{revision}:{name} is a link: {folder}/ has files of the project itself")
        yield name, blob


def _contents(blobs: Iterable[str]) -> Iterator[bytes]:
    """Yield the contents of blobs, read by one process."""
    output = BytesIO(_git("cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in blobs)))
    # HASH blob SIZE, a newline, the content and another newline, for each of them.
    for header in iter(output.readline, b""):
        _, _, size_bytes = header.split()
        yield output.read(int(size_bytes))
        output.readline()


_copies: list[TemporaryDirectory[str]] = []
"""The folders of revisions, which are removed when the process ends."""


def _git(*words: str, stdin: str = "") -> bytes:
    result = run_git(*words, stdin=stdin.encode())
    if result.returncode:
        raise RailweaveError(f"git {words[0]}: {result.stderr.decode(errors='replace').strip() or 'failed'}")
    return result.stdout
