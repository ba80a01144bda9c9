#!/usr/bin/python3 -IS
"""SFTP, version 3 (draft-ietf-secsh-filexfer-02), on a simulated node: what Ansible, scp and sftp ask for.

Standard library only; reads requests from standard input and answers on standard output, as sshd's subsystem does.
"""

import errno
import os
import stat
import struct
import sys
from collections.abc import Callable
from typing import Any

INIT = 1
VERSION = 2
STATUS = 101
HANDLE = 102
DATA = 103
NAME = 104
ATTRS = 105
EXTENDED = 200
DONE = 0
END = 1
NO_FILE = 2
DENIED = 3
FAILURE = 4
UNSUPPORTED = 8
# Of a request to open a file.
READ = 1
WRITE = 2
APPEND = 4
CREATE = 8
TRUNCATE = 16
EXCLUSIVE = 32
OPEN_MODES = {READ: os.O_RDONLY, WRITE: os.O_WRONLY, READ | WRITE: os.O_RDWR}
OPEN_FLAGS = {APPEND: os.O_APPEND, CREATE: os.O_CREAT, TRUNCATE: os.O_TRUNC, EXCLUSIVE: os.O_EXCL}
# Of attributes.
SIZE = 1
OWNER = 2
MODE = 4
TIMES = 8
NAMES_A_REPLY = 100


class Attributes:
    """Attributes of a file that a request sets; None for those that it does not."""

    def __init__(self) -> None:
        self.size: int | None = None
        self.owner: int | None = None
        self.group: int | None = None
        self.mode: int | None = None
        self.accessed: int | None = None
        self.modified: int | None = None

    def permissions(self, default: int) -> int:
        """Return the permission bits, or ``default`` if the request does not set them."""
        return default if self.mode is None else stat.S_IMODE(self.mode)


