"""The public names of `railweave.api`, each with its module: the one list of them.

Type checkers read it as it is. At run time `railweave.api` imports a name from the module that this file gives when the
name is first used, and the reference page and the tests list the same names.
"""

__all__: list[str]

from railweave.api import acceptance as acceptance
from railweave.api import facts as facts
from railweave.api import hosts as hosts
from railweave.api import lab as lab
from railweave.api.deployment.phases import deploy_node_phase as deploy_node_phase
from railweave.api.deployment.phases import deploy_phases as deploy_phases
from railweave.api.deployment.resumption import resume as resume
from railweave.api.deployment.rollback import rollback as rollback
from railweave.api.deployment.rollback import rollback_last as rollback_last
from railweave.api.deployment.rollout import deploy as deploy
from railweave.api.design.analysis import availability as availability
from railweave.api.design.analysis import check as check
from railweave.api.design.analysis import explain as explain
from railweave.api.design.analysis import failures as failures
from railweave.api.design.analysis import render as render
from railweave.api.design.analysis import size as size
from railweave.api.design.revisions import diff as diff
from railweave.api.design.revisions import phases as phases
from railweave.api.fabric_health import health as health
from railweave.api.fabric_health import watch_health as watch_health
from railweave.api.journal import rollout as rollout
from railweave.api.journal.audit import audit as audit
from railweave.api.maintenance.drain import DrainRequest as DrainRequest
from railweave.api.maintenance.drain import drain as drain
from railweave.api.maintenance.drain import drained as drained
from railweave.api.maintenance.drain import undrain as undrain
from railweave.api.maintenance.lifecycle import recover as recover
from railweave.api.maintenance.lifecycle import replace as replace
from railweave.api.maintenance.lifecycle import retire as retire
from railweave.api.maintenance.links import drain_links as drain_links
from railweave.api.maintenance.links import links as links
from railweave.api.maintenance.links import soak_links as soak_links
from railweave.api.maintenance.selftest import selftest as selftest
from railweave.api.maintenance.selftest import write_bundle as write_bundle
from railweave.api.maintenance.status import status as status
from railweave.api.monitoring.exporter import ExporterOptions as ExporterOptions
from railweave.api.monitoring.exporter import exporter_once as exporter_once
from railweave.api.monitoring.exporter import serve_exporter as serve_exporter
from railweave.api.operator import Operator as Operator
from railweave.api.plans import plan as plan
from railweave.api.project import Project as Project
from railweave.api.project import open_project as open_project
from railweave.api.reference import codes as codes
from railweave.api.reference import explain_limits as explain_limits
from railweave.api.reference import explain_rule as explain_rule
from railweave.api.reference import model_file as model_file
from railweave.api.reference import models as models
from railweave.api.reference import schema as schema
from railweave.api.reference import schemas as schemas
from railweave.api.reference import watch_rules as watch_rules
from railweave.api.reports.bill import bom as bom
from railweave.api.reports.bill import bom_phases as bom_phases
from railweave.api.reports.bill import cable_labels as cable_labels
from railweave.api.reports.comparison import compare as compare
from railweave.api.reports.comparison import compare_designs as compare_designs
from railweave.api.reports.drawing import draw as draw
from railweave.api.reports.export import check_export as check_export
from railweave.api.reports.export import export as export
from railweave.api.reports.export import export_formats as export_formats
from railweave.api.reports.page import report as report
from railweave.api.reports.suggestions import suggest as suggest
from railweave.api.reports.telemetry import render_telemetry as render_telemetry
from railweave.api.repository import create_repository as create_repository
from railweave.api.simulator import sim as sim
from railweave.api.simulator.rehearsal import rehearse as rehearse
from railweave.api.starter import design_intent as design_intent
from railweave.api.starter import init as init
from railweave.api.starter import starter_designs as starter_designs
from railweave.api.starter import starter_templates as starter_templates
from railweave.api.targets.host_keys import trust as trust
from railweave.api.targets.worker import worker as worker
from railweave.api.verification import drift as drift
from railweave.api.verification import verify as verify
from railweave.plan.consent import DeployOptions as DeployOptions
from railweave.plan.selftest import SelftestOptions as SelftestOptions
