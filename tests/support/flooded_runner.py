"""A runner of 50 sessions, 8 of them with switches that answer far too much; run as a program, it prints its memory.

    python flooded_runner.py SHAPE

prints JSON: ``peak_mib``, and by the name of each switch what came of reading it, empty where that was done.
"""

import json
import re
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any, cast

from napalm_sonic.calling import Caller
from napalm_sonic.options import Options
from napalm_sonic.program import SwitchProgram
from napalm_sonic.session import Session

SESSIONS, HOSTILE = 50, 8
SIZES_MIB = (32.0, 7.9, 0.5)
"""The longest answer ever taken, one just below today's limit, and one that is not even large."""
_HEAD = b'{"outcome":"read","status":{"status":"none","broken":{}},"unapplied":[],"unseen":[],'
_NO_FRR = b'"frr":{"digest":"b","text":""},"config":{"digest":"a","tables":{"VENDOR":{'
SHAPES: dict[str, tuple[bytes, bytes, bytes]] = {
    "empty objects": (b"[", b"{},", b"{}]"),
    "small objects": (b"[", b'{"":1},', b"{}]"),
    "nested lists": (b"", b"[", b""),
    "numbers": (b"[", b"1.5,", b"0]"),
    "lines of FRR": (_HEAD + b'"config":{"digest":"a","tables":{}},"frr":{"digest":"b","text":"', b"!\\n", b'"}}'),
    "rows": (_HEAD + _NO_FRR, b'"%d":{},', b'"z":{}}}}}'),
    "fields": (_HEAD + _NO_FRR + b'"x":{', b'"%d":"",', b'"z":""}}}}}'),
    "wide text": (b'"', "\N{GRINNING FACE}".encode(), b'"'),
    "plain text": (b'"', b"passkey: x ", b'"'),
}
"""What a hostile answer begins with, repeats and ends with."""
_PIECE = 65536


class Stream:
    """A stream of a channel that always has more, until it ends."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self.next: bytes | None = next(pieces, None)

    def set_event(self, event: threading.Event) -> None:
        event.set()

    def take(self) -> bytes:
        piece, self.next = self.next, next(self._pieces, None)
        return piece or b""


class Channel:
    """A channel of paramiko's whose command has answered already."""

    exit_status = 0
    closed = False

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.in_buffer, self.in_stderr_buffer = Stream(pieces), Stream(iter(()))
        self.status_event = threading.Event()
        self.status_event.set()

    @property
    def eof_received(self) -> bool:
        return True

    def recv_ready(self) -> bool:
        return self.in_buffer.next is not None

    def recv(self, size: int) -> bytes:
        return self.in_buffer.take()

    def recv_stderr_ready(self) -> bool:
        return False

    def recv_stderr(self, size: int) -> bytes:
        return b""

    def close(self) -> None:
        self.closed = True

    def shutdown_write(self) -> None:
        """Nobody reads it."""


class FloodedSession(Session):
    """A session whose commands answer with ``pieces``."""

    def channel(self, command: str) -> Any:
        return Channel(cast("Iterator[bytes]", self.netmiko_arguments["pieces"]))


def flood(shape: str, size_mib: float) -> Iterator[bytes]:
    head, unit, tail = SHAPES[shape]
    numbers = count()
    left = int(size_mib * 2**20) - len(head) - len(tail)
    yield head
    while left > 0:
        times = _PIECE // len(unit)
        piece = b"".join(unit % next(numbers) for _ in range(times)) if b"%d" in unit else unit * times
        yield piece[: left // len(unit) * len(unit) or len(unit)] if b"%d" not in unit else piece
        left -= len(piece)
    yield tail


def ordinary() -> Iterator[bytes]:
    rows = {f"Ethernet{number}": {"admin_status": "up", "description": "x" * 300} for number in range(500)}
    healthy = {"status": {"status": "none", "broken": {}}, "unapplied": [], "unseen": []}
    answer = {"outcome": "read", **healthy, "config": {"digest": "a", "tables": {"PORT": rows}}}
    yield json.dumps({**answer, "frr": {"digest": "b", "text": "router bgp 1\n"}}).encode()


def read(name: str, pieces: Iterator[bytes]) -> str:
    session = FloodedSession(name, "admin", "", 60.0, {"pieces": pieces})
    try:
        SwitchProgram(Caller(session, Options.__new__(Options)), cast("Any", None)).read()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def main(shape: str) -> None:
    told: dict[str, str] = {}
    for size_mib in SIZES_MIB:
        pieces = {
            f"sw{number}-{size_mib}": flood(shape, size_mib) if number < HOSTILE else ordinary()
            for number in range(SESSIONS)
        }
        with ThreadPoolExecutor(SESSIONS) as pool:
            told.update(zip(pieces, pool.map(read, pieces, pieces.values()), strict=True))
    print(json.dumps({"peak_mib": _peak_mib(), "told": told}))


def _peak_mib() -> float:
    """Return the most memory that this program held; getrusage also counts that of the process which started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (kib,) = re.findall(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)
    return int(kib) / 1024


if __name__ == "__main__":
    main(sys.argv[1])
