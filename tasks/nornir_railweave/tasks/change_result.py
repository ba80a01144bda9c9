"""The result of a task that changes a device."""

from typing import Any

from nornir.core.inventory import Host
from nornir.core.task import Result

from napalm_sonic.compare import difference
from railweave.sonic.delta.change import Delta


class ChangeResult(Result):
    """A result of Nornir whose ``diff`` is the text of a delta, as ``compare_config`` prints it.

    The text is made when it is read. For the first provisioning of a switch it takes as much processor time as reading
    the switch, and only those who run the tasks themselves print it.
    """

    def __init__(
        self, host: Host, delta: Delta, result: Any = None, *, changed: bool = False, failed: bool = False
    ) -> None:
        """Take the change of ``host``; the other arguments are Nornir's."""
        self._delta = delta
        super().__init__(host, result, changed=changed, failed=failed)

    @property
    def diff(self) -> str:
        """Return the difference as text, secrets hidden; empty without changes."""
        return difference(self._delta)

    @diff.setter
    def diff(self, text: str) -> None:
        # Nornir's constructor assigns its default, an empty text.
        if text:
            raise AttributeError("the diff of a change follows from its delta")
