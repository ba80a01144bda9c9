"""All checks of a fabric's configuration, as `railweave check` puts them together."""

from railweave.checks.config import Places, check_design, check_own
from railweave.diagnostics import Diagnostic, Where, in_order
from railweave.fabric.model import Fabric
from railweave.templates import Templates, find_templates


def _unplaced(path: str) -> Where:
    return Where(path=path)


def check_config(
    fabric: Fabric, where: Places = _unplaced, templates: Templates | None = None
) -> tuple[Diagnostic, ...]:
    """Return all diagnostics of the configuration of ``fabric``, errors first; pass ``intent.where`` for places and a
    project's own ``templates``."""
    return in_order((*check_design(fabric, where), *check_own(fabric, where, templates or find_templates())))
