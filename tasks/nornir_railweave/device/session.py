"""One host's NAPALM session within a task: opened when asked for, left open for the next task, replaced when lost."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from napalm.base.exceptions import CommandTimeoutException, ConnectionException
from nornir.core.task import Task

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from napalm_sonic.login import HostKeyError
from nornir_railweave.checked_driver import DEVICE_ERRORS, CheckedDriver, blaming, checked
from nornir_railweave.events import Event, Step
from nornir_railweave.target.inventory import CONNECTION
from nornir_railweave.target.sessions import close_session
from railweave.printable import printable
from railweave.wording import command_line

__all__ = [
    "DEVICE_ERRORS",
    "DeviceSession",
    "error_text",
    "has_answered",
    "one_line",
    "said_of",
    "session",
    "unread_event",
]

_LONGEST_TEXT = 400
_RETRY_S = 1.0
_ADDRESS = re.compile(r"\A(\d+(\.\d+){3}|[0-9a-fA-F]*:[0-9a-fA-F:]*:[0-9a-fA-F:.]*): ")
_NO_ANSWER = (ConnectionException, CommandTimeoutException, OSError, EOFError)


def has_answered(fault: BaseException) -> bool:
    """Tell whether the device was reached: the fault is in its answer, not in the connection."""
    return isinstance(fault, DEVICE_ERRORS) and not isinstance(fault, _NO_ANSWER)


def unread_event(name: str, fault: BaseException) -> Event:
    """Return the event of a device that could not be read; ``answered`` where it was reached."""
    details = {"answered": True} if has_answered(fault) else {}
    return Event(Step.UNREACHABLE, name, error_text(fault), details)


class DeviceSession:
    """The driver of one host; a new connection replaces a lost one."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._connection: object = None
        self._driver: CheckedDriver | None = None

    @property
    def napalm_driver(self) -> object:
        """Return the open NAPALM driver; connects where there is no connection.

        Raises ConnectionException, HostKeyError with the command that records the key, and DriverError for any
        exception of the driver that is not NAPALM's.
        """
        host = self._task.host
        try:
            with blaming(str(host.platform), "open"):
                return host.get_connection(CONNECTION, self._task.nornir.config)
        except HostKeyError as refused:
            raise _with_command(refused, host.name) from refused

    @property
    def driver(self) -> CheckedDriver:
        """Return the part of the open NAPALM driver that railweave works with. Raises what ``napalm_driver`` raises."""
        connection = self.napalm_driver
        if self._driver is None or connection is not self._connection:
            self._connection = connection
            self._driver = checked(connection, type(connection).__name__)
        return self._driver

    def close(self) -> None:
        """End the connection, if there is one."""
        close_session(self._task.host)

    def reconnect(self, within_s: float, clock: Clock = SYSTEM_CLOCK) -> CheckedDriver:
        """Return the driver of a new connection, which is tried for ``within_s`` seconds. Raises the last fault."""
        deadline = clock.monotonic() + within_s
        while True:
            self.close()
            try:
                return self.driver
            except DEVICE_ERRORS:
                if clock.monotonic() + _RETRY_S > deadline:
                    raise
                clock.sleep(_RETRY_S)


def _with_command(refused: HostKeyError, name: str) -> HostKeyError:
    """Return the refusal of a host key with the command that records it, which the driver does not know."""
    if refused.changed:
        fix = f"If it was reinstalled, `{command_line('trust', name, '--replace')}` records the new key"
    else:
        fix = f"`{command_line('trust', name)}` records it"
    return HostKeyError(refused.where, changed=refused.changed, fix=fix, at=refused.at)


@contextmanager
def session(task: Task) -> Iterator[DeviceSession]:
    """Yield a session of the task's host; it stays open for the next task unless the block fails."""
    opened = DeviceSession(task)
    try:
        yield opened
    except BaseException:
        opened.close()
        raise


def said_of(fault: BaseException) -> dict[str, str]:
    """Return what a device printed with a fault, as the detail ``said`` of an event; empty if it printed nothing."""
    notes = "\n".join(getattr(fault, "__notes__", ()))
    if notes:
        return {"said": notes}
    return {}


def error_text(fault: BaseException) -> str:
    """Return an exception in one line for a person.

    The line has the type of the exception if that has no text, or is not a device's fault.
    """
    text = one_line(str(fault))
    if not text:
        return type(fault).__name__
    if isinstance(fault, DEVICE_ERRORS):
        return text
    return f"{type(fault).__name__}: {text}"


def one_line(text: str) -> str:
    """Return a driver's message in one line of at most 400 characters.

    Drivers' messages begin with the address of the device; a person sees the device's name before them instead.
    """
    line = printable(" ".join(_ADDRESS.sub("", text).split()))
    if len(line) > _LONGEST_TEXT:
        line = line[: _LONGEST_TEXT - 1] + "…"
    return line
