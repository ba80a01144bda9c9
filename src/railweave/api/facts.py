"""Reading facts of live devices from a folder, for ``railweave check --facts``."""

from pathlib import Path
from typing import TYPE_CHECKING

from railweave.diagnostics import Diagnostic
from railweave.errors import RailweaveError, UsageError

if TYPE_CHECKING:
    from railweave.api.project import Gathered


def fact_diagnostics(gathered: "Gathered", folder: Path) -> tuple[Diagnostic, ...]:
    """Return what the ``NAME.json`` files of ``folder`` show to be otherwise than the intent.

    Raises UsageError where there is no such file, RailweaveError where one cannot be read. An intent with errors has no
    fabric to compare with; its own findings come first then.
    """
    from railweave.catalog.load import load_catalog
    from railweave.checks.facts import fact_findings
    from railweave.sonic.render.configure import Configurator
    from railweave.templates import find_templates

    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise UsageError(f"{folder} holds no facts: put a NAME.json there for each device that was read")
    if gathered.fabric is None:
        return ()
    try:
        files = {path.stem: (str(path), path.read_text(encoding="utf-8")) for path in paths}
    except (OSError, UnicodeDecodeError) as wrong:
        raise RailweaveError(f"cannot read the facts in {folder}: {wrong}") from wrong
    return fact_findings(gathered.fabric, files, Configurator(gathered.fabric, find_templates()), load_catalog())
