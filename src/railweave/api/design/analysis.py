"""What an intent alone answers, without a device: check, size, failures, availability, render, explain."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.design.intent import (
    Gathered,
    gather,
    load_configurable,
    load_countable,
    project_templates,
    to_configure,
)
from railweave.api.project import Project
from railweave.diagnostics import Diagnostic, has_errors, in_order
from railweave.errors import RailweaveError, RefusedError, UsageError
from railweave.fabric.model import Fabric
from railweave.fabric.sizing import Sizing
from railweave.intent.load import fabrics_in
from railweave.intent.reference import reference
from railweave.qos.summary import switch_buffers
from railweave.wording import command_line

if TYPE_CHECKING:
    from railweave.failures.analysis import Failures
    from railweave.failures.availability import Availability
    from railweave.sonic.render.explain import Explanation


@dataclass(frozen=True, slots=True)
class Checked:
    """All diagnostics of an intent, errors first; ``fabric`` is None if it cannot be designed.

    Of a file with several fabrics, none of which is named, they are those of all, and ``fabric`` is the first."""

    diagnostics: tuple[Diagnostic, ...]
    fabric: Fabric | None

    @property
    def ok(self) -> bool:
        """Tell whether there is no error."""
        return not has_errors(self.diagnostics)


@dataclass(frozen=True, slots=True)
class Rendered:
    """What was written: the number of files, and of the nodes whose files are among them; ``diagnostics``: warnings.

    Nodes have the files of this fabric, which stand beside those of others."""

    out: Path
    fabric: Fabric
    files: int
    nodes: int
    diagnostics: tuple[Diagnostic, ...]


def check(project: Project, *, yang: Sequence[Path] = (), facts: Path | None = None) -> Checked:
    """Return all diagnostics of the intent, of its fabric and of every device's configuration.

    Each folder in ``yang`` has SONiC's YANG models, and every CONFIG_DB is validated by each of them. ``facts`` is a
    folder with the settings of live devices, ``NAME.json`` each (`facts.collect`). Raises RefusedError if the file is
    not an intent, UsageError if ``facts`` has no files, RailweaveError if libyang or models are missing.
    """
    names = fabrics_in(project.intent)
    if not names:
        return _check(project.intent, yang, facts)
    results = [_check(reference(project.intent, name), yang, facts) for name in names]
    diagnostics = [diagnostic for result in results for diagnostic in result.diagnostics]
    return Checked(in_order(diagnostics), results[0].fabric)


def _check(intent: Path, yang: Sequence[Path], facts: Path | None) -> Checked:
    """Return all diagnostics of the intent of one fabric."""
    gathered = gather(intent)
    diagnostics = [*to_configure(gathered.diagnostics), *_yang_diagnostics(gathered, yang)]
    if facts:
        diagnostics += _fact_diagnostics(gathered, facts)
    return Checked(in_order(diagnostics), gathered.fabric)


def size(project: Project) -> Sizing:
    """Return the sizing with the formula of every number, and the diagnostics of the design.

    Raises RefusedError if the intent cannot be designed, or the switches have no buffer for its lossless classes.
    """
    gathered = gather(project.intent)
    if gathered.sizing is None or has_errors(gathered.of_design):
        raise RefusedError(gathered.diagnostics)
    sizing = gathered.sizing._replace(diagnostics=gathered.of_design)
    if gathered.fabric is None:
        return sizing
    return sizing._replace(buffers=switch_buffers(gathered.fabric))


def failures(project: Project) -> "Failures":
    """Return what every single failure and every pair of failures of the fabric costs, by classes of symmetry.

    Raises RefusedError with every error of the intent.
    """
    from railweave.failures.analysis import failures as analyze

    return analyze(load_countable(project.intent).fabric)


def availability(project: Project, failures: "Failures", rates: Path) -> "Availability":
    """Return what these failures of the fabric cost over a year, by the rates in a file.

    Raises RefusedError with every error of the intent or of the rates, RailweaveError where the file cannot be read.
    """
    from railweave.failures.availability import availability as weigh
    from railweave.failures.rates import read_rates

    return weigh(load_countable(project.intent).fabric, failures, read_rates(rates))


def render(project: Project, out: Path, *, hosts: bool | None = None) -> Rendered:
    """Write every artifact into the folder ``out``, which is created if missing, and return what was written.

    ``hosts`` tells whether the files of GPU nodes are written; None writes them up to 1,000 node ports. Raises
    RefusedError with every error of the intent.
    """
    from railweave.report.artifacts import write_artifacts, writes_hosts

    designed = load_configurable(project.intent)
    if hosts is None:
        hosts = writes_hosts(designed.fabric)
    files = write_artifacts(designed.fabric, out, project_templates(), hosts=hosts)
    nodes = 0
    if hosts:
        nodes = len(designed.fabric.hosts)
    return Rendered(out, designed.fabric, files=files, nodes=nodes, diagnostics=designed.diagnostics)


def explain(project: Project, device: str, row: str = "") -> "Explanation":
    """Return why rows or FRR lines are on ``device``.

    ``row`` is ``TABLE``, ``TABLE|key``, ``TABLE|key|field`` or a line of FRR; empty is every row. Raises UsageError
    that names the nearest device for an unknown one.
    """
    from railweave.sonic.render.configure import configure
    from railweave.sonic.render.explain import explain_text

    fabric = load_configurable(project.intent).fabric
    switch = fabric.switch_of.get(device)
    if switch is None:
        message = f"no switch {device!r} in fabric {fabric.name}"
        # difflib's default is 0.6, with which `leaf` alone does not find `pod1-leaf1`.
        close_names = get_close_matches(device, fabric.switch_of, n=3, cutoff=0.4)
        if close_names:
            message += f"; did you mean {', '.join(close_names)}?"
        raise UsageError(message)
    return explain_text(configure(fabric, switch, project_templates()), row)


def _yang_diagnostics(gathered: Gathered, folders: Sequence[Path]) -> tuple[Diagnostic, ...]:
    """Validate every CONFIG_DB by the YANG models in each folder. Raises RailweaveError for a folder without models."""
    if not folders:
        return ()
    from railweave.yang.check import check_yang
    from railweave.yang.models import load_models

    # Also for an intent that cannot be designed: a folder without models is a mistake of its own.
    releases = [load_models(folder) for folder in folders]
    if gathered.fabric is None:
        return ()
    return check_yang(gathered.fabric, releases, project_templates(), gathered.intent.where)


def _fact_diagnostics(gathered: Gathered, folder: Path) -> tuple[Diagnostic, ...]:
    """Compare the settings of devices in ``folder``, ``NAME.json`` each, with the fabric.

    Empty if the intent cannot be designed, which other diagnostics say. Raises UsageError if there are no files,
    RailweaveError if one cannot be read.
    """
    from railweave.checks.facts import fact_findings, uncompared_findings
    from railweave.sonic.render.configure import Configurator
    from railweave.templates import find_templates

    paths = sorted(folder.glob("*.json"))
    if not paths:
        collect = command_line("facts", "collect", "--out", folder)
        raise UsageError(f"{folder} holds no facts: `{collect}` writes NAME.json of each")
    if gathered.fabric is None:
        return ()
    try:
        files = {path.stem: (str(path), path.read_text(encoding="utf-8")) for path in paths}
    except (OSError, UnicodeDecodeError) as fault:
        raise RailweaveError(f"cannot read the facts in {folder}: {fault}") from fault
    findings = fact_findings(gathered.fabric, files, Configurator(gathered.fabric, find_templates()))
    return (*findings, *uncompared_findings(gathered.fabric, files))
