"""Find and fill in Jinja templates, for files that are text without a structure, such as FRR's.

Templates in the project's ``templates/`` override those of railweave, file by file. Project templates are untrusted,
like the intent: anyone who may open a pull request can write them. They run in Jinja's sandbox, in a process with
bounded time and memory.
"""

from functools import cache
from pathlib import Path

from railweave.templates.filling import TemplateFaultError as TemplateFaultError
from railweave.templates.filling import Templates as Templates

_PACKAGE = Path(__file__).resolve().parents[1]
_SHIPPED = (_PACKAGE / "_templates", _PACKAGE.parents[1] / "templates")
"""The folders of the templates in a wheel and in a source checkout."""


def find_templates(project: Path | None = None) -> Templates:
    """Return the templates of the project folder ``project``, backed by those that come with railweave."""
    if project is None:
        return _templates_of(None)
    return _templates_of(project.resolve())


def files_of(templates: Templates) -> dict[str, bytes]:
    """Return the content of every template by its name; the first folder that has a file wins."""
    files: dict[str, bytes] = {}
    for folder in templates.folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            files.setdefault(path.relative_to(folder).as_posix(), path.read_bytes())
    return files


@cache
def _templates_of(project: Path | None) -> Templates:
    """Return the templates of a project, its own before the shipped ones."""
    shipped = [folder for folder in _SHIPPED if folder.is_dir()]
    if project is None:
        return Templates(shipped)
    own = project / "templates"
    # In railweave's own checkout the project's folder is the shipped one.
    if own in shipped or not own.is_dir():
        # The cached result: the shipped templates are compiled once for all projects without their own.
        return _templates_of(None)
    if own.is_symlink():
        message = f"{own} is a symbolic link: templates are files of the project itself"
        raise TemplateFaultError(message, fix="make it a folder with the templates in it")
    # Imported only here, because it takes time and most projects have no templates.
    from railweave.templates.worker import TemplateWorker

    return Templates([own, *shipped], TemplateWorker([own, *shipped]).fill)
