"""Addresses and routes of rails that survive a flap of a NIC, as systemd-networkd keeps them on a real one.

The kernel drops the routes of an interface that goes down, and its addresses with one that is made anew. What somebody
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
from typing import Any

_FAMILIES = ("-4", "-6")
# A line of `ip -o monitor link`: "7: rail0@if8: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 ...", or "Deleted 7: ...".
_LINK = re.compile(r"(?P<deleted>Deleted )?\d+: (?P<name>[^:@]+)[^:]*: <(?P<flags>[^>]*)>")
# An address that somebody removed; an interface that only goes down keeps those of global scope (`main`).
_ADDRESS_REMOVED = re.compile(r"Deleted \d+: (?P<name>\S+)\s+inet6? \S+ .*scope global")
# An event is one of several: what they did together is looked at once there were none for a while.
_SETTLE_S = 0.3
_ENOUGH_BYTES = 1 << 16


@dataclass(frozen=True)
class Rail:
    """What an interface has: its index, which is another one once it was made anew, addresses, and routes by family."""

    index: int
    mtu: int
    is_up: bool
    addresses: tuple[str, ...]
    routes: tuple[tuple[str, str], ...]


def read_rails() -> dict[str, Rail]:
    """Return the rails as they are, by name."""
    rails = {}
    for interface in json.loads(_run("ip", "-j", "addr", "show")):
        name = interface["ifname"]
        if name.startswith("rail"):
            rails[name] = _rail(interface, _routes(name))
    return rails


def _rail(interface: Any, routes: tuple[tuple[str, str], ...]) -> Rail:
    addresses = [address for address in interface["addr_info"] if address["scope"] == "global"]
    return Rail(
        interface["ifindex"],
        interface["mtu"],
        "UP" in interface["flags"],
        tuple(f"{address['local']}/{address['prefixlen']}" for address in addresses),
        routes,
    )


def _routes(name: str) -> tuple[tuple[str, str], ...]:
    routes: list[tuple[str, str]] = []
    for family in _FAMILIES:
        lines = _run("ip", "-o", family, "route", "show", "table", "all", "dev", name).splitlines()
        # The kernel's own routes come back with the addresses.
        own = [line for line in lines if "proto kernel" not in line and "table local" not in line]
        routes += [(family, line.replace(" linkdown", "").strip()) for line in own]
    return tuple(routes)


def commands(name: str, before: Rail, now: Rail) -> list[list[str]]:
    """Return the commands that give an interface that came up again what it had ``before``.

    Nothing of an interface whose addresses were removed before it went down.
    """
    wanted = []
    if now.index != before.index:
        if not now.is_up or now.mtu != before.mtu:
            wanted.append(["ip", "link", "set", "dev", name, "mtu", str(before.mtu), "up"])
        wanted += [_added(name, address) for address in before.addresses if address not in now.addresses]
    elif not set(before.addresses) & set(now.addresses):
        return []
    for family, route in before.routes:
        if (family, route) not in now.routes:
            wanted.append(["ip", family, "route", "add", *route.split(), "dev", name])
    return wanted


def _added(name: str, address: str) -> list[str]:
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
        # Since the last look.
        self._removed: set[str] = set()
        self._without_address: set[str] = set()

    def hear(self, lines: Sequence[str]) -> None:
        """Note the interfaces that went down or away or lost an address, from lines of ``ip -o monitor``."""
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
        """Restore what came up again, and take note of how everything that is up is now."""
        # Addresses go with an interface that is removed; else somebody configures it anew, from nothing.
        for name in self._without_address - self._removed:
            self.rails.pop(name, None)
            self.down.discard(name)
        self._without_address.clear()
        self._removed.clear()
        now = read_rails()
        for name in self.down & now.keys():
            if name not in self.rails:
                # Configured anew, from nothing: how it is once it is up is what it will have.
                if now[name].is_up:
                    self.down.discard(name)
                continue
            is_new = now[name].index != self.rails[name].index
            if not now[name].is_up and not is_new:
                continue
            restoring = commands(name, self.rails[name], now[name])
            failed = [words for words in restoring if not succeeds(words)]
            # Without a carrier the kernel takes no IPv6 route; the next event is the carrier's.
            if not failed:
                self.down.discard(name)
        for name, rail in read_rails().items():
            if rail.is_up and name not in self.down:
                self.rails[name] = rail


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
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
