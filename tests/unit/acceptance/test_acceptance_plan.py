"""`railweave acceptance plan`: a whole plan of a small fabric, narrower plans, and refusals."""

import json
import os
from pathlib import Path

import pytest

from railweave import api
from railweave.acceptance.coverage import Coverage, poisson_below
from railweave.acceptance.document import read_plan
from railweave.acceptance.endpoints import lanes_of
from railweave.acceptance.limits.paths import fabric_paths
from railweave.acceptance.model import AcceptancePlan, Level, RoundKind
from railweave.acceptance.rounds.rotations import Rotation, RotationKind, pairs_of
from railweave.acceptance.summary import PlanSummary, RoundsOfKind
from railweave.api.design.intent import load_designed
from railweave.cabling.cable_names import cable_names
from railweave.catalog.load import Catalog
from railweave.cli.main import main
from railweave.errors import RefusedError, UsageError
from railweave.fabric.model import Fabric
from railweave.report.acceptance_plan import plan_summary_view

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = Path(__file__).parent / "golden"
POD, LAB = ROOT / "intent/pod-32.yml", ROOT / "intent/lab-4.yml"
LOSSY_PLANES = ROOT / "tests/golden/sonic_config/intents/lossy-planes.yml"


def plan_of(
    intent: Path, folder: Path, level: Level = Level.SMOKE, *, base: str = "", only: str = ""
) -> AcceptancePlan:
    api.acceptance.plan(api.open_project(intent), folder, level=level, base=base, only=only)
    return read_plan(folder).plan


def test_the_plan_of_a_small_fabric(tmp_path: Path) -> None:
    plan_of(LAB, tmp_path)
    # Another comment in the intent is another hash of it, and no other plan.
    sha256 = json.loads((tmp_path / "plan.json").read_bytes())["intent_sha256"]
    written = (tmp_path / "plan.json").read_text().replace(sha256, "0" * 64)
    golden = GOLDEN / "lab-4.plan.json"
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(written)
    assert written == golden.read_text()


def test_lossy_rdma_is_marked_and_not_lossless(tmp_path: Path) -> None:
    roce, cnp, best_effort = plan_of(LOSSY_PLANES, tmp_path).classes
    assert (roce.ecn, roce.lossless) == (True, False)
    assert (cnp.ecn, best_effort.ecn) == (False, False)


def test_all_links_of_a_pod_are_loaded_within_the_stated_time(tmp_path: Path) -> None:
    summary = api.acceptance.plan(api.open_project(POD), tmp_path, level=Level.QUICK)
    assert (summary.links, summary.below_confidence) == (256, 0)
    assert summary.duration_s == 1100
    plan = read_plan(tmp_path).plan
    assert {link.cable for link in plan.links} == set(cable_names(*_designed(POD)))


def _designed(intent: Path) -> tuple[Fabric, Catalog]:
    designed = load_designed(intent)
    return designed.fabric, designed.catalog


def test_cables_have_the_names_of_their_labels() -> None:
    for intent in (POD, ROOT / "intent/generations.yml", ROOT / "intent/minimal.yml"):
        fabric, catalog = _designed(intent)
        cable_of = {}
        for label in api.cable_labels(api.open_project(intent)):
            cable_of.update({(label.near.device, port): label.cable for port in label.near.ports})
        for link, name in zip(fabric.links, cable_names(fabric, catalog), strict=True):
            for device in (link.lower, link.upper):
                assert cable_of[device, fabric.ports_of[device][link.port_of(device)].name] == name


def test_the_full_level_of_a_pod_has_every_pair_of_a_rail(tmp_path: Path) -> None:
    plan = plan_of(POD, tmp_path, Level.FULL)
    pairs = set()
    for test in plan.tests:
        if test.kind is RoundKind.LOADED and test.receiver and test.sender.nic == test.receiver.nic == 0:
            pairs.add(frozenset((test.sender.node, test.receiver.node)))
    assert len(pairs) == 496


def test_the_commands_of_a_pair(tmp_path: Path) -> None:
    test = plan_of(POD, tmp_path).tests[0]
    assert test.receiver is not None
    measured = "-p 18515 -D 10 -q 4 --report_gbits -s 65536 -m 4096 -F --tclass=106"
    assert " ".join(test.argv[test.receiver.node][3:]) == measured
    client = test.argv[test.sender.node]
    assert client[:2] == ("ib_write_bw", "-d")
    assert client[-1].startswith("10.32.")


