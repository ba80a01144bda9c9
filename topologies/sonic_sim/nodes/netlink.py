"""Links and addresses of a network namespace, as its kernel has them (rtnetlink(7))."""

import ctypes
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address

_NEW_NETWORK = 0x40000000
_GET_LINK = 18
_GET_ADDRESS = 22
_DONE = 3
_ERROR = 2
_REQUEST = 1
_DUMP = 0x300
# Groups of links and of addresses of both families.
_CHANGES = 0x1 | 0x10 | 0x100
_NAME = 3
_MTU = 4
_ADDRESS = 1
_LOCAL = 2
_UP = 1
_BUFFER_BYTES = 1 << 17
_HEADER = struct.Struct("=IHHII")
_LINK = struct.Struct("=BxHiII")
_OF_ADDRESS = struct.Struct("=BBBBI")
_ATTRIBUTE = struct.Struct("=HH")


@dataclass(slots=True)
class Link:
    """An interface; ``addresses`` with their lengths."""

    name: str
    up: bool
    mtu: int
    addresses: list[str]


class NodeNetwork:
    """The network namespace of a process, read from outside. ``changes`` is readable when something has changed."""

    def __init__(self, pid: int) -> None:
        """Raises OSError."""
        self.changes, self._requests = _sockets_inside(pid)
        self.changes.setblocking(False)

    def links(self) -> dict[str, Link]:
        """Return the interfaces by name, as they are now."""
        links: dict[int, Link] = {}
        for kind, message in self._dump(_GET_LINK):
            if kind == _GET_LINK - 2:
                _, _, index, flags, _ = _LINK.unpack_from(message)
                parts = dict(_attributes(message[_LINK.size :]))
                (mtu,) = struct.unpack("=I", parts[_MTU])
                links[index] = Link(parts[_NAME].rstrip(b"\0").decode(), bool(flags & _UP), mtu, [])
        for kind, message in self._dump(_GET_ADDRESS):
            if kind == _GET_ADDRESS - 2:
                _, length, _, _, index = _OF_ADDRESS.unpack_from(message)
                parts = dict(_attributes(message[_OF_ADDRESS.size :]))
                address = ip_address(parts.get(_LOCAL) or parts[_ADDRESS])
                if index in links:
                    links[index].addresses.append(f"{address}/{length}")
        return {link.name: link for link in links.values()}

    def has_changed(self) -> bool:
        """Tell whether something has changed since this was asked last."""
        changed = False
        while True:
            try:
                changed = bool(self.changes.recv(_BUFFER_BYTES)) or changed
            except BlockingIOError:
                return changed
            except OSError:
                # More changes than the socket holds.
                changed = True

    def _dump(self, kind: int) -> Iterator[tuple[int, bytes]]:
        """Yield the kind and body of each message in the answer to a request."""
        self._requests.send(_HEADER.pack(_HEADER.size + 4, kind, _REQUEST | _DUMP, 0, 0) + bytes(4))
        while True:
            data = self._requests.recv(_BUFFER_BYTES)
            while data:
                size, answer, *_ = _HEADER.unpack_from(data)
                if answer in (_DONE, _ERROR):
                    return
                yield answer, data[_HEADER.size : size]
                data = data[_aligned(size) :]

    def close(self) -> None:
        """Forget the namespace."""
        self.changes.close()
        self._requests.close()


def _sockets_inside(pid: int) -> tuple[socket.socket, socket.socket]:
    """Return a socket that hears of changes in the namespace of a process, and one for requests; raises OSError."""
    sockets: list[socket.socket] = []
    failures: list[OSError] = []

    def enter() -> None:
        try:
            with open(f"/proc/{pid}/ns/net", "rb") as namespace:
                if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _NEW_NETWORK) < 0:
                    raise OSError(ctypes.get_errno(), "setns")
            for groups in (_CHANGES, 0):
                sockets.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0))
                sockets[-1].bind((0, groups))
        except OSError as failure:
            failures.append(failure)

    # A namespace belongs to a thread; this one ends with what it was made for.
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return sockets[0], sockets[1]


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= _ATTRIBUTE.size:
        size, kind = _ATTRIBUTE.unpack_from(data)
        yield kind, data[_ATTRIBUTE.size : size]
        data = data[_aligned(size) :]


def _aligned(size: int) -> int:
    return (size + 3) & ~3
