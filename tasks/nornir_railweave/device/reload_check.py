"""What a device would refuse of the reload that its plan needs, asked while it is planned."""

from collections.abc import Iterable
from typing import Any

from nornir_railweave.device.reading import switch_program
from railweave.diagnostics import Blocker
from railweave.plan.reload_check import CODE, reload_blockers
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.delta import applied
from railweave.sonic.delta.steps import ReloadStep, steps_of
from railweave.sonic.document import DocumentError, RunningConfig
from railweave.sonic.rows import DeviceConfig


def refused_reload(driver: Any, delta: Delta, running: RunningConfig, intended: DeviceConfig) -> Iterable[Blocker]:
    """Return why the reload that ``delta`` takes would abort; nothing where it takes none or the driver cannot ask.

    Raises what the driver raises.
    """
    program = switch_program(driver)
    if program is None or not delta.reloads:
        return ()
    try:
        (step,) = steps_of(delta, running)
    except DocumentError as error:
        return (Blocker(str(error), "write the missing fields to the switch, then plan again", CODE),)
    rejected = program.rejected_by_reload(step.config_db) if isinstance(step, ReloadStep) else ()
    return reload_blockers(rejected, delta, applied(delta, running).config_db, intended.config_db())
