"""Programs that start other programs: sudo, sh, flock, timeout, nohup, setsid, systemd-run, docker exec, env."""

import asyncio
import contextlib
import posixpath

from sonic_sim.commands.filetools import read_for
from sonic_sim.files import ROOT, canonical, in_container
from sonic_sim.locks import Holder, Locks
from sonic_sim.shell.programs import CallingShell, runner
from sonic_sim.shell.streams import Captured, Streams

# Real seconds, whatever the scale of the switch's clock.
_DETACH_DELAY_S = 0.02


def _skip_options(words: list[str], valued: tuple[str, ...] = ()) -> list[str]:
    """Return the words after the options. An option of ``valued`` has the next word as its value."""
    while words and words[0].startswith("-") and words[0] != "--":
        words = words[2:] if words[0] in valued else words[1:]
    return words[1:] if words[:1] == ["--"] else words


@runner("sudo")
async def sudo(shell: CallingShell, argv: list[str], streams: Streams) -> int:
    """Run a command as root; admin may do so without a password."""
    words = _skip_options(argv[1:], ("-u", "-g", "-p", "-C"))
    user = ROOT
    if "-u" in argv[1:3]:
        user = argv[argv.index("-u") + 1]
    if argv[1:] in (["-i"], ["-s"], ["su"], ["su", "-"]):
        shell.user = ROOT
        return 0
    if not words:
        return 0
    child = shell.child(user)
    return await child.execute(words, streams)


@runner("sh", "bash", "dash")
async def sh(shell: CallingShell, argv: list[str], streams: Streams) -> int:
    """Run ``sh -c LINE`` or a script from standard input."""
    child = shell.child()
    for index, word in enumerate(argv[1:], start=1):
        # Also in ``-lc``.
        is_command_option = word.startswith("-") and word.endswith("c")
        if is_command_option and index + 1 < len(argv):
            return await child.run_line(argv[index + 1], streams)
    return await child.run_line(await streams.stdin.read(), streams)


@runner("exec", "nohup", "nice", "ionice", "command", "stdbuf", "time")
async def passing_on(shell: CallingShell, argv: list[str], streams: Streams) -> int:
    """Run the rest of the line."""
    words = _skip_options(argv[1:], ("-n", "-c", "-o", "-e"))
    if not words:
        return 0
    return await shell.child().execute(words, streams)


@runner("env")
async def env(shell: CallingShell, argv: list[str], streams: Streams) -> int:
    """Run a command with variables set."""
    words = _skip_options(argv[1:], ("-u",))
    if not words:
        return 0
    return await shell.child().execute(words, streams)


@runner("timeout")
async def timeout(shell: CallingShell, argv: list[str], streams: Streams) -> int:
    """Run a command for at most so many seconds."""
    words = _skip_options(argv[1:], ("-s", "-k"))
    if len(words) < 2:
        return 125
    try:
        seconds = float(words[0].rstrip("s"))
        return await asyncio.wait_for(shell.child().execute(words[1:], streams), seconds)
    except TimeoutError:
        return 124
    except ValueError:
        streams.err(f"timeout: invalid time interval '{words[0]}'\n")
        return 125


@runner("sleep")
async def sleep(shell: CallingShell, argv: list[str], streams: Streams) -> int:
    """Wait, on the switch's clock."""
    try:
        await asyncio.sleep(shell.device.clock.real_s(float(argv[1].rstrip("s"))))
    except (IndexError, ValueError):
        streams.err("sleep: missing operand\n")
        return 1
    return 0


@runner("wait")
async def wait(shell: CallingShell, argv: list[str], streams: Streams) -> int:
    """Wait for the background commands of this shell."""
    await asyncio.gather(*shell.jobs, return_exceptions=True)
    return 0


@runner("flock")
async def flock(shell: CallingShell, argv: list[str], streams: Streams) -> int:
    """Hold a lock while a command runs: ``flock [-n] [-w S] [-E N] FILE COMMAND…`` or ``FILE -c LINE``.

    ``flock NUMBER`` locks the file that is open under a number until it is closed or ``flock -u NUMBER`` unlocks it.
    """
    words = argv[1:]
    # The exit status if somebody else has the lock.
    conflict = 1
    wait_s = float("inf")
    unlock = False
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in ("-E", "--conflict-exit-code") and words:
            conflict = int(words.pop(0))
        elif option in ("-w", "--timeout") and words:
            wait_s = float(words.pop(0))
        elif option in ("-n", "--nonblock", "--nb"):
            wait_s = 0.0
        elif option in ("-u", "--unlock"):
            unlock = True
    if not words:
        streams.err("flock: not enough arguments\n")
        return 64  # EX_USAGE
    path, *command = words
    if not command:
        return await _lock_open_file(shell, path, streams, unlock=unlock, conflict=conflict, wait_s=wait_s)
    holder = await _wait_for_lock(shell.device.locks, path, wait_s)
    if holder is None:
        return conflict
    try:
        if command[0] in ("-c", "--command"):
            return await shell.child().run_line(command[1], streams)
        return await shell.child().execute(command, streams)
    finally:
        shell.device.locks.release(holder)


async def _lock_open_file(
    shell: CallingShell, number: str, streams: Streams, *, unlock: bool, conflict: int, wait_s: float
) -> int:
    """Lock the file that is open under a number, or unlock it; return the exit status.

    ``conflict`` is that of a lock which somebody else still has after ``wait_s`` seconds.
    """
    file = shell.opened.get(number)
    locks = shell.device.locks
    if file is None:
        # EX_DATAERR of a closed descriptor, EX_USAGE of a word that is no number (util-linux, sys-utils/flock.c).
        if number.isdecimal():
            streams.err(f"flock: {number}: Bad file descriptor\n")
            return 65
        streams.err(f"flock: bad file descriptor: '{number}'\n")
        return 64
    if unlock:
        if file.holder is not None:
            locks.release(file.holder)
            file.holder = None
        return 0
    if file.holder is None:
        file.holder = await _wait_for_lock(locks, file.path, wait_s)
    return conflict if file.holder is None else 0


