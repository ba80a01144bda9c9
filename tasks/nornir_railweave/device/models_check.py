"""What the YANG models of a device refuse of its changes, asked while they are planned."""

from collections.abc import Iterable
from typing import Any

from nornir_railweave.device.reading import switch_program
from railweave.diagnostics import Blocker
from railweave.plan.models_check import RELOAD, invalid_blockers
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.delta import applied
from railweave.sonic.delta.merge import merge_document
from railweave.sonic.delta.rejected import ModelsVerdict
from railweave.sonic.delta.steps import ReloadStep, steps_of
from railweave.sonic.document import BGPRAW, DocumentError, RunningConfig
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
        return (Blocker(str(error), "write the missing fields to the switch, then plan again", RELOAD),)
    verdict = program.rejected_by_reload(step.config_db) if isinstance(step, ReloadStep) else ModelsVerdict()
    return invalid_blockers(verdict, delta, applied(delta, running).config_db, intended.config_db())


def refused_rows(driver: Any, delta: Delta, intended: DeviceConfig) -> Iterable[Blocker]:
    """Return why the rows that ``delta`` writes would be refused; nothing where the driver cannot ask.

    ``delta`` was made for what the driver read last. Raises what the driver raises.
    """
    program = switch_program(driver)
    if program is None:
        return ()
    running = (program.known or program.read()).running
    changes = {table: rows for table, rows in merge_document(delta).items() if table != BGPRAW}
    verdict = program.rejected_when_written(changes)
    return invalid_blockers(verdict, delta, applied(delta, running).config_db, intended.config_db())
