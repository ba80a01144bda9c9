"""The fault ``refuse-commit``: the next configuring command fails with a text that SONiC really prints."""

from sonic_sim.device import Device
from sonic_sim.faults import FaultKind


def refused(device: Device, command: str) -> bool:
    """Tell whether this command is to fail now."""
    return device.faults.strike(FaultKind.REFUSE_COMMIT, command) is not None
