"""Events of links and of LLDP, as the kernel and lldpd report them, so that neither has to be polled."""

import contextlib
import os
import select
import socket
import subprocess

_RTMGRP_LINK = 1
_ENOUGH_BYTES = 1 << 16


class LinkNews:
    """Events of the kernel's links: created, removed, renamed, up, down."""

    def __init__(self) -> None:
        """Listen from now on."""
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._socket.bind((0, _RTMGRP_LINK))
        self._socket.setblocking(False)

    def fileno(self) -> int:
        """Return the descriptor, for select."""
        return self._socket.fileno()

    def drain(self, settle_s: float) -> None:
        """Read events until there are none for a while; a lost event counts as one."""
        while select.select([self], [], [], settle_s)[0]:
            with contextlib.suppress(OSError):
                self._socket.recv(_ENOUGH_BYTES)


class NeighborNews:
    """Events of lldpd's neighbors: the output of ``lldpcli watch``."""

    def __init__(self) -> None:
        """Start to listen; lldpd does not report present neighbors."""
        self._output, written = os.pipe()
        words = ["lldpcli", "-f", "keyvalue", "watch", "summary"]
        self._process = subprocess.Popen(words, stdout=written, stderr=subprocess.DEVNULL)
        os.close(written)

    def fileno(self) -> int:
        """Return the descriptor, for select."""
        return self._output

    def drain(self, settle_s: float) -> bool:
        """Read events until there are none for a while; return False if lldpd ended."""
        while select.select([self], [], [], settle_s)[0]:
            if not os.read(self._output, _ENOUGH_BYTES):
                os.close(self._output)
                self._process.wait()
                return False
        return True
