"""The forms in which SONiC prints its state, read into plain values. Pure text in, values out."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from napalm.base.exceptions import CommandErrorException

from napalm_sonic.bounds import TooLargeError
from napalm_sonic.decoding import decodes, parse_json, refuse_constant
from railweave.printable import printable
from railweave.secrets import shown_text
from railweave_switch.steps import headline

_SHOWN_CHARACTERS = 600
_SHOWN_NAMES = 5
# Each attempt to read JSON from a line may read everything after it, so a hostile output would take quadratic time.
_MOST_STARTS = 50
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_DIGITS = re.compile(r"(\d+)")
_SHOWN_INTERFACE = re.compile(r"(Ethernet|PortChannel|Vlan|Loopback|eth|mgmt)[-\w.]*\d")
# The bits of IEEE 802.1AB's capability field, the highest bit of the first octet first.
_LLDP_CAPABILITIES = ("other", "repeater", "bridge", "wlan-access-point", "router", "telephone", "docsis", "station")


def strip_ansi(text: str) -> str:
    """Return the text without terminal color codes (SONiC emits them even in some captured outputs)."""
    return _ANSI.sub("", text)


@lru_cache(maxsize=65536)
def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key under which Ethernet8 comes before Ethernet64."""
    return tuple(_sort_key(part) for part in _DIGITS.split(name) if part)


def _sort_key(part: str) -> tuple[int, int, str]:
    # Numbers sort before words, and never meet them in one comparison.
    if part.isdigit():
        return 0, int(part), ""
    return 1, 0, part


def first_json(text: str, command: str) -> Any:
    """Return the JSON value that a command printed, without warning lines before it; ``{}`` for no output.

    Raises CommandErrorException, which quotes the first line, if the output has no JSON.
    """
    clean = strip_ansi(text)
    if not clean.strip():
        return {}
    decoder = json.JSONDecoder(parse_constant=refuse_constant)
    for start in islice(_json_starts(clean), _MOST_STARTS):
        try:
            # Without what follows the value.
            return parse_json(clean[start:], lambda rest: decoder.raw_decode(rest)[0])
        except TooLargeError as error:
            raise CommandErrorException(f"{command!r}: the answer is refused: {error}") from None
        except ValueError:
            continue
    first_line = clean.strip()[:_SHOWN_CHARACTERS].splitlines()[0]
    quote = printable(shown_text(first_line))[:200]
    raise CommandErrorException(f"{command!r} printed no JSON but: {quote}")


def _json_starts(text: str) -> Iterator[int]:
    """Yield the positions of lines that begin with an object or a list."""
    # Warnings before the JSON may have braces inside a line.
    for match in re.finditer(r"^[ \t]*([{\[])", text, re.MULTILINE):
        yield match.start(1)


@decodes("what the databases hold")
def database_rows(text: str, command: str) -> dict[str, dict[str, str]]:
    """Return ``{key: {field: value}}`` of a ``sonic-db-dump``; keys of other Redis types than a hash are left out."""
    entries = first_json(text, command)
    if not isinstance(entries, Mapping):
        raise CommandErrorException(f"{command!r} printed no object of keys")
    rows: dict[str, dict[str, str]] = {}
    for key, entry in entries.items():
        fields = entry.get("value") if isinstance(entry, Mapping) else None
        if isinstance(fields, Mapping):
            rows[key] = {str(field): str(value) for field, value in fields.items()}
    return rows


def labeled(text: str) -> dict[str, str]:
    """Return the ``Label: value`` lines of ``show version``, the first of each label."""
    values: dict[str, str] = {}
    for line in strip_ansi(text).splitlines():
        label, colon, value = line.partition(":")
        if colon and label and not label.startswith(" "):
            # The first one: docker images are listed below, with labels of their own.
            values.setdefault(label.strip(), value.strip())
    return values


def is_network_interface(name: str) -> bool:
    """Tell whether an interface of the kernel is one of the network, not one of the host such as ``docker0``."""
    return _SHOWN_INTERFACE.fullmatch(name) is not None


def counter(text: str | None) -> int:
    """Return a counter, -1 (NAPALM's "unknown") where it is missing or ``N/A``."""
    if text is None or not text.isdecimal():
        return -1
    return int(text)


def lldp_capabilities(octets: str) -> list[str]:
    """Return the names of a capability field such as ``28 00`` (bridge and router)."""
    try:
        first_octet = int(octets.split(maxsplit=1)[0], 16)
    except (IndexError, ValueError):
        return []
    return [name for bit, name in enumerate(_LLDP_CAPABILITIES) if first_octet & (0x80 >> bit)]


def error_of(answer: Mapping[str, Any], secrets: Iterable[str] = ()) -> str:
    """Return why a transaction failed, with ``secrets`` hidden.

    It is the output of the command that refused, if there is one, and the error of the answer otherwise.
    """
    refused = answer.get("refused")
    if refused:
        command = shown_text(str(refused["command"]), secrets)
        return f"{command}: {error_text(str(refused['said']), secrets)}"
    return error_text(str(answer.get("error") or answer.get("outcome")), secrets)


def error_text(said: str, secrets: Iterable[str] = ()) -> str:
    """Return the part of an output that tells a person what is wrong (``headline``), without secrets."""
    text = printable(shown_text(strip_ansi(said), secrets))
    reason = headline(text)
    if len(reason) > _SHOWN_CHARACTERS:
        return f"{reason[:_SHOWN_CHARACTERS]} …"
    return reason or "it said nothing"


def some(items: list[str]) -> str:
    """Return the first of several names, and how many more there are."""
    names = ", ".join(items[:_SHOWN_NAMES])
    if len(items) <= _SHOWN_NAMES:
        return names
    return f"{names} and {len(items) - _SHOWN_NAMES} more"
