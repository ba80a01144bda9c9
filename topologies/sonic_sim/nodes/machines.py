"""The parent of all simulated nodes: boots each in namespaces of its own, and ends with the simulator.

Runs as a script, with the standard library alone: ``python -IS machines.py``. A request is a line of JSON on standard
input, its answer a line on standard output:

    {"boot": {"disk": FOLDER, "shared": FOLDER, "hostname": …, "files": {PATH: TEXT}, "links": {PATH: TARGET},
              "nics": [{"name": …, "mac": …}]}}   → {"pid": N}, the first process of the node
    {"end": N}                                                → {}

or ``{"error": text}``. A node is a mount, pid, network, host name, IPC and user namespace. Its root user is a user
without rights on the machine; mounts belong to the machine, so that it can change none. All namespaces are anonymous:
they are gone with the processes in them, which the kernel kills as soon as this process ends, however it ends.
"""

import contextlib
import ctypes
import fcntl
import itertools
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, NoReturn, TextIO

FIRST_ID = 1_900_000_000
"""The first of the user and group ids of nodes: above those that systemd, Docker and Podman give out."""
IDS = 65536
SLEEP = "/usr/bin/sleep"
SHARED = "/run/railweave-sim"
"""Where a node finds the socket of its tools and the counters of its NICs."""
PROGRAMS = "/usr/local/"
# From <sched.h>, <sys/mount.h> and <sys/prctl.h>.
NEW_MOUNTS = 0x20000
NEW_HOST_NAME = 0x4000000
NEW_IPC = 0x8000000
NEW_USERS = 0x10000000
NEW_PIDS = 0x20000000
NEW_NETWORK = 0x40000000
READ_ONLY = 1
NO_SETUID = 2
NO_DEVICES = 4
REMOUNT = 32
BIND = 4096
RECURSIVE = 16384
PRIVATE = 1 << 18
DETACH = 2
PARENT_DEATH_SIGNAL = 1
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
SET_FLAGS = 0x8914
UP = 1
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
FOLDERS = ("etc", "dev", "home", "mnt", "opt", "proc", "root", "run", "srv", "sys", "tmp", "usr", "usr/local", "var")
OF_USR = ("bin", "sbin", "lib", "lib32", "lib64")
"""Folders of the root that are links into /usr on today's distributions."""
DEVICE_LINKS = {
    "/dev/fd": "/proc/self/fd",
    "/dev/stdin": "/proc/self/fd/0",
    "/dev/stdout": "/proc/self/fd/1",
    "/dev/stderr": "/proc/self/fd/2",
    "/dev/ptmx": "pts/ptmx",
}
VOLATILE = {
    "/run": "size=16m,mode=755",
    "/tmp": "size=64m,mode=1777",  # noqa: S108  of the node
    "/sys": "size=16m,mode=755",
    "/dev": "size=16m,mode=755",
}
"""What a node loses when it restarts."""

libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int, what: str) -> None:
    """Raise OSError with the name of a call that failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Move this process, or for NEW_PIDS its next child, to new namespaces."""
    checked(libc.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount a file system."""
    words = [None if word is None else word.encode() for word in (source, target, kind)]
    checked(libc.mount(*words, ctypes.c_ulong(flags), options.encode() or None), f"mount {target}")


def bind(source: str, target: str, flags: int = 0) -> None:
    """Show a folder or file of the machine in another place; ``flags`` restrict it there."""
    mount(source, target, None, BIND)
    if flags:
        mount("none", target, None, BIND | REMOUNT | flags)


class Machines:
    """All nodes of a fabric; the far ends of their NICs are in the network namespace of this process."""

    def __init__(self) -> None:
        # The far ends of all cables: no node and no program of the machine sees them.
        unshare(NEW_NETWORK)
        self.cables = itertools.count()
        self.own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)

    def boot(self, node: dict[str, Any]) -> int:
        """Boot a node and return the id of its first process; raises OSError with the reason."""
        ready, say = socket.socketpair()
        unshare(NEW_PIDS)
        try:
            pid = os.fork()
            if pid == 0:
                ready.close()
                first_process(node, say)
        finally:
            # A second `unshare` is refused while children go to another namespace than that of this process.
            checked(libc.setns(self.own_pids, NEW_PIDS), "setns")
        say.close()
        with ready, ready.makefile("rw") as talk:
            try:
                wait_for(talk)
                map_users(pid)
                go(talk)
                wait_for(talk)
                make_nics(node["nics"], pid, self.cables)
                go(talk)
            except OSError:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                raise
        return pid


def wait_for(talk: TextIO) -> None:
    """Wait until a node has done its next step; raises OSError with the reason if it could not."""
    answer = talk.readline().strip()
    if answer != "next":
        raise OSError(answer or "its first process ended")


def go(talk: TextIO) -> None:
    """Let a node do its next step."""
    talk.write("go\n")
    talk.flush()


def map_users(pid: int) -> None:
    """Give the users of a node ids of the machine that nobody else has."""
    for kind in ("uid", "gid"):
        with open(f"/proc/{pid}/{kind}_map", "w", encoding="ascii") as file:
            file.write(f"0 {FIRST_ID} {IDS}\n")


def make_nics(nics: list[dict[str, Any]], pid: int, cables: Iterator[int]) -> None:
    """Make the NICs of the node with the first process ``pid``; the far ends of their cables are in this namespace.

    ``cables`` yields the numbers of the cables. Raises OSError.
    """
    lines = []
    for nic in nics:
        # Numbers are not used again: after a restart the kernel removes the earlier cable at some later time.
        cable = f"cable{next(cables)}"
        node_end = f"name {nic['name']} address {nic['mac']} netns {pid}"
        # The far end takes packets of any size: only the node limits them.
        lines.append(f"link add {cable} mtu 65535 type veth peer {node_end}")
        lines.append(f"link set {cable} up")
    ip(lines)


def ip(lines: list[str]) -> None:
    """Run commands of iproute2 in one process; raises OSError if one of them fails."""
    done = subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), text=True, capture_output=True, check=False)
    if done.returncode:
        raise OSError(f"ip: {done.stderr.strip()}")


def first_process(node: dict[str, Any], say: socket.socket) -> NoReturn:
    """Become the first process of a node: nothing of the machine is left but a read-only /usr."""
    talk = say.makefile("rw")

    def wait_for_parent() -> None:
        talk.write("next\n")
        talk.flush()
        if not talk.readline():
            os._exit(1)

    try:
        # The terminal of whoever started the simulator is not the node's.
        os.setsid()
        unshare(NEW_MOUNTS)
        mount_root(node["disk"], node["shared"])
        unshare(NEW_USERS)
        wait_for_parent()
        os.setgroups([])
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)
        # Only now: these belong to the node's root user, who sets up its own network.
        unshare(NEW_NETWORK | NEW_HOST_NAME | NEW_IPC)
        os.umask(0o022)
        socket.sethostname(node["hostname"])
        raise_loopback()
        write_files(node)
        # After the last change of users, which clears it.
        checked(libc.prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL), "prctl")
        wait_for_parent()
        become_idle()
    except OSError as error:
        talk.write(f"{error.strerror or error}\n")
        talk.flush()
    finally:
        os._exit(1)


def mount_root(disk: str, shared: str) -> None:
    """Make ``disk`` the root of this process, with the machine's /usr and with file systems that a restart empties.

    What a node left on its disk is never followed while folders of the machine can be reached: all paths are below
    the new root, and the folders of the machine are handles.
    """
    os.chdir(disk)
    mount("none", "/", None, RECURSIVE | PRIVATE)
    bind(disk, disk, NO_SETUID | NO_DEVICES)
    os.chdir(disk)
    sources = {"/usr": "/usr", SHARED: shared} | {f"/dev/{name}": f"/dev/{name}" for name in DEVICES}
    links = {}
    for name in OF_USR:
        if os.path.islink(f"/{name}"):
            links[f"/{name}"] = os.readlink(f"/{name}")
        elif os.path.isdir(f"/{name}"):
            sources[f"/{name}"] = f"/{name}"
    handles = {target: os.open(path, os.O_PATH | os.O_CLOEXEC) for target, path in sources.items()}
    checked(libc.syscall(PIVOT_ROOT[os.uname().machine], b".", b"."), "pivot_root")
    for name in FOLDERS:
        make_folder(f"/{name}")
    # Below /usr, which that of the machine hides.
    handles["/usr/local"] = os.open("/usr/local", os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    mount("proc", "/proc", "proc", NO_SETUID | NO_DEVICES)
    for target, options in VOLATILE.items():
        mount("none", target, "tmpfs", NO_SETUID | NO_DEVICES, f"{options},uid={FIRST_ID},gid={FIRST_ID}")
    make_folder(SHARED)
    for name in DEVICES:
        os.close(os.open(f"/dev/{name}", os.O_CREAT | os.O_WRONLY))
    for target, handle in handles.items():
        if target.lstrip("/") in OF_USR:
            make_folder(target)
        # Devices and what the node installs; the rest is the machine's.
        writable = target.startswith("/dev/") or target == "/usr/local"
        bind(f"/proc/self/fd/{handle}", target, 0 if writable else READ_ONLY | NO_SETUID | NO_DEVICES)
    make_links({**links, **DEVICE_LINKS})
    for name in ("pts", "shm"):
        make_folder(f"/dev/{name}")
    # Of the machine it would be the same after the node has started again.
    bind(f"{SHARED}/boot_id", "/proc/sys/kernel/random/boot_id", READ_ONLY)
    mount("devpts", "/dev/pts", "devpts", NO_SETUID, "newinstance,ptmxmode=0666,mode=620")
    checked(libc.umount2(b".", DETACH), "umount")
    os.chdir("/")


def make_folder(path: str) -> None:
    """Make a folder that belongs to the node's root user, unless the path exists."""
    try:
        os.mkdir(path, 0o755)
    except FileExistsError:
        return
    os.chown(path, FIRST_ID, FIRST_ID, follow_symlinks=False)


def make_links(links: dict[str, str]) -> None:
    """Make symbolic links, in place of others of the same names."""
    for path, target in links.items():
        if os.path.lexists(path):
            os.unlink(path)
        os.symlink(target, path)


def raise_loopback() -> None:
    """Bring the loopback interface up, as the kernel of a machine does long before anybody logs in."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SET_FLAGS, struct.pack("16sH14x", b"lo", UP))


def write_files(node: dict[str, Any]) -> None:
    """Write the files and links that a node has when it starts: those of its kernel, and programs."""
    for path, text in node["files"].items():
        # A node whose users broke its disk starts without what has no place there.
        with contextlib.suppress(OSError):
            write_file(path, text)
    for path, target in node["links"].items():
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            make_links({path: target})


def write_file(path: str, text: str) -> None:
    """Write a file; below /etc only if there is none, because users of the node may have changed it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        if path.startswith("/etc/"):
            return
        os.unlink(path)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    if path.startswith(PROGRAMS):
        os.chmod(path, 0o755)  # noqa: S103  a program


def become_idle() -> NoReturn:
    """Become a process that only waits; the kernel removes what the node's orphans leave."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    null = os.open("/dev/null", os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)
    os.execve(SLEEP, ["init", "infinity"], {})  # noqa: S606  nothing but this process


def main() -> None:
    """Answer requests until standard input ends, then end all nodes."""
    machines = Machines()
    print(json.dumps({"pid": os.getpid()}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        answer: dict[str, Any] = {}
        try:
            if "boot" in request:
                answer["pid"] = machines.boot(request["boot"])
            else:
                end(request["end"])
        except OSError as error:
            answer["error"] = error.strerror or str(error)
        print(json.dumps(answer), flush=True)


def end(pid: int) -> None:
    """Cut the power of a node; all of its processes are gone once the first is."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
