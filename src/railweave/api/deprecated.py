"""The modules of `railweave.api` under the paths that they had in 0.1: importable with a warning until 0.3."""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.abc import Loader

_PACKAGE = "railweave.api."

MOVED = {
    "alternatives": ("reports.comparison", "reports.suggestions"),
    "auditing": ("journal.audit",),
    "buying": ("reports.bill",),
    "catalog": ("reference",),
    "comparing": ("design.revisions",),
    "deploying": ("deployment.rollout", "plan_files"),
    "designing": ("design.intent",),
    "draining": ("maintenance.drain",),
    "drawing": ("reports.drawing",),
    "history": ("journal.history",),
    "journals": ("journal.folder", "journal.rollout_project"),
    "lifecycle": ("maintenance.lifecycle",),
    "live": ("targets.fabric",),
    "observing": ("verification", "plans"),
    "offline": ("design.analysis",),
    "phased": ("deployment.phases",),
    "phased_nodes": ("deployment.phases",),
    "phased_removal": ("deployment.phases",),
    "phasing": ("targets.phases", "targets.selection", "deployment.rollout"),
    "rehearsals": ("simulator.rehearsal_files",),
    "rehearsing": ("simulator.rehearsal",),
    "reporting": ("reports.page",),
    "resuming": ("deployment.resumption",),
    "revision_templates": ("design.templates",),
    "rolling_back": ("deployment.rollback",),
    "rollout": ("journal.rollout",),
    "running_states": ("simulator.states",),
    "secret_places": ("targets.fabric",),
    "seen_links": ("simulator.twin",),
    "selftesting": ("maintenance.selftest",),
    "signing": ("plan_files",),
    "sim": ("simulator.sim",),
    "spreading": ("targets.sites",),
    "trusting": ("targets.host_keys",),
    "twin": ("simulator.twin",),
    "working": ("targets.worker",),
}
"""The modules that now hold the names of each earlier module."""

RENAMED = {
    "deploying": {"state_told": "report_ended_state"},
    "phased_removal": {"take_out": "drain_leaving"},
    "rolling_back": {"free": "revert_unconfirmed"},
}
"""Functions of earlier modules that have another name today: earlier name to today's."""


class OldModules:
    """Finds the earlier modules for Python's import statement, after every finder of real files, and loads them.

    It inherits from no class of ``importlib.abc``: that module costs 20 ms of every start.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to import an earlier module, None for every other name."""
        if fullname.startswith(_PACKAGE) and fullname.removeprefix(_PACKAGE) in MOVED:
            return ModuleSpec(fullname, cast("Loader", self))
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Leave it to Python to make an empty module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Warn, and give the module the public names of those that took its place."""
        name = module.__name__
        homes = [_PACKAGE + home for home in MOVED[name.removeprefix(_PACKAGE)]]
        warnings.warn(
            f"{name} is deprecated and ends with railweave 0.3: import from railweave.api, or from "
            f"{' and '.join(homes)}",
            DeprecationWarning,
            stacklevel=2,
        )
        if len(homes) == 1:
            # Python takes what is in sys.modules after this call, so both paths are one module.
            module = sys.modules[name] = import_module(homes[0])
        else:
            for home in homes:
                values = vars(import_module(home))
                vars(module).update({key: value for key, value in values.items() if not key.startswith("_")})
        for old_name, new_name in RENAMED.get(name.removeprefix(_PACKAGE), {}).items():
            vars(module)[old_name] = vars(module)[new_name]
