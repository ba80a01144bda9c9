"""Which state of the intent each switch runs, and whether a deployment continues it or discards it.

A switch keeps the generation of its last confirmed deployment. A deployment is made from a state of its project: the
git commit of the intent, and a digest of the intent and the project's templates. It continues a switch's generation
where that commit is its own or an ancestor of it; where a generation was never committed, where the project has the
same content or has deployed it itself. Anything else would be lost without anybody having decided so.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from railweave.diagnostics import Diagnostic, error
from railweave.plan.model import Generation, Plan
from railweave.wording import compact, first_few

_SHORT = 12
_LONGEST = 200


class Ancestry(Enum):
    """Where a commit stands to the one that is checked out."""

    CONTAINED = "contained"
    NEWER = "newer"
    DIVERGED = "diverged"
    UNKNOWN = "unknown"
    BEYOND_SHALLOW = "beyond a shallow clone"


def _unknown(_: str) -> Ancestry:
    return Ancestry.UNKNOWN


@dataclass(frozen=True, slots=True)
class History:
    """The state of a project that is deployed, and how others stand to it.

    ``ancestry`` judges a commit; ``deployed`` returns the digests that this project's journals say it deployed.
    """

    own: Generation = field(default_factory=Generation)
    ancestry: Callable[[str], Ancestry] = field(default=_unknown, repr=False)
    deployed: Callable[[], Collection[str]] = field(default=frozenset, repr=False)

    def discards(self, found: Generation) -> str:
        """Return why deploying this state would discard ``found``; empty where it continues it."""
        if not self.own.digest or not found.digest or found.digest == self.own.digest:
            return ""
        if found.revision and not found.dirty:
            return self._discards_commit(found.revision)
        if found.digest in self.deployed():
            return ""
        based = f", based on commit {found.revision[:_SHORT]}," if found.revision else ""
        return f"a state that was never committed{based} and that this project did not deploy"

    def _discards_commit(self, revision: str) -> str:
        if not self.own.revision:
            return "a commit, and the intent here is in no git history"
        return {
            Ancestry.CONTAINED: "",
            Ancestry.NEWER: "a newer commit",
            Ancestry.DIVERGED: "a commit of another line of history",
            Ancestry.UNKNOWN: "a commit that this clone does not have",
            Ancestry.BEYOND_SHALLOW: "a commit that this shallow clone does not reach",
        }[self.ancestry(revision)]


UNKNOWN_HISTORY = History()


def generation_of(told: Mapping[str, Any]) -> Generation:
    """Return the generation that a switch tells; what it may not tell is left out."""
    number = told.get("number")
    return Generation(
        number=number if isinstance(number, int) else 0,
        revision=_text(told, "revision"),
        digest=_text(told, "digest"),
        dirty=told.get("dirty") is True,
        by=_text(told, "by"),
    )


def told_generation(generation: Generation) -> dict[str, Any]:
    """Return what a switch keeps of a generation; it adds the number, and who confirmed it when."""
    return {"revision": generation.revision, "digest": generation.digest, "dirty": generation.dirty}


def _text(told: Mapping[str, Any], name: str) -> str:
    value = told.get(name)
    return value[:_LONGEST] if isinstance(value, str) else ""


def discarded(plan: Plan, history: History) -> Iterator[Diagnostic]:
    """Yield an error for each generation on switches that deploying ``plan`` would discard."""
    devices: dict[Generation, list[str]] = {}
    for name, device in plan.devices.items():
        if device.generation.digest:
            devices.setdefault(device.generation.content, []).append(name)
    for found, names in devices.items():
        why = history.discards(found)
        if not why:
            continue
        by = sorted({plan.devices[name].generation.by for name in names} - {""})
        yield error(
            "RW526",
            f"{compact(names)} {'runs' if len(names) == 1 else 'run'} {found.shown}"
            f"{f' (deployed by {first_few(by, 2)})' if by else ''}: {why}. This is {history.own.shown}; deploying it"
            " would undo what the other brought",
            devices=tuple(names),
            fix=_fix(why),
        )


def _fix(why: str) -> str:
    if "shallow" in why:
        first = "fetch the whole history (`git fetch --unshallow`; in a pipeline, a clone without a depth)"
    elif "never committed" in why:
        first = "let who deployed it commit it, and merge that"
    else:
        first = "pull, and rebase or merge onto what runs"
    return f"{first}; or, where what runs there may be lost, deploy with --discard-newer"
