"""Views of plans, deployments, verifications and diagnostics: for a person, as JSON, as markdown."""

import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from planned_devices import having, planned
from rich.console import Console, RenderableType

from railweave.diagnostics import Where, error, warning
from railweave.fabric.model import Fabric
from railweave.plan.document import parse_plan, plan_json
from railweave.plan.model import DeviceState, Plan
from railweave.plan.outcome import CheckKind, DeployResult, DeviceOutcome, Outcome, Result, VerifyCheck, VerifyResult
from railweave.report.deployment import deploy_json, deploy_view
from railweave.report.diagnostics import diagnostics_json, diagnostics_summary, diagnostics_view
from railweave.report.plan import PLAN_CHARS, plan_markdown, plan_view
from railweave.report.sizing import sizing_view
from railweave.report.verification import verify_json, verify_view
from railweave.sonic.delta.change import Change, Op
from railweave.wording import compact


def shown(view: RenderableType, width: int = 200) -> str:
    console = Console(width=width, record=True, file=open("/dev/null", "w", encoding="utf-8"))  # noqa: SIM115
    with console.file:
        console.print(view)
    return console.export_text()


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["leaf1"], "leaf1"),
        (["leaf1", "leaf2"], "leaf1, leaf2"),
        (["leaf2", "leaf3", "leaf1"], "leaf1…3"),
        (["leaf1", "leaf2", "leaf3", "spine1"], "leaf1…3, spine1"),
        (["Ethernet0", "Ethernet8", "Ethernet16", "Ethernet24"], "Ethernet0…24"),
        ([f"x{number}" for number in range(0, 900, 100)], "x0, x100, x200, x300, x400, x500 and 3 more"),
    ],
)
def test_lists_of_names_are_short(names: list[str], words: str) -> None:
    assert compact(names) == words


def test_the_terminal_shows_groups_order_and_totals(growth: Plan) -> None:
    text = shown(plan_view(growth))
    assert "DEVICE_NEIGHBOR|Ethernet8, Ethernet12 " in text
    assert "+ first provisioning 388 rows of 22 tables, 80 lines of FRR lab-leaf3" in " ".join(text.split())
    added = "gpu5:rail0 – lab-leaf3:fortyGigE0/0, gpu5:rail1 – lab-leaf4:fortyGigE0/0 and 10 more"
    assert f"cables added: 12: {added}" in text
    assert "4 waves" in text
    assert "lab-leaf3, lab-leaf4" in text
    assert f"+ {growth.summary.add}" in text


def test_every_change_can_be_shown(growth: Plan) -> None:
    text = shown(plan_view(growth, every_change=True))
    assert "+ INTERFACE|Ethernet8|10.192.0.184/31" in text
    assert "~ PORT|Ethernet8 admin_status down → up" in text


def test_the_terminal_names_what_could_not_be_read(plan_of: Callable[..., Plan], change: Callable[..., Change]) -> None:
    gone = planned(DeviceState.UNREACHABLE, "leaf", error="no route to host")
    text = shown(plan_view(plan_of(change(), leaf2=gone)))
    assert "unreachable: leaf2: no route to host" in text
    assert "1 device could not be read" in text


def test_markdown_folds_the_details(growth: Plan) -> None:
    text = plan_markdown(growth)
    assert text.startswith("### lab: ")
    assert "<details><summary>lab-spine1: 48 changes</summary>" in text
    assert "+ INTERFACE|Ethernet8|10.192.0.184/31" in text
    assert text.count("```diff") == 4
    titles = re.findall("<summary>(.*?)</summary>", text)
    assert titles[0] == "Why"
    assert len(titles) == text.count("</details>") == 5
    assert "\nFirst provisioning: lab-leaf3, lab-leaf4: 388 rows of 22 tables, 80 lines of FRR.\n" in text
    assert "\nCables: 12 added\n" in text
    assert "\n| + | `lab-leaf3:fortyGigE0/112` | `lab-spine1:fortyGigE0/8` |\n" in text


def test_groups_of_many_rows_keep_what_tells_them_apart(
    plan_of: Callable[..., Plan], change: Callable[..., Change]
) -> None:
    queues = [
        change(device=name, table="QUEUE", key=f"Ethernet{8 * port}|{queue}", field="scheduler", after=f"s{queue}")
        for name in ("leaf1", "leaf2")
        for port in range(16)
        for queue in (0, 3, 6)
    ]
    text = shown(plan_view(plan_of(*queues)))
    for queue in (0, 3, 6):
        assert f"QUEUE|Ethernet0…120|{queue} scheduler" in text


