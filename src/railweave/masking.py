"""One mask for what must not be read: in whatever leaves the program it puts a reference in place of a secret's value.

A value is recognized by itself and not by its place, so it is also found in the words of a device, quoted, escaped for
a shell, JSON, CSV, HTML or a URL, encoded in base64 or hexadecimal digits, in upper case where it is such digits
itself, and over several lines. A secret that was resolved is masked for as long as the process lives, whoever writes
or prints.
"""

import base64
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from html.entities import codepoint2name
from threading import Lock
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

T = TypeVar("T")

SHORTEST = 6
"""Characters. A shorter value occurs in unrelated words: masking it there would spoil them and reveal the value."""

_REFERENCE = r"\{secret:\s?[A-Za-z_][\w.-]*\}"
# What no encoding but base64 alters. Searching for a value's longest run is much cheaper than for its pattern.
_BARE_RUN = re.compile(r"[A-Za-z0-9]+")
_BLANKS = re.compile(r"(\s{2,})")
_LINE_END = re.compile(r"\\?\r?\n[ \t]*")
# Programs wrap what is too long, also within a value.
_BREAK = rf"(?:{_LINE_END.pattern})?"
_HEX = re.compile(r"[0-9A-Fa-f]+")
# Octets apart, as in 68:75:6e, "68 75 6e" or 0x68, 0x75, 0x6e; of a value of the shortest length.
_BETWEEN_OCTETS = r"[:\-,\s]+(?:0x)?"
_OCTETS_APART = re.compile(rf"(?:[0-9a-f]{{2}}{_BETWEEN_OCTETS}){{{SHORTEST - 1}}}")
# Escapes of letters and digits, which no encoder needs and some write: %68, \x68, \u0068, \150, &#104; several
# backslashes are one escape, looked for where they begin: from each of them, the search would be quadratic.
_ESCAPED_LETTER = re.compile(
    r"(?:%(?:25)*|(?<!\\)\\++(?:x|u00|U000000))(?P<hex>[3-7][0-9a-f])|(?<!\\)\\++(?P<octal>[01][0-7]{2})"
    r"|&(?:amp;)*#(?:x0*(?P<entity_hex>[3-7][0-9a-f])|0*(?P<entity>[0-9]{2,3}));",
    re.IGNORECASE,
)
# Base64 encodes groups of three octets (RFC 4648). By the number of octets before a value in its first group: how many
# characters they influence.
_BASE64_SHARED = (0, 2, 3)


class Mask:
    """Secret values, each with the text that is shown in its place."""

    def __init__(self, values: Mapping[str, str]) -> None:
        """Take ``{value: shown}``; empty values are left out."""
        self._values = sorted(((value, shown) for value, shown in values.items() if value), key=_longest_first)

    def text(self, text: str) -> str:
        """Return ``text`` with every value masked; references to secrets are kept."""
        one_line = text
        if "\n" in text:
            one_line = _LINE_END.sub("", text)
        lower = one_line.lower()
        searched = _Searched(
            text=text,
            one_line=one_line,
            lower=lower,
            unescaped=_with_plain_letters(one_line),
            joined=_joined_octets(text.lower()),
        )
        groups = []
        shown_by_group = {}
        for number, (value, shown) in enumerate(self._values):
            pattern = _pattern_in(searched, value)
            if pattern:
                groups.append(f"(?P<v{number}>{pattern})")
                shown_by_group[f"v{number}"] = shown
        if not groups:
            return text
        # References match first, so that a short value cannot be masked within the name of a secret.
        return re.sub(
            "|".join((f"(?P<kept>{_REFERENCE})", *groups)),
            lambda match: shown_by_group.get(match.lastgroup or "", match[0]),
            text,
        )


def _longest_first(value_and_shown: tuple[str, str]) -> tuple[int, str]:
    """Return the key that values are sorted by: a value may be a part of a longer one."""
    value, _ = value_and_shown
    return -len(value), value


