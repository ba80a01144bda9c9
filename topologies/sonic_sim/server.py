"""The SSH side of a simulated fabric: a listener a switch, each with its own host key."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

import sonic_sim.commands.switch  # noqa: F401  registers the program; a node of the lab runs the real one
from sonic_sim.device import Device, Effect
from sonic_sim.faults import FaultKind
from sonic_sim.files import ROOT, home_of
from sonic_sim.sftp import USER, DeviceSftp
from sonic_sim.shell.run import SessionDroppedError, Shell, run_command
from sonic_sim.shell.streams import Streams
from sonic_sim.ssh import asyncssh
from sonic_sim.ssh_options import SSH_OPTIONS
from sonic_sim.switch_host import look

_LATER_S = 0.01
Changed = Callable[[Device], None]


class _ChannelStdin:
    """Standard input of an SSH channel."""

    def __init__(self, process: "asyncssh.SSHServerProcess[str]") -> None:
        self._process = process

    async def read(self) -> str:
        """Return all input up to the end of the channel."""
        try:
            return str(await self._process.stdin.read())
        except (asyncssh.BreakReceived, asyncssh.TerminalSizeChanged):
            return ""

    async def readline(self) -> str:
        """Return the next line."""
        while True:
            try:
                return str(await self._process.stdin.readline())
            except asyncssh.TerminalSizeChanged:
                continue
            except asyncssh.BreakReceived:
                return ""


class _Login(asyncssh.SSHServer):
    """One connection; the switch may be away."""

    def __init__(self, listener: "DeviceListener") -> None:
        self._listener = listener
        self._connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        """Count the connection, or cut it while the management port is down."""
        self._connection = conn
        self._listener.connections.add(conn)
        if not self._listener.device.answers():
            conn.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        if self._connection is not None:
            self._listener.connections.discard(self._connection)

    def begin_auth(self, username: str) -> bool:
        """Ask for a key."""
        return True


@dataclass(eq=False)
class DeviceListener:
    """The listening socket of one switch."""

    device: Device
    address: str
    port: int
    # The switch's host key.
    key: asyncssh.SSHKey
    # The key by which clients log in.
    client_key: asyncssh.SSHKey
    # Called after every command that may have changed the switch.
    changed: Changed
    connections: set[asyncssh.SSHServerConnection] = field(default_factory=set)
    # Commands in the background, which outlive their sessions.
    tasks: "set[asyncio.Task[int]]" = field(default_factory=set)
    # None while the switch is unreachable.
    _acceptor: asyncssh.SSHAcceptor | None = None
    # The next look of the guard of a pending transaction.
    _timer: asyncio.TimerHandle | None = None
    # Kept, because the event loop alone would let a task be collected.
    _opening: "asyncio.Task[None] | None" = None

    async def open(self) -> None:
        """Listen, as the armed faults of the switch allow."""
        await self.close()
        self.device.on_effect = self._on_effect
        self.plan_timer()
        faults = self.device.faults
        if faults.has(FaultKind.UNREACHABLE):
            return
        key = self.key
        if faults.has(FaultKind.WRONG_HOST_KEY):
            key = asyncssh.generate_private_key("ssh-ed25519")
        self._acceptor = await asyncssh.listen(
            self.address,
            self.port,
            server_factory=lambda: _Login(self),
            server_host_keys=[key],
            authorized_client_keys=asyncssh.import_authorized_keys(self.client_key.export_public_key().decode()),
            process_factory=self._session,
            sftp_factory=lambda channel: DeviceSftp(channel, self.device),
            errors="replace",
            line_editor=True,
            **SSH_OPTIONS,
        )

    async def close(self) -> None:
        """Stop listening and cut all sessions."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._acceptor is not None:
            self._acceptor.close()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._acceptor.wait_closed(), 0.5)
            self._acceptor = None
        self.drop_sessions()

    def drop_sessions(self) -> None:
        """Cut every connection to this switch, as its management port does when it goes down."""
        for connection in list(self.connections):
            connection.abort()

    def plan_timer(self) -> None:
        """Let the guard of the pending transaction look, at once and then as often as it asks for."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.device.guard is not None:
            self._timer = asyncio.get_running_loop().call_later(_LATER_S, self.catch_up)

    def catch_up(self) -> None:
        """Let the guard look: the switch's clock may have been advanced."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        pause_s = look(self.device)
        self.changed(self.device)
        if pause_s is not None:
            self._timer = asyncio.get_running_loop().call_later(max(pause_s, _LATER_S), self.catch_up)

    def _on_effect(self, device: Device, effect: Effect) -> None:
        if effect is Effect.DROP_SESSIONS:
            self.drop_sessions()
        elif effect is Effect.TIMER:
            self.plan_timer()
        elif effect is Effect.OFFLINE:
            # `open` closes the listener, and does not listen again while the switch is unreachable.
            self._opening = asyncio.get_running_loop().create_task(self.open())

    async def _session(self, process: "asyncssh.SSHServerProcess[str]") -> None:
        """Serve a session: the command that it names, or a shell."""
        shell = Shell(self.device, USER)
        shell.tasks = self.tasks
        shell.when_done = lambda: self.changed(self.device)
        shell.terminal = process.term_type is not None

        def out(text: str) -> None:
            if not process.is_closing():
                process.stdout.write(text)

        def err(text: str) -> None:
            # On a terminal both streams are one.
            if shell.terminal:
                out(text)
            elif not process.is_closing():
                process.stderr.write(text)

        streams = Streams(_ChannelStdin(process), out, err, terminal=shell.terminal)
        try:
            if process.command is not None:
                status = await run_command(shell, process.command, streams)
                self.changed(self.device)
            else:
                status = await self._interactive(shell, process, streams)
        except SessionDroppedError:
            self.changed(self.device)
            process.get_extra_info("connection").abort()
            return
        except (asyncssh.Error, OSError):
            return
        if not process.is_closing():
            process.exit(status)

    async def _interactive(self, shell: Shell, process: "asyncssh.SSHServerProcess[str]", streams: Streams) -> int:
        """Serve an engineer at a prompt until the session ends; return the shell's exit status."""
        if shell.terminal:
            streams.out(f"Linux {self.device.hostname} 6.1.0-29-2-amd64 #1 SMP x86_64\n\n")
        while True:
            streams.out(prompt(shell))
            line = await streams.stdin.readline()
            if not line:
                return shell.status
            words = line.split()
            if words[:1] in (["exit"], ["logout"]):
                if shell.user == USER:
                    return int(words[1]) if words[1:] and words[1].isdigit() else shell.status
                shell.user = USER
                continue
            await run_command(shell, line.rstrip("\r\n"), streams)
            self.changed(self.device)


def prompt(shell: Shell) -> str:
    """Return bash's prompt: ``admin@pod1-leaf1:~$``."""
    where = "~" if shell.cwd == home_of(shell.user) else shell.cwd
    mark = "#" if shell.user == ROOT else "$"
    return f"{shell.user}@{shell.device.hostname}:{where}{mark} "