def test_the_full_detail_cuts_no_value(plan_of: Callable[..., Plan], change: Callable[..., Change]) -> None:
    plan = plan_of(change(field="description", after="x" * 400))
    assert "…" in plan_markdown(plan).split("<details>")[0]
    assert "x" * 400 in plan_markdown(plan)


def test_a_label_is_called_one_where_names_of_ports_stand_too(
    plan_of: Callable[..., Plan], change: Callable[..., Change]
) -> None:
    link = {"table": "DEVICE_NEIGHBOR", "op": Op.ADD, "field": None, "before": None}
    plan = plan_of(*(change(key=f"Ethernet{8 * n}", after={"name": "gpu1", "port": f"eth{n}"}, **link) for n in (0, 1)))
    assert "Ethernet0 name=gpu1 label=eth0; Ethernet8 name=gpu1 label=eth1" in shown(plan_view(plan))


@pytest.mark.parametrize("width", [60, 80])
def test_a_table_that_is_too_wide_for_the_screen_stands_as_records(growth: Plan, width: int) -> None:
    lines = [line.rstrip() for line in shown(plan_view(growth), width).splitlines()]
    assert max(map(len, lines)) <= width
    place = lines.index("+ DEVICE_NEIGHBOR_METADATA|lab-leaf3")
    assert lines[place + 1].startswith("    change: hwsku=Force10-S6000 ")
    assert "    devices: lab-spine1, lab-spine2" in lines[place : place + 6]


@pytest.mark.slow
def test_markdown_always_fits_a_comment(plan_of: Callable[..., Plan], change: Callable[..., Change]) -> None:
    changes = [
        change(device=f"leaf{device}", key=f"Ethernet{port}", after=f"{device}" * 40, reason="r")
        for device in range(60)
        for port in range(64)
    ]
    text = plan_markdown(plan_of(*changes))
    assert len(text) <= PLAN_CHARS
    assert "leaf0 as an example of 60 leaves (no disruption): 64 changes" in text
    assert "3,840 changes on 60 devices are too many for a comment" in text
    assert text.count("```") % 2 == 0


def test_markdown_of_very_many_findings_fits_too(plan_of: Callable[..., Plan]) -> None:
    gone = {f"leaf{number}": planned(DeviceState.UNREACHABLE, "leaf", error="x" * 900) for number in range(300)}
    assert len(plan_markdown(plan_of(**gone))) <= PLAN_CHARS


def test_cables_to_move_are_named_and_counted(plan_of: Callable[..., Plan], change: Callable[..., Change]) -> None:
    plan = plan_of(
        *(
            change(table="DEVICE_NEIGHBOR", key=f"Ethernet{port}", field="name", before="spine1", after="spine5")
            for port in range(20)
        ),
        *(change(key="Ethernet0", field="description", before="to spine1:Ethernet8", after="to spine5:Ethernet16"),),
    )
    text = shown(plan_view(plan))
    assert "cable to move: leaf1:Ethernet0 from spine1:Ethernet8 to spine5:Ethernet16" in text
    assert "cable to move: leaf1:Ethernet1 from spine1:the same port to spine5:the same port" in text
    assert "cables to move: 4 more" in text
    markdown = plan_markdown(plan)
    assert "- 20 cables to move\n" in markdown
    assert markdown.count("`leaf1:Ethernet0`") == 1


def test_markdown_cannot_be_broken_out_of(plan_of: Callable[..., Plan], change: Callable[..., Change]) -> None:
    text = plan_markdown(plan_of(change(after="`a|b` <script>\n```\n</details>")))
    outside = text.split("<details>")[0]
    assert re.sub("`[^`]*`", "", outside).count("<") == 0
    row = next(line for line in outside.splitlines() if line.startswith("| ~"))
    assert row.count(" | ") == 5
    assert text.count("```") == 2


def test_secrets_are_marked_in_every_view(plan_of: Callable[..., Plan], change: Callable[..., Change]) -> None:
    plan = plan_of(
        change(table="TACPLUS", key="global", field="passkey", before="hunter1", after="hunter2"),
        change(table="SNMP_COMMUNITY", key="hunter3", op=Op.ADD, field=None, before=None, after={"TYPE": "RO"}),
    )
    for text in (plan_markdown(plan), shown(plan_view(plan, every_change=True))):
        assert "hunter" not in text
        assert "(hidden)" in text


CHECK = VerifyCheck("leaf1", CheckKind.LLDP, "Ethernet0", "spine1 Ethernet8", "spine2 [red]Ethernet8", False)
GOOD = VerifyCheck("leaf1", CheckKind.MTU, "Ethernet0", "9100", "9100", True)


