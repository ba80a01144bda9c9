"""The templates of a git revision of the project."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from railweave.api.design.revision_files import LinkedFileError, folder_at
from railweave.templates import TemplateFaultError, Templates, files_of, find_templates

_FOLDER = "templates"


def templates_at(revision: str) -> Templates:
    """Return the templates of the project in the working directory at a git revision.

    If the working tree has the same files, its own templates are returned. Raises TemplateFaultError for a template
    that is not a plain file, RailweaveError with git's own message.
    """
    try:
        folder = folder_at(revision, _FOLDER)
    except LinkedFileError as fault:
        raise TemplateFaultError(str(fault)) from fault
    own = _templates_in(revision, folder)
    current = find_templates(Path.cwd())
    if files_of(own) == files_of(current):
        return current
    return own


@cache
def _templates_in(revision: str, folder: Path | None) -> Templates:
    if folder is None:
        return find_templates()
    return _named_by_revision(find_templates(folder.parent), folder.parent, revision)


def _named_by_revision(templates: Templates, root: Path, revision: str) -> Templates:
    """Return ``templates`` with faults that name the revision, not the folder in which its files are for now."""

    def by_revision(text: str) -> str:
        return text.replace(f"{root}/", f"{revision}:")

    def fill(name: str, values: Mapping[str, object]) -> str:
        try:
            return templates.fill(name, values)
        except TemplateFaultError as fault:
            (diagnostic,) = fault.diagnostics
            where = diagnostic.where._replace(file=by_revision(diagnostic.where.file))
            raise TemplateFaultError(by_revision(diagnostic.message), where, fix=diagnostic.fix) from fault

    return Templates(templates.folders, fill)
