"""The judge names what is at fault, and nothing where nothing is, from results and counters of a small fabric."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest
from json_schemas import Draft202012Validator
from small_acceptance import LOSSY_CLASSES, Shape, Yield, healthy, host_port, small_plan, write_folder

from railweave.acceptance.jobs import JobResult, read_job
from railweave.acceptance.judge.registry import judge_rules
from railweave.acceptance.judge.verdict import AcceptanceVerdict, RuleState, VerdictKind, judge
from railweave.acceptance.model import AcceptancePlan, NicPort, PlannedTest, PortEnd, RoundKind
from railweave.cli.main import main
from railweave.report.acceptance import acceptance_markdown
from railweave.report.acceptance_junit import acceptance_junit
from railweave.report.documents import schema

PAIRS = (RoundKind.ISOLATED, RoundKind.LOADED)


@cache
def plan() -> AcceptancePlan:
    return small_plan()


def verdict_of(made: Yield, without: tuple[str, ...] = ()) -> AcceptanceVerdict:
    return judge(made.plan, made.results(), made.counters(), without=without)


def named(verdict: AcceptanceVerdict) -> set[tuple[str, str]]:
    """Return the code and every element of all findings."""
    return {(finding.code, element.name) for finding in verdict.findings for element in finding.elements}


def slow(share: float, *ports: NicPort) -> dict[str, float]:
    return {test.id: share for test in plan().tests if test.kind in PAIRS and {test.sender, test.receiver} & {*ports}}


def uses(test: PlannedTest, node: str) -> bool:
    return any(port.node == node for port in test.group)


@pytest.mark.parametrize("shape", [Shape(), Shape(planes=2, nodes=3), Shape(stripes=3, rails=1)])
def test_a_healthy_fabric_passes_without_findings(shape: Shape) -> None:
    verdict = verdict_of(healthy(small_plan(shape), seed=7))

    assert verdict.findings == ()
    assert verdict.verdict is VerdictKind.PASSED
    assert {status.state for status in verdict.rules if status.code != "A-10"} == {RuleState.JUDGED}


def test_a_nic_at_half_width_is_named_and_its_cable_cleared_by_its_counters() -> None:
    verdict = verdict_of(healthy(plan(), slow=slow(0.5, NicPort("gpu3", 0, 0))))

    assert named(verdict) == {("A-1", "gpu3 rail0")}
    assert verdict.findings[0].message.startswith("gpu3 rail0 is slow: bandwidth: 4 tests, worst r")
    assert verdict.findings[0].nodes == ("gpu3",)


def test_without_counters_nothing_clears_the_cable_and_the_verdict_names_both() -> None:
    made = healthy(plan(), slow=slow(0.5, NicPort("gpu3", 0, 0)))

    verdict = judge(plan(), made.results(), ())

    assert verdict.findings[0].message.startswith("cable gpu3 rail0 or NIC gpu3 rail0 is slow: ")
    assert verdict.verdict is VerdictKind.FAILED


def test_without_counters_a_healthy_fabric_is_incomplete_and_rules_that_need_them_are_not_run() -> None:
    verdict = judge(plan(), healthy(plan()).results(), ())

    assert verdict.verdict is VerdictKind.INCOMPLETE
    assert [status.code for status in verdict.rules if status.state is RuleState.NOT_RUN] == [
        *("A-3", "A-4", "A-5", "A-6", "A-8")
    ]


def test_two_nics_that_share_no_test_are_both_named() -> None:
    made = healthy(plan(), slow=slow(0.5, NicPort("gpu1", 0, 0), NicPort("gpu7", 1, 0)))

    assert named(verdict_of(made)) == {("A-1", "gpu1 rail0"), ("A-1", "gpu7 rail1")}


def test_a_slow_rail_is_slower_than_its_peers() -> None:
    rail = {test.id: 0.94 for test in plan().tests if test.kind in PAIRS and test.sender.nic == 1}

    verdict = verdict_of(healthy(plan(), slow=rail))

    assert named(verdict) == {("A-7", "rail 1"), ("A-1", "rail 1")}
    assert [finding.severity for finding in verdict.findings] == ["error", "warning"]
    assert verdict.findings[0].devices == ("p0-leaf2", "p0-leaf4")


def test_a_node_that_is_slow_in_collectives_alone_is_named() -> None:
    made = healthy(plan(), slow={test.id: 0.6 for test in plan().tests if uses(test, "gpu4")})

    assert named(verdict_of(made)) == {("A-9", "gpu4")}


def test_a_pair_that_is_slow_with_nobody_else_is_unexplained_with_its_suspects() -> None:
    pair = {test.id: 0.5 for test in plan().tests if {test.sender.node, test.receiver and test.receiver.node} == PAIR}

    verdict = verdict_of(healthy(plan(), slow=pair))

    assert named(verdict) == {("unexplained", f"{node} rail{nic}") for node in PAIR for nic in (0, 1)}


PAIR = {"gpu1", "gpu6"}


def test_a_cable_that_loses_packets_is_named_and_explains_slow_tests() -> None:
    port = NicPort("gpu2", 1, 0)
    made = healthy(plan(), slow=slow(0.5, port))
    for name in made.counts:
        leaf = made.row(name, PortEnd("p0-leaf2", "Ethernet1"))
        lost = leaf["SAI_PORT_STAT_IF_OUT_OCTETS"] // 1000
        if lost > 10_000:
            made.add(name, PortEnd("gpu2", "rail1"), "rx_bytes_phy", -lost)
            made.add(name, PortEnd("gpu2", "rail1"), "out_of_sequence", 9)

    assert named(verdict_of(made)) == {("A-3", "gpu2 rail1"), ("A-1", "gpu2 rail1")}
    # Without the rule the slow tests say less: the NIC did not deliver them either.
    assert named(verdict_of(made, without=("A-3",))) == {("A-1", "gpu2 rail1"), ("A-1", "gpu2 rail1")}


def test_bytes_that_no_nic_missed_vanished_in_a_counter() -> None:
    made = healthy(plan())
    for name in made.counts:
        row = made.row(name, PortEnd("gpu3", "rail0"))
        row["tx_bytes_phy"] = int(row["tx_bytes_phy"] * 1.3)
        row = made.row(name, PortEnd("p0-leaf4", "Ethernet6"))
        row["SAI_PORT_STAT_IF_IN_OCTETS"] //= 2

    assert named(verdict_of(made)) == {("A-3", "gpu3 rail0"), ("A-3", "p0-leaf4 Ethernet6")}


def test_swapped_cables_are_named_by_the_bytes_at_the_wrong_ports() -> None:
    made = healthy(plan())
    for name in made.counts:
        first = made.row(name, PortEnd("p0-leaf1", "Ethernet1"))
        second = made.row(name, PortEnd("p0-leaf1", "Ethernet2"))
        first_before = dict(first)
        first.update(second)
        second.update(first_before)

    verdict = verdict_of(made)

    assert named(verdict) == {("A-3", "gpu2 rail0"), ("A-3", "gpu3 rail0")}
    assert verdict.findings[0].message.startswith("gpu2 rail0 and gpu3 rail0 are swapped: what gpu2 rail0 sent arrived")


def test_traffic_in_another_queue_names_the_node_that_sends_it() -> None:
    made = healthy(plan())
    for test in plan().tests:
        if test.sender.node != "gpu2":
            continue
        for link, is_up, size in made.hops.get(test.id, []):
            if not is_up:
                made.row(test.round, link.upper, 3, "queues")["SAI_QUEUE_STAT_BYTES"] -= size
                made.row(test.round, link.upper, 0, "queues")["SAI_QUEUE_STAT_BYTES"] += size

    assert named(verdict_of(made)) == {("A-3", "DSCP of gpu2"), ("A-3", "gpu2")}


def incast_ports(made: Yield, leaf: str) -> list[tuple[str, PortEnd, PortEnd]]:
    """Return round, leaf port and NIC of each sender of the incasts at a leaf."""
    hosts = {link.nic_port: link for link in made.plan.links if link.nic_port is not None}
    senders = []
    for test in made.plan.tests:
        link = hosts[test.sender]
        if test.kind is RoundKind.INCAST and link.upper.device == leaf:
            senders.append((test.round, link.upper, link.lower))
    return senders


def pause(made: Yield, name: str, port: PortEnd, nic: PortEnd, frames: int) -> None:
    made.add(name, port, "SAI_PORT_STAT_PFC_3_TX_PKTS", frames)
    made.add(name, nic, "rx_prio3_pause", frames)


def test_a_switch_that_pauses_before_it_marks_has_too_little_buffer() -> None:
    made = healthy(plan())
    for name, port, nic in incast_ports(made, "p0-leaf1"):
        pause(made, name, port, nic, 500)
        for number in range(4):
            queue = made.row(name, PortEnd("p0-leaf1", f"Ethernet{number}"), 3, "queues")
            queue["SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"] = 0

    assert named(verdict_of(made)) == {("A-4", "p0-leaf1")}
    assert verdict_of(made, without=("A-4",)).verdict is VerdictKind.PASSED


@pytest.mark.parametrize(("frames", "found"), [(2, {("A-4", "p0-leaf1")}), (200, set())])
def test_pauses_that_a_switch_received_explain_as_many_at_each_of_its_ports(
    frames: int, found: set[tuple[str, str]]
) -> None:
    made = healthy(plan())
    for name, port, nic in incast_ports(made, "p0-leaf1"):
        pause(made, name, port, nic, 500)
        made.add(name, port, "SAI_PORT_STAT_PFC_3_RX_PKTS", frames)
        made.add(name, nic, "tx_prio3_pause", frames)
        for number in range(4):
            queue = made.row(name, PortEnd("p0-leaf1", f"Ethernet{number}"), 3, "queues")
            queue["SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"] = 0
    assert {name for name in named(verdict_of(made)) if name[0] == "A-4"} == found


def test_a_port_that_drops_and_never_pauses_has_no_pfc() -> None:
    made = healthy(plan())
    for name, port, nic in incast_ports(made, "p0-leaf1"):
        if port.port == "Ethernet3":
            made.row(name, port, 3, "groups")["SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS"] = 700
            made.add(name, nic, "packet_seq_err", 9)
        else:
            pause(made, name, port, nic, 20)

    assert named(verdict_of(made)) == {("A-3", "PFC of p0-leaf1 Ethernet3")}


def test_a_nic_that_drops_and_never_pauses_explains_the_slow_tests_of_its_node() -> None:
    # A loaded round between two leaves passes spines, at which the node of the NIC is not to be sought.
    made = healthy(plan(), slow=slow(0.5, NicPort("gpu3", 0, 0)))
    for name in made.counts:
        made.add(name, PortEnd("gpu3", "rail0"), "rx_discards_phy", 50)
        made.add(name, PortEnd("gpu3", "rail0"), "out_of_sequence", 50)

    verdict = verdict_of(made)

    assert ("A-3", "PFC of gpu3 rail0") in named(verdict)
    assert {(finding.nodes, finding.devices) for finding in verdict.findings} == {(("gpu3",), ())}


def test_lossy_rdma_may_drop_what_ecn_did_not_slow_down() -> None:
    lossy = replace(plan(), classes=LOSSY_CLASSES)
    made = healthy(lossy)
    for name, port, nic in incast_ports(made, "p0-leaf1"):
        queue = made.row(name, port, 3, "queues")
        queue["SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"] = 9000
        queue["SAI_QUEUE_STAT_DROPPED_PACKETS"] = 700
        made.add(name, nic, "packet_seq_err", 9)
        made.add(name, nic, "rx_discards_phy", 5)

    verdict = verdict_of(made)

    assert verdict.findings == ()
    assert verdict.verdict is VerdictKind.PASSED
    states = {status.code: status.state for status in verdict.rules}
    assert (states["A-3"], states["A-4"], states["A-5"]) == (
        RuleState.JUDGED,
        RuleState.NOT_PLANNED,
        RuleState.NOT_PLANNED,
    )


def test_lossy_rdma_loses_nothing_on_cables() -> None:
    made = healthy(replace(plan(), classes=LOSSY_CLASSES))
    for name in made.counts:
        leaf = made.row(name, PortEnd("p0-leaf2", "Ethernet1"))
        lost = leaf["SAI_PORT_STAT_IF_OUT_OCTETS"] // 1000
        if lost > 10_000:
            made.add(name, PortEnd("gpu2", "rail1"), "rx_bytes_phy", -lost)
            made.add(name, PortEnd("gpu2", "rail1"), "out_of_sequence", 9)

    assert named(verdict_of(made)) == {("A-3", "gpu2 rail1")}


MARKED = "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"


def test_without_ecn_counters_their_rule_is_not_judgeable_and_the_verdict_stands() -> None:
    made = healthy(plan())
    for rows in made.counts.values():
        for row, counters in rows.items():
            counters.pop(MARKED, None)
            if row.device.startswith("gpu"):
                # A NIC counts marked packets that arrive, and the pauses that it asks for.
                counters.update({"np_ecn_marked_roce_packets": 5, "tx_prio3_pause": 0})

    verdict = verdict_of(made)

    assert verdict.verdict is VerdictKind.PASSED
    assert [status.code for status in verdict.rules if status.state is RuleState.NOT_JUDGEABLE] == ["A-4"]
    assert any("A-4 is not-judgeable: no switch counts ECN marks" in remark.message for remark in verdict.diagnostics)


def test_a_switch_without_ecn_counters_is_named_and_the_others_are_judged() -> None:
    made = healthy(plan())
    for rows in made.counts.values():
        for row, counters in rows.items():
            if row.device == "p0-leaf1":
                counters.pop(MARKED, None)

    verdict = verdict_of(made)

    assert verdict.verdict is VerdictKind.PASSED
    assert {status.state for status in verdict.rules if status.code == "A-4"} == {RuleState.JUDGED}
    messages = [remark.message for remark in verdict.diagnostics]
    assert messages == ["A-4 is judged in part: ECN marks are not counted by p0-leaf1"]


def test_pauses_that_nics_alone_count_do_not_judge_switches() -> None:
    made = healthy(plan())
    for rows in made.counts.values():
        for row, counters in rows.items():
            for name in [name for name in counters if "_PFC_" in name]:
                del counters[name]
            if row.device.startswith("gpu"):
                counters["tx_prio3_pause"] = 0

    verdict = verdict_of(made)

    assert verdict.verdict is VerdictKind.INCOMPLETE
    assert [status.reason for status in verdict.rules if status.code == "A-4"] == ["no switch counts PFC frames sent"]


def test_a_bit_error_rate_names_its_cable() -> None:
    made = healthy(plan())
    for name in made.counts:
        made.row(name, PortEnd("p0-leaf1", "Ethernet6"))["SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES"] = 400_000_000

    assert named(verdict_of(made)) == {("A-8", "p0-leaf1 Ethernet6")}


def test_a_plane_without_traffic_is_named_as_a_whole() -> None:
    made = healthy(small_plan(Shape(planes=2)))
    for test in made.plan.tests:
        if test.receiver is not None and test.sender.port == 1:
            del made.values[test.id]
    for rows in made.counts.values():
        for row, counters in rows.items():
            if row.device.startswith("p1-") or row.name.endswith("p1"):
                counters.update({name: min(value, 3000) for name, value in counters.items()})

    verdict = verdict_of(made)

    assert named(verdict) == {("A-7", "plane 1")}
    assert len(verdict.findings[0].devices) == 6


def test_two_cables_without_traffic_are_named_as_swapped_ones_may_be() -> None:
    made = healthy(plan())
    ports = (NicPort("gpu1", 0, 0), NicPort("gpu2", 0, 0))
    for test in plan().tests:
        if {test.sender, test.receiver} & {*ports}:
            made.refuse(test)
    for rows in made.counts.values():
        for row, counters in rows.items():
            if (row.device, row.name) in _ends(*ports):
                counters.update({name: min(value, 3000) for name, value in counters.items()})

    assert {name for _, name in named(verdict_of(made))} == {"gpu1 rail0", "gpu2 rail0"}


def _ends(*ports: NicPort) -> set[tuple[str, str]]:
    leaf_ports = {("p0-leaf1", f"Ethernet{int(port.node[3:]) - 1}") for port in ports}
    return leaf_ports | {(port.node, host_port(port)) for port in ports}


def test_a_round_with_other_traffic_is_not_judged() -> None:
    made = healthy(plan())
    for node in ("gpu1", "gpu2"):
        link = next(link for link in plan().links if link.cable == f"{node} rail0")
        for is_up in (True, False):
            sender, receiver = (link.lower, link.upper) if is_up else (link.upper, link.lower)
            for end, counter in ((sender, "OUT"), (receiver, "IN")):
                name = f"SAI_PORT_STAT_IF_{counter}_OCTETS"
                if end is link.lower:
                    name = {"OUT": "tx_bytes_phy", "IN": "rx_bytes_phy"}[counter]
                made.add("r001", end, name, 10**11)

    verdict = verdict_of(made)

    assert verdict.findings == ()
    assert verdict.verdict is VerdictKind.INCOMPLETE
    assert verdict.pairs.planned - verdict.pairs.done == 4
    assert "round r001 is not judged, other traffic disturbed it" in verdict.diagnostics[0].message


def test_a_test_that_did_not_run_is_never_a_pass() -> None:
    made = healthy(plan())
    del made.values["r000-0000"]

    verdict = verdict_of(made)

    assert (verdict.verdict, verdict.findings) == (VerdictKind.INCOMPLETE, ())
    assert verdict.outcomes["r000-0000"].status == "not-run"


def test_rules_that_are_not_run_for_the_same_reason_share_a_warning_with_its_own_fix() -> None:
    remarks = [remark for remark in judge(plan(), (), ()).diagnostics if remark.code == "RW942"]

    assert remarks[0].message == "A-1, A-2, A-7 and A-9 are not-run: results of tests are missing"
    assert remarks[0].fix.startswith("run its rounds and put what the tools write into `results/`")
    assert all(remark.fix.startswith("read the counters") for remark in remarks[1:])
    assert len(remarks) <= 3


def test_rules_are_registered_once_each_in_order() -> None:
    assert [rule.code for rule in judge_rules()] == [f"A-{number}" for number in range(1, 11)]


def test_the_command_prints_and_stores_the_document_of_its_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_folder(healthy(small_plan(Shape(rails=1, nodes=3))), tmp_path / "acc")

    assert main(["acceptance", "judge", "acc", "--json"]) == 0

    document = json.loads(capfd.readouterr().out)
    Draft202012Validator(schema("acceptance-judge")).validate(document)
    assert document["verdict"] == "passed"
    assert document["coverage"]["links"] == {"planned": 12, "loaded": 12}
    stored = json.loads(Path("acc/verdict.json").read_text())
    assert stored.pop("judged")["verdict"] == "passed"
    assert stored == document


def test_without_a_plan_the_command_is_used_wrongly(tmp_path: Path) -> None:
    assert main(["acceptance", "judge", str(tmp_path)]) == 64


JOB = JobResult("pretraining", "GPU utilisation", "%", 81.5, 90.0, higher_is_better=True)


def test_a_job_below_the_number_of_its_user_is_a_finding() -> None:
    made = healthy(plan())

    verdict = judge(plan(), made.results(), made.counters(), job=JOB)

    assert [finding.message for finding in verdict.findings] == [
        "job pretraining misses its number: GPU utilisation 81.5 %, at least 90 expected"
    ]
    faster = JOB._replace(metric="step time", unit="s", value=1.9, limit=2.0, higher_is_better=False)
    assert judge(plan(), made.results(), made.counters(), job=faster).verdict is VerdictKind.PASSED


@pytest.mark.parametrize("text", ["{", "[]", '{"name": "a"}', '{"name": 1}'])
def test_a_job_file_without_a_result_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "job.json").write_text(text)
    job, diagnostics = read_job(tmp_path)
    assert job is None
    assert [f"{remark.severity} {remark.code} {remark.message}" for remark in diagnostics] == [
        "error RW929 job.json has no result: expected `name`, `metric`, `unit`, `value`, `limit`, `better`"
    ]


def test_a_job_file_is_read(tmp_path: Path) -> None:
    assert read_job(tmp_path) == (None, ())
    document = {"name": "pretraining", "metric": "GPU utilisation", "unit": "%", "value": 81.5, "limit": 90}
    (tmp_path / "job.json").write_text(json.dumps({**document, "better": "higher"}))
    assert read_job(tmp_path) == (JOB, ())


def test_a_nic_that_pauses_far_more_than_its_peers_is_named() -> None:
    made = healthy(plan())
    made.add("r000", PortEnd("gpu3", "rail0"), "tx_prio3_pause", 60_000)
    made.add("r000", PortEnd("p0-leaf1", "Ethernet2"), "SAI_PORT_STAT_PFC_3_RX_PKTS", 60_000)

    verdict = verdict_of(made)

    assert named(verdict) == {("A-5", "gpu3 rail0")}
    # A storm is what a NIC does that takes nothing.
    (finding,) = verdict.findings
    assert finding.message.startswith("gpu3 rail0 is slower than its port: gpu3 rail0 paused its switch up to ")
    assert "storm" not in finding.message


def test_junit_has_a_suite_of_rules_and_one_for_each_kind_of_tests() -> None:
    made = healthy(plan(), slow=slow(0.5, NicPort("gpu3", 0, 0)))
    del made.values["r001-0000"]

    root = fromstring(acceptance_junit(verdict_of(made)))

    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["rules", *dict.fromkeys(test.kind.value for test in plan().tests)]
    failed = suites["rules"].find("testcase/failure/..")
    assert failed is not None
    assert failed.get("name") == "A-1"
    assert [case.get("name") for case in suites["rules"].iterfind("testcase/skipped/..")] == ["A-10"]
    pairs = [suites[kind] for kind in ("isolated", "loaded")]
    assert sum(int(suite.get("failures", 0)) for suite in pairs) == 4
    assert sum(int(suite.get("skipped", 0)) for suite in pairs) == 1


def test_the_markdown_has_the_seven_sections_of_the_draft() -> None:
    text = acceptance_markdown(verdict_of(healthy(plan())))

    assert [line for line in text.splitlines() if line.startswith("#")] == [
        f"## Acceptance of {plan().fabric}",
        *("### Device under test", "### Topology", "### Configuration of switches", "### Configuration of nodes"),
        *("### Results", "### Anomalies", "### Repeatability"),
    ]
