"""What a person signed, as the journal of a rollout carries it: a plan file, or an order to roll a rollout back."""

import base64
import zlib
from dataclasses import dataclass
from typing import Any

from railweave.codec import CodecError, read_value

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


@dataclass(frozen=True, slots=True)
class _SignedMembers:
    """A signed text as the journal has it: zlib in base64, and the signature."""

    text: str
    signature: str


def parse_signed(value: Any) -> Signed | None:
    """Return the signed text that ``Signed.as_json`` wrote as ``value``; None for anything else."""
    try:
        packed: _SignedMembers = read_value(_SignedMembers, value)
        text = zlib.decompressobj().decompress(base64.b64decode(packed.text, validate=True), _MOST_BYTES)
        return Signed(text, packed.signature.encode("latin-1"))
    except (CodecError, ValueError, zlib.error):
        # The text is not zlib in base64, or the signature is not latin-1.
        return None
