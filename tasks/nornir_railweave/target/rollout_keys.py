"""The keys of ``rollout`` in ``inventory/TARGET.yml`` that say what a rollout may take away, and for how long."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from railweave.diagnostics import Where
from railweave.plan.policy import RolloutPolicy, Share

_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?%")
_KEY = "rollout"

Time = Annotated[float, Field(ge=0, le=86400)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class UnavailableKeys(_Strict):
    """Disturbed devices at once: a count, or a percentage of the group."""

    spines: Share = Share(count=1)
    leaves: Share = Share(count=1)

    @field_validator("spines", "leaves", mode="before")
    @classmethod
    def _a_count_or_a_percentage(cls, value: Any) -> Share:
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return Share(count=value)
        return Share(percent=_percent(value, "a count of 1 or more, or a percentage such as 25%"))


class FloorKeys(_Strict):
    """What stays in service at every moment: uplink bandwidth of a leaf, paths between two leaves."""

    uplinks: float | None = None
    paths: Annotated[int, Field(ge=0)] = 1

    @field_validator("uplinks", mode="before")
    @classmethod
    def _a_percentage(cls, value: Any) -> float | None:
        return None if value is None else _percent(value, "a percentage such as 75%")


class RolloutKeys(_Strict):
    """What a rollout may take away; the times in seconds, ``quiet`` in packets a second of a port."""

    max_unavailable: UnavailableKeys = UnavailableKeys()
    floor: FloorKeys = FloorKeys()
    wave_size: Annotated[int, Field(ge=1, le=1000)] = 50
    soak: Time = 0
    drain_timeout: Time = 60
    quiet: Annotated[float, Field(gt=0)] = 100
    single_step: bool | None = None


ROLLOUT_MODELS: Mapping[tuple[Any, ...], type[BaseModel]] = {
    (_KEY, "max_unavailable"): UnavailableKeys,
    (_KEY, "floor"): FloorKeys,
}
"""The mappings within ``rollout``, for naming the nearest key."""


def _percent(value: Any, wanted: str) -> float:
    found = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or not 0 < float(found[1]) <= 100:
        raise ValueError(wanted)
    return float(found[1])


def rollout_policy(parsed: RolloutKeys, places: Mapping[str, Where]) -> RolloutPolicy:
    """Return the policy with the places of its keys in the file, so that what cannot be met is found there."""
    prefix = f"{_KEY}."
    stated = {path.removeprefix(prefix): where for path, where in places.items() if path.startswith(prefix)}
    whole = places.get(_KEY) or Where(places["source"].file)
    return RolloutPolicy(
        spines=parsed.max_unavailable.spines,
        leaves=parsed.max_unavailable.leaves,
        wave_size=parsed.wave_size,
        uplink_floor_percent=parsed.floor.uplinks,
        path_floor=parsed.floor.paths,
        places={"": whole, **stated},
    )
