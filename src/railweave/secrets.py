"""The one list of secrets: which fields, row keys and FRR lines hold one, and how each is shown.

Configuration travels into pull requests, terminals, logs and journals; what is shown there says ``(hidden)`` in place
of a secret. A table that nobody knows is judged by names alone, and what looks like a secret is hidden: a value too
many hidden costs a look at the switch, one too few costs the secret. Fields whose names look like one and that hold
none are listed here with the reason. Sources: the names, descriptions and row keys of SONiC's YANG models (202305 to
202505); FRR's manual (docs.frrouting.org: basic, bgp, ospfd, ospf6d, isisd, ripd, nhrpd, ldpd, pathd).
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from railweave.masking import Mask, masked

T = TypeVar("T")

HIDDEN = "(hidden)"
"""What stands in place of a secret, whatever its length."""

_NOT_SECRET: Mapping[tuple[str, str], str] = {
    ("NTP_KEY", "trusted"): "yes or no: whether the key is trusted",
    ("NTP_SERVER", "key"): "the number of a row of NTP_KEY",
    ("PASSW_HARDENING", "reject_user_passw_match"): "a rule for passwords, true or false",
    ("PBH_RULE", "gre_key"): "the GRE key that a packet is matched by",
    ("PORTCHANNEL", "lacp_key"): "the LACP key, which is sent in clear to the neighbor",
}
"""Fields whose names look like a secret, with the reason why they hold none."""

_SECRET_WORD = re.compile(
    r"pass(w|phrase|code|key)|pwd|pswd|secret|psk|credential|token|communit|private|md5|"
    r"^(?!by|com|tres|sur|over|multi|single|under|bio)\w*pass\d*$|^\w*pw\d*$|^creds?\d*$|^(jwt|otp|totp|hmac|bearer)\d*$"
)
_KEY_WORD = re.compile(r"^key|keys?\d*$|^(cak|sak|kek)\d*$")
_PUBLIC_WORD = re.compile(r"^pub(lic)?(keys?)?$|^key(id|name|type|len|length|size|chain|usage|word|board)s?$")
_MEASURE = re.compile(
    r"age|alg|algorithms?|bucket|burst|class|cnt|count|days|enabled?|errors?|exception|expiration|expired?|expiry|hours|"
    r"index|interval|len|length|limit|max|min|minutes|mode|period|policy|port|rate|retries|seconds|size|state|status|"
    r"time|timeout|types?|version"
)
"""Last words of names that tell something about a secret and not the secret itself."""
_KEY_LABEL = re.compile(r"alias|chain|ids?|label|names?|usage")
"""The same for keys alone: the name of an SNMP community and the ID of a token are what has to be hidden."""
_ROUTING_TABLE = re.compile(r"BGP_|ROUTE_MAP|(\w+_)?COMMUNITY_(SET|LIST)$")
"""Tables in which a community is BGP's, and private a kind of AS number."""
_ROUTING_WORD = re.compile(r"communit|private")

_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")

_FRR_COMMAND = (
    r"(?P<kept>(?<![\w-])neighbor \S+ password|^[ \t]*(?:no )?(?:enable )?password|(?<![\w-])(?:"
    r"(?:area|domain)-password|isis password|key-string|authentication-key|message-digest-key \d+ md5|"
    r"key-id \d+ hash-algo \S+ key|rip authentication string|nhrp authentication|tcp-md5-auth|tcp-ao(?! key-?chain)))"
)
_FRR_LOOKS_LIKE = (
    r"|(?P<word>(?<!\S)[\w-]*(?:passw(?:or)?d|passphrase|secret|psk|pre-shared-key|token|md5|(?:auth|private)-?key))"
)
_REST = r"[ \t]+(?!\(hidden\)[ \t]*$)\S.*"
_FRR_HINTS = ("authentication", "key", "md5", "pass", "psk", "secret", "tcp-", "token")
"""One of these stands in each line that ``_FRR_LINE`` finds; a look for them is ten times as fast."""
_FRR_SECRET = re.compile(f"(?:{_FRR_COMMAND}){_REST}", re.MULTILINE | re.IGNORECASE)
_FRR_LINE = re.compile(f"(?:{_FRR_COMMAND}{_FRR_LOOKS_LIKE}){_REST}", re.MULTILINE | re.IGNORECASE)

