"""Speeds, sizes and IP arithmetic in the units that the trade uses.

Inside the engine a speed is an integer in Gb/s, a length an integer in metres, an address an integer; text appears
where a value is read or written.
"""

import re
from functools import lru_cache
from ipaddress import IPv6Address

_SPEED = re.compile(r"(?P<number>[1-9][0-9]*)(?P<unit>[GT])")


def parse_speed_gbps(text: str) -> int:
    """Return the Gb/s of a speed written as ``400G`` or ``1T``.

    Raises ValueError for any other form.
    """
    match = _SPEED.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a speed; write it like 400G")
    number = int(match["number"])
    if match["unit"] == "T":
        return number * 1000
    return number


def format_speed(speed_gbps: int) -> str:
    """Return a port speed as people write it: ``400G``."""
    return f"{speed_gbps}G"


def ipv4_text(address: int) -> str:
    """Return the dotted form of a 32-bit address."""
    return _first_three(address >> 8) + _LAST_NUMBER[address & 255]


_LAST_NUMBER = tuple(map(str, range(256)))


# A render writes hundreds of thousands of addresses of few networks.
@lru_cache(maxsize=1 << 16)
def _first_three(network: int) -> str:
    """Return the first three numbers, which the 256 addresses of a network share."""
    return f"{network >> 16 & 255}.{network >> 8 & 255}.{network & 255}."


def parse_ipv4(text: str) -> int:
    """Return the 32-bit integer of a dotted address; raises ValueError."""
    parts = text.split(".")
    if len(parts) != 4 or not all(part.isascii() and part.isdigit() and int(part) < 256 for part in parts):
        raise ValueError(f"{text!r} is not an IPv4 address")
    value = 0
    for part in parts:
        value = value << 8 | int(part)
    return value


def ipv6_text(address: int) -> str:
    """Return the text of a 128-bit address as RFC 5952 and FRR write it."""
    return str(IPv6Address(address))


def parse_ipv6(text: str) -> int:
    """Return the 128-bit integer of an IPv6 address; raises ValueError."""
    return int(IPv6Address(text))
