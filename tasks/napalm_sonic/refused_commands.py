"""What to do about a command that a switch does not run, where the words of its shell or of sudo do not say it."""

import re

_FIXES = (
    (
        # sudo 1.8 and 1.9; with -n it never asks.
        r"password is required|terminal is required|not in the sudoers|may not run sudo|not allowed to execute",
        "let this user run it by sudo without a password (docs/how-to/rights.md)",
    ),
    (
        r"python3: (command )?not found|.python3.: no such file",
        "the shell of this user needs python3 on its PATH, as SONiC's own users have it",
    ),
    (r"no space left on device", "free space on the switch (`df -h`)"),
)


def fix_of(said: str) -> str:
    """Return the fix for a command that was not run, from its output; empty if the output says enough."""
    for pattern, fix in _FIXES:
        if re.search(pattern, said, re.IGNORECASE):
            return fix
    return ""


def with_fix(said: str) -> str:
    """Return an output for a message, followed by what to do about it."""
    fix = fix_of(said)
    if fix:
        return f"{said}; {fix}"
    return said