_NAME = re.compile(r"""(?P<quote>["']?)(?P<name>[A-Za-z][\w.-]*)(?P=quote)\s*[:=]\s*""")
_VALUE = re.compile(r"""\{secret:[^}\s]*\}|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\[[^\]]*\]|[^\s,;}\])]+""")
_ROW = re.compile(r"""(?P<table>[A-Z][A-Z0-9_]+)(?P<bar>[|/])(?P<key>[^\s/|"',;}\])]+)""")
_LOGIN_IN_URL = re.compile(r"(?P<scheme>\w://[^\s:/@]*:)[^\s/@]+(?=@)")
_PRIVATE_KEY = re.compile(r"(?<=PRIVATE KEY-----)(?:(?!-----).)*", re.DOTALL)


_REFERENCE = re.compile(r"\{secret:\s?(?P<name>[A-Za-z_][\w.-]*)\}")
_BEGUN_REFERENCE = re.compile(r"\{\s*secrets?\s*[:=}]", re.IGNORECASE)


def reference(name: str) -> str:
    """Return what stands in rendered files in place of a secret that is resolved when it is sent to a switch."""
    return f"{{secret:{name}}}"


def references(text: str) -> tuple[str, ...]:
    """Return the names of the secrets that a text refers to."""
    return tuple(match["name"] for match in _REFERENCE.finditer(text)) if "{secret:" in text else ()


def is_misspelled_reference(text: str) -> bool:
    """Tell whether a text begins a reference to a secret that is none, such as ``{Secret:NAME}``: it would be sent."""
    return _BEGUN_REFERENCE.search(_REFERENCE.sub("", text)) is not None


def with_secrets(text: str, values: Mapping[str, str]) -> str:
    """Return a text with the secrets that it refers to; those without a value stay references."""
    return _REFERENCE.sub(lambda match: values.get(match["name"], match[0]), text) if "{secret:" in text else text


def refers_openly(line: str) -> bool:
    """Tell whether a line of FRR refers to a secret elsewhere than behind a command that takes one.

    A word that only looks like one, such as ``token`` in a description, is no such command.
    """
    return bool(references(line)) and bool(references(_FRR_SECRET.sub(_kept, line)))


@lru_cache(maxsize=65536)
def is_secret(table: str, field: str) -> bool:
    """Tell whether a field of CONFIG_DB holds a secret; ``table`` may be empty where it is not known."""
    if (table, field) in _NOT_SECRET:
        return False
    words = _words(field)
    if any(_is_secret_word(table, words, place) for place in range(len(words))):
        return True
    # Of a table that is named for its secrets every field may be one, unless its name says that it is not.
    return _named_for_secrets(table, keys=True) and not (words and _says_no_secret(words[-1], of_a_key=True))


@lru_cache(maxsize=4096)
def is_secret_key(table: str) -> bool:
    """Tell whether the keys of a table's rows are secrets, as those of SNMP_COMMUNITY are."""
    return _named_for_secrets(table, keys=False)


def _named_for_secrets(table: str, *, keys: bool) -> bool:
    words = _words(table)
    if not words or _ROUTING_TABLE.match(table):
        return False
    last = words[-1]
    return _SECRET_WORD.search(last) is not None or (keys and _is_secret_word(table, words, len(words) - 1))


def _words(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _BOUNDARY.split(name) if word)


def _is_secret_word(table: str, words: tuple[str, ...], place: int) -> bool:
    found = _SECRET_WORD.search(words[place])
    if found is None and _KEY_WORD.search(words[place]) is None:
        return False
    if place < len(words) - 1 and _says_no_secret(words[-1], of_a_key=found is None):
        return False
    if found:
        return not (_ROUTING_WORD.match(found[0]) and _ROUTING_TABLE.match(table))
    return not any(_PUBLIC_WORD.match(word) for word in words[: place + 1])


def _says_no_secret(last: str, *, of_a_key: bool) -> bool:
    return bool(_MEASURE.fullmatch(last) or (of_a_key and _KEY_LABEL.fullmatch(last)))


def shown_key(table: str, key: str) -> str:
    """Return a row's key as it may be shown."""
    return HIDDEN if is_secret_key(table) else key


