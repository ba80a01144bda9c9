"""The kinds of value with a notation of their own: releases, speeds, ratios and prefixes."""

import ipaddress
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from railweave.fabric.model import IPV6_BLOCK_LENGTH
from railweave.fabric.policy import NO_POOL, Ipv6Pool, Pool
from railweave.fabric.releases import NAME, RELEASES
from railweave.intent.kinds import Kind, refuse, shown
from railweave.units import parse_speed_gbps
from railweave.wording import either, suggestion

_PREFIX = r"[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}"
_IPV6_PREFIX = r"[0-9A-Fa-f:]{2,39}/[0-9]{1,3}"
_SPEED = r"[1-9][0-9]{0,5}[GT]"
_RATIO = re.compile(r"(?P<down>[0-9]{1,4}(?:\.[0-9]{1,4})?):(?P<up>[0-9]{1,4}(?:\.[0-9]{1,4})?)")


@dataclass(frozen=True, slots=True)
class Release(Kind):
    """A SONiC branch: year and month, as text or as the number that YAML makes of it, or ``master``."""

    def read(self, value: object) -> str:
        """Return the branch as text. Text that is no branch is refused; an unknown branch is a warning (RW116)."""
        text = ""
        if isinstance(value, str | int) and not isinstance(value, bool):
            text = str(value)
        if re.fullmatch(NAME, text) is None:
            fix = f"{suggestion(text, (*RELEASES, 'master'))}write {either((*RELEASES, 'master'))}"
            refuse("RW014", f"unknown SONiC release {shown(value)}", fix)
        return text

    def form(self) -> dict[str, Any]:
        """Return the pattern of a branch, and the range of its number."""
        text = {"type": "string", "pattern": f"^({NAME})$", "examples": [*RELEASES]}
        return {"anyOf": [text, {"type": "integer", "minimum": 200001, "maximum": 209912}]}


class Speed(Kind):
    """A port speed written like ``400G``, read as Gb/s."""

    __slots__ = ()

    def read(self, value: object) -> int:
        """Return the speed in Gb/s. Anything but a speed is refused."""
        if not isinstance(value, str) or re.fullmatch(_SPEED, value) is None:
            fix = "write the Gb/s of one port, like 400G"
            number = re.fullmatch(r"([1-9][0-9]{0,5})\s*(?:g|G|[gG][bB].*)?", str(value))
            if number is not None:
                fix = f"write {number[1]}G"
            refuse("RW015", f"{shown(value)} is not a speed", fix + self.or_auto)
        return parse_speed_gbps(value)

    def form(self) -> dict[str, Any]:
        """Return the pattern of a speed."""
        return {"type": "string", "pattern": f"^{_SPEED}$", "examples": ["400G"]}


class Ratio(Kind):
    """Downlink to uplink bandwidth, ``"2:1"`` or ``"1.5:1"``."""

    __slots__ = ()

    def read(self, value: object) -> Fraction:
        """Return the ratio as an exact fraction. Anything but a ratio from 1:8 to 64:1 is refused."""
        match = _RATIO.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            fix = 'write downlink to uplink bandwidth, like "1:1" or "1.5:1"'
            if isinstance(value, int | str) and re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,4})?", str(value)):
                fix = f'write "{value}:1"'
            refuse("RW015", f"{shown(value)} is not a ratio", fix + self.or_auto)
        down = Fraction(match["down"])
        up = Fraction(match["up"])
        is_in_range = up > 0 and Fraction(1, 8) <= down / up <= 64
        if not is_in_range:
            refuse("RW013", f"{shown(value)} is out of range", f'write a ratio from "1:8" to "64:1"{self.or_auto}')
        return down / up

    def form(self) -> dict[str, Any]:
        """Return the pattern of a ratio."""
        return {"type": "string", "pattern": f"^{_RATIO.pattern.replace('?P<down>', '').replace('?P<up>', '')}$"}


@dataclass(frozen=True, slots=True)
class Prefix(Kind):
    """An IPv4 prefix whose host bits are zero; if it is ``optional``, ``none`` means no addresses."""

    optional: bool = False

    def read(self, value: object) -> Pool | None:
        """Return the prefix as a pool of addresses; None for ``none``. Anything else is refused."""
        if self.optional and value == NO_POOL:
            return None
        try:
            # ipaddress would accept an address alone, and a netmask in place of the length.
            is_prefix = re.fullmatch(_PREFIX, str(value)) is not None
            interface = ipaddress.IPv4Interface(value if is_prefix else "")
        except ValueError:
            fix = "write a network and length, like 10.32.0.0/11"
            if self.optional and value is None:
                fix += f", or {NO_POOL} for no addresses"
            refuse("RW015", f"{shown(value)} is not an IPv4 prefix", fix)
        network = interface.network
        if interface.ip != network.network_address:
            refuse("RW015", f"{shown(value)} is an address within {network}, not a prefix", f"write {network}")
        return Pool(int(network.network_address), network.prefixlen)

    def form(self) -> dict[str, Any]:
        """Return the pattern of a prefix."""
        form = {"type": "string", "pattern": f"^{_PREFIX}$", "examples": ["10.32.0.0/11"]}
        if self.optional:
            return {"anyOf": [{"const": NO_POOL}, form]}
        return form


class Ipv6Prefix(Kind):
    """An IPv6 prefix of at most 64 bits, whose host bits are zero."""

    __slots__ = ()

    def read(self, value: object) -> Ipv6Pool:
        """Return the prefix as a pool of addresses. Anything but a prefix of at most 64 bits is refused."""
        try:
            is_prefix = re.fullmatch(_IPV6_PREFIX, str(value)) is not None
            interface = ipaddress.IPv6Interface(value if is_prefix else "")
        except ValueError:
            refuse("RW015", f"{shown(value)} is not an IPv6 prefix", "write a network and length, like fd00:10::/44")
        network = interface.network
        if interface.ip != network.network_address:
            refuse("RW015", f"{shown(value)} is an address within {network}, not a prefix", f"write {network}")
        # Every leaf has a block of this length.
        if network.prefixlen > IPV6_BLOCK_LENGTH:
            refuse("RW015", f"{shown(value)} holds no /{IPV6_BLOCK_LENGTH}", "write a /64 or larger pool, like a /44")
        return Ipv6Pool(int(network.network_address), network.prefixlen)

    def form(self) -> dict[str, Any]:
        """Return the pattern of a prefix."""
        return {"type": "string", "pattern": f"^{_IPV6_PREFIX}$", "examples": ["fd00:10::/44"]}