class Packet:
    """The fields of a request, read one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.offset = 0

    def number(self, form: str = ">I") -> int:
        """Return the next number."""
        (value,) = struct.unpack_from(form, self.data, self.offset)
        self.offset += struct.calcsize(form)
        return int(value)

    def text(self) -> bytes:
        """Return the next string."""
        size = self.number()
        start = self.offset
        self.offset += size
        return self.data[start : self.offset]

    def attributes(self) -> Attributes:
        """Return the next attributes."""
        flags = self.number()
        attributes = Attributes()
        if flags & SIZE:
            attributes.size = self.number(">Q")
        if flags & OWNER:
            attributes.owner = self.number()
            attributes.group = self.number()
        if flags & MODE:
            attributes.mode = self.number()
        if flags & TIMES:
            attributes.accessed = self.number()
            attributes.modified = self.number()
        return attributes


def text(value: bytes) -> bytes:
    """Return a string as it is sent: after its length."""
    return struct.pack(">I", len(value)) + value


def attributes_of(result: os.stat_result) -> bytes:
    """Return the attributes of a file as they are sent."""
    numbers = (result.st_size, result.st_uid, result.st_gid, result.st_mode, int(result.st_atime), int(result.st_mtime))
    return struct.pack(">IQIIIII", SIZE | OWNER | MODE | TIMES, *numbers)


def set_attributes(target: Any, attributes: Attributes) -> None:
    """Set attributes of a path or descriptor."""
    if attributes.size is not None:
        os.truncate(target, attributes.size)
    if attributes.mode is not None:
        os.chmod(target, stat.S_IMODE(attributes.mode))
    if attributes.owner is not None and attributes.group is not None:
        os.chown(target, attributes.owner, attributes.group)
    if attributes.accessed is not None and attributes.modified is not None:
        os.utime(target, (attributes.accessed, attributes.modified))


class Server:
    """One session: its open files and listings."""

    def __init__(self) -> None:
        self.files: dict[bytes, int] = {}
        self.listings: dict[bytes, list[os.DirEntry[bytes]]] = {}
        self.count = 0

    def handle(self) -> bytes:
        """Return a new handle."""
        self.count += 1
        return str(self.count).encode()

    def open(self, packet: Packet) -> bytes:
        """Open or create a file, and return its handle."""
        path = packet.text()
        requested_flags = packet.number()
        permissions = packet.attributes().permissions(0o666)
        flags = OPEN_MODES[requested_flags & (READ | WRITE)]
        for requested_flag, flag in OPEN_FLAGS.items():
            if requested_flags & requested_flag:
                flags |= flag
        handle = self.handle()
        self.files[handle] = os.open(path, flags, permissions)
        return bytes([HANDLE]) + text(handle)

    def close(self, packet: Packet) -> bytes:
        """Close a file or listing."""
        handle = packet.text()
        if handle in self.files:
            os.close(self.files.pop(handle))
        self.listings.pop(handle, None)
        return status(DONE)

    def read(self, packet: Packet) -> bytes:
        """Return a part of an open file."""
        file = self.files[packet.text()]
        offset = packet.number(">Q")
        size = packet.number()
        data = os.pread(file, size, offset)
        if not data:
            return status(END)
        return bytes([DATA]) + text(data)

    def write(self, packet: Packet) -> bytes:
        """Write a part of an open file."""
        file = self.files[packet.text()]
        offset = packet.number(">Q")
        data = packet.text()
        os.pwrite(file, data, offset)
        return status(DONE)

    def opendir(self, packet: Packet) -> bytes:
        """Begin to list a folder, and return the handle of the listing."""
        handle = self.handle()
        with os.scandir(packet.text()) as entries:
            self.listings[handle] = list(entries)
        return bytes([HANDLE]) + text(handle)

    def readdir(self, packet: Packet) -> bytes:
        """Return the next names of a listing."""
        entries = self.listings[packet.text()]
        if not entries:
            return status(END)
        names = []
        for entry in entries[:NAMES_A_REPLY]:
            shown = attributes_of(entry.stat(follow_symlinks=False))
            names.append(text(entry.name) + text(entry.name) + shown)
        del entries[:NAMES_A_REPLY]
        return struct.pack(">BI", NAME, len(names)) + b"".join(names)

    def answer(self, kind: int, packet: Packet) -> bytes:
        """Return the answer to a request. Raises OSError, KeyError for what the node refuses."""
        action = REQUESTS.get(kind)
        if action is None:
            return status(UNSUPPORTED)
        return action(self, packet)


def status(code: int, message: str = "") -> bytes:
    """Return an answer that is only a status code, with a message for people."""
    if not message:
        message = {DONE: "Success", END: "End of file"}.get(code, "Failure")
    # The last text is the language of the message, which need not be stated.
    return struct.pack(">BI", STATUS, code) + text(message.encode()) + text(b"")


def named(path: bytes) -> bytes:
    """Return an answer that is one name, without attributes."""
    return struct.pack(">BI", NAME, 1) + text(path) + text(path) + struct.pack(">I", 0)


def done(action: Callable[..., Any], *values: Any) -> bytes:
    """Carry out an action and return the answer of success."""
    action(*values)
    return status(DONE)


def extended(packet: Packet) -> bytes:
    """Answer the one extension that clients need, a rename over another file."""
    if packet.text() != b"posix-rename@openssh.com":
        return status(UNSUPPORTED)
    return done(os.rename, packet.text(), packet.text())


def rename(packet: Packet) -> bytes:
    """Rename a file; version 3 refuses a target that exists."""
    old = packet.text()
    new = packet.text()
    if os.path.lexists(new):
        return status(FAILURE)
    return done(os.rename, old, new)


def mkdir(packet: Packet) -> bytes:
    """Make a folder."""
    path = packet.text()
    permissions = packet.attributes().permissions(0o777)
    return done(os.mkdir, path, permissions)


REQUESTS: dict[int, Callable[[Server, Packet], bytes]] = {
    3: Server.open,
    4: Server.close,
    5: Server.read,
    6: Server.write,
    7: lambda server, packet: bytes([ATTRS]) + attributes_of(os.lstat(packet.text())),
    8: lambda server, packet: bytes([ATTRS]) + attributes_of(os.fstat(server.files[packet.text()])),
    9: lambda server, packet: done(set_attributes, packet.text(), packet.attributes()),
    10: lambda server, packet: done(set_attributes, server.files[packet.text()], packet.attributes()),
    11: Server.opendir,
    12: Server.readdir,
    13: lambda server, packet: done(os.unlink, packet.text()),
    14: lambda server, packet: mkdir(packet),
    15: lambda server, packet: done(os.rmdir, packet.text()),
    16: lambda server, packet: named(os.path.realpath(packet.text() or b".")),
    17: lambda server, packet: bytes([ATTRS]) + attributes_of(os.stat(packet.text())),
    18: lambda server, packet: rename(packet),
    19: lambda server, packet: named(os.readlink(packet.text())),
    20: lambda server, packet: done(os.symlink, packet.text(), packet.text()),
    EXTENDED: lambda server, packet: extended(packet),
}
CODES = {errno.ENOENT: NO_FILE, errno.ENOTDIR: NO_FILE, errno.EACCES: DENIED, errno.EPERM: DENIED}


def main() -> None:
    """Serve one session."""
    server = Server()
    source = sys.stdin.buffer
    # Each request is its size, its kind, which the size includes, and its fields.
    while len(head := source.read(5)) == 5:
        size, kind = struct.unpack(">IB", head)
        packet = Packet(source.read(size - 1))
        if kind == INIT:
            extension = text(b"posix-rename@openssh.com") + text(b"1")
            body = struct.pack(">BI", VERSION, 3) + extension
        else:
            body = numbered_answer(server, kind, packet)
        sys.stdout.buffer.write(struct.pack(">I", len(body)) + body)
        sys.stdout.buffer.flush()


def numbered_answer(server: Server, kind: int, packet: Packet) -> bytes:
    """Return the answer to a request with the request's number after its kind."""
    number = struct.pack(">I", packet.number())
    try:
        answer = server.answer(kind, packet)
    except OSError as error:
        answer = status(CODES.get(error.errno or 0, FAILURE), error.strerror or "Failure")
    except KeyError:
        answer = status(FAILURE, "invalid handle")
    return answer[:1] + number + answer[1:]


if __name__ == "__main__":
    main()
