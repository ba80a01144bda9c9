"""Results of verifications and drift reports, read from the documents that `verify --json` and `drift --json` print."""

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from railweave.errors import UsageError
from railweave.wording import command_line

_VERSION = 1


class _Document(BaseModel):
    # Newer releases may add fields to a version of a document.
    model_config = ConfigDict(extra="ignore", frozen=True)


class VerifiedCheck(_Document):
    """One comparison of a device with the intent."""

    device: str
    kind: str
    subject: str
    expected: str
    actual: str
    ok: bool
    skipped: str = ""


class Verified(_Document):
    """The result of a verification."""

    version: int
    ok: bool
    checks: tuple[VerifiedCheck, ...]
    advice: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[VerifiedCheck, ...]:
        """Return the checks that failed."""
        return tuple(check for check in self.checks if not check.ok)


class DriftedDevice(_Document):
    """The state of a device compared with the intent."""

    state: str
    error: str = ""


class DriftedRow(_Document):
    """A difference of one row or field, as the change that repairs it.

    ``before`` is the running value, ``after`` that of the intent, ``disruption`` that of the repair. ``field`` is None
    for a whole row.
    """

    device: str
    op: str
    table: str
    key: str
    field: str | None
    before: Any
    after: Any
    disruption: str


class Drifted(_Document):
    """A comparison of the running configuration with the intent."""

    version: int
    fabric: str
    target: str
    drift: bool
    devices: dict[str, DriftedDevice]
    changes: tuple[DriftedRow, ...]


_Read = TypeVar("_Read", Verified, Drifted)


def read_verified(path: Path) -> Verified:
    """Return a verification from the document of `railweave verify --json`; raises UsageError for anything else."""
    return _read(path, Verified, "verify")


def read_drifted(path: Path) -> Drifted:
    """Return a comparison from the document of `railweave drift --json`; raises UsageError for anything else."""
    return _read(path, Drifted, "drift")


def _read(path: Path, kind: type[_Read], command: str) -> _Read:
    """Return the document of ``railweave COMMAND --json`` in a file; raises UsageError for any other file."""
    advice = f"name a file that `{command_line(command, '--json')}` printed"
    try:
        document = kind.model_validate_json(path.read_bytes())
    except OSError as exc:
        raise UsageError(f"{path} cannot be read: {exc.strerror}; {advice}") from None
    except ValidationError as exc:
        # Only the first error: a document of another kind lacks every field.
        first_error = exc.errors()[0]
        message = first_error["msg"]
        path_of_value = ".".join(map(str, first_error["loc"]))
        # The error of a file that is not JSON is about no value.
        if path_of_value:
            message = f"{path_of_value}: {message}"
        raise UsageError(f"{path}: {message}; {advice}") from None
    if document.version != _VERSION:
        message = f"{path} is of version {document.version}, this is version {_VERSION}"
        raise UsageError(f"{message}; {advice} of this release")
    return document
