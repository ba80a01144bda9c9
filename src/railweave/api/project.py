"""Finding the project's files: which intent is meant, which target, where state is kept."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.operator import SILENT, Operator
from railweave.diagnostics import Diagnostic, has_errors, in_order
from railweave.errors import RailweaveError, RefusedError, UsageError

if TYPE_CHECKING:
    from railweave.fabric.model import Fabric
    from railweave.fabric.sizing import Sizing
    from railweave.intent.model import Intent
    from railweave.templates import Templates

STATE = Path(".railweave")
"""The folder of everything that is generated beside a project: simulators, journals, plans."""

JOURNALS = STATE / "journal"
"""Where every rollout of the project leaves its journal."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project, as `open_project` finds it: its intent file, relative to the working directory or absolute."""

    intent: Path
    operator: Operator = SILENT


@dataclass(frozen=True, slots=True)
class Designed:
    """An intent that was read, checked and designed without an error; ``diagnostics`` are warnings at most."""

    intent: "Intent"
    fabric: "Fabric"
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything known of an intent, errors included; ``fabric`` and ``sizing`` are None where there is none.

    ``of_config`` are those of the diagnostics that are about what devices would be told, not about the design."""

    intent: "Intent"
    fabric: "Fabric | None"
    sizing: "Sizing | None"
    diagnostics: tuple[Diagnostic, ...]
    of_config: tuple[Diagnostic, ...] = ()

    @property
    def of_design(self) -> tuple[Diagnostic, ...]:
        """Return what is said of the intent and its design; a fabric that cannot be configured can still be sized."""
        return tuple(one for one in self.diagnostics if one not in set(self.of_config) or one.severity != "error")


def open_project(
    intent: Path | str | None = None, operator: Operator = SILENT, environ: Mapping[str, str] | None = None
) -> Project:
    """Return the project in the working directory with the intent meant.

    That is ``intent``, else what RAILWEAVE_INTENT names, else the only file in ``intent/``. Targets (``inventory/``),
    templates and state (``.railweave/``) are those of the working directory. ``operator`` hears of what happens on
    devices and is asked before they change. Raises UsageError that lists the
    candidates.
    """
    named = (os.environ if environ is None else environ).get("RAILWEAVE_INTENT")
    chosen = intent or named
    if chosen:
        return Project(Path(chosen), operator)
    candidates = sorted((*Path("intent").glob("*.yml"), *Path("intent").glob("*.yaml")))
    if len(candidates) == 1:
        return Project(candidates[0], operator)
    if not candidates:
        raise UsageError("no intent is named and intent/ holds none; run `railweave init DIR` or name a file")
    listed = ", ".join(str(path) for path in candidates)
    raise UsageError(f"which intent? intent/ holds {len(candidates)}: {listed}; name one or set RAILWEAVE_INTENT")


def gather(path: Path) -> Gathered:
    """Read, check and design the intent at ``path``; return everything found.

    Raises RefusedError when the file cannot be read as an intent at all.
    """
    from railweave.intent.load import load_intent

    return _gather(load_intent(path))


def load_designed(path: Path) -> Designed:
    """Return the designed fabric of the intent at ``path``; raises RefusedError with every fault."""
    return _demand(gather(path))


def design_text(text: str, name: str) -> Designed:
    """Return the designed fabric of an intent given as text; ``name`` stands for the file in diagnostics."""
    from railweave.intent.load import load_intent_text

    return _demand(_gather(load_intent_text(text, name)))


def _gather(intent: "Intent") -> Gathered:
    from railweave.catalog.load import load_catalog
    from railweave.checks.config import check_config
    from railweave.checks.intent import check_intent
    from railweave.design.build import design

    catalog = load_catalog()
    found = check_intent(intent, catalog)
    outcome = design(intent, catalog)
    of_config = () if outcome.fabric is None else check_config(outcome.fabric, intent.where, project_templates())
    every = in_order((*found, *outcome.diagnostics, *of_config))
    return Gathered(intent, outcome.fabric, outcome.sizing, every, of_config)


def _demand(gathered: Gathered) -> Designed:
    if has_errors(gathered.diagnostics):
        raise RefusedError(gathered.diagnostics)
    if gathered.fabric is None:
        raise RailweaveError(
            f"{gathered.intent.file}: this intent can be sized but not built; name switch models of the catalog"
        )
    return Designed(gathered.intent, gathered.fabric, gathered.diagnostics)


def yang_diagnostics(gathered: Gathered, folders: Sequence[Path]) -> tuple[Diagnostic, ...]:
    """Return what the YANG models of each folder refuse; nothing where no folder is named.

    Raises RailweaveError without libyang or without models, also where there is no fabric to validate.
    """
    if not folders:
        return ()
    from railweave.yang.check import check_yang
    from railweave.yang.models import load_models

    releases = [load_models(folder) for folder in folders]
    if gathered.fabric is None:
        return ()
    return check_yang(gathered.fabric, releases, project_templates(), gathered.intent.where)


def project_templates() -> "Templates":
    """Return the project's templates, backed by those that come with railweave."""
    from railweave.templates import find_templates

    return find_templates(Path.cwd())


def find_target(name: str) -> Path:
    """Return ``inventory/NAME.yml``; raises UsageError that lists the targets there are."""
    path = Path("inventory") / f"{name}.yml"
    if path.is_file():
        return path
    known = ", ".join(sorted(each.stem for each in Path("inventory").glob("*.yml"))) or "none"
    raise UsageError(f"no target {name!r}: {path} does not exist (targets here: {known})")


def simulator_state(fabric: str) -> Path:
    """Return the folder that keeps the simulator of one fabric."""
    return STATE / "sim" / fabric
