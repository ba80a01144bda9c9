"""Load templates from a list of folders, compile each once, and fill them in inside Jinja's sandbox."""

import stat
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from railweave.diagnostics import Where, error
from railweave.errors import RefusedError

if TYPE_CHECKING:
    from jinja2 import Environment, Template

_FIX = "correct the template"


class TemplateFaultError(RefusedError):
    """A template is missing or wrong; its diagnostic names file and line."""

    def __init__(self, message: str, where: Where | None = None, *, fix: str = _FIX) -> None:
        """Refuse a template; Jinja knows no columns, so places are beginnings of lines."""
        super().__init__([error("RW406", message, where, fix=fix)])


class Templates:
    """The templates of a list of folders; the first folder that has a file wins."""

    __slots__ = ("_compiled", "_environment", "_fill_in_worker", "_lock", "folders")

    def __init__(
        self, folders: Sequence[Path], fill_in_worker: Callable[[str, Mapping[str, object]], str] | None = None
    ) -> None:
        """Look for templates in ``folders``, in order.

        ``fill_in_worker`` fills a template in with its values in another process, None fills it in here.
        """
        self.folders = tuple(folders)
        self._fill_in_worker = fill_in_worker
        self._environment: Environment | None = None
        self._compiled: dict[str, Template] = {}
        self._lock = Lock()

    def fill(self, name: str, values: Mapping[str, object]) -> str:
        """Return the text of template ``name`` with ``values``; raises TemplateFaultError."""
        if self._fill_in_worker is not None:
            return self._fill_in_worker(name, values)
        with self._template_faults(name, values):
            return self._template(name).render(values)

    def compile(self, name: str) -> None:
        """Compile template ``name`` before this process forks; does nothing if a worker fills it in.

        Raises TemplateFaultError.
        """
        if self._fill_in_worker is None:
            with self._template_faults(name, ()):
                self._template(name)

    def pieces(self, name: str, values: Mapping[str, object]) -> Iterator[str]:
        """Yield the text of template ``name`` piece by piece, in this process; raises TemplateFaultError."""
        with self._template_faults(name, values):
            yield from self._template(name).generate(values)

    @contextmanager
    def _template_faults(self, name: str, values: Collection[str]) -> Iterator[None]:
        """Raise TemplateFaultError in place of any exception; ``values`` has the names of the template's values."""
        try:
            yield
        except Exception as fault:  # a template is a program of the project and may raise anything
            raise _fault(name, fault, values, self.folders) from fault

    def _template(self, name: str) -> "Template":
        """Return a compiled template; compiled once, whichever thread asks first."""
        if name not in self._compiled:
            # One thread compiles while the others wait; then get_template returns the copy that Jinja keeps.
            with self._lock:
                if self._environment is None:
                    self._environment = _environment(self.folders)
                template = self._environment.get_template(name)
                # render() copies the globals each time; a dict is copied faster than Jinja's ChainMap.
                template.globals = dict(template.globals)
                self._compiled[name] = template
        return self._compiled[name]


def _environment(folders: Sequence[Path]) -> "Environment":
    """Return an environment of Jinja that loads templates from ``folders``, the first one first."""
    from jinja2 import FunctionLoader, StrictUndefined

    from railweave.templates.sandbox import Sandbox

    return Sandbox(
        loader=FunctionLoader(_reader(folders)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # the text goes to routers, not to browsers
        auto_reload=False,
    )


_LINK_FIX = "write the file itself into `templates/`"


def _reader(folders: Sequence[Path]) -> "Callable[[str], tuple[str, str, Callable[[], bool]] | None]":
    """Return a loader for Jinja, which reads a template from the first folder that has it.

    The loader raises TemplateFaultError for a symbolic link to nothing or to a file outside the folder.
    """
    from jinja2.loaders import split_template_path

    def read(name: str) -> tuple[str, str, Callable[[], bool]] | None:
        parts = split_template_path(name)  # refuses ".."
        for folder in folders:
            path = folder.joinpath(*parts)
            try:
                target = path.resolve(strict=True)
                mode = target.stat().st_mode
            except (OSError, RuntimeError):  # RuntimeError: a loop of symbolic links
                if path.is_symlink():
                    message = f"template {path} is a symbolic link to nothing"
                    raise TemplateFaultError(message, Where(str(path)), fix=_LINK_FIX) from None
                continue
            if not target.is_relative_to(folder.resolve()):
                message = f"template {path} leads out of {folder}: it is a symbolic link to {target}"
                raise TemplateFaultError(message, Where(str(path)), fix=_LINK_FIX)
            if stat.S_ISREG(mode):
                # The function tells Jinja that the file has not changed since.
                return target.read_text(encoding="utf-8"), str(path), lambda: True
        return None

    return read


def _fault(name: str, fault: Exception, values: Collection[str], folders: Sequence[Path]) -> TemplateFaultError:
    """Return the fault for an exception of Jinja or of a template's own code, with its template, line and fix.

    ``values`` are the names of the values that the template ``name`` was given.
    """
    from jinja2 import TemplateError, TemplateNotFound, TemplateSyntaxError, UndefinedError

    if isinstance(fault, TemplateFaultError):
        return fault
    if isinstance(fault, TemplateSyntaxError):
        where = Where(fault.filename or name, fault.lineno, 1)
        return TemplateFaultError(f"not a Jinja template: {fault.message}", where, fix=_SYNTAX_FIX)
    place = _innermost_place(name, fault, folders)
    reason = str(fault)
    if isinstance(fault, TemplateError):
        reason = fault.message or ""
    if isinstance(fault, TemplateNotFound):
        return TemplateFaultError(f"there is no template {reason}", place, fix=_NOT_FOUND_FIX)
    if isinstance(fault, UndefinedError):
        return TemplateFaultError(reason, place, fix=f"use one of the template's values: {', '.join(sorted(values))}")
    return TemplateFaultError(reason or type(fault).__name__, place)


_SYNTAX_FIX = "correct the statement, as in Jinja's template designer documentation"
_NOT_FOUND_FIX = "write the file into `templates/`, or name one that is there"


def _innermost_place(name: str, fault: Exception, folders: Sequence[Path]) -> Where:
    """Return the innermost line of a template in a traceback, or the template alone if the traceback has none.

    Jinja puts the lines of templates into tracebacks.
    """
    place = Where(name)
    for frame in traceback.extract_tb(fault.__traceback__):
        if any(Path(frame.filename).is_relative_to(folder) for folder in folders):
            place = Where(frame.filename, frame.lineno or 0, 1)
    return place
