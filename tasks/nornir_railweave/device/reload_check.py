"""What a device would refuse of the reload that its plan needs, asked while it is planned."""

from collections.abc import Iterable
from typing import Any

from nornir_railweave.device.reading import Comparison, switch_program
from railweave.diagnostics import Blocker
from railweave.plan.reload_check import CODE, reload_blockers
from railweave.sonic.delta.delta import applied
from railweave.sonic.delta.steps import ReloadStep, steps_of
from railweave.sonic.document import DocumentError
from railweave.sonic.rows import DeviceConfig


def refused_reload(driver: Any, found: Comparison, intended: DeviceConfig) -> Iterable[Blocker]:
    """Return why the reload would abort; nothing where it would not, or where the driver cannot ask.

    Raises what the driver raises.
    """
    program, delta = switch_program(driver), found.difference.delta
    if program is None:
        return ()
    try:
        (step,) = steps_of(delta, found.running)
    except DocumentError as error:
        return (Blocker(str(error), "write the missing fields to the switch, then plan again", CODE),)
    rejected = program.rejected_by_reload(step.config_db) if isinstance(step, ReloadStep) else ()
    return reload_blockers(rejected, delta, applied(delta, found.running).config_db, intended.config_db())
