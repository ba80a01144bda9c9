"""Acceptance of a fabric: the tests that it must pass, and the verdict on their results, from files alone."""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from railweave.acceptance.document import PLAN_FILE, ReadPlan, read_plan
from railweave.acceptance.folder import RUNNING_FILE, read_results
from railweave.acceptance.jobs import read_job
from railweave.acceptance.judge.document import VERDICT_FILE, verdict_json
from railweave.acceptance.judge.reading import case_in
from railweave.acceptance.judge.verdict import AcceptanceVerdict, judge_case
from railweave.acceptance.loads import LinkLoads, link_loads
from railweave.acceptance.readers.registry import read_tool_output
from railweave.acceptance.readings import ToolReading
from railweave.acceptance.summary import PlanSummary
from railweave.api.acceptance_plans import plan
from railweave.api.design.intent import commit_at
from railweave.api.project import STATE, Project
from railweave.api.uncollected import without_collections
from railweave.diagnostics import Diagnostic, Severity, Where
from railweave.errors import RailweaveError, UsageError
from railweave.files import cannot_write, write_private
from railweave.intent.load import load_intent
from railweave.plan.status import LastAcceptance
from railweave.wording import command_line

if TYPE_CHECKING:
    from railweave.acceptance.running.request import RunSummary

__all__ = [
    "AcceptanceVerdict",
    "PlanSummary",
    "ReadPlan",
    "judge",
    "last_verdict_file",
    "plan",
    "read_outputs",
    "read_plan",
    "run",
    "write_forms",
]


def run(
    project: Project, folder: Path, target: str, *, resume: bool = False, limit: str = "", idle: bool = False
) -> "RunSummary":
    """Carry out the plan in ``folder`` on ``target``, as `railweave.api.acceptance_runs.run` does."""
    # What reaches devices takes long to import, and the judge does not need it.
    from railweave.api.acceptance_runs import run as carry_out

    return carry_out(project, folder, target, resume=resume, limit=limit, idle=idle)


def write_forms(folder: Path) -> tuple[Path, ...]:
    """Write scripts that run the plan in ``folder`` by Slurm or mpirun, and return their paths; touches no device."""
    from railweave.api.acceptance_runs import write_forms as write

    return write(folder)


def judge(folder: Path, intent: Path | None = None) -> AcceptanceVerdict:
    """Return the verdict on the results and counters in ``folder``, and store it there and in the project.

    If ``intent`` describes another state of the plan's fabric, the verdict is incomplete. Without it there is a warning
    for each intent of the project that does. Raises UsageError without a plan, RefusedError if the plan cannot be read,
    RailweaveError if nothing can be written.
    """
    with without_collections():
        stored_plan = read_plan(folder)
        results, result_diagnostics = read_results(folder, stored_plan.plan)
        job, job_diagnostics = read_job(folder)
        intent_diagnostics = _changed_intents(stored_plan, folder, intent)
        case = case_in(folder, stored_plan.plan, results, job=job)
        diagnostics = (*result_diagnostics, *job_diagnostics, *intent_diagnostics)
        verdict = judge_case(case, results, diagnostics)
    _store_verdict(verdict, stored_plan, folder)
    return verdict


class Judgement(NamedTuple):
    """A verdict with the loads of links that it rests on, and what was stored when it was judged before."""

    verdict: AcceptanceVerdict
    loads: LinkLoads
    stored: LastAcceptance | None


def judgement(folder: Path, intent_sha256: str) -> Judgement:
    """Return the verdict on the results in ``folder`` for a report, and store nothing; raises what `judge` raises."""
    with without_collections():
        stored_plan = read_plan(folder)
        results, result_diagnostics = read_results(folder, stored_plan.plan)
        job, job_diagnostics = read_job(folder)
        case = case_in(folder, stored_plan.plan, results, job=job)
        verdict = judge_case(case, results, (*result_diagnostics, *job_diagnostics))
        loads = link_loads(case)
    stored = _stored_summary(folder / VERDICT_FILE, intent_sha256, member="judged")
    return Judgement(verdict, loads, stored)


