"""The known_hosts file of a target: which keys it holds for a host, and keys put into it, whole or not at all."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from napalm_sonic.host_keys import known_lines
from railweave.files import write_private

_MODE = 0o644


def recorded_keys(path: Path, name: str, mark: str = "") -> tuple[tuple[str, str], ...]:
    """Return every key that the file holds for ``name``, as its type and its base64.

    With a ``mark``, such as ``@revoked``, only the keys on lines with that mark are returned.
    """
    keys: list[tuple[str, str]] = []
    for line in known_lines(path, name, mark):
        # The names of the host, the type of the key, and the key.
        fields = line.split()
        if len(fields) >= 3:
            keys.append((fields[1], fields[2]))
    return tuple(keys)


def record(path: Path, keys: Mapping[str, str]) -> None:
    """Record a key (``type base64``) for each name in ``keys``, in place of all that the file has for these names.

    Other hosts keep their keys. The file is replaced as a whole, after the new one is on the disk. Raises OSError.
    """
    # Of a symbolic link the file behind it is replaced, not the link.
    target = path.expanduser().resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    mode = _MODE
    if target.exists():
        # A comment that is not UTF-8 is written back as it was.
        lines += _kept_lines(target, target.read_text(encoding="utf-8", errors="surrogateescape").splitlines(), keys)
        # The user may have made it readable by the owner alone.
        mode = target.stat().st_mode & 0o777
    lines += [f"{name} {key}" for name, key in keys.items()]
    text = "".join(f"{line}\n" for line in lines)
    write_private(target, text.encode(errors="surrogateescape"), mode)


def _kept_lines(file: Path, lines: Iterable[str], names: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a file without ``names``; a line stays if it has other names too."""
    names = tuple(names)
    # Lines that name several hosts, or are hashed (`|1|SALT|HASH`), are found by the reader of host keys.
    stale = {line for name in names for line in known_lines(file, name)}
    for line in lines:
        if line not in stale:
            yield line
            continue
        remaining_line = _without(line, names)
        if remaining_line:
            yield remaining_line


def _without(line: str, names: Iterable[str]) -> str:
    """Return a line without these names; empty if it has no others."""
    listed_names, _, key = line.strip().partition(" ")
    # A hashed line has one name.
    if listed_names.startswith("|1|"):
        return ""
    removed = set(names)
    remaining = [name for name in listed_names.split(",") if name not in removed]
    if remaining:
        return f"{','.join(remaining)} {key}"
    return ""
