"""Links and addresses of a network namespace, as its kernel has them (rtnetlink(7))."""

import ctypes
import socket
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import ip_address
from typing import NamedTuple

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
# The kernel answers with the numbers of RTM_NEWLINK and RTM_NEWADDR: two less than those of the requests.
_NEW_LINK = _GET_LINK - 2
_NEW_ADDRESS = _GET_ADDRESS - 2
_BUFFER_BYTES = 1 << 17
# struct nlmsghdr: length, type, flags, sequence number, port.
_HEADER = struct.Struct("=IHHII")
# struct ifinfomsg: family, type, index, flags, change mask.
_LINK = struct.Struct("=BxHiII")
# struct ifaddrmsg: family, length of the prefix, flags, scope, index of the interface.
_OF_ADDRESS = struct.Struct("=BBBBI")
# struct rtattr: length, type.
_ATTRIBUTE = struct.Struct("=HH")


@dataclass(slots=True)
class Link:
    """An interface; its ``addresses`` have their prefix lengths."""

    name: str
    up: bool
    mtu: int
    addresses: list[str]


class _Message(NamedTuple):
    """A message of the kernel: its type, and what follows its header."""

    kind: int
    body: bytes


class _NetlinkSockets(NamedTuple):
    """Sockets in a network namespace: one for notices of changes, and one for requests."""

    changes: socket.socket
    requests: socket.socket


class NodeNetwork:
    """The network namespace of a process, read from outside. ``changes`` is readable when something has changed."""

    def __init__(self, pid: int) -> None:
        """Raises OSError."""
        sockets = _sockets_inside(pid)
        self.changes = sockets.changes
        self.changes.setblocking(False)
        self._requests = sockets.requests

    def links(self) -> dict[str, Link]:
        """Return the interfaces by name, as they are now."""
        links: dict[int, Link] = {}
        for message in self._dump(_GET_LINK):
            if message.kind == _NEW_LINK:
                _, _, index, flags, _ = _LINK.unpack_from(message.body)
                attributes = dict(_attributes(message.body[_LINK.size :]))
                (mtu,) = struct.unpack("=I", attributes[_MTU])
                name = attributes[_NAME].rstrip(b"\0").decode()
                links[index] = Link(name, bool(flags & _UP), mtu, [])
        for message in self._dump(_GET_ADDRESS):
            if message.kind == _NEW_ADDRESS:
                _, prefix_length, _, _, index = _OF_ADDRESS.unpack_from(message.body)
                attributes = dict(_attributes(message.body[_OF_ADDRESS.size :]))
                # Only on a point-to-point link the local address differs from the address.
                address = ip_address(attributes.get(_LOCAL) or attributes[_ADDRESS])
                if index in links:
                    links[index].addresses.append(f"{address}/{prefix_length}")
        return {link.name: link for link in links.values()}

    def has_changed(self) -> bool:
        """Read all notices; tell whether something has changed since the last call."""
        has_changed = False
        while True:
            try:
                if self.changes.recv(_BUFFER_BYTES):
                    has_changed = True
            except BlockingIOError:
                return has_changed
            except OSError:
                # Notices were lost, as there were more than the socket holds.
                has_changed = True

    def _dump(self, request: int) -> Iterator[_Message]:
        """Yield each message of the answer to a request for all links or addresses."""
        self._requests.send(_HEADER.pack(_HEADER.size + 4, request, _REQUEST | _DUMP, 0, 0) + bytes(4))
        while True:
            data = self._requests.recv(_BUFFER_BYTES)
            while data:
                size, kind, *_ = _HEADER.unpack_from(data)
                if kind in (_DONE, _ERROR):
                    return
                yield _Message(kind, data[_HEADER.size : size])
                data = data[_aligned(size) :]

    def close(self) -> None:
        """Forget the namespace."""
        self.changes.close()
        self._requests.close()


def _sockets_inside(pid: int) -> _NetlinkSockets:
    """Return sockets in the network namespace of a process; raises OSError."""

    def enter() -> _NetlinkSockets:
        with open(f"/proc/{pid}/ns/net", "rb") as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _NEW_NETWORK) < 0:
                raise OSError(ctypes.get_errno(), "setns")
        return _NetlinkSockets(_netlink_socket(_CHANGES), _netlink_socket(0))

    # A thread has a namespace of its own, so this process stays in its namespace if another thread enters that one.
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(enter).result()


def _netlink_socket(groups: int) -> socket.socket:
    """Return a socket of rtnetlink that gets the notices of ``groups``."""
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
    netlink.bind((0, groups))
    return netlink


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the type and the value of each attribute of a message."""
    while len(data) >= _ATTRIBUTE.size:
        size, kind = _ATTRIBUTE.unpack_from(data)
        yield kind, data[_ATTRIBUTE.size : size]
        data = data[_aligned(size) :]


def _aligned(size: int) -> int:
    """Return a size rounded up to a multiple of 4."""
    return (size + 3) & ~3
