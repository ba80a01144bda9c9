"""The project of a rollout that is resumed or rolled back: the intent that its journal names."""

import os
from collections.abc import Sequence
from pathlib import Path

from nornir_railweave.rollout.resuming import newest_unfinished
from nornir_railweave.rollout.rolling_back import newest_change
from nornir_railweave.rollout.rollouts import journals, named_rollout
from railweave.api.journal.folder import fetched_journals
from railweave.api.operator import Operator
from railweave.api.project import Project, open_project
from railweave.errors import UsageError
from railweave.intent.reference import file_of
from railweave.plan.rollout import NAME, Rollout
from railweave.wording import command_line, first_few


def open_rollout_project(
    intent: Path | str | None, operator: Operator, target: str, *, rollout: str = "", resume: bool = False
) -> Project:
    """Return the project of a rollout that is to be resumed, or rolled back, with the intent that its journal names.

    ``rollout`` is its name or a part of it; the default is the newest on ``target``. ``resume`` tells whether it is to
    be resumed. An ``intent``, or RAILWEAVE_INTENT, goes before the journal. Raises UsageError if rollouts of several
    fabrics could be meant.
    """
    # Whoever names an intent may have moved it since the rollout began.
    if intent or os.environ.get("RAILWEAVE_INTENT"):
        return open_project(intent, operator)
    folder = fetched_journals()
    if rollout:
        candidates = [named_rollout(folder, rollout)]
    else:
        candidates = _newest_rollouts(folder, target, resume=resume)
    # The file of an intent may have been removed or renamed since.
    intents = sorted({candidate.metadata.intent for candidate in candidates if _has_intent(candidate)})
    if len(intents) == 1:
        return open_project(intents[0], operator)
    # With a single file in intent/ the project's default intent is the only one that can be meant.
    has_single_intent = len(list(Path("intent").glob("*.y*ml"))) == 1
    if not intents or has_single_intent:
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


def _newest_rollouts(folder: Path, target: str, *, resume: bool) -> list[Rollout]:
    """Return the newest rollout of each fabric on ``target`` that can be resumed, or else rolled back."""
    names = (NAME.match(path.stem) for path in journals(folder))
    # A dictionary, because it keeps the order of the journals.
    fabrics = dict.fromkeys(name["fabric"] for name in names if name)
    search = newest_change
    if resume:
        search = newest_unfinished
    newest = (search(folder, fabric, target) for fabric in fabrics)
    return [rollout for rollout in newest if rollout is not None]
