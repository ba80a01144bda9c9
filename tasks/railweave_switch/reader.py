"""The reader: an SSH login that can only read a switch.

Its key is in ``authorized_keys`` with ``restrict,command="/usr/local/bin/railweave-switch reader"``. So every command
of the client arrives here as text, and only verbs that change nothing are passed on to sudo, which allows the reader no
other command (docs/how-to/rights.md).
"""

from __future__ import annotations

import shlex

READ_ONLY = ("read", "observe", "probe", "check", "status")
"""The verbs that the reader may call."""


class DeniedError(Exception):
    """The reader may not run the command."""


def allowed_command(asked: str, program: str) -> list[str]:
    """Return the words of the command that a client asked for; raises DeniedError."""
    try:
        words = shlex.split(asked)
    except ValueError:
        words = []
    if words[:3] != ["sudo", "-n", program] or len(words) < 4 or words[3] not in READ_ONLY:
        verbs = ", ".join(READ_ONLY)
        raise DeniedError(f"this login only reads: `sudo -n {program}` with {verbs}. Changes need the writer's key")
    return words
