"""Keep a device that turns out to be done although the rollout was cut off before it could tell so."""

from collections.abc import Mapping

from nornir.core.task import Result, Task

from nornir_railweave.events import Event, Events, Step
from nornir_railweave.saving import UNSAVED, is_saved, save
from nornir_railweave.session import DEVICE_FAULTS, session, words
from nornir_railweave.work import Work
from railweave.plan.outcome import DeviceOutcome, Outcome
from railweave.sonic.document import DocumentError


def keep_found(task: Task, works: Mapping[str, Work], announce: Events) -> Result:
    """Save what the device runs, if it boots something else, and return its ``DeviceOutcome``.

    Raises nothing of the device's: one that cannot be asked is unreachable.
    """
    name = task.host.name
    work = works[name]
    try:
        with session(task) as opened:
            driver = opened.driver
            found = work.read(driver)
            saved = is_saved(driver, work) or save(driver, work)
            timer = getattr(driver, "revert_timer", None)
            commit_id = "" if timer is None else str(timer.status().commit_id)
    except (*DEVICE_FAULTS, DocumentError) as fault:
        outcome = DeviceOutcome(Outcome.UNREACHABLE, words(fault))
    else:
        announce(Event(Step.CONFIRMED, name, details={"commit_id": commit_id, "after_sha256": found.sha256}))
        outcome = DeviceOutcome(Outcome.NEW, "" if saved else UNSAVED)
    announce(Event(Step.OUTCOME, name, outcome.error, {"outcome": outcome.outcome.value}))
    return Result(host=task.host, result=outcome, failed=not outcome.ok)
