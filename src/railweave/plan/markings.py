"""Code points that a plan takes away from lossless traffic on switches that run."""

from railweave.plan.model import Plan


def given_up_markings(plan: Plan) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return the code points with the devices on which they are lossless and would be no more, ascending."""
    found: dict[int, list[str]] = {}
    for name, device in plan.devices.items():
        for dscp in device.given_up:
            found.setdefault(dscp, []).append(name)
    return tuple((dscp, tuple(names)) for dscp, names in sorted(found.items()))
