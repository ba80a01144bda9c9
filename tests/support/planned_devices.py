"""Devices of plans whose values are stated in one call, whether the plan, the reading or the difference holds them."""

from dataclasses import fields, replace
from typing import Any

from railweave.plan.model import DevicePlan, DeviceState, Reading
from railweave.sonic.delta.diff import DeviceDiff


def planned(state: DeviceState, role: str = "", **values: Any) -> DevicePlan:
    """Return a device in ``state`` with these values."""
    return having(DevicePlan(state, role), **values)


def having(device: DevicePlan, **values: Any) -> DevicePlan:
    """Return ``device`` with other values."""
    difference = replace(device.difference, **_of(DeviceDiff, values))
    reading = replace(device.reading, difference=difference, **_of(Reading, values))
    own = _of(DevicePlan, values)
    assert len(values) == len({*_of(DeviceDiff, values), *_of(Reading, values), *own}), values
    return replace(device, reading=reading, **own)


def _of(kind: type[Any], values: dict[str, Any]) -> dict[str, Any]:
    return {field.name: values[field.name] for field in fields(kind) if field.name in values}
