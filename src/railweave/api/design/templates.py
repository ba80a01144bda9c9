"""The templates of a git revision of the project."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from railweave.api.design.git import run_git
from railweave.errors import RailweaveError
from railweave.templates import TemplateFaultError, Templates, files_of, find_templates

_FOLDER = "templates"
# Git's modes of plain files; a symbolic link has 120000, a submodule 160000.
_FILE_MODES = frozenset({"100644", "100755"})


def templates_at(revision: str) -> Templates:
    """Return the templates of the project in the working directory at a git revision.

    Where the working tree has the same files they are one value with its own. Raises TemplateFaultError for a template
    that is no plain file, RailweaveError with git's own message.
    """
    named = f"{revision}^{{tree}}"
    # With -z git quotes no name. Names are bytes: one that is not UTF-8 survives the way to a file and back.
    listed = _git("ls-tree", "-r", "-z", named, "--", f"{_FOLDER}/").decode("utf-8", "surrogateescape")
    own = _of_listing(revision, listed)
    current = find_templates(Path.cwd())
    if files_of(own) == files_of(current):
        return current
    return own


@cache
def _of_listing(revision: str, listed: str) -> Templates:
    """Return the templates that ``git ls-tree`` listed; the files are kept until the process ends."""
    if not listed:
        return find_templates()
    kept = TemporaryDirectory(prefix="railweave-templates-")
    _written.append(kept)
    root = Path(kept.name)
    blob_of = dict(_blobs(revision, listed))
    for name, content in zip(blob_of, _contents(blob_of.values()), strict=True):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return _named_by_revision(find_templates(root), root, revision)


def _blobs(revision: str, listed: str) -> Iterator[tuple[str, str]]:
    for entry in listed.rstrip("\0").split("\0"):
        facts, _, name = entry.partition("\t")
        mode, _, blob = facts.split()
        if mode not in _FILE_MODES:
            raise TemplateFaultError(f"{revision}:{name} is a link: templates are files of the project itself")
        yield name, blob


def _contents(blobs: Iterable[str]) -> Iterator[bytes]:
    """Yield the contents of blobs, read by one process."""
    read = BytesIO(_git("cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in blobs)))
    while header := read.readline():
        _, _, size_bytes = header.split()
        yield read.read(int(size_bytes))
        # `cat-file --batch` adds a newline to each content.
        read.readline()


_written: list[TemporaryDirectory[str]] = []
"""The folders of revisions, which are removed when the process ends."""


def _named_by_revision(templates: Templates, root: Path, revision: str) -> Templates:
    """Return ``templates`` with faults that name the revision, not the folder in which its files are for now."""

    def fill(name: str, values: Mapping[str, object]) -> str:
        try:
            return templates.fill(name, values)
        except TemplateFaultError as fault:
            raise TemplateFaultError(str(fault).replace(f"{root}/", f"{revision}:")) from fault

    return Templates(templates.folders, fill)


def _git(*words: str, stdin: str = "") -> bytes:
    done = run_git(*words, stdin=stdin.encode())
    if done.returncode:
        raise RailweaveError(f"git {words[0]}: {done.stderr.decode(errors='replace').strip() or 'failed'}")
    return done.stdout
