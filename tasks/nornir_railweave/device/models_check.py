"""What the models of a device refuse of its changes, asked while they are planned."""

from collections.abc import Iterable

from nornir_railweave.checked_driver import CheckedDriver
from railweave.diagnostics import Blocker
from railweave.plan.models_check import RELOAD, invalid_blockers
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.delta import applied
from railweave.sonic.delta.merge import merge_document
from railweave.sonic.delta.rejected import ModelsVerdict
from railweave.sonic.delta.steps import ReloadStep, steps_of
from railweave.sonic.document import BGPRAW, DocumentError, RunningConfig
from railweave.sonic.rows import DeviceConfig
from railweave.switch_driver import Capability


def refused_reload(
    driver: CheckedDriver, delta: Delta, running: RunningConfig, intended: DeviceConfig
) -> Iterable[Blocker]:
    """Return a blocker for each reason why SONiC's ``config reload`` would abort when it carries out ``delta``.

    There are none if ``delta`` needs no reload, or the driver cannot check one. Raises what the driver raises.
    """
    if not delta.reloads or not driver.can(Capability.CHECK_RELOAD):
        return ()
    try:
        # A delta that reloads is carried out in one step.
        (step,) = steps_of(delta, running)
    except DocumentError as error:
        return (Blocker(str(error), "write the missing fields to the switch, then plan again", RELOAD),)
    verdict = ModelsVerdict()
    if isinstance(step, ReloadStep):
        verdict = driver.check_reload(step.config_db)
    return invalid_blockers(verdict, delta, applied(delta, running).config_db, intended.config_db())


def refused_rows(driver: CheckedDriver, delta: Delta, intended: DeviceConfig) -> Iterable[Blocker]:
    """Return a blocker for each row that ``delta`` writes and the switch's models would refuse.

    There are none if the driver cannot check rows. ``delta`` was made for the driver's last reading. Raises what the
    driver raises.
    """
    if not driver.can(Capability.CHECK):
        return ()
    running = (driver.last_reading or driver.read()).running
    changes = {table: rows for table, rows in merge_document(delta).items() if table != BGPRAW}
    verdict = driver.check(changes)
    return invalid_blockers(verdict, delta, applied(delta, running).config_db, intended.config_db())
