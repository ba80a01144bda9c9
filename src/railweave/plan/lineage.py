"""Which state of the intent each switch runs, and whether a deployment continues it or discards it.

A switch keeps the generation of its last confirmed deployment. A deployment is made from a state of its project: the
git commit of the intent, and a digest of the intent and the project's templates and models. It continues a switch's
generation where that commit is its own or an ancestor of it; where a generation was never committed, where the project
has the same content or has deployed it itself. Anything else would be lost without anybody having decided so.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from railweave.codec import Record
from railweave.diagnostics import Diagnostic, error
from railweave.plan.model import Generation, Plan
from railweave.wording import compact, first_few

_SHORT = 12
_LONGEST = 200


class Ancestry(Enum):
    """How a commit relates to the one that is checked out."""

    CONTAINED = "contained"
    NEWER = "newer"
    DIVERGED = "diverged"
    UNKNOWN = "unknown"
    BEYOND_SHALLOW = "beyond a shallow clone"


@dataclass(frozen=True, slots=True)
class History:
    """The state of a project that is deployed, and how the states that its switches run relate to it."""

    own: Generation = field(default_factory=Generation)
    # Of the commits that switches run.
    ancestry: Mapping[str, Ancestry] = field(default_factory=dict, repr=False)
    # The digests of the states that this project deployed, by its journals.
    deployed: Collection[str] = field(default=frozenset(), repr=False)

    def is_other(self, running: Generation) -> bool:
        """Tell whether a switch is known to run another state than the one that is deployed."""
        # Switches deployed by an older railweave, and plans without a project, have no digest: nothing to compare.
        return bool(self.own.digest and running.digest) and running.digest != self.own.digest

    def discards(self, running: Generation) -> str:
        """Return why deploying this state would discard ``running``; empty if it continues it."""
        if not self.is_other(running):
            return ""
        is_commit = bool(running.revision) and not running.dirty
        if is_commit:
            return self._discards_commit(running.revision)
        # Without a commit no git history orders the two states, so only what this project deployed itself is older.
        if running.digest in self.deployed:
            return ""
        base_commit = ""
        if running.revision:
            base_commit = f", based on commit {running.revision[:_SHORT]},"
        return f"a state that was never committed{base_commit} and that this project did not deploy"

    def _discards_commit(self, revision: str) -> str:
        """Return why deploying this state would discard the commit ``revision``; empty if it continues it."""
        if not self.own.revision:
            return "a commit, and the intent here is in no git history"
        return {
            Ancestry.CONTAINED: "",
            Ancestry.NEWER: "a newer commit",
            Ancestry.DIVERGED: "a commit of another line of history",
            Ancestry.UNKNOWN: "a commit that this clone does not have",
            Ancestry.BEYOND_SHALLOW: "a commit that this shallow clone does not reach",
        }[self.ancestry.get(revision, Ancestry.UNKNOWN)]


UNKNOWN_HISTORY = History()


def generation_of(document: Mapping[str, Any]) -> Generation:
    """Return the generation that a switch reports; values of a wrong type are left out."""
    record = Record(document)
    return Generation(
        number=record.number("number"),
        # The texts are shown to people, and whoever can write to a switch can write them.
        revision=record.text("revision")[:_LONGEST],
        digest=record.text("digest")[:_LONGEST],
        dirty=record.flag("dirty"),
        by=record.text("by")[:_LONGEST],
    )


def generation_document(generation: Generation) -> dict[str, Any]:
    """Return what a switch keeps of a generation; it adds the number, and who confirmed it when."""
    return {"revision": generation.revision, "digest": generation.digest, "dirty": generation.dirty}


def discarded(plan: Plan, history: History) -> Iterator[Diagnostic]:
    """Yield an error for each generation that switches run and that deploying ``plan`` would discard."""
    devices_by_generation: dict[Generation, list[str]] = {}
    for name, device in plan.devices.items():
        # Devices outside of the plan's limit keep what they run.
        if device.reading.generation.digest and plan.includes(name):
            devices_by_generation.setdefault(device.reading.generation.content, []).append(name)
    for generation, names in devices_by_generation.items():
        reason = history.discards(generation)
        if reason:
            authors = {plan.devices[name].reading.generation.by for name in names}
            yield _would_discard(generation, names, authors - {""}, reason, history.own)


def _would_discard(
    running: Generation, names: list[str], authors: Collection[str], reason: str, own: Generation
) -> Diagnostic:
    """Return the error for the devices ``names``, which run a generation that deploying ``own`` would discard.

    ``authors`` are those who deployed it; ``reason`` is why it would be discarded, as a phrase.
    """
    verb = "runs" if len(names) == 1 else "run"
    message = f"{compact(names)} {verb} {running.shown}"
    if authors:
        message += f" (deployed by {first_few(sorted(authors), 2)})"
    message += f": {reason}. This is {own.shown}; deploying it would undo the changes of the other"
    return error("RW526", message, devices=tuple(names), fix=_fix(reason))


def _fix(reason: str) -> str:
    if "shallow" in reason:
        first = "fetch the whole history (`git fetch --unshallow`; in a pipeline, a clone without a depth)"
    elif "never committed" in reason:
        first = "let who deployed it commit it, and merge that"
    else:
        first = "pull, and rebase or merge onto what runs"
    return f"{first}; or, where what runs there may be lost, deploy with --discard-newer"
