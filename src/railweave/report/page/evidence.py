"""What was found on the devices, read back from the documents that `verify --json` and `drift --json` print."""

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from railweave.errors import UsageError
from railweave.wording import command_line

_VERSION = 1


class _Document(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class FoundCheck(_Document):
    """One comparison of a device with the intent."""

    device: str
    kind: str
    subject: str
    expected: str
    actual: str
    ok: bool
    skipped: str = ""


class Verified(_Document):
    """A verification."""

    version: int
    ok: bool
    checks: tuple[FoundCheck, ...]
    advice: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[FoundCheck, ...]:
        """Return the checks that do not hold."""
        return tuple(check for check in self.checks if not check.ok)


class DriftedDevice(_Document):
    """How a device stands to the intent."""

    state: str
    error: str = ""


class DriftedRow(_Document):
    """A difference between what runs and what the intent says."""

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
    advice = f"name a file that `{command_line(command, '--json')}` printed"
    try:
        found = kind.model_validate_json(path.read_bytes())
    except OSError as exc:
        raise UsageError(f"{path} cannot be read: {exc.strerror}; {advice}") from None
    except ValidationError as exc:
        first = exc.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path}: {place + ': ' if place else ''}{first['msg']}; {advice}") from None
    if found.version != _VERSION:
        raise UsageError(f"{path} is of version {found.version}, this is version {_VERSION}; {advice} of this release")
    return found
