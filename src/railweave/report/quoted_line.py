"""A line of an input file as a diagnostic quotes it: without anything that is a secret, or may be one."""

import re
from collections.abc import Sequence

from railweave.masking import masked
from railweave.secrets import HIDDEN, shown_input, shown_text

_OVERRIDES = re.compile(r"""(^|[\s{,])["']?overrides["']?\s*:""")
_SECRETS = re.compile(r"""["']?secrets["']?\s*:""")
_TOP_KEY = re.compile(r"""[A-Za-z"']""")

# The source of a secret in a target file: its key, the same in braces, and both below the name of the secret.
_SOURCE = r"(?:env\s*:\s*[A-Z_][A-Z0-9_]*|file\s*:\s*[\w./~-]+|command\s*:[^{}]*)"
_IN_BRACES = rf"\{{\s*{_SOURCE}\s*\}}"
_NAMED = rf"[\w.-]+\s*:\s*(?:{_IN_BRACES})?"
_ALL_IN_BRACES = rf"\{{\s*(?:{_NAMED}[,\s]*)*\}}"
_SOURCES_ALONE = re.compile(rf"\s*(?:secrets\s*:\s*(?:{_ALL_IN_BRACES})?|{_NAMED}|{_SOURCE})\s*(?:#.*)?")


def quoted_line(lines: Sequence[str]) -> str | None:
    """Return the last of ``lines``, the lines of a file up to a diagnostic, without secrets.

    None for a line of overrides: their rows may hold a secret that nothing in the line shows.
    """
    block = _block(lines)
    if block is _OVERRIDES:
        return None
    if block is _SECRETS:
        return _line_of_secrets(lines[-1])
    return shown_input(lines[-1])


def _block(lines: Sequence[str]) -> re.Pattern[str] | None:
    """Return the pattern of the block that the last line belongs to, None for a block without a rule of its own."""
    # A search instead of a parser: the diagnostic may be that the file is not valid YAML.
    for line in reversed(lines):
        if _OVERRIDES.search(line):
            return _OVERRIDES
        if _SECRETS.match(line):
            return _SECRETS
        if _TOP_KEY.match(line):
            return None
    return None


def _line_of_secrets(line: str) -> str:
    """Return a line below ``secrets``: where a secret comes from is shown, the rest may be the secret itself."""
    if _SOURCES_ALONE.fullmatch(line):
        before, command, arguments = line.partition("command")
        return masked(before) + command + shown_text(arguments)
    name, colon, _ = line.partition(":")
    if not colon:
        return HIDDEN
    return f"{masked(name)}: {HIDDEN}"
