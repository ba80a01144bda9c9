"""As much of Redis' protocol (RESP 2) as the node needs, over TCP on loopback."""

import socket
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

ADDRESS = ("127.0.0.1", 6379)
CONFIG_DB = 4
APPL_DB = 0
COUNTERS_DB = 2
STATE_DB = 6


class RefusedCommandError(Exception):
    """Redis refused a command."""


class Redis:
    """One connection to one database."""

    def __init__(self, database: int, timeout_s: float | None = 10) -> None:
        """Connect. Raises OSError."""
        self._socket = socket.create_connection(ADDRESS, timeout_s)
        self._answers: BinaryIO = self._socket.makefile("rb")
        self.call("SELECT", str(database))

    def fileno(self) -> int:
        """Return the descriptor, for select."""
        return self._socket.fileno()

    def call(self, *words: str) -> Any:
        """Send one command and return its answer. Raises RefusedCommandError, OSError."""
        return self.pipeline([words])[0]

    def pipeline(self, commands: Sequence[Sequence[str]]) -> list[Any]:
        """Send commands in one go and return their answers. Raises RefusedCommandError for the first refused one."""
        self._socket.sendall(b"".join(_encoded(words) for words in commands))
        answers = [self.read() for _ in commands]
        for answer in answers:
            if isinstance(answer, RefusedCommandError):
                raise answer
        return answers

    def read(self) -> Any:
        """Read one answer; a refusal is returned as a RefusedCommandError."""
        line = self._answers.readline()
        if not line:
            raise ConnectionError("Redis closed the connection")
        # The first byte says what follows: an error, a number, a text by its length, a list by its count.
        kind = line[:1]
        rest = line[1:].rstrip(b"\r\n").decode()
        if kind == b"-":
            return RefusedCommandError(rest)
        if kind == b":":
            return int(rest)
        if kind in (b"$", b"*") and rest == "-1":
            return None
        if kind == b"$":
            return self._answers.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        return rest

    def rows(self, pattern: str = "*") -> dict[str, dict[str, str]]:
        """Return all hashes whose key matches a pattern."""
        keys = sorted(self.call("KEYS", pattern))
        kinds = self.pipeline([("TYPE", key) for key in keys])
        hashes = [key for key, kind in zip(keys, kinds, strict=True) if kind == "hash"]
        answers = self.pipeline([("HGETALL", key) for key in hashes])
        rows = {}
        for key, words in zip(hashes, answers, strict=True):
            # RESP 2 has no maps: names and values take turns.
            rows[key] = dict(zip(words[::2], words[1::2], strict=True))
        return rows

    def write(self, old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]]) -> bool:
        """Apply the difference between two states of rows in one transaction; return whether there is any."""
        commands = difference(old, new)
        if commands:
            self.pipeline([("MULTI",), *commands, ("EXEC",)])
        return bool(commands)


def difference(old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]]) -> list[tuple[str, ...]]:
    """Return the commands that turn the rows ``old`` into ``new``.

    They change single fields, so that concurrent writes to other fields survive.
    """
    commands: list[tuple[str, ...]] = [("DEL", key) for key in old if key not in new]
    for key, fields in new.items():
        before = old.get(key, {})
        removed = [name for name in before if name not in fields]
        words: list[str] = []
        for name, value in fields.items():
            if before.get(name) != value:
                words += [name, value]
        if removed:
            commands.append(("HDEL", key, *removed))
        if words:
            commands.append(("HSET", key, *words))
    return commands


def _encoded(words: Sequence[str]) -> bytes:
    parts = [f"*{len(words)}\r\n".encode()]
    for word in words:
        data = word.encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)