def shown_row(table: str, fields: Mapping[str, T]) -> Mapping[str, T | str]:
    """Return a row's fields as they may be shown; ``fields`` themselves where none is a secret. None stays None."""
    if not any(is_secret(table, name) for name in fields):
        return fields
    return {name: HIDDEN if value is not None and is_secret(table, name) else value for name, value in fields.items()}


def shown_frr(text: str) -> str:
    """Return one or more lines of FRR as they may be shown: what follows the word for a secret is hidden."""
    lower = text.lower()
    return _FRR_LINE.sub(_kept, text) if any(hint in lower for hint in _FRR_HINTS) else text


def is_hidden(line: str) -> bool:
    """Tell whether ``line`` is the shown form of a secret and so cannot be configured."""
    return line.endswith(f" {HIDDEN}")


def _kept(match: re.Match[str]) -> str:
    groups = match.groupdict()
    return f"{groups['kept'] or groups['word']} {HIDDEN}"


def shown_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration document (tables of rows, and ``bgpraw`` as text) with every secret hidden."""
    shown: dict[str, Any] = {}
    for table, rows in document.items():
        if isinstance(rows, str):
            shown[table] = shown_frr(rows)
        elif isinstance(rows, Mapping):
            shown[table] = {
                shown_key(table, key): shown_row(table, row) if isinstance(row, Mapping) else row
                for key, row in rows.items()
            }
        else:
            shown[table] = rows
    return shown


def secret_values(document: Mapping[str, Any]) -> frozenset[str]:
    """Return the secrets that a configuration document holds, for ``shown_text``."""
    found: set[str] = set()
    for table, rows in document.items():
        if isinstance(rows, str):
            found |= _frr_values(rows)
        elif isinstance(rows, Mapping):
            found.update(rows if is_secret_key(table) else ())
            found |= _row_values(table, rows.values())
    return frozenset(found - {""})


def _frr_values(text: str) -> set[str]:
    found: set[str] = set()
    for match in _FRR_LINE.finditer(text):
        rest = match[0][len(match["kept"] or match["word"]) :].strip()
        found |= {rest, rest.rpartition(" ")[2]}
    return found


def _row_values(table: str, rows: Iterable[Any]) -> set[str]:
    found: set[str] = set()
    for row in rows:
        for name, value in row.items() if isinstance(row, Mapping) else ():
            if value is not None and is_secret(table, name):
                found.update((value,) if isinstance(value, str) else value)
    return found


def shown_text(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the words of a device, or a command, as they may be shown.

    What looks like a secret is hidden: FRR's commands, ``name: value`` and ``name=value`` in whatever quotes, rows
    whose keys are secrets, logins in addresses, private keys. ``secrets`` are those that the words may quote; resolved
    ones are masked as references to them.
    """
    text = Mask(dict.fromkeys(secrets, HIDDEN)).text(masked(text))
    text = _FRR_SECRET.sub(_kept, text)
    text = _with_hidden_pairs(text)
    text = _ROW.sub(_shown_place, text)
    text = _LOGIN_IN_URL.sub(rf"\g<scheme>{HIDDEN}", text)
    return _PRIVATE_KEY.sub(HIDDEN, text)


def _with_hidden_pairs(text: str) -> str:
    shown, at = "", 0
    for match in _NAME.finditer(text):
        value = _VALUE.match(text, match.end())
        is_reference = _REFERENCE.match(text, max(0, match.start() - 1)) or (value and references(value[0]))
        if match.start() >= at and value and _names_secret(match) and not is_reference:
            quote = value[0][0] if value[0][0] in "\"'" else ""
            shown += f"{text[at : match.end()]}{quote}{HIDDEN}{quote}"
            at = value.end()
    return shown + text[at:]


def _names_secret(match: re.Match[str]) -> bool:
    name = match["name"].rpartition(".")[2]
    # A bare "key" in a sentence is nearly always that of a row or of a mapping.
    return is_secret("", name) and (bool(match["quote"]) or name.lower() not in {"key", "keys"})


def _shown_place(match: re.Match[str]) -> str:
    return f"{match['table']}{match['bar']}{HIDDEN}" if is_secret_key(match["table"]) else match[0]
