"""Whether a confirmed configuration survives a power loss, asked where that is in doubt.

The driver saves after it confirms. Where the session or this machine was lost in between, the device runs the new
configuration and would boot the old one, which nobody would notice before the next power loss.
"""

from contextlib import suppress
from typing import Any

from napalm.base.exceptions import NapalmException

from nornir_railweave.device.jobs import DeviceJob
from railweave.sonic.document import DocumentError

UNSAVED = "the new configuration runs but could not be saved: after a power loss the switch boots the old one"


def is_saved(driver: Any, job: DeviceJob) -> bool:
    """Tell whether the device boots what the job wants; raises what the driver raises."""
    try:
        return job.read(driver, "startup").done
    except DocumentError:
        return False


def save(driver: Any, job: DeviceJob) -> bool:
    """Save what runs, where the driver can do that alone; tell whether the device boots what the job wants now."""
    if hasattr(driver, "changes"):
        with suppress(NapalmException):
            driver.changes.save()
    return is_saved(driver, job)
