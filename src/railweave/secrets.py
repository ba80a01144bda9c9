"""The one list of secrets: which fields, row keys and FRR lines hold one, and how each is shown.

Configuration travels into pull requests, terminals, logs and journals; what is shown there says ``(hidden)`` in place
of a secret. A table that nobody knows is judged by names alone, and what looks like a secret is hidden: a value too
many hidden costs a look at the switch, one too few costs the secret. Fields whose names look like one and that hold
none are listed here with the reason. Sources: the names, descriptions and row keys of SONiC's YANG models (202305 to
202505); FRR's manual (docs.frrouting.org: basic, bgp, ospfd, ospf6d, isisd, ripd, nhrpd, ldpd, pathd).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from railweave.masking import Mask, masked

T = TypeVar("T")

HIDDEN = "(hidden)"
"""Shown in place of a secret, whatever its length."""

_NOT_SECRET: Mapping[tuple[str, str], str] = {
    ("NTP_KEY", "trusted"): "yes or no: whether the key is trusted",
    ("NTP_SERVER", "key"): "the number of a row of NTP_KEY",
    ("PASSW_HARDENING", "reject_user_passw_match"): "a rule for passwords, true or false",
    ("PBH_RULE", "gre_key"): "the GRE key that a packet is matched by",
    ("PORTCHANNEL", "lacp_key"): "the LACP key, which is sent in clear to the neighbor",
}
"""Fields whose names look like a secret, with the reason why they hold none."""

_SECRET_WORD = re.compile(
    r"pass(w|phrase|code|key)|pwd|pswd|secret|psk|credential|token|communit|private|md5|cookie|pword|pw(hash|enc)|"
    r"^(?!by|com|tres|sur|over|multi|single|under|bio)\w*pass\d*$|^\w*pw\d*$|^creds?\d*$|^(jwt|otp|totp|hmac|bearer)\d*$"
)
_KEY_WORD = re.compile(r"^key|keys?\d*$|^(cak|sak|kek)\d*$")
_PUBLIC_WORD = re.compile(r"^pub(lic)?(keys?)?$|^key(id|name|type|len|length|size|chain|usage|word|board)s?$")
# Last words of names that tell something about a secret and not the secret itself.
_MEASURE = re.compile(
    r"age|alg|algorithms?|bucket|burst|class|cnt|count|days|enabled?|errors?|exception|expiration|expired?|expiry|hours|"
    r"index|interval|len|length|limit|max|min|minutes|mode|period|policy|port|rate|retries|seconds|size|state|status|"
    r"time|timeout|types?|version"
)
# The same for keys alone: the name of an SNMP community and the ID of a token are what has to be hidden.
_KEY_LABEL = re.compile(r"alias|chain|ids?|label|names?|usage")
# Tables in which a community is BGP's, and private a kind of AS number.
_ROUTING_TABLE = re.compile(r"BGP_|ROUTE_MAP|(\w+_)?COMMUNITY_(SET|LIST)$")
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
# Each line that _FRR_LINE matches has one of these; searching for them is ten times as fast.
_FRR_HINTS = ("authentication", "key", "md5", "pass", "psk", "secret", "tcp-", "token")
_FRR_SECRET = re.compile(f"(?:{_FRR_COMMAND}){_REST}", re.MULTILINE | re.IGNORECASE)
_FRR_LINE = re.compile(f"(?:{_FRR_COMMAND}{_FRR_LOOKS_LIKE}){_REST}", re.MULTILINE | re.IGNORECASE)

# A name is looked for where a word begins, and once: from each letter of a long word, the search would be quadratic.
_NAME = re.compile(
    r"""(?:(?P<quote>["'])|(?<![\w.-]))(?:(?![A-Za-z])[\w.-])*+(?P<name>[A-Za-z][\w.-]*+)(?(quote)(?P=quote))\s*[:=]\s*"""
)
_VALUE = re.compile(r"""\{secret:[^}\s]*\}|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\[[^\]]*\]|[^\s,;}\])]+""")
# Environment variables in their usual spelling; a password seldom has it.
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_PATH = re.compile(r"[\w.~-]*(?:/[\w.~-]+)+")
_ROW = re.compile(r"""(?P<table>[A-Z][A-Z0-9_]+)(?P<bar>[|/])(?P<key>[^\s/|"',;}\])]+)""")
_LOGIN_IN_URL = re.compile(r"(?P<scheme>\w://[^\s:/@]*:)[^\s/@]+(?=@)")
_PRIVATE_KEY = re.compile(r"(?<=PRIVATE KEY-----)(?:(?!-----).)*", re.DOTALL)


_REFERENCE = re.compile(r"\{secret:\s?(?P<name>[A-Za-z_][\w.-]*)\}")
_BEGUN_REFERENCE = re.compile(r"\{\s*secrets?\s*[:=}]", re.IGNORECASE)


def reference(name: str) -> str:
    """Return how rendered files refer to a secret, which is resolved when it is sent to a switch."""
    return f"{{secret:{name}}}"


def references(text: str) -> tuple[str, ...]:
    """Return the names of the secrets that a text refers to."""
    # Nearly every text has none, and a substring is found faster than a pattern.
    if "{secret:" not in text:
        return ()
    return tuple(match["name"] for match in _REFERENCE.finditer(text))


def is_misspelled_reference(text: str) -> bool:
    """Tell whether a text has something like a reference to a secret that is not one, such as ``{Secret:NAME}``.

    It would be sent to a switch as it is.
    """
    return _BEGUN_REFERENCE.search(_REFERENCE.sub("", text)) is not None


def with_secrets(text: str, values: Mapping[str, str]) -> str:
    """Return a text with its references replaced by the secrets; those without a value stay references."""
    if "{secret:" not in text:
        return text
    return _REFERENCE.sub(lambda match: values.get(match["name"], match[0]), text)


def refers_openly(line: str) -> bool:
    """Tell whether a line of FRR refers to a secret elsewhere than behind a command that takes one.

    A word that only looks like one, such as ``token`` in a description, is not such a command.
    """
    return bool(references(line)) and bool(references(_FRR_SECRET.sub(_with_hidden_rest, line)))


@lru_cache(maxsize=65536)
def is_secret(table: str, field: str) -> bool:
    """Tell whether a field of CONFIG_DB holds a secret; ``table`` may be empty where it is not known."""
    if (table, field) in _NOT_SECRET:
        return False
    words = _words(field)
    if any(_is_secret_word(table, words, index) for index in range(len(words))):
        return True
    # In a table that is named for its secrets every field may be one, unless its name says otherwise.
    if not _named_for_secrets(table, keys=True):
        return False
    return not words or not _says_no_secret(words[-1], of_a_key=True)


@lru_cache(maxsize=4096)
def is_secret_key(table: str) -> bool:
    """Tell whether the keys of a table's rows are secrets, as those of SNMP_COMMUNITY are."""
    return _named_for_secrets(table, keys=False)


def _named_for_secrets(table: str, *, keys: bool) -> bool:
    """Tell whether the last word of a table's name stands for a secret; with ``keys`` it may also stand for a key."""
    words = _words(table)
    if not words or _ROUTING_TABLE.match(table):
        return False
    if _SECRET_WORD.search(words[-1]):
        return True
    return keys and _is_secret_word(table, words, len(words) - 1)


def _words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case: ``auth_type`` and ``authType`` have the same two."""
    return tuple(word.lower() for word in _BOUNDARY.split(name) if word)


def _is_secret_word(table: str, words: tuple[str, ...], index: int) -> bool:
    """Tell whether a name in ``table`` is that of a secret because of the word at ``index``, given its other words."""
    secret = _SECRET_WORD.search(words[index])
    is_key = secret is None and _KEY_WORD.search(words[index]) is not None
    if secret is None and not is_key:
        return False
    is_last = index == len(words) - 1
    if not is_last and _says_no_secret(words[-1], of_a_key=is_key):
        return False
    if secret is not None:
        is_of_routing = _ROUTING_WORD.match(secret[0]) and _ROUTING_TABLE.match(table)
        return not is_of_routing
    # A key may be a public one: the word that says so comes before it, or is the word itself.
    return not any(_PUBLIC_WORD.match(word) for word in words[: index + 1])


def _says_no_secret(last_word: str, *, of_a_key: bool) -> bool:
    """Tell whether a name that ends with this word states something about a secret and is not the secret itself.

    With ``of_a_key`` words for labels count too: the label of a key is no secret.
    """
    if _MEASURE.fullmatch(last_word):
        return True
    return of_a_key and _KEY_LABEL.fullmatch(last_word) is not None


def shown_key(table: str, key: str) -> str:
    """Return a row's key as it may be shown."""
    return HIDDEN if is_secret_key(table) else key


def shown_row(table: str, fields: Mapping[str, T]) -> Mapping[str, T | str]:
    """Return a row's fields with secrets hidden; ``fields`` itself if none is a secret. None as a value stays None."""
    if not any(is_secret(table, name) for name in fields):
        return fields
    return {name: _shown_value(table, name, value) for name, value in fields.items()}


def _shown_value(table: str, field: str, value: T) -> T | str:
    # None stands for a field that is removed.
    if value is None or not is_secret(table, field):
        return value
    return HIDDEN


def shown_frr(text: str) -> str:
    """Return one or more lines of FRR as they may be shown: what follows the word for a secret is hidden."""
    lower = text.lower()
    if not any(hint in lower for hint in _FRR_HINTS):
        return text
    return _FRR_LINE.sub(_with_hidden_rest, text)


def is_hidden(line: str) -> bool:
    """Tell whether ``line`` is the shown form of a secret and so cannot be configured."""
    return line.endswith(f" {HIDDEN}")


def _with_hidden_rest(match: re.Match[str]) -> str:
    """Return the command of a line of FRR, with what follows it hidden."""
    groups = match.groupdict()
    return f"{groups['kept'] or groups['word']} {HIDDEN}"


def shown_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration document (tables of rows, and ``bgpraw`` as text) with every secret hidden."""
    shown: dict[str, Any] = {}
    for table, rows in document.items():
        if isinstance(rows, str):
            shown[table] = shown_frr(rows)
        elif isinstance(rows, Mapping):
            shown[table] = _shown_rows(table, rows)
        else:
            shown[table] = rows
    return shown


def _shown_rows(table: str, rows: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rows of a table with secret keys and fields hidden."""
    shown: dict[str, Any] = {}
    for key, row in rows.items():
        shown_fields = row
        if isinstance(row, Mapping):
            shown_fields = shown_row(table, row)
        shown[shown_key(table, key)] = shown_fields
    return shown


def secret_values(document: Mapping[str, Any]) -> frozenset[str]:
    """Return the secrets that a configuration document holds, for ``shown_text``."""
    secrets: set[str] = set()
    for table, rows in document.items():
        if isinstance(rows, str):
            secrets |= _secrets_in_frr(rows)
        elif isinstance(rows, Mapping):
            if is_secret_key(table):
                secrets.update(rows)
            secrets |= _secrets_in_rows(table, rows.values())
    return frozenset(secrets - {""})


def _secrets_in_frr(text: str) -> set[str]:
    """Return the secrets in lines of FRR: what follows each word for a secret, and the last word of that."""
    secrets: set[str] = set()
    for match in _FRR_LINE.finditer(text):
        command = match["kept"] or match["word"]
        arguments = match[0].removeprefix(command).strip()
        secrets.add(arguments)
        # The kind of encryption may come before the secret, as in `password 8 HASH`.
        _, _, last_argument = arguments.rpartition(" ")
        secrets.add(last_argument)
    return secrets


def _secrets_in_rows(table: str, rows: Iterable[Any]) -> set[str]:
    """Return the values of the secret fields of a table's rows."""
    secrets: set[str] = set()
    for row in rows:
        if not isinstance(row, Mapping):
            continue
        for name, value in row.items():
            if value is None or not is_secret(table, name):
                continue
            if isinstance(value, str):
                secrets.add(value)
            else:
                secrets.update(value)
    return secrets


def shown_text(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the output of a device, or a command, with everything hidden that looks like a secret.

    That is what follows FRR's commands, the values of ``name: value`` and ``name=value`` in any quotes, secret keys of
    rows, logins in URLs, and private keys. ``secrets`` are further values that the text may quote. Resolved secrets
    become references.
    """
    return _with_hidden_secrets(Mask(dict.fromkeys(secrets, HIDDEN)).text(masked(text)), _shows_nothing)


def shown_input(line: str) -> str:
    """Return a line of a project's own file as ``shown_text`` does, with the names of variables and files.

    ``password_env: PASSWORD`` names an environment variable, ``key_file: ~/.ssh/fabric`` a file: neither is a secret. A
    value of another form may be one that somebody wrote there by mistake, and is hidden.
    """
    return _with_hidden_secrets(masked(line), _names_source)


def _with_hidden_secrets(text: str, is_shown: Callable[[str, str], bool]) -> str:
    """Return a text with what looks like a secret hidden.

    A pair ``name: value`` for which ``is_shown`` is true stays.
    """
    text = _FRR_SECRET.sub(_with_hidden_rest, text)
    text = _with_hidden_pairs(text, is_shown)
    text = _ROW.sub(_with_hidden_key, text)
    text = _LOGIN_IN_URL.sub(rf"\g<scheme>{HIDDEN}", text)
    return _PRIVATE_KEY.sub(HIDDEN, text)


def _shows_nothing(_name: str, _value: str) -> bool:
    return False


def _names_source(name: str, value: str) -> bool:
    """Tell whether a key and its value name an environment variable, or a file by a path with a folder."""
    value = value.strip("\"'")
    if name.endswith("_env"):
        return _VARIABLE.fullmatch(value) is not None
    return name.endswith("_file") and _PATH.fullmatch(value) is not None


def _with_hidden_pairs(text: str, is_shown: Callable[[str, str], bool]) -> str:
    """Return a text with the values of ``name: value`` and ``name=value`` hidden if the name is that of a secret.

    A pair for which ``is_shown`` is true stays.
    """
    shown = ""
    shown_until = 0
    for match in _NAME.finditer(text):
        # A name within a value that is already hidden is part of the secret. A value may be as long as the text, so it
        # is only looked for behind the name of a secret.
        if match.start() < shown_until or not _names_secret(match):
            continue
        value_match = _VALUE.match(text, match.end())
        if value_match is None:
            continue
        value = value_match[0]
        if _is_reference(match, value) or is_shown(match["name"], value):
            continue
        quote = ""
        if value[0] in "\"'":
            quote = value[0]
        shown += f"{text[shown_until : match.end()]}{quote}{HIDDEN}{quote}"
        shown_until = value_match.end()
    return shown + text[shown_until:]


def _is_reference(name: re.Match[str], value: str) -> bool:
    """Tell whether a pair is a reference to a secret, ``{secret: NAME}``, or refers to one by its value."""
    # A reference begins with the brace before the name.
    start = max(0, name.start() - 1)
    return _REFERENCE.match(name.string, start) is not None or bool(references(value))


def _names_secret(match: re.Match[str]) -> bool:
    """Tell whether a match of ``_NAME`` is the name of a secret, by its last part."""
    _, _, name = match["name"].rpartition(".")
    # A bare "key" in a sentence is nearly always that of a row or of a mapping.
    is_bare_key = not match["quote"] and name.lower() in {"key", "keys"}
    return not is_bare_key and is_secret("", name)


def _with_hidden_key(match: re.Match[str]) -> str:
    """Return the table and key of a row, the key hidden if it is a secret."""
    if is_secret_key(match["table"]):
        return f"{match['table']}{match['bar']}{HIDDEN}"
    return match[0]
