"""The ``acceptance:`` of the intent: what tests measure, and what passes."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import model_validator

from railweave.fabric.acceptance import AcceptancePolicy, CollectiveTool
from railweave.intent.keys import Keys, default, unset
from railweave.intent.kinds import Kind, Whole, Word, refuse, shown

_SHARE = re.compile(r"0?\.[0-9]{1,6}|[01](?:\.0{1,6})?")


@dataclass(frozen=True, slots=True)
class PartOfOne(Kind):
    """A part of 1 with up to six decimals, more than 0."""

    most: float = 1.0

    def read(self, value: object) -> float:
        """Return the share. A value that is not a share or out of range is refused."""
        text = str(value)
        # A default is a number, a value of a file is text: floats are not read from YAML.
        is_number_or_text = isinstance(value, int | float | str) and not isinstance(value, bool)
        if not is_number_or_text or not _SHARE.fullmatch(text):
            refuse("RW015", f"{shown(value)} is not a share", "write a number between 0 and 1, like 0.9")
        share = float(text)
        if not 0 < share <= self.most:
            refuse("RW013", f"{shown(value)} is out of range", f"write a number above 0, up to {self.most:g}")
        return share

    def form(self) -> dict[str, Any]:
        """Return the bounds of the number."""
        return {"type": "number", "exclusiveMinimum": 0, "maximum": self.most}


_DEFAULTS = AcceptancePolicy()


class AcceptanceKeys(Keys):
    """What the tests of `railweave acceptance plan` measure, and from which values on they warn and fail."""

    queue_pairs: Annotated[int, Whole(least=1, most=1024)] = default(
        _DEFAULTS.queue_pairs,
        "queue pairs of a bandwidth test, each a flow of its own for the hash of switches; loaded rounds take two or"
        " four times as many where that saves rounds (default: as many as NCCL's maintainers advise for ECMP)",
    )
    seconds: Annotated[int, Whole(least=2, most=3600)] = default(
        _DEFAULTS.seconds,
        "seconds of a bandwidth test (default: DCQCN settles in less than one)",
    )
    message_bytes: Annotated[int, Whole(least=4096, most=1 << 30)] = default(
        _DEFAULTS.message_bytes,
        "size of a message of a bandwidth test (default: perftest's own, above which the rate does not rise)",
    )
    latency_bytes: Annotated[int, Whole(least=1, most=1 << 20)] = default(
        _DEFAULTS.latency_bytes, "size of a message of a latency test (default: small enough to be sent inline)"
    )
    latency_iterations: Annotated[int, Whole(least=1000, most=100_000_000)] = default(
        _DEFAULTS.latency_iterations, "messages of a latency test (default: 10 values beyond the 99.9th percentile)"
    )
    gid_index: Annotated[int | None, Whole(least=0, most=255)] = unset(
        "index of the GID that perftest uses; left out, perftest prefers RoCE v2 if its build can tell versions apart"
    )
    collectives: Annotated[CollectiveTool, Word(words=CollectiveTool, what="library of collectives")] = default(
        _DEFAULTS.collectives.value, "the library whose collectives are tested: `nccl`, `rccl`, or `none`"
    )
    collective_bytes: Annotated[int, Whole(least=1 << 20, most=1 << 40)] = default(
        _DEFAULTS.collective_bytes,
        "size of a collective (default: 8 GiB, where published tests of nccl-tests end and bandwidth decides)",
    )
    fail: Annotated[float, PartOfOne()] = default(
        _DEFAULTS.fail,
        "share of the expected bandwidth below which a test fails (default: 90 % of line rate)",
    )
    warn: Annotated[float, PartOfOne()] = default(
        _DEFAULTS.warn,
        "share of the expected bandwidth below which a test warns (default: NICs reach 0.96 and more)",
    )
    confidence: Annotated[float, PartOfOne(most=0.999999)] = default(
        _DEFAULTS.confidence, "probability above which the rounds have to load each link, whatever the hash is"
    )
    covered_share: Annotated[float, PartOfOne(most=0.5)] = default(
        _DEFAULTS.covered_share, "share of its rate that a link has to carry in a round to count as tested"
    )
    disturbed_share: Annotated[float, PartOfOne(most=0.5)] = default(
        _DEFAULTS.disturbed_share,
        "share of a link's rate in bytes that no test explains, above which a round is not judged",
    )
    peer_share: Annotated[float, PartOfOne()] = default(
        _DEFAULTS.peer_share, "share of the median of its peers below which a rail, plane or stripe is slow"
    )
    variation: Annotated[float, PartOfOne()] = default(
        _DEFAULTS.variation,
        "largest coefficient of variation of a repeated measurement (default: draft-calabria-bmwg-ai-fabric)",
    )
    isolated_rounds: Annotated[int, Whole(least=1, most=10_000)] = default(
        _DEFAULTS.isolated_rounds,
        "rounds of level quick with one sender and one receiver a leaf, at most; pairs of one leaf share a round",
    )
    loaded_rounds: Annotated[int, Whole(least=1, most=10_000)] = default(
        _DEFAULTS.loaded_rounds, "rounds of level quick in which all NICs send, at most"
    )
    soak_hours: Annotated[int, Whole(least=1, most=720)] = default(
        _DEFAULTS.soak_hours, "hours of level soak in which all NICs send (default: 24 h without loss)"
    )

    @model_validator(mode="after")
    def _warn_before_fail(self) -> Self:
        """Refuse a share for warnings that is below the one for failures."""
        if self.warn < self.fail:
            refuse("RW015", f"warn {self.warn:g} is below fail {self.fail:g}", "write warn as the larger of the two")
        return self

    def policy(self) -> AcceptancePolicy:
        """Return the keys as a frozen value."""
        return AcceptancePolicy(**dict(self))
