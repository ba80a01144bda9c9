"""A client of the switch's Redis, with the part of its protocol (RESP 2) that rows need."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Sequence
from typing import Any, BinaryIO

from railweave_switch.host import DatabaseError, Hash

SOCKETS = ("/var/run/redis/redis.sock", "/run/redis/redis.sock")
_ADDRESS = ("127.0.0.1", 6379)
_DATABASES = {"APPL_DB": 0, "ASIC_DB": 1, "COUNTERS_DB": 2, "CONFIG_DB": 4, "STATE_DB": 6}
_WAIT_S = 30.0


class RedisConnection:
    """One connection to one database, by its name in SONiC."""

    def __init__(self, database: str, paths: Sequence[str]) -> None:
        self._socket = self._connected(paths)
        self._answers: BinaryIO = self._socket.makefile("rb")
        self.call("SELECT", str(_DATABASES[database]))

    def __enter__(self) -> RedisConnection:
        return self

    def __exit__(self, *error: object) -> None:
        self._answers.close()
        self._socket.close()

    @staticmethod
    def _connected(paths: Sequence[str]) -> socket.socket:
        """Return a connection by the first of these sockets that answers, else by TCP; raises DatabaseError."""
        for path in paths:
            if os.path.exists(path):
                connection = socket.socket(socket.AF_UNIX)
                connection.settimeout(_WAIT_S)
                with contextlib.suppress(OSError):
                    connection.connect(path)
                    return connection
                connection.close()
        try:
            return socket.create_connection(_ADDRESS, _WAIT_S)
        except OSError as error:
            raise DatabaseError(f"Redis does not answer: {error}") from error

    def call(self, *words: str) -> Any:
        """Send one command and return its answer; raises DatabaseError."""
        return self.pipeline([words])[0]

    def pipeline(self, commands: Sequence[Sequence[str]]) -> list[Any]:
        """Send commands together and return their answers; raises DatabaseError for the first refused one."""
        try:
            self._socket.sendall(b"".join(_encoded(words) for words in commands))
            answers = [self._read() for _ in commands]
        except (OSError, ValueError, OverflowError, RecursionError) as error:
            raise DatabaseError(f"Redis broke off: {error}") from error
        for answer in answers:
            if isinstance(answer, DatabaseError):
                raise answer
        return answers

    def rows(self, pattern: str) -> dict[str, Hash]:
        """Return all hashes whose key matches a pattern; raises DatabaseError."""
        keys = sorted(_texts(self.call("KEYS", pattern)))
        # Two pipelines for all keys: thousands of single calls would take seconds.
        types = self.pipeline([("TYPE", key) for key in keys])
        hashes = [key for index, key in enumerate(keys) if types[index] == "hash"]
        answers = self.pipeline([("HGETALL", key) for key in hashes])
        return {key: _paired(answers[index]) for index, key in enumerate(hashes)}

    def _read(self) -> Any:
        """Read one answer: a text, a number, a list, None or, for a refused command, a DatabaseError."""
        head = self._answers.readline()
        if not head:
            raise DatabaseError("Redis closed the connection")
        kind = head[:1]
        rest = head[1:].rstrip(b"\r\n").decode("utf-8", "replace")
        if kind == b"-":
            # Returned, not raised: the answers to the other commands of a pipeline have to be read, too.
            return DatabaseError(f"Redis: {rest}")
        # The length -1 is that of a value that does not exist.
        if kind in (b"$", b"*") and rest == "-1":
            return None
        if kind == b"$":
            # The length does not count the line end after the text.
            return self._answers.read(int(rest) + 2)[:-2].decode("utf-8", "replace")
        if kind == b"*":
            return [self._read() for _ in range(int(rest))]
        if kind == b":":
            return int(rest)
        return rest


def _texts(answer: Any) -> list[str]:
    """Return an answer that is a list of texts; raises DatabaseError if it is not."""
    if not isinstance(answer, list) or not all(isinstance(member, str) for member in answer):
        raise DatabaseError("Redis answered no list of texts")
    return answer


def _paired(answer: Any) -> dict[str, str]:
    """Return the fields of a hash, which RESP 2 lists as name, value, name, value."""
    words = _texts(answer)
    return {words[index]: words[index + 1] for index in range(0, len(words) - 1, 2)}


def _encoded(words: Sequence[str]) -> bytes:
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word.encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)
