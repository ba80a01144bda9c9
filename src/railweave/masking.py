"""One mask for what must not be read: in whatever leaves the program it puts a reference in place of a secret's value.

A value is recognized by itself and not by its place, so it is also found in the words of a device, and quoted, escaped
for a shell, JSON, CSV, HTML or a URL, or encoded in base64. A secret that was resolved is masked for as long as the
process lives, whoever writes or prints.
"""

import base64
import re
from collections.abc import Mapping
from functools import lru_cache
from html.entities import codepoint2name
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")

SHORTEST = 6
"""A shorter value stands in many words that have nothing to do with it: masked, it would spoil them and show itself."""

_REFERENCE = r"\{secret:\s?[A-Za-z_][\w.-]*\}"
_BARE_RUN = re.compile(r"[A-Za-z0-9]+")
"""What no encoding but base64 alters; the longest run of a value is looked for before its pattern is."""
_BASE64_SHARED = (0, 2, 3)
"""By the number of octets before a value in a group of three: the characters that these decide too (RFC 4648)."""


class Mask:
    """Values that must not be read, each with what stands in their place."""

    def __init__(self, values: Mapping[str, str]) -> None:
        """Take ``{value: shown}``; empty values are left out."""
        self._values = sorted(((value, shown) for value, shown in values.items() if value), key=_longest_first)

    def text(self, text: str) -> str:
        """Return ``text`` with every value masked; a reference that is there already stays as it is."""
        present = [(value, shown) for value, shown in self._values if _may_hold(text, value)]
        if not present:
            return text
        patterns = "|".join(f"(?P<v{number}>{_pattern(value)})" for number, (value, _) in enumerate(present))
        shown_as = {f"v{number}": shown for number, (_, shown) in enumerate(present)}
        return re.sub(
            f"(?P<kept>{_REFERENCE})|{patterns}",
            lambda match: shown_as.get(match.lastgroup or "", match[0]),
            text,
        )


def _longest_first(pair: tuple[str, str]) -> tuple[int, str]:
    return -len(pair[0]), pair[0]


class _Resolved:
    """The secrets that this process resolved; any of its threads may resolve one, and any may print."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._shown: dict[str, str] = {}
        self.mask: Mask | None = None

    def add(self, value: str, shown: str) -> None:
        with self._lock:
            if self._shown.setdefault(value, shown) == shown:
                self.mask = Mask(self._shown)

    def clear(self) -> None:
        with self._lock:
            self._shown.clear()
            self.mask = None


_resolved = _Resolved()


def mask_from_now_on(value: str, shown: str) -> None:
    """Mask a resolved secret in everything that this process writes or prints from now on."""
    _resolved.add(value, shown)


def forget_resolved() -> None:
    """Mask no secret any more: another command begins in the same process."""
    _resolved.clear()


def masked(value: T) -> T:
    """Return a text, or a document of mappings and lists, with every resolved secret masked; keys too."""
    mask = _resolved.mask
    return value if mask is None else _masked(value, mask)


def _masked(value: Any, mask: Mask) -> Any:
    if isinstance(value, str):
        return mask.text(value)
    if isinstance(value, Mapping):
        return {_masked(name, mask): _masked(held, mask) for name, held in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(member, mask) for member in value]
    return value


def _may_hold(text: str, value: str) -> bool:
    run = _longest_run(value)
    return not run or run in text or any(form in text for form in _base64_forms(value))


@lru_cache(maxsize=4096)
def _longest_run(value: str) -> str:
    return max(_BARE_RUN.findall(value), key=len, default="")


@lru_cache(maxsize=4096)
def _pattern(value: str) -> str:
    """Return the pattern of all forms of a value. A short one has to be a word of its own."""
    plain = "".join(_character(one) for one in value)
    if len(value) < SHORTEST:
        plain = rf"(?<!\w){plain}(?!\w)"
    return "|".join([plain, *map(re.escape, _base64_forms(value))])


def _character(character: str) -> str:
    """Return the pattern of a character as it is, escaped or quoted, also several times over."""
    if character.isascii() and character.isalnum():
        return character
    code = ord(character)
    octets = character.encode("utf-8", "surrogatepass")
    units = character.encode("utf-16-be", "surrogatepass").hex()
    forms = [
        rf"\\*{re.escape(character)}\u200b?",
        "".join(f"%(?:25)*{octet:02x}" for octet in octets),
        "".join(rf"\\+x{octet:02x}" for octet in octets),
        "".join(rf"\\+u{units[at : at + 4]}" for at in range(0, len(units), 4)),
        rf"\\+U{code:08x}",
        f"&(?:amp;)*#(?:0*{code}|x0*{code:x});",
    ]
    if code < 256:
        forms += [rf"\\+x{code:02x}", rf"\\+0?{code:03o}"]
    if code in codepoint2name:
        forms.append(f"&(?:amp;)*{codepoint2name[code]};")
    forms += _OTHER_FORMS.get(character, ())
    # The longest first: what an escape begins with is a form of its own.
    return f"(?i:{'|'.join(sorted(forms, key=len, reverse=True))})"


_OTHER_FORMS: Mapping[str, tuple[str, ...]] = {
    " ": (r"\+",),
    "\t": (r"\\+t",),
    "'": ("''", r"'\\+''", "'\"'\"'", "&apos;"),
    '"': ('""', "'"),
    "`": ("'",),
}
"""What shells, CSV, YAML and markdown write for a character besides an escape."""


@lru_cache(maxsize=4096)
def _base64_forms(value: str) -> tuple[str, ...]:
    """Return the characters of base64 for a value wherever it begins in a group of three octets, in both alphabets.

    Characters that depend on its neighbors too are left out. A short value has none: three characters say nothing.
    """
    if len(value) < SHORTEST:
        return ()
    octets = value.encode("utf-8", "surrogatepass")
    forms: list[str] = []
    for before, shared in enumerate(_BASE64_SHARED):
        padded = b"\0" * before + octets
        whole = len(padded) * 8 // 6
        encoded = base64.b64encode(padded).decode()[shared:whole]
        forms += [encoded, encoded.replace("+", "-").replace("/", "_")]
    return tuple(dict.fromkeys(forms))
