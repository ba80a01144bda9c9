"""The rollouts of a project: their journals in ``.railweave/journal``, read back into values."""

from collections.abc import Iterator
from pathlib import Path

from nornir_railweave.journals.shared import SUFFIX
from nornir_railweave.rollout.claim import is_alive
from railweave.errors import UsageError
from railweave.plan.parsed_rollout import parse_rollout
from railweave.plan.rollout import NAME, Rollout

_SHOWN = 4


def read_rollout(path: Path) -> Rollout:
    """Return the rollout of a journal. Raises OSError if the file cannot be read."""
    return parse_rollout(path, path.read_bytes(), alive=is_alive(path))


def journals(folder: Path, fabric: str = "") -> list[Path]:
    """Return the journals of a folder, newest first; only those of ``fabric`` if it is given."""
    paths: list[Path] = []
    for path in folder.glob(f"*{SUFFIX}"):
        named = NAME.match(path.stem)
        if not named:
            continue
        if not fabric or named["fabric"] == fabric:
            paths.append(path)
    return sorted(paths, key=_by_time, reverse=True)


def _by_time(path: Path) -> tuple[str, int]:
    """Return the sort key of a journal: the second in its name, when it was begun, then when it was last written."""
    return path.name.partition("-")[0], _written_ns(path)


def _written_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def last_written(folder: Path, fabric: str) -> dict[Path, int]:
    """Return the journals of a fabric, each with the nanosecond in which it was last written."""
    return {path: _written_ns(path) for path in journals(folder, fabric)}


def rollouts(folder: Path, fabric: str = "", target: str = "") -> Iterator[Rollout]:
    """Yield the rollouts of a folder, newest first, each read as it is yielded; ``fabric`` and ``target`` select.

    A file that cannot be read is left out: it may have been deleted meanwhile.
    """
    for path in journals(folder, fabric):
        try:
            rollout = read_rollout(path)
        except OSError:
            continue
        if not target or rollout.target in (target, ""):
            yield rollout


def leaving_behind(folder: Path, fabric: str, target: str, intent_sha256: str) -> Rollout | None:
    """Return the last rollout if its limit left switches behind the intent with this digest; else None."""
    for rollout in rollouts(folder, fabric, target):
        if rollout.never_started:
            continue
        if rollout.behind and rollout.intent_sha256 == intent_sha256:
            return rollout
        return None
    return None


def named_rollout(folder: Path, name: str) -> Rollout:
    """Return the rollout of this name; a part of the name is enough if it is unique, and so is a journal's path.

    Raises UsageError if no rollout or several match; its text names these, or else the newest ones.
    """
    part = Path(name).name.removesuffix(SUFFIX)
    paths = journals(folder)
    # A whole name may be a part of another.
    matching = [path for path in paths if path.stem == part]
    if not matching:
        matching = [path for path in paths if part in path.stem]
    if len(matching) == 1:
        return read_rollout(matching[0])
    if matching:
        raise UsageError(f"{len(matching)} rollouts have {name!r} in their names: {_stems(matching)}")
    raise UsageError(_unknown_rollout(name, paths))


def _unknown_rollout(name: str, paths: list[Path]) -> str:
    newest = ", ".join(path.stem for path in paths[:_SHOWN]) or "none"
    return f"no rollout {name!r} (the newest here: {newest}; `railweave rollout list` shows them all)"


def _stems(paths: list[Path]) -> str:
    """Return the names of the first journals, and whether there are more."""
    more = " …" if len(paths) > _SHOWN else ""
    return ", ".join(path.stem for path in paths[:_SHOWN]) + more
