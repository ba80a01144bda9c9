"""What a device said, made fit for a person."""

from collections.abc import Mapping
from typing import Any

from napalm_sonic.codec import strip_ansi
from railweave.secrets import shown_text

_SHOWN_CHARACTERS = 600


def told_of(answer: Mapping[str, Any]) -> str:
    """Return why a transaction failed, in the device's own words where it said some."""
    refused = answer.get("refused")
    if refused:
        return f"{refused['command']}: {device_words(str(refused['said']))}"
    return device_words(str(answer.get("error") or answer.get("outcome")))


def device_words(said: str) -> str:
    """Return the part of an output that tells a person what is wrong: from the last ``Error:`` on, else the end."""
    text = shown_text(_without_frames(strip_ansi(said)))
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("Usage:", 'Try "'))]
    starts = [number for number, line in enumerate(lines) if line.startswith("Error:")]
    told = " / ".join(lines[starts[-1] :] if starts else lines[-4:])
    shown = told if len(told) <= _SHOWN_CHARACTERS else f"{told[:_SHOWN_CHARACTERS]} …"
    return shown or "it said nothing"


def _without_frames(text: str) -> str:
    """Return ``text`` with each Python traceback cut to its last line, the exception: frames tell nobody anything."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines():
        inside = line.startswith("Traceback (most recent call last)") or (inside and line.startswith((" ", "\t")))
        if not inside:
            kept.append(line)
    return "\n".join(kept)


def some(items: list[str]) -> str:
    """Return the first of several names, and how many more there are."""
    return ", ".join(items[:5]) + (f" and {len(items) - 5} more" if len(items) > 5 else "")
