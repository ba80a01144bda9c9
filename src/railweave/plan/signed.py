"""What a person signed, as the journal of a rollout carries it: a plan file, or an order to roll a rollout back."""

import base64
import binascii
import zlib
from dataclasses import dataclass
from typing import Any

_MOST_BYTES = 256 * 1024 * 1024
"""Of an unpacked text: a few kilobytes of zlib can unpack to gigabytes, and the journal may be anybody's."""


@dataclass(frozen=True, slots=True)
class Signed:
    """A signed text and its signature, as ``ssh-keygen -Y sign`` writes it."""

    text: bytes
    signature: bytes

    def as_json(self) -> dict[str, str]:
        """Return the form of the journal's opening line."""
        return {
            "text": base64.b64encode(zlib.compress(self.text)).decode(),
            "signature": self.signature.decode("latin-1"),
        }


def parse_signed(value: Any) -> Signed | None:
    """Return what ``as_json`` wrote; None for anything else."""
    try:
        packed = base64.b64decode(value["text"], validate=True)
        text = zlib.decompressobj().decompress(packed, _MOST_BYTES)
        return Signed(text, value["signature"].encode("latin-1"))
    except (KeyError, TypeError, AttributeError, ValueError, binascii.Error, zlib.error):
        return None