def test_only_a_node_is_tested_with_peers_outside(tmp_path: Path) -> None:
    plan = plan_of(POD, tmp_path, only="gpu3")
    assert all("gpu3" in test.argv for test in plan.tests if test.kind is not RoundKind.INCAST and test.receiver)
    summary = api.acceptance.plan(api.open_project(POD), tmp_path, only="gpu3")
    assert (summary.links, summary.below_confidence) == (4, 0)


def test_only_a_spine_loads_its_links(tmp_path: Path) -> None:
    summary = api.acceptance.plan(api.open_project(POD), tmp_path, level=Level.SMOKE, only="pod1-spine2")
    assert (summary.links, summary.below_confidence) == (32, 0)


def test_what_grew_is_tested(tmp_path: Path) -> None:
    before = tmp_path / "before.yml"
    before.write_text(POD.read_text().replace("count: 32", "count: 30", 1).replace("gpus: 256", "gpus: 240"))
    plan = plan_of(POD, tmp_path / "out", base=str(before))
    new = {"gpu31", "gpu32"}
    assert all(new & test.argv.keys() for test in plan.tests if test.kind is RoundKind.LOADED)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            "gpu77",
            "pod1 has no switch, node or cable gpu77: did you mean `gpu7`? it has gpu1…32, pod1-leaf1…4, pod1-spine1…4",
        ),
        (" , ", "--only names nothing: write switches, nodes, ranges or cables, separated with commas"),
    ],
)
def test_unknown_names_are_wrong_usage(names: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        plan_of(POD, tmp_path, only=names)
    assert str(refused.value) == message
    assert not (tmp_path / "plan.json").exists()


def test_a_plan_without_a_test_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError) as refused:
        plan_of(POD, tmp_path, base=str(POD))
    assert str(refused.value) == "nothing to test: no NIC port of what was named or changed has a peer"
    assert not (tmp_path / "plan.json").exists()


def test_the_command_refuses_with_status_1_and_64(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["acceptance", "plan", str(POD), "--out", str(tmp_path)]
    assert main([*words, "--from", str(POD)]) == 1
    assert "error[RW902]: nothing to test" in capfd.readouterr().err
    assert main([*words, "--from", "HEAD", "--only", "gpu1"]) == 64
    assert "--from and --only exclude each other" in capfd.readouterr().err


def test_the_command_says_how_long_the_tests_take(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["acceptance", "plan", str(POD), "--out", str(tmp_path), "--level", "soak"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "pod1: acceptance soak of 32 nodes, about 24 h 25 min"
    links = lines.index("  256 of 256 links are loaded with a probability above 0.999")
    # The last line is as long as the folder's name, so it may be wrapped.
    assert " ".join(lines[links + 1 :]).startswith(f"next: `railweave acceptance run {tmp_path} --target TARGET")


def test_counts_of_one_stand_where_others_do() -> None:
    kinds = (RoundsOfKind(RoundKind.ISOLATED, 12, 1, 120), RoundsOfKind(RoundKind.LOADED, 1, 2_048, 10))
    summary = PlanSummary("pod", Level.SMOKE, 0, 4, 130, kinds, 8, 0.9995, 0, 0.999, "", "out")
    isolated, loaded = plan_summary_view(summary).splitlines()[1:3]
    assert isolated == "  isolated      12 rounds        1 test      2 min"
    assert loaded == "  loaded         1 round     2,048 tests      10 s"


def test_the_flows_of_a_rotation_between_rails_spread_evenly() -> None:
    fabric, _ = _designed(POD)
    coverage = Coverage(fabric_paths(fabric), 0.05)
    pairs = pairs_of(lanes_of(fabric), Rotation(RotationKind.RAILS, 0))
    flows = coverage.flow_counts(pairs, 4)
    # 32 ports of a leaf send 4 flows each over its 32 uplinks.
    assert flows.up == flows.down == pytest.approx([4.0] * 4)
    coverage.add(flows, 100.0, 1)
    # e^-4 of the links miss in either direction.
    assert coverage.probability(0) == pytest.approx((1 - 0.0183156) ** 2, abs=1e-6)


def test_poisson_numbers_below() -> None:
    assert poisson_below(1, 2.0) == pytest.approx(0.1353353)
    assert poisson_below(3, 4.0) == pytest.approx(0.2381033)
    assert poisson_below(3, 2.0) == 1.0
