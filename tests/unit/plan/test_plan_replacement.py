"""The steps of replacing a switch, told from what is seen of it."""

import pytest

from railweave.fabric.model import Fabric
from railweave.plan.lifecycle import Condition, WorkProgress, replacement_steps
from railweave.report.work import work_json, work_markdown

SILENT = Condition(answers=False, key_known=False)
STRANGER = Condition(answers=True, key_known=False)
FACTORY = Condition(answers=True, key_known=True, provisioned=False, as_intended=False, serial="NEW1")
OLD = Condition(
    answers=True, key_known=True, provisioned=True, as_intended=True, drained=False, verified=True, serial="OLD1"
)
DRAINED = Condition(
    answers=True, key_known=True, provisioned=True, as_intended=True, drained=True, verified=True, serial="OLD1"
)
HALF = Condition(answers=True, key_known=True, provisioned=True, as_intended=False, serial="NEW1")
UNPROVEN = Condition(answers=True, key_known=True, provisioned=True, as_intended=True, verified=False, serial="NEW1")
DONE = Condition(answers=True, key_known=True, provisioned=True, as_intended=True, verified=True, serial="NEW1")


@pytest.mark.parametrize(
    ("seen", "serial", "following"),
    [
        (OLD, "", 1),
        (OLD, "NEW1", 1),
        (DRAINED, "NEW1", 2),
        (SILENT, "NEW1", 2),
        (STRANGER, "NEW1", 3),
        (FACTORY, "", 4),
        (FACTORY, "NEW1", 4),
        (HALF, "NEW1", 4),
        (UNPROVEN, "NEW1", 5),
        (DONE, "NEW1", None),
    ],
)
def test_the_next_step_follows_from_what_is_seen(
    lab: Fabric, seen: Condition, serial: str, following: int | None
) -> None:
    steps = replacement_steps(lab, lab.switch_of["lab-spine1"], seen, target="sim", new_serial=serial)
    assert work_json("", steps)["next"] == following
    assert [step.progress for step in steps] == [
        WorkProgress.DONE if following is None or number < following else
        WorkProgress.NEXT if number == following else WorkProgress.LATER
        for number in range(1, 6)
    ]  # fmt: skip


def test_a_box_with_another_serial_number_is_named(lab: Fabric) -> None:
    steps = replacement_steps(lab, lab.switch_of["lab-spine1"], DRAINED, target="sim", new_serial="NEW1")
    assert steps[1].details[0] == "the installed switch has serial number OLD1, not NEW1"


def test_every_cable_of_the_switch_is_in_the_work_order_once(lab: Fabric) -> None:
    steps = replacement_steps(lab, lab.switch_of["lab-leaf2"], SILENT, target="sim")
    ends = [line.partition(":")[0].split()[0] for line in steps[1].details]
    panel = lab.switch_of["lab-leaf2"].panel
    used = [link.upper_port if link.upper == "lab-leaf2" else link.lower_port for link in lab.links_of["lab-leaf2"]]
    assert sorted(ends) == sorted(panel.ports[port].name for port in used)


def test_a_leaf_is_not_drained_but_its_nodes_are_named(lab: Fabric) -> None:
    first = replacement_steps(lab, lab.switch_of["lab-leaf2"], OLD, target="sim", new_serial="NEW1")[0]
    assert first.command == ""
    assert first.details == ("gpu1, gpu2, gpu3, gpu4 lose rail 1 while it is away; no other leaf can carry that",)


def test_the_work_order_has_a_box_for_every_line(lab: Fabric) -> None:
    steps = replacement_steps(lab, lab.switch_of["lab-spine1"], DRAINED, target="production", new_serial="NEW1")
    text = work_markdown("replace lab-spine1", steps)
    assert "- [x] 1. take it out of traffic: `railweave drain lab-spine1 --target production`" in text
    assert "- [ ] 3. record its host key: `railweave trust lab-spine1 --replace --target production`" in text
    assert text.count("- [") == len(steps) + sum(len(step.details) for step in steps)
