"""Storage, management and training on the same leaves: what a burst of one leaves the others, with the arithmetic."""

import pytest
from config_checks import check_config

from railweave.catalog.load import load_catalog
from railweave.checks.intent import check_intent
from railweave.design.build import design
from railweave.diagnostics import Diagnostic, Severity
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.sonic.render.configure import configure
from railweave.templates import find_templates

SHARED = """
fabric: pod1
workload: {{kind: mixed}}
nodes:
  - {{name: gpu, count: 24, gpus: 8, nics: {{count: 4, speed: 400G, model: connectx-7}}}}
  - {{name: store, role: storage, count: 4, gpus: 0, share_leaves: true,
     nics: {{count: 4, speed: 400G, model: connectx-7}}}}
  - {{name: head, role: cpu, count: 2, gpus: 0, share_leaves: true,
     nics: {{count: 4, speed: 400G, model: connectx-7}}}}
topology:
  leaf: {{model: nokia-ixr7220-h4-64d, count: 4}}
  spine: {{model: nokia-ixr7220-h4-64d, count: 4}}
traffic_classes:
  - {{name: roce, role: rdma, dscp: [26], {roce}}}
  - {{name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}}
  - {{name: storage, role: storage, dscp: [10], {storage}}}
  - {{name: management, role: bulk, dscp: default, priority: 0, share: 10}}
"""
PFC = "lossless: true, priority: 3"
LOSSY = "transport: roce-lossy, priority: 3"


def checked(roce: str, storage: str) -> tuple[Fabric, tuple[Diagnostic, ...]]:
    intent = load_intent_text(SHARED.format(roce=roce, storage=storage), "i.yml")
    fabric = design(intent, load_catalog()).fabric
    assert fabric is not None
    return fabric, (*check_intent(intent), *check_config(fabric, intent.where))


@pytest.mark.parametrize(
    ("roce", "storage"),
    [
        (f"{PFC}, share: 60", "priority: 1, share: 30"),
        (f"{PFC}, share: 60", "lossless: true, priority: 4, share: 30"),
        (f"{LOSSY}, share: 60", "priority: 1, share: 30"),
        (f"{LOSSY}, share: 60", "lossless: true, priority: 4, share: 30"),
    ],
)
def test_storage_and_management_share_leaves_with_training(roce: str, storage: str) -> None:
    fabric, diagnostics = checked(roce, storage)
    leaf = fabric.switches[0].name
    assert {fabric.host_of[link.lower].kind for link in fabric.downlinks_of[leaf]} == {"gpu", "store", "head"}
    assert [each for each in diagnostics if each.severity is Severity.ERROR] == []
    (kept,) = [each for each in diagnostics if each.code == "Q-10"]
    assert kept.severity is Severity.INFO
    assert kept.message == (
        "while storage (30) and management (10) burst, class `roce` keeps (100 - 10) x 60 / 100 = 54 % of a port"
        " (strict before all: cnp up to 10 %)"
    )


def test_training_that_keeps_less_than_half_is_found_with_the_shares_that_would_do() -> None:
    _, diagnostics = checked(f"{PFC}, share: 40", "priority: 1, share: 50")
    (kept,) = [each for each in diagnostics if each.code == "Q-10"]
    assert kept.severity is Severity.WARNING
    assert "keeps (100 - 10) x 40 / 100 = 36 % of a port" in kept.message
    assert kept.fix == "give it a share of 56 or more, and all others 44 together"


def test_the_shares_of_the_fix_leave_half_of_a_port() -> None:
    _, diagnostics = checked(f"{PFC}, share: 56", "priority: 1, share: 34")
    assert [each.severity for each in diagnostics if each.code == "Q-10"] == [Severity.INFO]


def test_a_strict_class_of_storage_starves_training_and_is_refused() -> None:
    _, diagnostics = checked(f"{PFC}, share: 60", "priority: 5, strict: true")
    (finding,) = [each for each in diagnostics if each.severity is Severity.ERROR]
    assert finding.code == "Q-6"
    assert not [each for each in diagnostics if each.code == "Q-10"]


def test_bursts_of_lossy_storage_that_make_lossy_training_drop_first_are_found() -> None:
    _, diagnostics = checked(f"{LOSSY}, share: 60, ecn: {{min_kb: 1500, max_kb: 6000}}", "priority: 1, share: 30")
    found = [each for each in diagnostics if each.code == "E-7"]
    assert found
    assert all("bursts of 2 other lossy classes make the queue drop before ECN marks" in each.message for each in found)


def scheduler_reason(fabric: Fabric, key: str) -> str:
    config = configure(fabric, fabric.switch_of["pod1-leaf1"], find_templates())
    return next(row.reason for row in config.rows if (row.table, row.key) == ("SCHEDULER", key))


def test_the_row_of_a_shared_queue_says_what_it_keeps() -> None:
    fabric, _ = checked(f"{PFC}, share: 60", "priority: 1, share: 30")
    assert "While all others burst it keeps (100 - 10) x 30 / 100 = 27 % of a port" in scheduler_reason(
        fabric, "storage"
    )
