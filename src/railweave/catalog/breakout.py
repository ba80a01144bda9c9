"""The syntax of SONiC's breakout modes: ``4x100G[50G,25G]``, ``1x100G(4)``, ``2x25G(2)+1x50G(2)``.

``NxSPEED`` ports, in brackets the other speeds that the mode allows, in parentheses the lanes that it uses
(sonic-facts section 1.3). Brackets and parentheses stand in either order in SONiC's own files.
"""

import re

from railweave.catalog.model import BreakoutPart

_PART = re.compile(
    r"(?P<count>[1-9][0-9]*)x(?P<speed>[1-9][0-9]*)G"
    r"(?:\[(?P<before>[0-9G,]+)\])?(?:\((?P<lanes>[1-9][0-9]*)\))?(?:\[(?P<after>[0-9G,]+)\])?"
)


def parse_breakout_mode(text: str) -> tuple[BreakoutPart, ...]:
    """Return the parts of a breakout mode; ValueError when it is none."""
    return tuple(_parse_part(part, text) for part in text.split("+"))


def _parse_part(part: str, whole: str) -> BreakoutPart:
    match = _PART.fullmatch(part)
    if match is None:
        raise ValueError(f"{whole!r} is not a breakout mode; write it like 2x400G[200G]")
    alternatives = match["before"] or match["after"] or ""
    return BreakoutPart(
        count=int(match["count"]),
        speed_gbps=int(match["speed"]),
        alternatives=tuple(int(speed.removesuffix("G")) for speed in alternatives.split(",") if speed),
        lanes=int(match["lanes"]) if match["lanes"] else None,
    )
