"""Names of devices and ports, and the order in which people expect to see them."""

import re
from functools import lru_cache

_DIGITS = re.compile(r"([0-9]+)")


@lru_cache(maxsize=65536)
def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key under which ``Ethernet8`` comes before ``Ethernet16``."""
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in _DIGITS.split(name) if part)
