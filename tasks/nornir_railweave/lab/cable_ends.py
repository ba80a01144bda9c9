"""Ends of a lab's cables that wait on the host: kept from the host's own network, and connected once the far end runs.

A pair is connected as vrnetlab connects a port with its machine: what one end receives the other sends (`tc` with
``mirred``), every frame, LLDP included. A bridge would keep those to itself, and Docker's firewall would see the rest.
"""

import subprocess
from collections.abc import Iterable
from pathlib import Path

from nornir_railweave.lab.containerlab import ContainerlabError

_IPV6 = Path("/proc/sys/net/ipv6/conf")
_DEVICES = Path("/sys/class/net")
_COMMAND_S = 30.0
# A classifier that kernels have had longest.
_EVERY_FRAME = ("protocol", "all", "u32", "match", "u32", "0", "0")


def isolate(ends: Iterable[str]) -> None:
    """Disable IPv6 at these interfaces of the host, so that it takes no routes that a switch announces there."""
    for end in ends:
        setting = _IPV6 / end / "disable_ipv6"
        if setting.exists():
            setting.write_text("1")


def remove(ends: Iterable[str]) -> None:
    """Remove those of these interfaces of the host that exist.

    They go with their container too, but perhaps late, after its last connection.
    """
    for end in ends:
        if (_DEVICES / end).exists():
            _run("ip", "link", "del", "dev", end)


def connect(pairs: Iterable[tuple[str, str]]) -> None:
    """Connect pairs of interfaces of the host: what one receives the other sends. Raises ContainerlabError."""
    for left, right in pairs:
        isolate((left, right))
        for receiver, sender in ((left, right), (right, left)):
            # The rule of an earlier far end may still be there, although that went with its container.
            _run("tc", "qdisc", "del", "dev", receiver, "clsact")
            redirect = ("action", "mirred", "egress", "redirect", "dev", sender)
            failure = _run("tc", "qdisc", "add", "dev", receiver, "clsact")
            if not failure:
                failure = _run("tc", "filter", "add", "dev", receiver, "ingress", *_EVERY_FRAME, *redirect)
            if failure:
                raise ContainerlabError(f"{receiver} and {sender} cannot be connected: {failure}")


def _run(program: str, *words: str) -> str:
    """Run a program of iproute2; return why it fails, empty for success."""
    try:
        completed = subprocess.run([program, *words], capture_output=True, text=True, timeout=_COMMAND_S, check=False)
    except FileNotFoundError:
        return f"{program} is not installed (Debian's package iproute2)"
    except subprocess.TimeoutExpired:
        return f"{program} did not end within {_COMMAND_S:g} s"
    if completed.returncode:
        return completed.stderr.strip() or f"{program} exited with {completed.returncode}"
    return ""
