"""Whether a confirmed configuration survives a power loss, asked where the answer to the confirmation was lost.

The driver saves after it confirms. Where the session broke off in between, the device runs the new configuration and
would boot the old one, which nobody would notice before the next power loss.
"""

from contextlib import suppress
from typing import Any

from napalm.base.exceptions import NapalmException

from nornir_railweave.reading import Comparer
from railweave.sonic.document import DocumentError

SAVE = ("sudo -n config save -y", "sudo -n vtysh -c 'write memory'")
"""What saves CONFIG_DB and FRR's configuration on SONiC."""


def ensure_saved(driver: Any, name: str, compare: Comparer) -> bool:
    """Save the running configuration unless the boot configuration is as intended; tell whether it is now."""
    if _is_saved(driver, name, compare):
        return True
    with suppress(NapalmException):
        driver.cli(list(SAVE))
    return _is_saved(driver, name, compare)


def _is_saved(driver: Any, name: str, compare: Comparer) -> bool:
    try:
        return not compare(driver, name, "startup").difference.changes
    except DocumentError:
        return False
