"""The intent at two git revisions or in two files, designed and compared without a device."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.project import Designed, design_text, project_templates
from railweave.errors import RailweaveError

if TYPE_CHECKING:
    from railweave.plan.model import Plan


def text_at(revision: str, path: Path) -> str:
    """Return the file at ``path`` as it is in ``revision``, or in the working tree when that is empty.

    Raises RailweaveError with git's own words.
    """
    if not revision:
        try:
            return path.read_text(encoding="utf-8")
        except OSError as problem:
            raise RailweaveError(f"{path}: {problem.strerror}") from problem
    if revision.startswith("-"):
        raise RailweaveError(f"{revision!r} is not a git revision")
    shown = subprocess.run(
        ["git", "show", f"{revision}:./{Path(os.path.relpath(path)).as_posix()}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if shown.returncode:
        raise RailweaveError(f"{path} at {revision}: {shown.stderr.strip() or 'git failed'}")
    return shown.stdout


def plan_between(path: Path, base: str, head: str, *, renumber: bool) -> "Plan":
    """Return the plan that leads every device from the intent at ``base`` to that at ``head``.

    Raises RefusedError when one of the two does not stand, or when an existing device would be renumbered and
    ``renumber`` does not allow it.
    """
    from railweave.plan.offline import plan_offline

    before, after = designed_at(base, path), designed_at(head, path)
    plan = plan_offline(before.fabric, after.fabric, project_templates(), renumber=renumber)
    return replace(plan, intent_sha256=after.intent.sha256)


def designed_at(revision: str, path: Path) -> Designed:
    """Return the designed fabric of the intent at ``path`` in a git revision, in the working tree where that is empty.

    ``revision`` may be the name of a file, which counts before a revision of that name. Raises RailweaveError and
    RefusedError as `text_at` and `design_text` do.
    """
    if revision and Path(revision).is_file():
        return design_text(text_at("", Path(revision)), revision)
    name = f"{revision}:{path}" if revision else str(path)
    return design_text(text_at(revision, path), name)
