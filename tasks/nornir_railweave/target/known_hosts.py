"""The known_hosts file of a target: which keys it holds for a host, and keys put into it, whole or not at all."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from napalm_sonic.host_keys import known_lines
from railweave.files import write_private

_MODE = 0o644


def recorded_keys(path: Path, name: str, mark: str = "") -> tuple[tuple[str, str], ...]:
    """Return (type, base64 of the key) of every key that the file holds for ``name``, or of those with a mark."""
    parts = (line.split() for line in known_lines(path, name, mark))
    return tuple((words[1], words[2]) for words in parts if len(words) >= 3)


def record(path: Path, keys: Mapping[str, str]) -> None:
    """Let the file hold exactly the key ``keys[name]`` (``type base64``) for each name; other hosts keep theirs.

    The file is replaced as a whole, after the new one is on the disk. Raises OSError.
    """
    target = path.expanduser().resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    lines = target.read_text(encoding="utf-8", errors="surrogateescape").splitlines() if target.exists() else []
    # Lines that name several hosts, or are hashed (`|1|SALT|HASH`), are found by the reader of host keys.
    stale = {line for name in keys for line in known_lines(target, name)}
    kept: list[str] = []
    for line in lines:
        left = _without(line, keys) if line in stale else line
        if left or line not in stale:
            kept.append(left)
    # The user may have made it readable by the owner alone.
    mode = target.stat().st_mode & 0o777 if target.exists() else _MODE
    text = "".join(f"{line}\n" for line in [*kept, *(f"{name} {key}" for name, key in keys.items())])
    write_private(target, text.encode(errors="surrogateescape"), mode)


def _without(line: str, names: Iterable[str]) -> str:
    """Return a line without these names; empty where it speaks of nobody else. A hashed line names one host."""
    listed, _, rest = line.strip().partition(" ")
    if listed.startswith("|1|"):
        return ""
    gone = set(names)
    left = [name for name in listed.split(",") if name not in gone]
    return f"{','.join(left)} {rest}" if left else ""
