"""railweave for programs: what the command line does, as functions over values.

``railweave NAME`` is the function ``NAME`` of this package; a group of commands, such as ``railweave sim up``, is a
module of its name: `facts`, `hosts`, `lab`, `rollout`, `sim`. The functions act on a project in the working directory
(`open_project`), return frozen values, raise `railweave.errors.RailweaveError` with messages for people, and print
nothing. To receive progress and to confirm changes of devices, give the project an `Operator`.

A name is imported when it is first used: what an offline function needs costs a fraction of what devices need.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.api import facts as facts
    from railweave.api import hosts as hosts
    from railweave.api import lab as lab
    from railweave.api import rollout as rollout
    from railweave.api import sim as sim
    from railweave.api.alternatives import compare as compare
    from railweave.api.alternatives import compare_designs as compare_designs
    from railweave.api.alternatives import suggest as suggest
    from railweave.api.auditing import audit as audit
    from railweave.api.buying import bom as bom
    from railweave.api.buying import bom_phases as bom_phases
    from railweave.api.buying import cable_labels as cable_labels
    from railweave.api.catalog import model_file as model_file
    from railweave.api.catalog import models as models
    from railweave.api.comparing import diff as diff
    from railweave.api.comparing import phases as phases
    from railweave.api.deploying import DeployOptions as DeployOptions
    from railweave.api.deploying import deploy as deploy
    from railweave.api.draining import DrainRequest as DrainRequest
    from railweave.api.draining import drain as drain
    from railweave.api.draining import drained as drained
    from railweave.api.draining import undrain as undrain
    from railweave.api.drawing import draw as draw
    from railweave.api.lifecycle import recover as recover
    from railweave.api.lifecycle import replace as replace
    from railweave.api.lifecycle import retire as retire
    from railweave.api.observing import drift as drift
    from railweave.api.observing import plan as plan
    from railweave.api.observing import verify as verify
    from railweave.api.offline import availability as availability
    from railweave.api.offline import check as check
    from railweave.api.offline import explain as explain
    from railweave.api.offline import failures as failures
    from railweave.api.offline import render as render
    from railweave.api.offline import size as size
    from railweave.api.operator import Operator as Operator
    from railweave.api.phased import deploy_phases as deploy_phases
    from railweave.api.phased_nodes import deploy_node_phase as deploy_node_phase
    from railweave.api.project import Project as Project
    from railweave.api.project import open_project as open_project
    from railweave.api.reference import codes as codes
    from railweave.api.reference import explain_rule as explain_rule
    from railweave.api.reference import schema as schema
    from railweave.api.reference import schemas as schemas
    from railweave.api.rehearsing import rehearse as rehearse
    from railweave.api.reporting import report as report
    from railweave.api.resuming import resume as resume
    from railweave.api.rolling_back import rollback as rollback
    from railweave.api.rolling_back import rollback_last as rollback_last
    from railweave.api.selftesting import SelftestOptions as SelftestOptions
    from railweave.api.selftesting import selftest as selftest
    from railweave.api.selftesting import write_bundle as write_bundle
    from railweave.api.starter import design_intent as design_intent
    from railweave.api.starter import init as init
    from railweave.api.starter import starter_designs as starter_designs
    from railweave.api.starter import starter_templates as starter_templates
    from railweave.api.trusting import trust as trust
    from railweave.api.working import worker as worker

_HOMES = {
    "": ("facts", "hosts", "lab", "rollout", "sim"),
    "alternatives": ("compare", "compare_designs", "suggest"),
    "auditing": ("audit",),
    "buying": ("bom", "bom_phases", "cable_labels"),
    "comparing": ("diff", "phases"),
    "deploying": ("DeployOptions", "deploy"),
    "draining": ("DrainRequest", "drain", "drained", "undrain"),
    "drawing": ("draw",),
    "lifecycle": ("recover", "replace", "retire"),
    "catalog": ("model_file", "models"),
    "observing": ("drift", "plan", "verify"),
    "offline": ("availability", "check", "explain", "failures", "render", "size"),
    "operator": ("Operator",),
    "phased": ("deploy_phases",),
    "phased_nodes": ("deploy_node_phase",),
    "project": ("Project", "open_project"),
    "reference": ("codes", "explain_rule", "schema", "schemas"),
    "rehearsing": ("rehearse",),
    "reporting": ("report",),
    "resuming": ("resume",),
    "rolling_back": ("rollback", "rollback_last"),
    "selftesting": ("SelftestOptions", "selftest", "write_bundle"),
    "starter": ("design_intent", "init", "starter_designs", "starter_templates"),
    "trusting": ("trust",),
    "working": ("worker",),
}
"""The public names by module; those without one are modules themselves."""

_HOME = {name: home for home, names in _HOMES.items() for name in names}
__all__ = list(_HOME)

if not TYPE_CHECKING:  # a checker knows the names above and no others

    def __getattr__(name: str) -> object:
        """Import the module of a name when it is first used."""
        if name not in _HOME:
            raise AttributeError(f"module 'railweave.api' has no attribute {name!r}")
        if home := _HOME[name]:
            return getattr(import_module(f"railweave.api.{home}"), name)
        return import_module(f"railweave.api.{name}")
