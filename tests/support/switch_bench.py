"""``railweave-switch`` as real processes in a folder of its own, with a small Redis and SONiC's commands on PATH."""

import hashlib
import json
import os
import select
import signal
import socket
import socketserver
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from switch_cases import BEFORE, FRR_BEFORE
from virtual_switch import encoded

from railweave_switch.packing import packed
from railweave_switch.rows import tables_of

LIMIT_S = 300.0
"""After this a process is stuck, on the slowest machine."""

TOOLS = Path(__file__).with_name("switch_tools.py")


@dataclass
class Bench:
    """The program with its files and its switch."""

    root: Path
    rows: dict[str, dict[str, str]]
    python: str = sys.executable
    pipes: list[int] = field(default_factory=list)

    @property
    def program(self) -> Path:
        return self.root / "railweave-switch"

    @property
    def environment(self) -> dict[str, str]:
        path = f"{self.root / 'bin'}:{os.environ['PATH']}"
        return {**os.environ, "RAILWEAVE_ROOT": str(self.root), "PATH": path}

    def install(self) -> None:
        """Put the packed program, which Python compiles at each start, in the place of the folder."""
        self.program.unlink()
        self.program.write_bytes(packed())

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [self.python, "-I", "-S", str(self.program), *words],
            stdin=pipe, stdout=pipe, stderr=pipe, env=self.environment,
        )  # fmt: skip

    def call(self, *words: str, stdin: bytes = b"") -> dict[str, Any]:
        out, err = self.start(*words).communicate(stdin, timeout=LIMIT_S)
        assert not err, err.decode()
        found: dict[str, Any] = json.loads(out)
        return found

    def sent(self, document: Mapping[str, Any]) -> tuple[list[str], bytes]:
        state = self.root / "var/lib/railweave/transaction.json"
        last = json.loads(state.read_text())["id"] if state.exists() else ""
        data = json.dumps({"last": last, **document}).encode()
        return ["apply", "--length", str(len(data)), "--sha256", hashlib.sha256(data).hexdigest()], data

    def apply(self, document: Mapping[str, Any]) -> dict[str, Any]:
        words, data = self.sent(document)
        return self.call(*words, stdin=data)

    @contextmanager
    def held(self, command: str) -> Iterator[Callable[[], object]]:
        """Hold a command of SONiC's until the end of the block; give what waits until it runs, and tells whether."""
        pipes = [self.root / "reached", self.root / "go"]
        for pipe in pipes:
            os.mkfifo(pipe)
        reached, go = (os.open(pipe, os.O_RDWR) for pipe in pipes)
        (self.root / "held").write_text(command)
        try:
            yield lambda: select.select([reached], [], [], LIMIT_S)[0]
        finally:
            (self.root / "held").unlink()
            os.write(go, b".")
            self.pipes += [reached, go]

    def guards(self) -> list[int]:
        """Return the processes of the guard of this folder, the twin first."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if b"_guard" in words and str(self.program).encode() in words:
                    found.append(int(entry.name))
        return sorted(found)

    def guards_ended(self, limit_s: float = LIMIT_S) -> bool:
        """Wait until the kernel says that the processes of the guard have ended; False where one outlives the limit."""
        for pid in self.guards():
            try:
                handle = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            try:
                if not select.select([handle], [], [], limit_s)[0]:
                    return False
            finally:
                os.close(handle)
        return not self.guards()


@contextmanager
def bench(root: Path, unpacked: Path) -> Iterator[Bench]:
    """Give a switch before the change, with the program as a folder; nothing of it outlives the block."""
    for name in ("bin", "etc/sonic/frr", "var/lib", "var/run/redis"):
        (root / name).mkdir(parents=True)
    for name in ("config", "vtysh"):
        (root / "bin" / name).write_text(f"#!{sys.executable} -IS\n{TOOLS.read_text()}")
        (root / "bin" / name).chmod(0o755)
    # Whatever process 1 is here, the guard starts as on a switch without systemd.
    (root / "bin/systemd-run").write_text("#!/bin/sh\nexit 1\n")
    (root / "bin/systemd-run").chmod(0o755)
    (root / "frr.txt").write_text(FRR_BEFORE)
    rows = {f"{table}|{key}": encoded(row) for table, kept in BEFORE.items() for key, row in kept.items()}
    made = Bench(root, rows)
    made.program.symlink_to(unpacked)
    short = Path(f"/tmp/railweave-redis-{os.getpid()}-{id(made)}")
    server = _Server(str(short), rows)
    (root / "var/run/redis/redis.sock").symlink_to(short)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        for pid in made.guards():
            with suppress(ProcessLookupError):  # it may be ending
                os.kill(pid, signal.SIGKILL)
        made.guards_ended()
        for pipe in made.pipes:
            os.close(pipe)
        server.shutdown()
        server.server_close()
        thread.join()
        short.unlink()


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def __init__(self, path: str, rows: dict[str, dict[str, str]]) -> None:
        self.rows = rows
        super().__init__(path, _Connection)


class _Connection(socketserver.StreamRequestHandler):
    server: _Server
    connection: socket.socket

    def handle(self) -> None:
        while head := self.rfile.readline():
            words = []
            for _ in range(int(head[1:])):
                size = int(self.rfile.readline()[1:])
                words.append(self.rfile.read(size + 2)[:-2].decode())
            self.wfile.write(_encoded(self.answer(words[0], words[1:])))

    def answer(self, verb: str, words: list[str]) -> Any:
        rows = self.server.rows
        if verb == "GET":
            return "1"
        if verb == "TABLES":  # for SONiC's commands here, which know no more of Redis than one answer
            return json.dumps(tables_of(rows))
        if verb == "KEYS":
            return [key for key in rows if words[0] in ("*", key)]
        if verb == "TYPE":
            return "hash"
        if verb == "HGETALL":
            return [word for pair in rows.get(words[0], {}).items() for word in pair]
        if verb == "HSET":
            rows.setdefault(words[0], {}).update(dict(zip(words[1::2], words[2::2], strict=True)))
        elif verb == "HDEL":
            for name in words[1:]:
                rows.get(words[0], {}).pop(name, None)
        elif verb == "DEL":
            rows.pop(words[0], None)
        return "OK"


def _encoded(value: Any) -> bytes:
    if isinstance(value, list):
        return b"*%d\r\n" % len(value) + b"".join(map(_encoded, value))
    data = str(value).encode()
    return b"$%d\r\n%s\r\n" % (len(data), data)
