"""Finds the known host keys of one switch, quickly in a file of thousands.

paramiko decodes every key of a known_hosts file for every connection: 0.4 s of CPU at a thousand lines (measured),
minutes for a fabric of a thousand switches. Here the file is indexed once by name and only the lines of one host are
decoded. The format is sshd(8)'s: plain or comma-separated names, ``[host]:port``, and names hashed as ``|1|salt|hash``.
"""

import base64
import binascii
import functools
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import paramiko

_SSH_PORT = 22


@dataclass(frozen=True, slots=True)
class _Index:
    """The lines of a known_hosts file: by plain name, and those whose names are hashed."""

    plain: Mapping[str, tuple[str, ...]]
    hashed: tuple[tuple[str, str], ...]


def known_name(host: str, port: int) -> str:
    """Return the name under which a known_hosts file holds a host: with the port where it is not 22."""
    return host if port == _SSH_PORT else f"[{host}]:{port}"


def add_known_keys(client: "paramiko.SSHClient", path: Path, name: str) -> None:
    """Let a client know the keys that the file holds for ``name``; a file that is not there holds none."""
    from paramiko.hostkeys import HostKeyEntry

    for line in known_lines(path, name):
        entry = HostKeyEntry.from_line(line)
        if entry is not None and entry.key is not None:
            client.get_host_keys().add(name, entry.key.get_name(), entry.key)


def known_lines(path: Path, name: str) -> tuple[str, ...]:
    """Return the lines of the file that speak of ``name``."""
    try:
        stat = path.stat()
    except OSError:
        return ()
    index = _index(path, stat.st_mtime_ns, stat.st_size)
    hashed = tuple(line for mark, line in index.hashed if _is_hash_of(mark, name))
    return (*index.plain.get(name, ()), *hashed)


@functools.lru_cache(maxsize=8)
def _index(path: Path, mtime_ns: int, size_bytes: int) -> _Index:
    """Index the file; its time and size are arguments so that a changed file is read again."""
    plain: dict[str, list[str]] = {}
    hashed: list[tuple[str, str]] = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        names = line.split(maxsplit=1)[0] if line.strip() else "#"
        if names[0] in "#@":
            continue
        for name in names.split(","):
            if name.startswith("|1|"):
                hashed.append((name, line))
            else:
                plain.setdefault(name, []).append(line)
    return _Index({name: tuple(lines) for name, lines in plain.items()}, tuple(hashed))


def _is_hash_of(mark: str, name: str) -> bool:
    try:
        salt, digest = (base64.b64decode(part) for part in mark.split("|")[2:4])
    except (ValueError, binascii.Error):
        return False
    return hmac.compare_digest(hmac.new(salt, name.encode(), hashlib.sha1).digest(), digest)
