"""A project's own switch models and NICs at a git revision."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from railweave.api.design.revision_files import folder_at
from railweave.catalog.load import OWN_MODELS, own_models_in
from railweave.diagnostics import Diagnostic
from railweave.errors import RefusedError


@contextmanager
def models_at(revision: str) -> Iterator[None]:
    """Make `load_catalog` return the project's models of a git revision in place of those of the working tree.

    Raises RailweaveError with git's own message, or if a file is a link. A RefusedError for a model's file names the
    file with the revision.
    """
    folder = folder_at(revision, str(OWN_MODELS))
    with own_models_in(folder):
        try:
            yield
        except RefusedError as refused:
            raise RefusedError(_named(diagnostic, folder, revision) for diagnostic in refused.diagnostics) from refused


def _named(diagnostic: Diagnostic, folder: Path | None, revision: str) -> Diagnostic:
    """Return a diagnostic that names the revision, not the folder in which its files are for now."""
    if folder is None:
        return diagnostic
    where = diagnostic.where
    file = where.file.replace(f"{folder.parent}/", f"{revision}:")
    return diagnostic._replace(where=where._replace(file=file))
