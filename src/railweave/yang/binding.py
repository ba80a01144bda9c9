"""The Python binding of libyang: the only module that imports it or depends on its version.

A binding is compiled against the C library of its own major version: 2 in Debian 12, 3 in Debian 13 and SONiC 202605.
They report the place of an error differently; everything else that is used here is the same.
"""

import ctypes
import logging
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from railweave.errors import RailweaveError
from railweave.yang.schema import Failure

EXTRAS = {2: "yang", 3: "yang3"}
"""The extras that install a binding, by the major version of the C library."""
DEBIAN = {2: "libyang2-dev of Debian 12", 3: "libyang-dev of Debian 13"}
"""The packages that a binding is compiled against."""
# The newest major version of the C library to look for, above those that a binding exists for.
_NEWEST = 5

_MANDATORY = re.compile(r'Mandatory node "([^"]+)"')
_PREFIX = "failed to parse data tree: "
_LOCATION = re.compile(
    r"""(?P<words>.*?):[ ](?:Schema[ ]location[ ]"(?P<schema>[^"]*)")?
        (?:(?:,[ ])?[Dd]ata[ ]location[ ]"(?P<path>.*?)")?(?:,[ ]line[ ]number[ ](?P<line>\d+))?\.(?:$|:[ ])""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Binding:
    """The installed binding: its module, which has no type hints, and its major version."""

    module: Any
    major: int

    def context(self, folder: Path) -> Any:
        """Return an empty context for the models of a folder; they are compiled once all are loaded."""
        # libyang keeps the location of an error only if a log callback is set; the log itself is not needed.
        logging.getLogger("libyang").propagate = False
        self.module.configure_logging(True)
        return self.module.Context(str(folder), explicit_compile=True)

    @property
    def error(self) -> type[Exception]:
        """Return the exception that the library raises."""
        error_type: type[Exception] = self.module.LibyangError
        return error_type

    def failure(self, error: Exception) -> Failure:
        """Return the first error that an exception of the library reports, with its place."""
        if self.major == 2:
            return read_failure(str(error))
        errors = getattr(error, "errors", ())
        if not errors:
            return Failure(str(error).removeprefix(_PREFIX))
        first_error = errors[0]
        words = first_error.msg or ""
        path = first_error.data_path or first_error.schema_path or ""
        missing_node = _MANDATORY.match(words)
        if missing_node and first_error.data_path:
            # libyang 3 has the path of the row that lacks the node, libyang 2 that of the node itself.
            path = f"{first_error.data_path}/{missing_node[1]}"
        return Failure(words, path, first_error.line or 0)


def read_failure(text: str) -> Failure:
    """Return the first error in the text of an exception of binding 2, which joins all errors with their locations."""
    text = text.removeprefix(_PREFIX)
    match = _LOCATION.match(text)
    if match is None:
        return Failure(text)
    return Failure(match["words"], match["path"] or match["schema"] or "", int(match["line"] or 0))


@cache
def load_binding() -> Binding:
    """Return the installed binding; raises RailweaveError if there is none, or an unsupported one."""
    try:
        version = version_of("libyang")
    except PackageNotFoundError:
        version = ""
    try:
        module = import_module("libyang")
    except ImportError as error:
        raise RailweaveError(_unusable(version, str(error), c_libraries())) from error
    # A binding without package metadata counts as the oldest one.
    major = min(EXTRAS)
    if version:
        major = int(version.partition(".")[0])
    if major not in EXTRAS:
        raise RailweaveError(_unusable(version, "", c_libraries()))
    return Binding(module, major)


def c_libraries() -> tuple[int, ...]:
    """Return the major versions of libyang's C library that this machine has."""
    return tuple(major for major in range(1, _NEWEST + 1) if _has_library(f"libyang.so.{major}"))


def _has_library(name: str) -> bool:
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def _unusable(version: str, import_error: str, libraries: tuple[int, ...]) -> str:
    """Return why no binding can be used, and how to install the one for the C library of this machine.

    ``version`` is that of the installed binding, empty for none; ``libraries`` are the major versions of the C library.
    """
    reason = "validation by YANG needs libyang, and its Python binding is not installed"
    if version and import_error:
        reason = f"libyang's Python binding {version} cannot be loaded: {import_error}"
    elif version:
        reason = f"libyang's Python binding {version} is not supported; {' and '.join(map(str, EXTRAS))} are"
    supported = [major for major in libraries if major in EXTRAS]
    if supported:
        newest = supported[-1]
        return (
            f"{reason}. This machine has the C library libyang {newest}: install the binding for it with "
            f"`pip install --force-reinstall --no-deps 'libyang=={newest}.*'`, or with railweave by "
            f"`pip install 'railweave[{EXTRAS[newest]}]'`; it is compiled against the headers ({DEBIAN[newest]})"
        )
    library = "its C library is not there"
    if libraries:
        library = f"its C library is there in version {', '.join(map(str, libraries))} alone"
    installations = [f"{DEBIAN[major]} and `pip install 'railweave[{EXTRAS[major]}]'`" for major in EXTRAS]
    return f"{reason}, and {library}: install {' or '.join(installations)}"
