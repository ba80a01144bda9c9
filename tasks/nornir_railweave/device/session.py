"""One host's NAPALM session within a task: opened when asked for, left open for the next task, replaced when lost."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from napalm.base.exceptions import CommandTimeoutException, ConnectionException, NapalmException
from nornir.core.task import Task

from napalm_sonic.clock import SYSTEM_CLOCK, Clock
from napalm_sonic.login import HostKeyError
from nornir_railweave.events import Event, Step
from nornir_railweave.target.inventory import CONNECTION
from nornir_railweave.target.sessions import close_session
from railweave.printable import printable
from railweave.sonic.document import DocumentError
from railweave.wording import command_line

_LONGEST_TEXT = 400
_RETRY_S = 1.0
_ADDRESS = re.compile(r"\A(\d+(\.\d+){3}|[0-9a-fA-F]*:[0-9a-fA-F:]*:[0-9a-fA-F:.]*): ")

DEVICE_ERRORS = (NapalmException, OSError, EOFError, DocumentError)
"""What the device, its answer or the way to it is at fault for. Anything else is a mistake of the program: no task
catches it, so that it is reported as one (``rolling_out``, or by the command)."""


_NO_ANSWER = (ConnectionException, CommandTimeoutException, OSError, EOFError)


def has_answered(fault: BaseException) -> bool:
    """Tell whether a device was reached, and what it answered is the fault: it is not unreachable."""
    return isinstance(fault, DEVICE_ERRORS) and not isinstance(fault, _NO_ANSWER)


def unread_event(name: str, fault: BaseException) -> Event:
    """Return the event of a device that could not be read; ``answered`` where it was reached."""
    return Event(Step.UNREACHABLE, name, error_text(fault), {"answered": True} if has_answered(fault) else {})


class Session:
    """The driver of one host; a new connection replaces a lost one."""

    def __init__(self, task: Task) -> None:
        self._task = task

    @property
    def driver(self) -> Any:
        """Return the open NAPALM driver; connects where there is none. Raises ConnectionException."""
        try:
            return self._task.host.get_connection(CONNECTION, self._task.nornir.config)
        except HostKeyError as refused:
            raise _with_command(refused, self._task.host.name) from refused

    def close(self) -> None:
        """End the connection, if there is one."""
        close_session(self._task.host)

    def reconnect(self, within_s: float, clock: Clock = SYSTEM_CLOCK) -> Any:
        """Return a new driver, trying for ``within_s`` seconds; raises the last fault."""
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
    trust = command_line("trust", name, *(["--replace"] if refused.changed else []))
    fix = f"If it was reinstalled, `{trust}` records the new key" if refused.changed else f"`{trust}` records it"
    return HostKeyError(refused.where, changed=refused.changed, fix=fix, at=refused.at)


@contextmanager
def session(task: Task) -> Iterator[Session]:
    """Give a session of the task's host, and leave it open for the next task unless the block fails."""
    opened = Session(task)
    try:
        yield opened
    except BaseException:
        opened.close()
        raise


def said_of(fault: BaseException) -> dict[str, str]:
    """Return all that a device printed of a fault, for the journal; nothing where it is not known."""
    notes = "\n".join(getattr(fault, "__notes__", ()))
    return {"said": notes} if notes else {}


def error_text(fault: BaseException) -> str:
    """Return an exception in one line for a person; its kind where it says nothing or is no device's fault.

    The driver's messages begin with the address of the device; a person sees the device's name before them instead.
    """
    text = printable(" ".join(_ADDRESS.sub("", str(fault)).split()))
    if len(text) > _LONGEST_TEXT:
        text = text[: _LONGEST_TEXT - 1] + "…"
    if not text:
        return type(fault).__name__
    return text if isinstance(fault, DEVICE_ERRORS) else f"{type(fault).__name__}: {text}"
