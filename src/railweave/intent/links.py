"""The ``links:`` of the intent: when a cable is poor, and when it must leave service."""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import model_validator

from railweave.fabric.link_policy import LinkPolicy
from railweave.intent.acceptance import PartOfOne
from railweave.intent.keys import Keys, default, unset
from railweave.intent.kinds import Flag, Kind, Whole, refuse, shown

_RATE = re.compile(r"[0-9]{1,3}(\.[0-9]{1,6})?[eE]-[0-9]{1,2}|0?\.[0-9]{1,12}")


@dataclass(frozen=True, slots=True)
class ErrorRate(Kind):
    """A bit error rate such as ``2.4e-5``."""

    most: float = 1e-3

    def read(self, value: object) -> float:
        """Return the rate. A value that is not a rate or out of range is refused."""
        text = str(value)
        is_number_or_text = isinstance(value, float | str)
        if not is_number_or_text or not _RATE.fullmatch(text):
            refuse("RW015", f"{shown(value)} is not a bit error rate", "write a number like 2.4e-5")
        rate = float(text)
        if not 0 < rate <= self.most:
            refuse("RW013", f"{shown(value)} is out of range", f"write a number above 0, up to {self.most:g}")
        return rate

    def form(self) -> dict[str, Any]:
        """Return the bounds of the number."""
        return {"type": "number", "exclusiveMinimum": 0, "maximum": self.most}


_DEFAULTS = LinkPolicy()


class LinkKeys(Keys):
    """When `railweave links` gives a cable another grade than A, and when it must be drained."""

    job_nodes: Annotated[int | None, Whole(least=1, most=1_000_000)] = unset(
        "nodes of the largest job; left out, all nodes of the fabric"
    )
    job_hours: Annotated[int, Whole(least=1, most=8760)] = default(
        _DEFAULTS.job_hours, "hours that a job runs between two checkpoints or restarts"
    )
    job_loss: Annotated[float, PartOfOne()] = default(
        _DEFAULTS.job_loss,
        "chance that a job of this size and length loses a codeword, if all of its links had the error rate of a link"
        " that is just not drained",
    )
    warn_ber: Annotated[float | None, ErrorRate()] = unset(
        "bit error rate before correction from which on a link is grade B; left out, two decades below the limit of its"
        " FEC (2.4e-4 with RS(544,514), 2.3e-5 with RS(528,514))"
    )
    drain_ber: Annotated[float | None, ErrorRate()] = unset(
        "bit error rate before correction from which on a link is grade D; left out, that of `job_loss`, within a"
        " decade below the limit of its FEC"
    )
    lead_hours: Annotated[int, Whole(least=1, most=168)] = default(
        _DEFAULTS.lead_hours, "a rising link is grade D if it will lose its first codeword within these hours"
    )
    flaps: Annotated[int, Whole(least=1, most=1000)] = default(
        _DEFAULTS.flaps, "flaps within `flap_hours` from which on a link is grade D"
    )
    flap_hours: Annotated[int, Whole(least=1, most=168)] = default(
        _DEFAULTS.flap_hours, "hours over which flaps are counted"
    )
    optics: Annotated[bool, Flag()] = default(_DEFAULTS.optics, "grade modules by their own thresholds")
    offender_days: Annotated[int, Whole(least=2, most=365)] = default(
        _DEFAULTS.offender_days, "days with another grade than A that make a cable or optic a repeat offender"
    )
    offender_window_days: Annotated[int, Whole(least=2, most=365)] = default(
        _DEFAULTS.offender_window_days, "days over which `offender_days` are counted"
    )

    @model_validator(mode="after")
    def _warn_before_drain(self) -> Self:
        """Refuse a threshold for warnings that is above the one for draining."""
        # Either may be left out; then it follows from the FEC or from `job_loss`.
        if self.warn_ber is None or self.drain_ber is None:
            return self
        if self.warn_ber > self.drain_ber:
            refuse(
                "RW015",
                f"warn_ber {self.warn_ber:g} is above drain_ber {self.drain_ber:g}",
                "write warn_ber as the smaller of the two",
            )
        return self

    def policy(self) -> LinkPolicy:
        """Return the keys as a frozen value."""
        return LinkPolicy(**dict(self))
