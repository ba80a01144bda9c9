"""asyncssh's line editor at a price that a thousand switches can pay.

It looks at 65,536 characters for every terminal that is opened, and netmiko opens one with every session: that was
half of what a session cost the simulator. What it finds depends on the keys that it handles and on nothing else.
"""

import re
from typing import ClassVar

from sonic_sim.ssh import editor


class FrugalLineEditor(editor.SSHLineEditor):
    """A line editor that remembers which characters are printable."""

    _remembered: ClassVar[dict[frozenset[str], re.Pattern[str]]] = {}

    def _build_printable(self) -> None:
        keys = frozenset(self._keymap)
        if keys not in self._remembered:
            super()._build_printable()
            self._remembered[keys] = self._printable
        self._printable = self._remembered[keys]


def use_frugal_line_editor() -> None:
    """Let all servers of this process use it."""
    setattr(editor, "SSHLineEditor", FrugalLineEditor)  # noqa: B010  a name of another module
