"""What needs no device: checks, sizes, files, reasons, and the difference between two revisions of an intent."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.project import Project, gather, load_designed, project_templates, yang_diagnostics
from railweave.diagnostics import Diagnostic, has_errors, in_order
from railweave.errors import RefusedError

if TYPE_CHECKING:
    from railweave.fabric.model import Fabric
    from railweave.fabric.sizing import Sizing
    from railweave.plan.model import Plan
    from railweave.sonic.render.explain import Explanation


@dataclass(frozen=True, slots=True)
class Checked:
    """Everything found of an intent, errors first; ``fabric`` is None where none could be designed."""

    diagnostics: tuple[Diagnostic, ...]
    fabric: "Fabric | None"

    @property
    def ok(self) -> bool:
        """Tell whether there is no error."""
        return not has_errors(self.diagnostics)


@dataclass(frozen=True, slots=True)
class Rendered:
    """What was written: the number of files, and the nodes whose files are among them; warnings at most."""

    out: Path
    fabric: "Fabric"
    files: int
    nodes: int
    diagnostics: tuple[Diagnostic, ...]


def check(project: Project, *, yang: Sequence[Path] = (), facts: Path | None = None) -> Checked:
    """Return all diagnostics of the intent, of its fabric and of every device's configuration.

    ``yang`` are folders of SONiC's YANG models, by each of which all CONFIG_DBs are validated; ``facts`` is a folder
    with what live devices run, ``NAME.json`` each. Raises RefusedError where the file is no intent at all, UsageError
    without facts, RailweaveError without libyang or models.
    """
    from railweave.api.facts import fact_diagnostics

    gathered = gather(project.intent)
    live = fact_diagnostics(gathered, facts) if facts else ()
    found = in_order((*gathered.diagnostics, *yang_diagnostics(gathered, yang), *live))
    return Checked(found, gathered.fabric)


def size(project: Project) -> "Sizing":
    """Return the sizing: every number with its formula, and what is to be said of the design.

    Raises RefusedError where the intent cannot be designed; one that cannot be configured can still be sized.
    """
    gathered = gather(project.intent)
    if gathered.sizing is None or has_errors(gathered.of_design):
        raise RefusedError(gathered.diagnostics)
    return replace(gathered.sizing, diagnostics=gathered.of_design)


def render(project: Project, out: Path, *, hosts: bool | None = None) -> Rendered:
    """Write every artifact into the folder ``out``, which is made where it is missing.

    ``hosts`` says whether the files of GPU nodes are written; None writes them up to 1,000 node ports. Raises
    RefusedError with every error of the intent.
    """
    from railweave.report.artifacts import write_artifacts, writes_hosts

    designed = load_designed(project.intent)
    with_hosts = writes_hosts(designed.fabric) if hosts is None else hosts
    files = write_artifacts(designed.fabric, out, project_templates(), hosts=with_hosts)
    nodes = len(designed.fabric.hosts) if with_hosts else 0
    return Rendered(out, designed.fabric, files, nodes, designed.diagnostics)


def explain(project: Project, device: str, row: str = "") -> "Explanation":
    """Return why rows or FRR lines are on ``device``.

    ``row`` is ``TABLE``, ``TABLE|key``, ``TABLE|key|field`` or a line of FRR; empty is every row. Raises UsageError,
    naming the nearest, for an unknown device.
    """
    from railweave.api.explaining import explanation

    return explanation(load_designed(project.intent).fabric, device, row)


def diff(project: Project, base: str, head: str = "", *, renumber: bool = False) -> "Plan":
    """Return what leads every device from the intent at the git revision or file ``base`` to that at ``head``.

    ``head`` empty is the working tree. Raises RefusedError where one of the two does not stand, or where an existing
    device would be renumbered and ``renumber`` does not allow it.
    """
    from railweave.api.comparing import plan_between

    return plan_between(project.intent, base, head, renumber=renumber)
