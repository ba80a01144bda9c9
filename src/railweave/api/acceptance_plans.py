"""Plans of acceptance tests, written into directories; apart from the judge, whose modules a plan does not need."""

import hashlib
from pathlib import Path

from railweave.acceptance.document import PLAN_FILE, plan_blocks
from railweave.acceptance.model import AcceptancePlan, Level
from railweave.acceptance.narrowing import changed_scope, named_scope
from railweave.acceptance.planner import PlanInput, plan_acceptance
from railweave.acceptance.summary import PlanSummary, summary_of
from railweave.api.design.intent import designed_at, load_configurable
from railweave.api.project import Project
from railweave.api.uncollected import without_collections
from railweave.errors import RailweaveError
from railweave.files import cannot_write

__all__ = ["plan"]


def plan(
    project: Project, out: Path, *, level: Level = Level.QUICK, seed: int = 0, base: str = "", only: str = ""
) -> PlanSummary:
    """Write the acceptance plan of the fabric into the directory ``out``, and return its summary.

    ``base`` is a git revision or a file: only what is new since then is tested, with peers outside it. ``only`` names
    the nodes, switches and cables to test by name, range or pattern, separated by commas; ``base`` goes before it.
    Raises RefusedError with every error of the intent and if there is nothing to test, UsageError for unknown names,
    RailweaveError if nothing can be written.
    """
    with without_collections():
        designed = load_configurable(project.intent)
        fabric = designed.fabric
        scope = None
        if base:
            scope = changed_scope(designed_at(base, project.intent).fabric, fabric)
        elif only:
            scope = named_scope(fabric, designed.catalog, only)
        gpus_of = {entry.name: entry.gpus or 0 for entry in designed.intent.nodes}
        policy = fabric.policies.acceptance
        plan_input = PlanInput(
            fabric=fabric,
            catalog=designed.catalog,
            policy=policy,
            intent_sha256=designed.intent.sha256,
            gpus_of=gpus_of,
            level=level,
            seed=seed,
            scope=scope,
        )
        acceptance_plan = plan_acceptance(plan_input)
        plan_sha256 = _write_plan(acceptance_plan, out)
        return summary_of(plan_input, acceptance_plan, plan_sha256, str(out))


def _write_plan(acceptance_plan: AcceptancePlan, out: Path) -> str:
    """Write ``plan.json`` into ``out`` and return its SHA-256; an earlier file is replaced only by a complete one."""
    digest = hashlib.sha256()
    path = out / PLAN_FILE
    # In the same folder, because a rename is atomic only within a file system.
    new_file = path.with_name(f".{PLAN_FILE}.new")
    try:
        out.mkdir(parents=True, exist_ok=True)
        with new_file.open("wb") as file:
            # Block by block, because the plan of a large fabric is not held in memory as text.
            for block in plan_blocks(acceptance_plan):
                digest.update(block)
                file.write(block)
        new_file.replace(path)
    except OSError as fault:
        raise RailweaveError(cannot_write(path, fault)) from fault
    return digest.hexdigest()
