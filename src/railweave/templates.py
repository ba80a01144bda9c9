"""Finding and filling in Jinja templates: the text that is really text, such as an FRR file.

A template is looked for in the project's ``templates/`` first, then among those that come with railweave, so a project
overrides single files. Templates are compiled once and run in Jinja's sandbox, because they come with the intent.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.errors import RailweaveError

if TYPE_CHECKING:
    from jinja2 import Environment, Template

_PACKAGE = Path(__file__).resolve().parent
_SHIPPED = (_PACKAGE / "_templates", _PACKAGE.parents[1] / "templates")
"""Where a wheel and where a source checkout keep the templates."""


class TemplateFaultError(RailweaveError):
    """A template is missing or wrong; the text names file and line."""


class Templates:
    """Compiled templates of some folders, the first one that has a file wins."""

    __slots__ = ("_compiled", "_environment", "folders")

    def __init__(self, folders: Sequence[Path]) -> None:
        """Look in ``folders`` in their order; nothing is read before it is needed."""
        self.folders = tuple(folders)
        self._environment: Environment | None = None
        self._compiled: dict[str, Template] = {}

    def fill(self, name: str, values: Mapping[str, object]) -> str:
        """Return the text of template ``name`` with ``values``; raises TemplateFaultError."""
        from jinja2 import TemplateError

        try:
            template = self._compiled.get(name) or self._compile(name)
            return template.render(values)
        except TemplateError as fault:
            raise TemplateFaultError(_fault_text(name, fault)) from fault

    def _compile(self, name: str) -> "Template":
        if self._environment is None:
            self._environment = _environment(self.folders)
        self._compiled[name] = self._environment.get_template(name)
        return self._compiled[name]


def find_templates(project: Path | None = None) -> Templates:
    """Return the templates of the project folder ``project``, backed by those that come with railweave."""
    return _templates_of(project.resolve() if project else None)


@cache
def _templates_of(project: Path | None) -> Templates:
    own = [project / "templates"] if project else []
    return Templates([folder for folder in (*own, *_SHIPPED) if folder.is_dir()])


def _environment(folders: Sequence[Path]) -> "Environment":
    from jinja2 import FileSystemLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(
        loader=FileSystemLoader([str(folder) for folder in folders]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # the text goes to routers, not to browsers
        auto_reload=False,
    )


def _fault_text(name: str, fault: Any) -> str:
    place = f"{fault.filename or name}:{fault.lineno}" if hasattr(fault, "lineno") else name
    return f"template {place}: {fault.message or type(fault).__name__}"
