"""Finding and filling in Jinja templates: the text that is really text, such as an FRR file.

A template is looked for in the project's ``templates/`` first, then among those that come with railweave, so a project
overrides single files. Those of a project come with the intent, from whoever may open a pull request: they run in
Jinja's sandbox, and in a process whose time and memory are bounded.
"""

from functools import cache
from pathlib import Path

from railweave.templates.filling import TemplateFaultError as TemplateFaultError
from railweave.templates.filling import Templates as Templates

_PACKAGE = Path(__file__).resolve().parents[1]
_SHIPPED = (_PACKAGE / "_templates", _PACKAGE.parents[1] / "templates")
"""Where a wheel and where a source checkout keep the templates."""


def find_templates(project: Path | None = None) -> Templates:
    """Return the templates of the project folder ``project``, backed by those that come with railweave."""
    return _templates_of(project.resolve() if project else None)


def files_of(templates: Templates) -> dict[str, bytes]:
    """Return what templates consist of: every file that may be filled in, by its name, as the first folder has it."""
    found: dict[str, bytes] = {}
    for folder in templates.folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            found.setdefault(path.relative_to(folder).as_posix(), path.read_bytes())
    return found


@cache
def _templates_of(project: Path | None) -> Templates:
    shipped = [folder for folder in _SHIPPED if folder.is_dir()]
    own = project / "templates" if project else None
    if own is None:
        return Templates(shipped)
    if own in shipped or not own.is_dir():
        return _templates_of(None)  # compiled once for all projects without templates
    if own.is_symlink():
        raise TemplateFaultError(f"{own} is a symbolic link: templates are files of the project itself")
    from railweave.templates.worker import TemplateWorker  # late: most projects have no templates

    return Templates([own, *shipped], TemplateWorker([own, *shipped]).fill)
