"""Finds the known host keys of one switch, quickly in a file of thousands.

paramiko decodes every key of a known_hosts file for every connection: 0.4 s of CPU at a thousand lines (measured),
minutes for a fabric of a thousand switches. Here the file is indexed once by name and only the lines of one host are
decoded. The format is sshd(8)'s: plain or comma-separated names, ``[host]:port``, patterns with ``*``, ``?`` and ``!``,
names hashed as ``|1|salt|hash``, and lines marked ``@revoked`` or ``@cert-authority``.
"""

import base64
import binascii
import functools
import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import paramiko

_SSH_PORT = 22


@dataclass(frozen=True, slots=True)
class _Index:
    """The lines of a known_hosts file, by how their names are written."""

    # By each of their names.
    plain: dict[str, list["HostKeyLine"]] = field(default_factory=dict)
    # Lines whose names are hashed or patterns.
    patterns: list["HostKeyLine"] = field(default_factory=list)
    # Lines by their mark, which is cut off.
    marked: dict[str, list["HostKeyLine"]] = field(default_factory=dict)


class HostKeyLine(NamedTuple):
    """A line of a known_hosts file, without its mark, and its number from 1."""

    number: int
    text: str

    @property
    def names(self) -> str:
        """Return the names that the line begins with, separated by commas."""
        return self.text.split(maxsplit=1)[0]


class KnownHostsError(ValueError):
    """A known_hosts file is there and cannot be read; the message names it."""


@dataclass(frozen=True, slots=True)
class KnownKeys:
    """What known_hosts files say of one host: its keys, the authorities for its certificates, and keys never to accept.

    ``host`` is its name without a port.
    """

    host: str
    keys: tuple["paramiko.PKey", ...]
    authorities: tuple["paramiko.PKey", ...]
    revoked: tuple["paramiko.PKey", ...]


def known_name(host: str, port: int) -> str:
    """Return the name under which a known_hosts file holds a host: with the port where it is not 22."""
    if port == _SSH_PORT:
        return host
    return f"[{host}]:{port}"


def known_keys(files: Iterable[Path], name: str) -> KnownKeys:
    """Return the keys that the files have for ``name`` (see ``known_name``); missing files and broken lines have none.

    Raises KnownHostsError.
    """
    paths = tuple(files)
    host = name
    if name.startswith("["):
        # Written as [host]:port.
        host = name[1:].rpartition("]")[0]
    return KnownKeys(
        host,
        keys=_keys(paths, name, ""),
        authorities=_keys(paths, name, "@cert-authority"),
        revoked=_keys(paths, name, "@revoked"),
    )


def _keys(paths: Iterable[Path], name: str, mark: str) -> "tuple[paramiko.PKey, ...]":
    """Return the readable keys of the lines about a host that have this mark."""
    keys: list[paramiko.PKey] = []
    for path in paths:
        for line in known_lines(path, name, mark):
            key = _key_of(line)
            if key is not None:
                keys.append(key)
    return tuple(keys)


def _key_of(line: str) -> "paramiko.PKey | None":
    """Return the key in a line, None if it cannot be read."""
    from paramiko.hostkeys import HostKeyEntry

    try:
        entry = HostKeyEntry.from_line(line)
    except Exception:
        # paramiko's decoders raise many kinds, and one broken line must not hide the others.
        return None
    if entry is None:
        return None
    return entry.key


def known_lines(path: Path, name: str, mark: str = "") -> tuple[str, ...]:
    """Return the lines of the file about ``name`` that have this mark, without the mark.

    Raises KnownHostsError.
    """
    return tuple(line.text for line in _lines_about(path, name, mark))


def known_places(files: Iterable[Path], name: str, mark: str = "") -> str:
    """Return the places of ``name`` in the files, as ``known_hosts line 3``; empty if there are none."""
    places: list[str] = []
    for path in files:
        places += [f"{_shown(path)} line {line.number}" for line in _lines_about(path, name, mark)]
    return ", ".join(places)


def broken_places(files: Iterable[Path], name: str) -> str:
    """Return the places of ``name`` in the files at which no key can be read, as ``known_places`` does."""
    places: list[str] = []
    for path in files:
        broken_lines = [line for line in _lines_about(path, name, "") if _key_of(line.text) is None]
        places += [f"{_shown(path)} line {line.number}" for line in broken_lines]
    return ", ".join(places)


def _shown(path: Path) -> Path:
    """Return a path as people write it: relative if it is below the working directory."""
    folder = Path.cwd()
    if path.is_relative_to(folder):
        return path.relative_to(folder)
    return path


def _lines_about(path: Path, name: str, mark: str) -> tuple[HostKeyLine, ...]:
    """Return the lines about a host that have this mark, empty for no mark; a missing file has no lines.

    Raises KnownHostsError if the file cannot be read.
    """
    try:
        stat = path.stat()
    except OSError:
        return ()
    try:
        index = _index_of(path, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise KnownHostsError(f"{path} cannot be read: {error.strerror}") from error
    if mark:
        return tuple(line for line in index.marked.get(mark, ()) if matches(line.names, name))
    matching = [line for line in index.patterns if matches(line.names, name)]
    return (*index.plain.get(name, ()), *matching)


@functools.lru_cache(maxsize=8)
def _index_of(path: Path, mtime_ns: int, size_bytes: int) -> _Index:
    """Return the index of a file, cached; time and size are parameters so that a changed file is read again."""
    index = _Index()
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, start=1):
        mark, text = _without_mark(line)
        # Not a comment, nor a mark without names.
        is_entry = text.strip() != "" and text.lstrip()[0] not in "#@"
        if is_entry:
            _add_line(index, mark, HostKeyLine(number, text))
    return index


def _without_mark(line: str) -> tuple[str, str]:
    """Return the mark of a line, such as ``@revoked``, empty if it has none, and the rest of the line."""
    if line.startswith("@") and " " in line.strip():
        mark, rest = line.split(maxsplit=1)
        return mark, rest
    return "", line


def _add_line(index: _Index, mark: str, line: HostKeyLine) -> None:
    """Add a line to the index by its mark, or by how its names are written."""
    if mark:
        index.marked.setdefault(mark, []).append(line)
    elif line.names.startswith("|1|") or re.search(r"[*?!]", line.names):
        index.patterns.append(line)
    else:
        for name in line.names.split(","):
            index.plain.setdefault(name, []).append(line)


def matches(names: str, name: str) -> bool:
    """Tell whether comma-separated patterns match a host as in sshd(8).

    One of them must match, and none of the matching ones may begin with ``!``.
    """
    matching = [pattern for pattern in names.split(",") if _matches(pattern.removeprefix("!"), name)]
    return bool(matching) and not any(pattern.startswith("!") for pattern in matching)


def _matches(pattern: str, name: str) -> bool:
    if pattern.startswith("|1|"):
        return _is_hash_of(pattern, name)
    expression = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(expression, name, re.IGNORECASE) is not None


def _is_hash_of(hashed: str, name: str) -> bool:
    """Tell whether ``|1|salt|digest`` is the hash of a name."""
    try:
        _, _, salt_text, digest_text = hashed.split("|")[:4]
        salt = base64.b64decode(salt_text)
        digest = base64.b64decode(digest_text)
    except (ValueError, binascii.Error):
        return False
    return hmac.compare_digest(hmac.new(salt, name.encode(), hashlib.sha1).digest(), digest)