def test_a_verification_counts_what_holds_and_shows_what_fails() -> None:
    text = shown(verify_view(VerifyResult((CHECK, GOOD))))
    assert "spine2 [red]Ethernet8" in text
    assert "1 of 2 checks failed, on 1 device" in text
    assert "1 check passed on 1 device" in shown(verify_view(VerifyResult((GOOD,))))


def test_the_json_of_a_verification_is_the_contract() -> None:
    assert verify_json(VerifyResult((CHECK,))) == {
        "ok": False,
        "checks": [
            {
                "device": "leaf1",
                "kind": "lldp",
                "subject": "Ethernet0",
                "expected": "spine1 Ethernet8",
                "actual": "spine2 [red]Ethernet8",
                "ok": False,
            }
        ],
    }


DEVICES = {
    "leaf1": DeviceOutcome(Outcome.NEW),
    "leaf2": DeviceOutcome(Outcome.OLD, "the device said no"),
    "leaf3": DeviceOutcome(Outcome.NOT_ATTEMPTED),
}


def test_a_stopped_deployment_names_its_reason_and_every_device() -> None:
    result = DeployResult(Result.STOPPED, DEVICES, "leaf2: the device said no", journal="j.jsonl")
    text = shown(deploy_view(result))
    assert "stopped: leaf2: the device said no" in text
    for words in ("committed", "not committed", "not started", "leaf1", "leaf3"):
        assert words in text
    assert json.loads(json.dumps(deploy_json(result)))["devices"]["leaf2"] == {
        "outcome": "old",
        "error": "the device said no",
    }
    assert not result.ok


def test_an_unchanged_deployment_says_that_nothing_was_changed() -> None:
    result = DeployResult(Result.UNCHANGED, {"leaf1": DeviceOutcome(Outcome.NEW)}, verification=VerifyResult((GOOD,)))
    assert "no changes: every device is as intended" in shown(deploy_view(result))
    unread = {"leaf1": DeviceOutcome(Outcome.NEW), "leaf2": DeviceOutcome(Outcome.NOT_ATTEMPTED)}
    assert "no changes: 1 device as intended, 1 not read" in shown(deploy_view(replace(result, devices=unread)))
    assert deploy_json(result)["result"] == "unchanged"


def test_a_diagnostic_shows_its_line_with_a_caret() -> None:
    found = error("T-3", "spines have 32 ports", Where("a.yml", 2, 8, "topology.spine"), fix="use larger spines")
    text = shown(diagnostics_view([found], {"a.yml": "fabric: a\nspine:\t{count: 4}\n"}))
    lines = text.splitlines()
    assert lines[0] == "error[T-3]: spines have 32 ports"
    assert "--> a.yml:2:8 (topology.spine)" in lines[1]
    assert lines[-2].strip() == "| ^" or lines[-2].rstrip().endswith("^")
    assert "fix: use larger spines" in text


def test_a_diagnostic_without_a_file_needs_none() -> None:
    text = shown(diagnostics_view([warning("X", "careful", Where("gone.yml", 3, 1), fix="none")]))
    assert "--> gone.yml:3:1" in text


def test_diagnostics_are_told_errors_first() -> None:
    found = [warning("W", "w", fix="f"), error("E", "e", fix="f")]
    assert [one["code"] for one in diagnostics_json(found)["diagnostics"]] == ["E", "W"]
    assert "1 error, 1 warning" in shown(diagnostics_summary(found, "a.yml"))
    assert "no errors" in shown(diagnostics_summary([], "a.yml"))


def test_sizes_show_every_step_with_its_formula(lab: Fabric) -> None:
    text = shown(sizing_view(lab.sizing))
    for step in lab.sizing.steps:
        assert step.name in text
    assert "2:1" in text
    assert "room left" in text


def test_what_somebody_drained_is_told_and_is_no_change(growth: Plan) -> None:
    devices = {
        **growth.devices,
        "lab-spine1": having(growth.devices["lab-spine1"], drained=("*",)),
        "lab-leaf1": having(growth.devices["lab-leaf1"], drained=("10.192.0.56",)),
    }
    drained = replace(growth, devices=devices)
    assert parse_plan(json.dumps(plan_json(drained)), "plan.json").devices["lab-spine1"].difference.drained == ("*",)
    for text in (shown(plan_view(drained)), plan_markdown(drained)):
        assert "drained by hand: lab-spine1; " in text
        assert "drained by hand on lab-leaf1: 10.192.0.56; " in text
    assert "drained by hand" not in plan_markdown(growth)
