"""A session of SSH on a simulated node: a command, SFTP or a shell, inside the node's namespaces."""

import asyncio
import contextlib
import fcntl
import os
import signal
import struct
import termios
from collections.abc import Sequence
from dataclasses import dataclass

from sonic_sim.ssh import asyncssh

USER = "root"
LIBRARY = "/usr/local/lib/railweave-sim"
"""The folder of a node with the programs of the simulator."""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SFTP = f"{LIBRARY}/sftp.py"
_NAMESPACES = ("--user", "--mount", "--uts", "--ipc", "--net", "--pid")
# Passed on from the client, as Debian's sshd does.
_ACCEPTED = ("LANG", "LC_", "TERM")
_CHUNK_BYTES = 65536
# Input that waits for a command; the client is held up beyond.
_MOST_WAITING_BYTES = 1 << 20
_PASTE_AGAIN_S = 0.01


def inside(pid: int, command: Sequence[str]) -> list[str]:
    """Return the command that runs ``command`` in the namespaces of process ``pid``, as the root user there."""
    return ["nsenter", "--target", str(pid), *_NAMESPACES, "--setuid", "0", "--setgid", "0", "--", *command]


def environment(from_client: dict[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a login: accepted variables of the client, and none of this machine."""
    accepted = {key: value for key, value in (from_client or {}).items() if key.startswith(_ACCEPTED)}
    return {"PATH": _PATH, "HOME": "/root", "USER": USER, "LOGNAME": USER, "SHELL": "/bin/bash", **accepted}


class NodeSession(asyncssh.SSHServerSession[bytes]):
    """One session on the node with the first process ``pid``."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._words = ["/bin/bash", "-l"]
        self._terminal_size: tuple[int, ...] | None = None
        # The terminal of this session, -1 without one.
        self._terminal = -1
        self._input = asyncio.StreamReader()
        self._waiting_bytes = 0
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, chan: "asyncssh.SSHServerChannel[bytes]") -> None:
        """Keep the channel."""
        self._channel = chan

    def pty_requested(self, term_type: str, term_size: tuple[int, ...], term_modes: object) -> bool:
        """Give the session a terminal."""
        self._terminal_size = term_size
        return True

    def shell_requested(self) -> bool:
        """Run a login shell."""
        return True

    def exec_requested(self, command: str) -> bool:
        """Run a command."""
        self._words = ["/bin/bash", "-c", command]
        return True

    def subsystem_requested(self, subsystem: str) -> bool:
        """Serve SFTP from inside the node, where its files are."""
        self._words = ["/usr/bin/python3", "-IS", _SFTP]
        return subsystem == "sftp"

    def session_started(self) -> None:
        """Start the program."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    def data_received(self, data: bytes, datatype: int | None) -> None:
        """Take input."""
        self._input.feed_data(data)
        self._waiting_bytes += len(data)
        if self._waiting_bytes > _MOST_WAITING_BYTES:
            self._channel.pause_reading()

    def eof_received(self) -> bool:
        """Take the end of the input; the channel stays open for output."""
        self._input.feed_eof()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """End the input. A program without a terminal goes on until it reads or writes, as under sshd."""
        self._input.feed_eof()
        self._may_write.set()
        # Its terminal is closed, which hangs up the programs on it.
        if self._terminal >= 0 and self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        """Hold up the output."""
        self._may_write.clear()

    def resume_writing(self) -> None:
        """Let the output go on."""
        self._may_write.set()

    def terminal_size_changed(self, width: int, height: int, pixwidth: int, pixheight: int) -> None:
        """Pass on the size of the terminal."""
        if self._terminal >= 0:
            _set_size(self._terminal, width, height)

    async def _run(self) -> None:
        """Run the program of the session, and report to the client how it ended."""
        # As after a login, in the home folder of root.
        command = inside(self._pid, ["/bin/sh", "-c", 'cd && exec "$@"', "sh", *self._words])
        environ = environment(dict(self._channel.get_environment()))
        with contextlib.suppress(asyncssh.Error, OSError):
            if self._terminal_size is None:
                status = await self._piped(command, environ)
            else:
                environ["TERM"] = self._channel.get_terminal_type() or "dumb"
                status = await self._on_terminal(command, environ)
            if self._channel.is_closing():
                return
            if status < 0:
                self._channel.exit_with_signal(signal.Signals(-status).name.removeprefix("SIG"))
            else:
                self._channel.exit(status)

    async def _piped(self, command: list[str], environ: dict[str, str]) -> int:
        """Run a command with pipes, and return its exit status, negative for a signal."""
        out = await _Output.opened(None)
        err = await _Output.opened(asyncssh.EXTENDED_DATA_STDERR)
        try:
            child = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.PIPE, stdout=out.end, stderr=err.end, env=environ
            )
        finally:
            os.close(out.end)
            os.close(err.end)
        if child.stdin is None:
            raise TypeError("its standard input must be a pipe")
        feeding = asyncio.create_task(self._feed(child.stdin))
        await asyncio.gather(self._show(out), self._show(err))
        feeding.cancel()
        return await child.wait()

    async def _on_terminal(self, command: list[str], environ: dict[str, str]) -> int:
        """Run a command on a terminal, which is hung up when the session ends; return its exit status."""
        self._terminal, program_end = os.openpty()
        os.set_blocking(self._terminal, False)
        _set_size(self._terminal, *(self._terminal_size or ())[:2])
        # The terminal is one of the simulator's machine; the node only has handles of it.
        words = ("setsid", "--ctty", "--wait", *command)
        child = await asyncio.create_subprocess_exec(
            *words, stdin=program_end, stdout=program_end, stderr=program_end, env=environ
        )
        os.close(program_end)
        reading = asyncio.create_task(self._show_terminal())
        typing = asyncio.create_task(self._type())
        try:
            status = await child.wait()
            # Show what the program wrote last, for a second: one in the background may keep the terminal open.
            await asyncio.wait((reading,), timeout=1)
            return status
        finally:
            reading.cancel()
            typing.cancel()
            # The event loop must have removed the handle before another session gets the same number.
            await asyncio.gather(reading, typing, return_exceptions=True)
            os.close(self._terminal)
            self._terminal = -1

    async def _feed(self, sink: asyncio.StreamWriter) -> None:
        """Pass the input on to a program until its end."""
        with contextlib.suppress(ConnectionError):
            while data := await self._typed():
                sink.write(data)
                await sink.drain()
        sink.close()

    async def _type(self) -> None:
        """Pass the input on to the terminal until its end."""
        while data := await self._typed():
            while data:
                try:
                    data = data[os.write(self._terminal, data) :]
                except BlockingIOError:
                    # Pasted text comes faster than the program reads.
                    await asyncio.sleep(_PASTE_AGAIN_S)

    async def _typed(self) -> bytes:
        """Return the next input, empty at its end."""
        data = await self._input.read(_CHUNK_BYTES)
        was_held_up = self._waiting_bytes > _MOST_WAITING_BYTES
        self._waiting_bytes -= len(data)
        if was_held_up and self._waiting_bytes <= _MOST_WAITING_BYTES:
            self._channel.resume_reading()
        return data

    async def _show(self, output: "_Output") -> None:
        """Pass output on until it ends or the session does; then the program can write no more."""
        while data := await output.reader.read(_CHUNK_BYTES):
            await self._write(data, output.kind)
            if self._channel.is_closing():
                break
        output.transport.close()

    async def _show_terminal(self) -> None:
        """Pass the output of the terminal on until the last program on it ends, or the session does."""
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(self._terminal, readable.set)
        try:
            while not self._channel.is_closing():
                await readable.wait()
                readable.clear()
                with contextlib.suppress(BlockingIOError):
                    await self._write(os.read(self._terminal, _CHUNK_BYTES))
        except OSError:
            # The last program on the terminal has ended.
            return
        finally:
            loop.remove_reader(self._terminal)

    async def _write(self, data: bytes, kind: int | None = None) -> None:
        """Send output to the client once it may take more; ``kind`` is that of the channel, None for plain output."""
        await self._may_write.wait()
        if not self._channel.is_closing():
            self._channel.write(data, kind)


@dataclass(slots=True)
class _Output:
    """A pipe for the output of a program; ``end`` is the end that the program writes to.

    ``kind`` is the kind of the output in the channel, None for stdout.
    """

    kind: int | None
    end: int
    reader: asyncio.StreamReader
    transport: asyncio.ReadTransport

    @classmethod
    async def opened(cls, kind: int | None) -> "_Output":
        """Return a new pipe."""
        read_end, end = os.pipe()
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_end, "rb", 0)
        )
        return cls(kind, end, reader, transport)


def _set_size(terminal: int, columns: int = 0, rows: int = 0) -> None:
    """Set the size of a terminal; 0 means the usual 80 columns or 24 rows."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows or 24, columns or 80, 0, 0))
