"""How changes are rolled out to a target: ``rollout`` of ``inventory/TARGET.yml``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from railweave.diagnostics import Where
from railweave.plan.policy import DEFAULT_POLICY, RolloutPolicy, Share
from railweave_hosts.access import STRICT, Derived

_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?%")
_CONSENT_MARGIN_S = 30


def _percent(value: Any, expected: str) -> float:
    """Return the number of a percentage such as ``25%``. Raises ValueError, with the text ``expected``, for others."""
    if not isinstance(value, str):
        raise ValueError(expected)
    number = _PERCENT.fullmatch(value.strip())
    if number is None or not 0 < float(number[1]) <= 100:
        raise ValueError(expected)
    return float(number[1])


def _share(value: Any) -> Share:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return Share(count=value)
    return Share(percent=_percent(value, "a count of 1 or more, or a percentage such as 25%"))


def _floor(value: Any) -> float | None:
    if value is None:
        return None
    return _percent(value, "a percentage such as 75%")


Seconds = Annotated[float, Field(gt=0, le=86400)]
WaitSeconds = Annotated[float, Field(ge=0, le=86400)]
ShareOfGroup = Annotated[Share, BeforeValidator(_share)]


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Disturbed devices at once: a count, or a percentage of the group."""

    __pydantic_config__ = STRICT
    spines: ShareOfGroup = DEFAULT_POLICY.spines
    leaves: ShareOfGroup = DEFAULT_POLICY.leaves


@dataclass(frozen=True, slots=True)
class Floor:
    """What stays in service at every moment: percent of a leaf's uplink bandwidth, paths between two leaves."""

    __pydantic_config__ = STRICT
    uplinks: Annotated[float | None, BeforeValidator(_floor)] = DEFAULT_POLICY.uplink_floor_percent
    paths: Annotated[int, Field(ge=0)] = DEFAULT_POLICY.path_floor


@dataclass(frozen=True, slots=True)
class Rollout:
    """How many devices at once, how many may fail, and the times of a rollout, in seconds."""

    __pydantic_config__ = STRICT
    max_unavailable: Unavailable = Unavailable()
    floor: Floor = Floor()
    # The most devices of a wave.
    wave_size: Annotated[int, Field(ge=1, le=1000)] = DEFAULT_POLICY.wave_size
    # How many seconds the devices of a wave are watched before the next wave.
    soak_s: Annotated[WaitSeconds, Field(validation_alias="soak")] = 0
    # How many seconds drained ports may take to fall below `quiet_packets_per_s`.
    drain_timeout_s: Annotated[WaitSeconds, Field(validation_alias="drain_timeout")] = 60
    quiet_packets_per_s: Annotated[float, Field(gt=0, validation_alias="quiet")] = 100
    # Carries out in one step what would hurt live traffic unless it went in phases; None refuses it, but for the
    # markings and the MTU of a simulator or a lab.
    single_step: bool | None = None
    # How many devices are worked on at once.
    workers: Annotated[int, Field(ge=1, le=1000)] = 50
    # The number of failed devices with which the rollout stops, and the wave is rolled back.
    max_failures: Annotated[int, Field(ge=1)] = 1
    # Seconds of the switch's own timer: it covers applying and verifying, and restores what was there.
    revert_in_s: Annotated[int, Field(ge=1, le=86400, validation_alias="revert_in")] = 900
    # How many seconds a device may take to pass its checks after a change, and between two looks at it.
    verify_timeout_s: Annotated[Seconds, Field(validation_alias="verify_timeout")] = 180
    verify_interval_s: Annotated[Seconds, Field(validation_alias="verify_interval")] = 2
    # Processes of this machine that read switches: comparing costs processor time, and one process has one core.
    processes: Literal["auto"] | Annotated[int, Field(ge=1, le=64)] = 1
    # Where the file states a key such as `floor.uplinks`; under the empty key where it states any.
    places: Derived[Mapping[str, Where]] = field(default_factory=dict, compare=False, repr=False)

    @model_validator(mode="after")
    def _timer_outlives_what_it_covers(self) -> Self:
        for what, seconds in (("a verification", self.verify_timeout_s), ("draining", self.drain_timeout_s)):
            if self.revert_in_s < seconds + _CONSENT_MARGIN_S:
                raise ValueError(
                    f"revert_in is {self.revert_in_s} s: the switch would go back before {what} of "
                    f"{seconds:g} s can end; set at least {seconds + _CONSENT_MARGIN_S:g}"
                )
        return self

    @property
    def policy(self) -> RolloutPolicy:
        """Return what may be out of service at once: the part that plans hold, compare and write into their files."""
        return RolloutPolicy(
            spines=self.max_unavailable.spines,
            leaves=self.max_unavailable.leaves,
            wave_size=self.wave_size,
            uplink_floor_percent=self.floor.uplinks,
            path_floor=self.floor.paths,
            places=self.places,
        )
