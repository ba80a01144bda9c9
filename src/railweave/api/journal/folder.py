"""The place of a project's journals and audit log: the project, a folder that RAILWEAVE_JOURNALS names, or a store.

The project holds a copy of the journals in a store, which is brought up to date when a command begins.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from nornir_railweave.journals.places import is_store, open_store
from nornir_railweave.journals.shared import JournalHeldError, SharedJournals
from nornir_railweave.journals.store import StoreError
from nornir_railweave.rollout.claim import capacity_held, held_elsewhere, refuse_while_running, shared_place
from nornir_railweave.rollout.resuming import newest_unfinished
from nornir_railweave.rollout.rolling_back import newest_change
from nornir_railweave.rollout.rollouts import journals, named_rollout
from railweave.api.operator import SILENT, Operator
from railweave.api.project import JOURNALS, STATE, Project, open_project
from railweave.errors import RailweaveError, UsageError
from railweave.intent.reference import file_of
from railweave.plan.rollout import NAME, Rollout
from railweave.wording import command_line, first_few


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
    if (shared := shared_journals()) is not None:
        try:
            shared.fetch()
        except (StoreError, OSError) as fault:
            raise RailweaveError(f"the journals cannot be fetched: {fault}") from fault
    return folder


def open_rollout_project(
    intent: Path | str | None, operator: Operator, target: str, *, rollout: str = "", resume: bool = False
) -> Project:
    """Return the project of a rollout that is to be resumed, or rolled back, with the intent that its journal names.

    ``rollout`` names it or a part of its name; the default is the newest on ``target``. An ``intent``, or
    RAILWEAVE_INTENT, goes before the journal. Raises UsageError if rollouts of several fabrics could be meant.
    """
    # Whoever names an intent may have moved it since the rollout began.
    if intent or os.environ.get("RAILWEAVE_INTENT"):
        return open_project(intent, operator)
    folder = fetched_journals()
    if rollout:
        candidates = [named_rollout(folder, rollout)]
    else:
        candidates = _newest(folder, target, resume=resume)
    # The file of an intent may have been removed or renamed since.
    intents = sorted({candidate.metadata.intent for candidate in candidates if _has_intent(candidate)})
    if len(intents) == 1:
        return open_project(intents[0], operator)
    if not intents or len(list(Path("intent").glob("*.y*ml"))) == 1:
        return open_project(None, operator)
    raise _ambiguous_rollout(len(intents), candidates, target, resume=resume)


def _has_intent(rollout: Rollout) -> bool:
    intent = rollout.metadata.intent
    return bool(intent) and file_of(Path(intent)).is_file()


def _ambiguous_rollout(intents: int, candidates: Sequence[Rollout], target: str, *, resume: bool) -> UsageError:
    """Return the error for rollouts of several intents, with the commands that name one of them."""
    words: tuple[str, ...] = ("rollback",)
    if resume:
        words = ("deploy", "--resume")
    commands = [f"`{command_line(*words, candidate.name, target=target)}`" for candidate in candidates]
    return UsageError(f"rollouts of {intents} intents could be meant: {first_few(commands, separator=' or ')}")


def _newest(folder: Path, target: str, *, resume: bool) -> list[Rollout]:
    """Return the newest rollout of each fabric on ``target`` that can be resumed, or else rolled back."""
    fabrics = dict.fromkeys(named["fabric"] for path in journals(folder) if (named := NAME.match(path.stem)))
    search = newest_change
    if resume:
        search = newest_unfinished
    newest = (search(folder, fabric, target) for fabric in fabrics)
    return [rollout for rollout in newest if rollout is not None]


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