async def _wait_for_lock(locks: Locks, path: str, wait_s: float) -> Holder | None:
    """Take a lock once nobody else has it, and return its holder; None if ``wait_s`` real seconds are over before."""
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + wait_s
    while True:
        holder = locks.take(path)
        if holder is not None or loop.time() >= ends_at:
            return holder
        await asyncio.sleep(0.05)


@runner("cat")
async def cat(shell: CallingShell, argv: list[str], streams: Streams) -> int:
    """Print files, or standard input line by line until it ends."""
    names = [word for word in argv[1:] if word == "-" or not word.startswith("-")]
    if not names:
        while line := await streams.stdin.readline():
            streams.out(line)
        return 0
    status = 0
    for name in names:
        text, error = read_for(shell.device, name, shell.user, shell.cwd)
        if error:
            streams.err(f"cat: {name}: {error}\n")
            status = 1
        else:
            streams.out(text)
    return status


@runner("setsid")
async def setsid(shell: CallingShell, argv: list[str], streams: Streams) -> int:
    """Run a command in an own session; with ``-f`` it outlives the login."""
    words = _skip_options(argv[1:])
    if "-f" in argv[1:] or "--fork" in argv[1:]:
        _detach(shell, words)
        return 0
    return await shell.child().execute(words, streams)


@runner("systemd-run")
async def systemd_run(shell: CallingShell, argv: list[str], streams: Streams) -> int:
    """Run a command as a transient unit that outlives the login."""
    units = [word.removeprefix("--unit=") for word in argv if word.startswith("--unit=")]
    unit = units[0] if units else "run-r1"
    words = _skip_options(argv[1:], ("-u", "-p", "--unit", "--property"))
    if not words:
        streams.err("Command line to execute required.\n")
        return 1
    _detach(shell, words)
    streams.err(f"Running as unit: {unit}.service\n")
    return 0


def _detach(shell: CallingShell, words: list[str]) -> None:
    """Start a command that outlives the login, without waiting for it."""
    child = shell.child()

    async def later() -> int:
        # The answer of this command leaves before a reload drops the session.
        await asyncio.sleep(_DETACH_DELAY_S)
        return await child.execute(words, Captured().streams)

    shell.spawn(later())


@runner("docker")
async def docker(shell: CallingShell, argv: list[str], streams: Streams) -> int:
    """Run ``docker exec [-i] [-t] CONTAINER COMMAND``, ``docker cp``, ``docker ps`` and ``docker images``."""
    if shell.user != ROOT:
        streams.err("permission denied while trying to connect to the Docker daemon socket\n")
        return 1
    verb = argv[1] if len(argv) > 1 else ""
    if verb == "exec":
        return await _docker_exec(shell, _skip_options(argv[2:], ("-e", "-u", "-w")), streams)
    if verb == "ps":
        streams.out("NAMES\n" + "".join(f"{name}\n" for name in CONTAINERS))
        return 0
    if verb == "images":
        return 0
    problem = f"docker {verb}: this command is not simulated"
    if verb == "cp" and len(argv) == 4:
        problem = _copy(shell, *argv[2:])
    if problem:
        streams.err(f"{problem}\n")
        return 1
    return 0


async def _docker_exec(shell: CallingShell, words: list[str], streams: Streams) -> int:
    """Run a command in a container; ``words`` are the container and the command."""
    container = words[0] if words else ""
    if len(words) < 2 or container not in CONTAINERS:
        streams.err(f"Error response from daemon: No such container: {container}\n")
        return 1
    return await shell.child(ROOT).execute(words[1:], streams)


def _copy(shell: CallingShell, source: str, target: str) -> str:
    """Copy a file between the host and a container, and return docker's message if that fails; else an empty text.

    Only FRR's container has files of its own.
    """
    ends: list[str] = []
    for end in (source, target):
        name, colon, path = end.partition(":")
        if not colon:
            ends.append(canonical(end, shell.cwd))
        elif name in CONTAINERS:
            ends.append(in_container(canonical(path)))
        else:
            return f"Error response from daemon: No such container: {name}"
    from_path, to_path = ends
    files = shell.device.files
    if files.is_directory(to_path) or target.endswith(":/tmp"):
        to_path = posixpath.join(to_path, posixpath.basename(from_path))
    if ":" in target and posixpath.dirname(to_path) == in_container("/tmp"):  # noqa: S108  of the container
        # The simulated container has no directories of its own until somebody copies into its /tmp.
        with contextlib.suppress(FileExistsError):
            files.make_directory(posixpath.dirname(to_path), parents=True)
    try:
        files.write(to_path, files.read(from_path), now=shell.device.clock.now())
    except FileNotFoundError:
        if not files.exists(from_path):
            return _missing_end(source, from_path)
        return _missing_end(target, to_path)
    return ""


def _missing_end(end: str, path: str) -> str:
    """Return docker's message about ``end`` of a ``cp``, which is missing; ``path`` is its path on the host."""
    container, colon, inside = end.partition(":")
    if not colon:
        return f"lstat {path}: no such file or directory"
    return f"Error response from daemon: Could not find the file {inside} in container {container}"


CONTAINERS = ("snmp", "lldp", "pmon", "bgp", "syncd", "swss", "teamd", "database")
