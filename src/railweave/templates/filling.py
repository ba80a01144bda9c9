"""Load templates from a list of folders, compile each once, and fill them in inside Jinja's sandbox."""

import stat
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from railweave.errors import RailweaveError

if TYPE_CHECKING:
    from jinja2 import Environment, Template


class TemplateFaultError(RailweaveError):
    """A template is missing or wrong; the text names file and line."""


class Templates:
    """The templates of a list of folders; the first folder that has a file wins."""

    __slots__ = ("_compiled", "_environment", "_fill_in_worker", "_lock", "folders")

    def __init__(
        self, folders: Sequence[Path], fill_in_worker: Callable[[str, Mapping[str, object]], str] | None = None
    ) -> None:
        """Look for templates in ``folders``, in order; ``fill_in_worker`` fills them in in place of this process."""
        self.folders = tuple(folders)
        self._fill_in_worker = fill_in_worker
        self._environment: Environment | None = None
        self._compiled: dict[str, Template] = {}
        self._lock = Lock()

    def fill(self, name: str, values: Mapping[str, object]) -> str:
        """Return the text of template ``name`` with ``values``; raises TemplateFaultError."""
        if self._fill_in_worker is not None:
            return self._fill_in_worker(name, values)
        with self._template_faults(name):
            return self._template(name).render(values)

    def compile(self, name: str) -> None:
        """Compile template ``name`` before this process forks; does nothing if a worker fills it in."""
        if self._fill_in_worker is None:
            with self._template_faults(name):
                self._template(name)

    def pieces(self, name: str, values: Mapping[str, object]) -> Iterator[str]:
        """Yield the text of template ``name`` piece by piece, in this process; raises TemplateFaultError."""
        with self._template_faults(name):
            yield from self._template(name).generate(values)

    @contextmanager
    def _template_faults(self, name: str) -> Iterator[None]:
        """Raise TemplateFaultError in place of any exception."""
        try:
            yield
        except Exception as fault:  # a template is a program of the project and may raise anything
            raise TemplateFaultError(_fault_text(name, fault, self.folders)) from fault

    def _template(self, name: str) -> "Template":
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


def _reader(folders: Sequence[Path]) -> "Callable[[str], tuple[str, str, Callable[[], bool]] | None]":
    """Return the loader for Jinja: it reads a template from the first folder that has it, never from outside it."""
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
                    raise TemplateFaultError(f"template {path} is a symbolic link to nothing") from None
                continue
            if not target.is_relative_to(folder.resolve()):
                raise TemplateFaultError(f"template {path} leads out of {folder}: it is a symbolic link to {target}")
            if stat.S_ISREG(mode):
                # The function tells Jinja that the file has not changed since.
                return target.read_text(encoding="utf-8"), str(path), lambda: True
        return None

    return read


def _fault_text(name: str, fault: Exception, folders: Sequence[Path]) -> str:
    """Return the text of an error with its template and line."""
    from jinja2 import TemplateError, TemplateSyntaxError

    if isinstance(fault, TemplateFaultError):
        return str(fault)
    if isinstance(fault, TemplateSyntaxError):
        return f"template {fault.filename or name}:{fault.lineno}: {fault.message}"
    place = name
    # Jinja puts the lines of templates into the traceback; the last one is the innermost.
    for frame in traceback.extract_tb(fault.__traceback__):
        if any(Path(frame.filename).is_relative_to(folder) for folder in folders):
            place = f"{frame.filename}:{frame.lineno}"
    text = str(fault)
    if isinstance(fault, TemplateError):
        text = fault.message or ""
    return f"template {place}: {text or type(fault).__name__}"