class _Resolved:
    """The secrets that this process has resolved, for all of its threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._shown: dict[str, str] = {}
        self.mask: Mask | None = None

    def add(self, value: str, shown: str) -> None:
        """Mask another value. If it is masked already, what is shown for it does not change."""
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
    if mask is None:
        return value
    document: T = _masked(value, mask)
    return document


def _masked(value: Any, mask: Mask) -> Any:
    """Return a value with its texts masked, also those within its mappings, lists and tuples."""
    if isinstance(value, str):
        return mask.text(value)
    if isinstance(value, Mapping):
        return {_masked(name, mask): _masked(member, mask) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(member, mask) for member in value]
    return value


class _Searched(NamedTuple):
    """A text in the forms in which values are searched for."""

    text: str
    # Without line ends, and that in lower case.
    one_line: str
    lower: str
    # Without line ends, and without escapes of letters and digits.
    unescaped: str
    # In lower case, octets that stand apart in hexadecimal digits joined; empty if it has none.
    joined: str


def _with_plain_letters(text: str) -> str:
    """Return a text without escapes of letters and digits; the same object if it has none."""
    # A substring is found faster than a pattern, and most texts have none of them.
    if "%" not in text and "\\" not in text and "&" not in text:
        return text
    plain = _ESCAPED_LETTER.sub(_plain_letter, text)
    if plain == text:
        return text
    return plain


def _joined_octets(lower: str) -> str:
    """Return a text in lower case with octets that stand apart joined, empty if it has none."""
    if _OCTETS_APART.search(lower) is None:
        return ""
    return re.sub(_BETWEEN_OCTETS, "", lower)


def _plain_letter(match: re.Match[str]) -> str:
    """Return the letter or digit of a match of ``_ESCAPED_LETTER``; the escape itself if it is of another character."""
    if match["octal"]:
        code = int(match["octal"], 8)
    elif match["entity"]:
        code = int(match["entity"])
    else:
        code = int(match["hex"] or match["entity_hex"], 16)
    letter = chr(code)
    if letter.isascii() and letter.isalnum():
        return letter
    return match[0]


def _pattern_in(searched: _Searched, value: str) -> str:
    """Return a pattern for the forms of a value that may occur in a text, empty if none can.

    Texts are searched for a run of the value's letters and digits first, which is much faster than for its pattern.
    """
    run = _longest_run(value)
    if len(value) < SHORTEST:
        if run not in searched.text:
            return ""
        return _plain_pattern(value, is_wrapped=False)
    # Both are the same object in a text without line ends, or without escapes.
    is_wrapped = searched.one_line is not searched.text
    is_escaped = searched.unescaped is not searched.one_line
    between = _BREAK if is_wrapped else ""
    patterns = []
    may_be_plain = run in searched.one_line or run in searched.unescaped
    # Keys in hexadecimal digits are also written in upper case.
    if may_be_plain or (_is_hex(value) and run.lower() in searched.lower):
        patterns.append(_plain_pattern(value, is_wrapped=is_wrapped, is_escaped=is_escaped))
    patterns += _hexadecimal_patterns(searched, value, between)
    patterns += _base64_patterns(searched.one_line, value, between)
    return "|".join(patterns)


def _base64_patterns(one_line: str, value: str, between: str) -> list[str]:
    """Return the patterns of those forms of a value in base64 that occur in ``one_line``."""
    return [between.join(map(re.escape, form)) for form in _base64_forms(value) if form in one_line]


def _hexadecimal_patterns(searched: _Searched, value: str, between: str) -> list[str]:
    """Return the patterns of a value in hexadecimal digits that may occur, its octets together or apart."""
    digits = value.encode("utf-8", "surrogatepass").hex()
    if digits in searched.lower:
        return [f"(?i:{between.join(digits)})"]
    if digits in searched.joined:
        octets = re.findall("..", digits)
        separator = f"(?:{_BETWEEN_OCTETS})?"
        return [f"(?i:{separator.join(octets)})"]
    return []


@lru_cache(maxsize=4096)
def _longest_run(value: str) -> str:
    """Return the longest run of letters and digits in a value, empty if it has none."""
    return max(_BARE_RUN.findall(value), key=len, default="")


@lru_cache(maxsize=4096)
def _plain_pattern(value: str, *, is_wrapped: bool, is_escaped: bool = False) -> str:
    """Return the pattern of a value as it is, quoted or escaped. A short one has to be a word of its own.

    ``is_wrapped`` allows for line ends within the value, ``is_escaped`` for escaped letters and digits.
    """
    if len(value) < SHORTEST:
        return rf"(?<!\w){''.join(map(_character, value))}(?!\w)"
    between = _BREAK if is_wrapped else ""
    character_pattern = _escaped_character if is_escaped else _character
    parts: list[str] = []
    for part in _BLANKS.split(value):
        if not _BLANKS.fullmatch(part):
            parts.append(between.join(map(character_pattern, part)))
            continue
        blank = _blank_pattern(part, is_wrapped=is_wrapped)
        # At the beginning without a repetition, which would be searched from each blank of a text to the last.
        if any(parts):
            blank = f"(?:{blank})+"
        parts.append(blank)
    plain = "".join(parts)
    if _is_hex(value):
        return f"(?i:{plain})"
    return plain


def _blank_pattern(blanks: str, *, is_wrapped: bool) -> str:
    """Return the pattern of one of several blanks, or of what programs write for them: another blank, a line end."""
    forms = list(dict.fromkeys(map(_character, blanks)))
    forms.append(r"\s")
    if is_wrapped:
        forms.append(r"\\(?=\r?\n)")
    # A blank has several forms that match it: without an atomic group the search tries all combinations, whose number
    # doubles with each blank of a text.
    return f"(?>{'|'.join(forms)})"


def _is_hex(value: str) -> bool:
    """Tell whether a value consists of hexadecimal digits, as keys do; upper case then means the same."""
    return len(value) >= SHORTEST and _HEX.fullmatch(value) is not None


def _character(character: str) -> str:
    """Return the pattern of a character as it is, escaped or quoted; letters and digits as they are."""
    if character.isascii() and character.isalnum():
        return character
    return _escaped_character(character)


@lru_cache(maxsize=512)
def _escaped_character(character: str) -> str:
    """Return the pattern of a character as it is, escaped or quoted, also several times over."""
    code = ord(character)
    octets = character.encode("utf-8", "surrogatepass")
    units = character.encode("utf-16-be", "surrogatepass").hex()
    # A letter is not escaped by a backslash alone, and its case counts.
    plain = rf"\\*{re.escape(character)}\u200b?"
    if character.isascii() and character.isalnum():
        plain = f"(?-i:{character})"
    forms = [
        plain,
        # A URL; encoded again, its percent sign is %25 (RFC 3986).
        _each_octet("%(?:25)*{:02x}", octets),
        _each_octet(r"\\+x{:02x}", octets),
        _each_octet(r"\\+{:03o}", octets),
        # Quoted-printable (RFC 2045).
        _each_octet("={:02x}", octets),
        # Beyond the basic plane JSON writes two such escapes, a surrogate pair (RFC 8259).
        "".join(rf"\\+u{units[start : start + 4]}" for start in range(0, len(units), 4)),
        rf"\\+U{code:08x}",
        f"&(?:amp;)*#(?:0*{code}|x0*{code:x});",
    ]
    if code < 256:
        forms += [rf"\\+x{code:02x}", rf"\\+0?{code:03o}"]
    if code in codepoint2name:
        forms.append(f"&(?:amp;)*{codepoint2name[code]};")
    if character.isspace():
        # Programs write a blank for other white space, such as a no-break space.
        forms.append(r"\s")
    forms += _OTHER_FORMS.get(character, ())
    # The longest first: what an escape begins with is a form of its own.
    return f"(?i:{'|'.join(sorted(forms, key=len, reverse=True))})"


def _each_octet(form: str, octets: bytes) -> str:
    """Return the pattern of octets of which each is written in a form of ``str.format``."""
    return "".join(map(form.format, octets))


# An apostrophe within apostrophes, as shlex.quote writes it; quoted twice, each of its apostrophes is written so.
_IN_SHELL = "'\"'\"'"
# What shells, CSV, YAML and Markdown write for a character besides an escape.
_OTHER_FORMS: Mapping[str, tuple[str, ...]] = {
    " ": (r"\+",),
    "\t": (r"\\+t",),
    "'": ("''", r"'\\+''", _IN_SHELL, _IN_SHELL.replace("'", _IN_SHELL), "&apos;"),
    '"': ('""', "'"),
    "`": ("'",),
}


@lru_cache(maxsize=4096)
def _base64_forms(value: str) -> tuple[str, ...]:
    """Return a value in base64, for each offset in a group of three octets and in both alphabets.

    Characters that depend on neighboring octets are left out. A short value has no form.
    """
    # Three or four characters of base64 occur in ordinary text by chance.
    if len(value) < SHORTEST:
        return ()
    forms: list[str] = []
    for text in _escaped_forms(value):
        octets = text.encode("utf-8", "surrogatepass")
        for octets_before, shared_characters in enumerate(_BASE64_SHARED):
            padded = b"\0" * octets_before + octets
            # A character encodes 6 bits; one that is only partly filled also encodes the next octet.
            whole_characters = len(padded) * 8 // 6
            encoded = base64.b64encode(padded).decode()[shared_characters:whole_characters]
            url_safe = encoded.replace("+", "-").replace("/", "_")
            forms += [encoded, url_safe]
    return tuple(dict.fromkeys(forms))


def _escaped_forms(value: str) -> tuple[str, ...]:
    """Return a value plain and as it is written in JSON documents and URLs, which may be encoded as a whole."""
    # Without the quotes around a JSON string.
    ascii_json = json.dumps(value)[1:-1]
    unicode_json = json.dumps(value, ensure_ascii=False)[1:-1]
    # `quote` refuses surrogates.
    encodable = value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return tuple(dict.fromkeys((value, ascii_json, unicode_json, quote(encodable), quote(encodable, safe=""))))
