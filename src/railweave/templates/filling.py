"""Templates of some folders: found without leaving the folders, compiled once, run in Jinja's sandbox."""

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
    """Compiled templates of some folders, the first one that has a file wins."""

    __slots__ = ("_compiled", "_elsewhere", "_environment", "_lock", "folders")

    def __init__(
        self, folders: Sequence[Path], elsewhere: Callable[[str, Mapping[str, object]], str] | None = None
    ) -> None:
        """Look in ``folders`` in their order; where ``elsewhere`` is given, it does the work of ``fill``."""
        self.folders = tuple(folders)
        self._elsewhere = elsewhere
        self._environment: Environment | None = None
        self._compiled: dict[str, Template] = {}
        self._lock = Lock()

    def fill(self, name: str, values: Mapping[str, object]) -> str:
        """Return the text of template ``name`` with ``values``; raises TemplateFaultError."""
        if self._elsewhere is not None:
            return self._elsewhere(name, values)
        with self._faults_told(name):
            return self._template(name).render(values)

    def compile(self, name: str) -> None:
        """Compile template ``name``, unless another process does the work, so that forks of this one need not."""
        if self._elsewhere is None:
            with self._faults_told(name):
                self._template(name)

    def pieces(self, name: str, values: Mapping[str, object]) -> Iterator[str]:
        """Yield the text of template ``name`` as it is made, in this process; raises TemplateFaultError."""
        with self._faults_told(name):
            yield from self._template(name).generate(values)

    @contextmanager
    def _faults_told(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as fault:  # templates are programs of the project: whatever they raise is theirs
            raise TemplateFaultError(_fault_text(name, fault, self.folders)) from fault

    def _template(self, name: str) -> "Template":
        if name not in self._compiled:
            with self._lock:  # a worker compiles, the others wait for it; Jinja keeps what it compiled
                if self._environment is None:
                    self._environment = _environment(self.folders)
                template = self._compiled[name] = self._environment.get_template(name)
                # Each filling copies them, and Jinja keeps them as a chain of mappings, which Python walks.
                template.globals = dict(template.globals)
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
    """Return how a template is found: the file of that name in the first folder that has it, never one elsewhere."""
    from jinja2.loaders import split_template_path

    def read(name: str) -> tuple[str, str, Callable[[], bool]] | None:
        parts = split_template_path(name)  # refuses ".."
        for folder in folders:
            path = folder.joinpath(*parts)
            try:
                found = path.resolve(strict=True)
                mode = found.stat().st_mode
            except (OSError, RuntimeError):
                if path.is_symlink():
                    raise TemplateFaultError(f"template {path} is a symbolic link to nothing") from None
                continue
            if not found.is_relative_to(folder.resolve()):
                raise TemplateFaultError(f"template {path} leads out of {folder}: it is a symbolic link to {found}")
            if stat.S_ISREG(mode):
                return found.read_text(encoding="utf-8"), str(path), lambda: True
        return None

    return read


def _fault_text(name: str, fault: Exception, folders: Sequence[Path]) -> str:
    from jinja2 import TemplateError, TemplateSyntaxError

    if isinstance(fault, TemplateFaultError):
        return str(fault)
    if isinstance(fault, TemplateSyntaxError):
        return f"template {fault.filename or name}:{fault.lineno}: {fault.message}"
    # Jinja puts the lines of templates into the traceback.
    lines = traceback.extract_tb(fault.__traceback__)
    inside = [one for one in lines if any(Path(one.filename).is_relative_to(folder) for folder in folders)]
    place = f"{inside[-1].filename}:{inside[-1].lineno}" if inside else name
    text = fault.message if isinstance(fault, TemplateError) else str(fault)
    return f"template {place}: {text or type(fault).__name__}"
