"""The place of a project's journals and audit log: the project, a folder that RAILWEAVE_JOURNALS names, or a store.

The project holds a copy of the journals in a store, which is brought up to date when a command begins.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from nornir_railweave.journals.places import is_store, open_store
from nornir_railweave.journals.shared import JournalHeldError, SharedJournals
from nornir_railweave.journals.store import StoreError
from nornir_railweave.rollout.claim import capacity_held, held_elsewhere, refuse_while_running, shared_place
from railweave.api.operator import SILENT, Operator
from railweave.api.project import JOURNALS, STATE
from railweave.errors import RailweaveError


def journal_folder() -> Path:
    """Return the folder of journals and of the audit log, or of the copies of those in a store."""
    place = _place()
    if not is_store(place):
        return Path(place)
    return STATE / "journals" / hashlib.sha256(place.encode()).hexdigest()[:12]


def shared_journals() -> SharedJournals | None:
    """Return the store that RAILWEAVE_JOURNALS names, None for a folder; raises RailweaveError for an unusable one."""
    place = _place()
    if not is_store(place):
        return None
    return _opened(place, journal_folder().absolute())


def fetched_journals() -> Path:
    """Return the folder of journals, as the store has them now; raises RailweaveError where it does not answer."""
    folder = journal_folder()
    shared = shared_journals()
    if shared is not None:
        try:
            shared.fetch()
        except (StoreError, OSError) as fault:
            raise RailweaveError(f"the journals cannot be fetched: {fault}") from fault
    return folder


def refuse_while_rolling_out(fabric: str, target: str, operator: Operator = SILENT) -> None:
    """Raise RefusedError, naming its process, if a rollout of this fabric and target runs, here or at another runner.

    Afterwards the folder has all journals. A runner that left no end is watched for a while.
    """
    refuse_while_running(fetched_journals(), fabric, target)
    refuse_while_held(fabric, target, operator)


@contextmanager
def holding_capacity(fabric: str, target: str, what: str, operator: Operator = SILENT) -> Iterator[None]:
    """Hold the capacity of a fabric and target during ``what``, so that nobody here or at another runner takes more.

    Raises RefusedError if somebody else holds it, RailweaveError if the hold cannot be written.
    """
    refuse_while_rolling_out(fabric, target, operator)
    with capacity_held(journal_folder(), fabric, target, what, shared_journals()):
        yield


def refuse_while_held(fabric: str, target: str, operator: Operator = SILENT) -> None:
    """Raise RefusedError if a rollout of this fabric and target runs at another runner."""
    shared = shared_journals()
    if shared is None:
        return
    try:
        shared.refuse_while_held(shared_place(fabric, target), operator.tell)
    except JournalHeldError as held:
        raise held_elsewhere(held, fabric, target) from held
    except OSError as fault:
        raise RailweaveError(f"{shared.folder}: {fault.strerror}") from fault


def _place() -> str:
    return os.environ.get("RAILWEAVE_JOURNALS") or str(JOURNALS)


@cache
def _opened(place: str, folder: Path) -> SharedJournals:
    return SharedJournals(open_store(place), folder)
