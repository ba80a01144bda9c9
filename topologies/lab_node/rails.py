"""Restores addresses and routes of rails after a flap of a NIC, as systemd-networkd does on a real node.

The kernel drops the routes of an interface that goes down, and the addresses of one that is removed. What somebody
removes by hand from an interface that is up stays removed.
"""

import json
import os
import re
import select
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

_FAMILIES = ("-4", "-6")
# A line of `ip -o monitor link`: "7: rail0@if8: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 ...", or "Deleted 7: ...".
_LINK = re.compile(r"(?P<deleted>Deleted )?\d+: (?P<name>[^:@]+)[^:]*: <(?P<flags>[^>]*)>")
# An address that somebody removed; an interface that only goes down keeps those of global scope (`main`).
_ADDRESS_REMOVED = re.compile(r"Deleted \d+: (?P<name>\S+)\s+inet6? \S+ .*scope global")
# A change causes several events, so the rails are read once there were none for this time.
_SETTLE_S = 0.3
_ENOUGH_BYTES = 1 << 16


class RailRoute(NamedTuple):
    """A route of an interface: ``-4`` or ``-6``, and the route as ``ip route`` shows it."""

    family: str
    text: str


@dataclass(frozen=True)
class Rail:
    """The state of an interface. One that is removed and created again gets another index."""

    index: int
    mtu: int
    is_up: bool
    addresses: tuple[str, ...]
    routes: tuple[RailRoute, ...]


def read_rails() -> dict[str, Rail]:
    """Return the rails as they are, by name."""
    rails = {}
    for interface in json.loads(_run("ip", "-j", "addr", "show")):
        name = interface["ifname"]
        if name.startswith("rail"):
            rails[name] = _rail(interface, _routes(name))
    return rails


def _rail(interface: Any, routes: tuple[RailRoute, ...]) -> Rail:
    """Return the state of an interface from its entry of ``ip -j addr show``."""
    addresses = [address for address in interface["addr_info"] if address["scope"] == "global"]
    return Rail(
        index=interface["ifindex"],
        mtu=interface["mtu"],
        is_up="UP" in interface["flags"],
        addresses=tuple(f"{address['local']}/{address['prefixlen']}" for address in addresses),
        routes=routes,
    )


def _routes(name: str) -> tuple[RailRoute, ...]:
    """Return the routes of an interface, without those that the kernel adds with an address."""
    routes: list[RailRoute] = []
    for family in _FAMILIES:
        lines = _run("ip", "-o", family, "route", "show", "table", "all", "dev", name).splitlines()
        configured = [line for line in lines if "proto kernel" not in line and "table local" not in line]
        routes += (RailRoute(family, line.replace(" linkdown", "").strip()) for line in configured)
    return tuple(routes)


def commands(name: str, before: Rail, now: Rail) -> list[list[str]]:
    """Return the commands that restore what an interface had ``before`` it went down; empty if nothing is missing.

    Nothing is restored either if all addresses were removed while the interface stayed the same: somebody did that.
    """
    restoring = []
    if now.index != before.index:
        # A new interface has nothing of the earlier one.
        if not now.is_up or now.mtu != before.mtu:
            restoring.append(["ip", "link", "set", "dev", name, "mtu", str(before.mtu), "up"])
        restoring += [_add_address(name, address) for address in before.addresses if address not in now.addresses]
    elif not set(before.addresses) & set(now.addresses):
        return []
    for route in before.routes:
        if route not in now.routes:
            restoring.append(["ip", route.family, "route", "add", *route.text.split(), "dev", name])
    return restoring


def _add_address(name: str, address: str) -> list[str]:
    """Return the command that adds an address to an interface."""
    words = ["ip", "addr", "add", address, "dev", name]
    if ":" in address:
        # Without duplicate address detection the address may be used at once.
        words.append("nodad")
    return words


class Watch:
    """The rails as they last were while they were up, and those that went down since."""

    def __init__(self) -> None:
        """Begin with the rails as they are."""
        self.rails = read_rails()
        self.down: set[str] = set()
        # Interfaces that were removed, and those that lost an address, since the last look.
        self._removed: set[str] = set()
        self._without_address: set[str] = set()

    def hear(self, lines: Sequence[str]) -> None:
        """Note the interfaces that went down, were removed or lost an address, from lines of ``ip -o monitor``."""
        for line in lines:
            link = _LINK.search(line)
            address = _ADDRESS_REMOVED.search(line)
            if address is not None:
                self._without_address.add(address["name"])
            elif link is not None and link["deleted"]:
                self._removed.add(link["name"])
                self.down.add(link["name"])
            elif link is not None and "UP" not in link["flags"].split(","):
                self.down.add(link["name"])

    def look(self) -> None:
        """Restore the rails that came up again, and note the state of all that are up."""
        # An address that was lost without its interface was removed by somebody who configures the rail anew.
        for name in self._without_address - self._removed:
            self.rails.pop(name, None)
            self.down.discard(name)
        self._without_address.clear()
        self._removed.clear()
        for name, rail in read_rails().items():
            if name in self.down and self._restore(name, rail):
                self.down.discard(name)
        # Read again, after the rails were restored.
        for name, rail in read_rails().items():
            if rail.is_up and name not in self.down:
                self.rails[name] = rail

    def _restore(self, name: str, rail: Rail) -> bool:
        """Restore a rail that went down, if it can be restored now; return whether it has everything again."""
        before = self.rails.get(name)
        if before is None:
            # There is nothing to restore, and its state is noted once it is up.
            return rail.is_up
        is_new = rail.index != before.index
        if not rail.is_up and not is_new:
            return False
        failed = [words for words in commands(name, before, rail) if not succeeds(words)]
        # The kernel refuses an IPv6 route without a carrier; it is tried again when that comes.
        return not failed


def main() -> None:
    """Watch until the node ends."""
    keep_ipv6_addresses()
    output, written = os.pipe()
    monitor = ["ip", "-o", "monitor", "link", "address", "route"]
    process = subprocess.Popen(monitor, stdout=written)
    os.close(written)
    watch = Watch()
    rest = b""
    while True:
        chunk = os.read(output, _ENOUGH_BYTES)
        if not chunk:
            raise SystemExit(f"ip monitor ended with {process.wait()}")
        *lines, rest = (rest + chunk).split(b"\n")
        watch.hear([line.decode(errors="replace") for line in lines])
        if not select.select([output], [], [], _SETTLE_S)[0]:
            watch.look()


def keep_ipv6_addresses() -> None:
    """Let interfaces keep IPv6 addresses while they are down, also those that are made later."""
    for setting in Path("/proc/sys/net/ipv6/conf").glob("*/keep_addr_on_down"):
        setting.write_text("1")


def succeeds(words: Sequence[str]) -> bool:
    """Run a command, and tell whether it succeeded."""
    return subprocess.run(words, check=False).returncode == 0


def _run(*words: str) -> str:
    """Return the output of a command; raises CalledProcessError if it fails."""
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
