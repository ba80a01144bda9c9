"""The intent at two git revisions, designed and compared without a device."""

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.errors import RailweaveError

if TYPE_CHECKING:
    from railweave.fabric.model import Fabric
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
        ["git", "show", f"{revision}:./{path.as_posix()}"], capture_output=True, text=True, check=False
    )
    if shown.returncode:
        raise RailweaveError(f"{path} at {revision}: {shown.stderr.strip() or 'git failed'}")
    return shown.stdout


def designed_at(revision: str, path: Path) -> "Fabric":
    """Return the fabric of the intent at a revision; raises RefusedError when it does not stand."""
    from railweave.cli.project import designed_text

    name = f"{revision}:{path}" if revision else str(path)
    return designed_text(text_at(revision, path), name).fabric


def plan_between(path: Path, base: str, head: str, *, renumber: bool) -> "Plan":
    """Return the plan that leads every device from the intent at ``base`` to that at ``head``.

    Raises RefusedError when an identity would change and ``renumber`` does not allow it.
    """
    from railweave.cli.project import project_templates
    from railweave.plan.offline import plan_offline

    return plan_offline(designed_at(base, path), designed_at(head, path), project_templates(), renumber=renumber)