def last_acceptance(fabric: str, intent_sha256: str) -> LastAcceptance | None:
    """Return what was judged last of a fabric, None if nothing was; ``intent_sha256`` is that of its intent today."""
    return _stored_summary(last_verdict_file(fabric), intent_sha256)


def _stored_summary(path: Path, intent_sha256: str, *, member: str = "") -> LastAcceptance | None:
    """Return the summary of a verdict in a file, or in a ``member`` of its document.

    None if there is none or it cannot be read. It is ``outdated`` unless it is of the intent with this digest.
    """
    try:
        summary = json.loads(path.read_bytes())
        if member:
            summary = summary[member]
        return LastAcceptance(
            at=str(summary["at"]),
            commit=str(summary["commit"]),
            level=str(summary["level"]),
            verdict=str(summary["verdict"]),
            outdated=summary["intent_sha256"] != intent_sha256,
            running=dict(summary.get("running", {})),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_outputs(files: Iterable[Path]) -> dict[str, ToolReading]:
    """Return what the judge reads in outputs of test tools, by file. Raises UsageError for an unreadable one."""
    readings = {}
    for path in files:
        try:
            readings[str(path)] = read_tool_output(path.read_bytes(), path.name)
        except OSError as fault:
            raise UsageError(f"{path} cannot be read: {fault.strerror}") from fault
    return readings


def last_verdict_file(fabric: str) -> Path:
    """Return where the project keeps what was judged last of a fabric: `at`, `commit`, `level`, `verdict` and more."""
    return STATE / "acceptance" / f"{fabric}.json"


def _store_verdict(verdict: AcceptanceVerdict, stored_plan: ReadPlan, folder: Path) -> None:
    """Write the verdict into ``folder``, and in a project its summary into the project's state."""
    summary = {
        "version": 1,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _project_commit(),
        "level": verdict.plan.level.value,
        "verdict": verdict.verdict.value,
        "fabric": verdict.plan.fabric,
        "intent_sha256": verdict.plan.intent_sha256,
        "plan_sha256": stored_plan.sha256,
        "directory": str(folder.resolve()),
        "running": _running_digests(folder),
    }
    document = {"version": 1, **verdict_json(verdict), "judged": summary}
    files = {folder / VERDICT_FILE: document}
    # Files can be judged anywhere; only a project remembers its last acceptance.
    if Path("intent").is_dir():
        files[last_verdict_file(verdict.plan.fabric)] = summary
    for path, content in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_private(path, json.dumps(content).encode() + b"\n")
        except OSError as fault:
            raise RailweaveError(cannot_write(path, fault)) from fault


def _running_digests(folder: Path) -> dict[str, str]:
    """Return the digests of what the switches ran while they were tested, by name; empty where nobody wrote them."""
    try:
        switches = json.loads((folder / RUNNING_FILE).read_bytes())["switches"]
        return {str(name): str(digest) for name, digest in switches.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _project_commit() -> str:
    """Return the commit of the project, empty without git."""
    try:
        return commit_at("HEAD")
    except RailweaveError:
        return ""


def _changed_intents(stored_plan: ReadPlan, folder: Path, intent_file: Path | None) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each intent that describes the fabric of the plan differently.

    It is an error for ``intent_file``; without that, a warning for each intent of the project.
    """
    paths = sorted((*Path("intent").glob("*.yml"), *Path("intent").glob("*.yaml")))
    if intent_file is not None:
        paths = [intent_file]
    for path in paths:
        try:
            intent = load_intent(path)
        except RailweaveError:
            continue
        if intent.fabric == stored_plan.plan.fabric and intent.sha256 != stored_plan.plan.intent_sha256:
            message = f"the plan was made from another intent than {path}, which has the same fabric name"
            fix = f"make the plan again: `{command_line('acceptance', 'plan', '--out', 'DIR')}`"
            # An intent that the user names has to be that of the plan; others of the project may be older or newer.
            severity = Severity.WARNING if intent_file is None else Severity.ERROR
            yield Diagnostic("RW940", severity, message, Where(str(folder / PLAN_FILE)), fix=fix)
