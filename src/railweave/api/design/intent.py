"""From an intent, in the working tree or at a git revision, to its designed and checked fabric."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from railweave.api.design.catalog import models_at
from railweave.api.design.git import DUBIOUS_OWNERSHIP, NO_REPOSITORY, run_git
from railweave.api.design.templates import templates_at
from railweave.catalog.load import Catalog, load_catalog
from railweave.checks.config import check_design, check_own
from railweave.checks.intent import check_intent
from railweave.design.build import countable, design
from railweave.design.growth import with_first_stripes
from railweave.diagnostics import Diagnostic, Severity, has_errors, in_order
from railweave.errors import RailweaveError, RefusedError
from railweave.fabric.model import Fabric
from railweave.fabric.sizing import Sizing
from railweave.intent.load import Beside, files_beside, load_intent, load_intent_text
from railweave.intent.model import Intent
from railweave.intent.reference import file_of, reference, split_reference
from railweave.templates import Templates, find_templates
from railweave.wording import first_few


@dataclass(frozen=True, slots=True)
class Designed:
    """An intent that was read, checked and designed without an error; ``diagnostics`` are warnings at most.

    ``templates`` are those that its files are made with, ``catalog`` has the models that it names: both of the same
    revision. ``intent`` states the automatic stripes and rails that the fabric has, ``written`` is as the file has
    it."""

    intent: Intent
    fabric: Fabric
    diagnostics: tuple[Diagnostic, ...]
    templates: Templates
    catalog: Catalog
    written: Intent


@dataclass(frozen=True, slots=True)
class Gathered:
    """Everything known of an intent, errors included; ``fabric`` and ``sizing`` are None if it cannot be designed.

    ``of_own`` are the diagnostics of overrides and of the project's own templates."""

    intent: Intent
    fabric: Fabric | None
    sizing: Sizing | None
    diagnostics: tuple[Diagnostic, ...]
    of_own: tuple[Diagnostic, ...]
    templates: Templates
    catalog: Catalog

    @property
    def of_design(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics of the intent, its design and its buffers.

        Other errors of overrides and templates are left out: in spite of them a fabric can be sized.
        """
        left_out = set()
        for diagnostic in self.of_own:
            # H-: checks of buffers and headroom, which belong to the design wherever their values are written.
            is_of_buffers = diagnostic.code.startswith("H-")
            if diagnostic.severity is Severity.ERROR and not is_of_buffers:
                left_out.add(diagnostic)
        return tuple(diagnostic for diagnostic in self.diagnostics if diagnostic not in left_out)


def gather(path: Path) -> Gathered:
    """Read, check and design the intent at ``path``. Raises RefusedError if the file cannot be read as an intent."""
    return _gather(load_intent(path))


def gather_text(text: str, name: str) -> Gathered:
    """Read, check and design an intent given as text; ``name`` stands for the file. Raises RefusedError likewise."""
    return _gather(load_intent_text(text, name))


def load_designed(path: Path) -> Designed:
    """Return the designed fabric of the intent at ``path``; raises RefusedError with every error."""
    return _require_designed(gather(path))


def load_countable(path: Path) -> Designed:
    """Return the designed fabric of the intent at ``path``, to count it; raises RefusedError with every error.

    Where switches or NICs have no model, only the number and the speed of their ports are known.
    """
    return _require_designed(gather(path), to_count=True)


def load_configurable(path: Path) -> Designed:
    """Return the designed fabric of the intent at ``path``, to configure it.

    Raises RefusedError with every error, or if its switches can only be sized.
    """
    designed = load_designed(path)
    obstacles = _obstacles(designed.diagnostics)
    if obstacles:
        raise RefusedError(obstacles)
    return designed


_SIZED_ONLY = ("RW113", "RW126")
"""The codes of what keeps a fabric from being configured, though it can be sized and counted."""


def to_configure(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics for a fabric that is to be configured, errors first.

    Diagnostics of what can only be sized become errors.
    """
    severe = []
    for diagnostic in diagnostics:
        if diagnostic.code in _SIZED_ONLY:
            severe.append(diagnostic._replace(severity=Severity.ERROR))
        else:
            severe.append(diagnostic)
    return in_order(severe)


def _obstacles(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return what keeps a fabric from being configured."""
    return [diagnostic for diagnostic in to_configure(diagnostics) if diagnostic.severity is Severity.ERROR]


def design_text(text: str, name: str, beside: Beside | None = None, *, to_count: bool = False) -> Designed:
    """Return the designed fabric of an intent given as text; ``name`` stands for the file in diagnostics, ``beside``
    reads the files that it names."""
    return _require_designed(_gather(load_intent_text(text, name, beside)), to_count=to_count)


def design_intent(intent: Intent, *, to_count: bool = False) -> Designed:
    """Return the designed fabric of an intent; raises RefusedError with every error. ``to_count`` is as in
    `load_countable`."""
    return _require_designed(_gather(intent), to_count=to_count)


def designed_at(revision: str, path: Path, *, to_count: bool = False) -> Designed:
    """Return the designed fabric of the intent at ``path`` in a git revision, with its templates and models.

    An empty ``revision`` is the working tree. It may also name a file, which takes precedence over a revision of that
    name and is designed with the templates and models of the working tree. In a file with several fabrics the one that
    ``path`` names is designed, unless ``revision`` is a file that names its own. ``to_count`` is as in
    `load_countable`. Raises RailweaveError with git's own message, and RefusedError with every error of the intent.
    """
    file = file_of(path)
    if not revision:
        return design_text(_text_at("", file), str(path), files_beside(file), to_count=to_count)
    base_file = file_of(Path(revision))
    if base_file.is_file():
        base = Path(revision)
        names_fabric = base != base_file
        if not names_fabric:
            _, fabric_name = split_reference(str(path))
            base = reference(base_file, fabric_name)
        return design_text(_text_at("", base_file), str(base), files_beside(base_file), to_count=to_count)
    text = _text_at(revision, file)
    beside = _beside(revision, file)
    templates = templates_at(revision)
    with models_at(revision):
        gathered = _gather(load_intent_text(text, f"{revision}:{path}", beside), templates)
        return _require_designed(gathered, to_count=to_count)


def commit_at(revision: str) -> str:
    """Return the commit that ``revision`` of `designed_at` names now, empty for a file and for the working tree."""
    # git would take a revision that begins with a hyphen as an option.
    if not revision or revision.startswith("-") or file_of(Path(revision)).is_file():
        return ""
    result = run_git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    return _text(result.stdout).strip()


def _beside(revision: str, path: Path) -> Beside:
    """Return the function that reads files beside the intent at ``path`` in a git revision."""

    def read(name: str) -> tuple[str, bytes]:
        file = path.parent / name
        return f"{revision}:{file}", _text_at(revision, file).encode("utf-8", "surrogateescape")

    return read


def project_templates() -> Templates:
    """Return the project's templates, with those of railweave as fallback."""
    return find_templates(Path.cwd())


def _gather(intent: Intent, templates: Templates | None = None) -> Gathered:
    """Check and design an intent with these templates, by default the project's."""
    templates = templates or project_templates()
    of_intent = check_intent(intent)
    catalog = load_catalog()
    outcome = design(intent, catalog)
    of_design = (*of_intent, *outcome.diagnostics)
    fabric = outcome.fabric
    if fabric is None:
        return Gathered(
            intent=intent,
            fabric=None,
            sizing=outcome.sizing,
            diagnostics=in_order(of_design),
            of_own=(),
            templates=templates,
            catalog=catalog,
        )
    of_config = check_design(fabric, intent.where)
    of_own = check_own(fabric, intent.where, templates)
    diagnostics = in_order((*of_design, *of_config, *of_own))
    return Gathered(
        intent=intent,
        fabric=fabric,
        sizing=outcome.sizing,
        diagnostics=diagnostics,
        of_own=of_own,
        templates=templates,
        catalog=catalog,
    )


def _require_designed(gathered: Gathered, *, to_count: bool = False) -> Designed:
    """Return the designed fabric; raises RefusedError if there is an error, or no fabric could be designed.

    With ``to_count`` a fabric that can be counted is enough.
    """
    if has_errors(gathered.diagnostics):
        raise RefusedError(gathered.diagnostics)
    fabric = gathered.fabric
    if fabric is None and to_count:
        fabric = countable(gathered.intent, gathered.catalog)
    if fabric is None:
        raise RefusedError(_obstacles(gathered.diagnostics))
    # Designs that follow from this one, larger or reduced for a lab, keep the stripes that its nodes have.
    intent = with_first_stripes(gathered.intent, fabric)
    return Designed(
        intent=intent,
        fabric=fabric,
        diagnostics=gathered.diagnostics,
        templates=gathered.templates,
        catalog=gathered.catalog,
        written=gathered.intent,
    )


def _text_at(revision: str, path: Path) -> str:
    """Return the text of a file at a git revision, or in the working tree if ``revision`` is empty.

    Raises RailweaveError if it cannot be read, with git's own message.
    """
    if not revision:
        try:
            return path.read_text(encoding="utf-8")
        except OSError as exc:
            raise RailweaveError(f"{path}: {exc.strerror}") from exc
    # git would take it as an option.
    if revision.startswith("-"):
        raise RailweaveError(f"{revision!r} is not a git revision")
    result = run_git("show", f"{revision}:./{Path(os.path.relpath(path)).as_posix()}")
    if result.returncode:
        git_error = _text(result.stderr).strip() or "git failed"
        if DUBIOUS_OWNERSHIP in git_error:
            raise RailweaveError(f"{path} at {revision}: {_foreign_repository(git_error)}")
        raise RailweaveError(f"{path} at {revision}: {git_error}\n{_revision_fix(path, git_error)}")
    return _text(result.stdout)


def _foreign_repository(git_error: str) -> str:
    """Return the message for a repository of another user; git's error text has the command that allows it."""
    message = "the repository belongs to another user, and git refuses it: run the command as that user"
    for line in git_error.splitlines():
        command = line.strip()
        if command.startswith("git config"):
            return f"{message}, or allow it: `{command}`"
    return message


def _revision_fix(path: Path, git_error: str) -> str:
    """Return what to do about a revision that git does not show."""
    if NO_REPOSITORY in git_error:
        return "run it in the clone of the project, or name a file in place of the revision"
    branches = _text(run_git("branch", "--format=%(refname:short)").stdout).split()
    if not branches:
        return "the repository has no commit yet: `git add -A && git commit`, or name a file in place of the revision"
    return f"branches: {first_few(branches)}; `git log --oneline {path}` lists the revisions that have it"


def _text(output: bytes) -> str:
    return output.decode("utf-8", "surrogateescape")
