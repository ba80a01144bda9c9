"""ACLs at the edge: the documented one keeps all but RoCE out of the strict queue, others drop notifications."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from railweave.diagnostics import Diagnostic

Findings = Callable[..., tuple[Diagnostic, ...]]
PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "lossless.md"


def documented() -> dict[str, Any]:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (found,) = [one for one in blocks if "ACL_RULE" in one]
    made: dict[str, Any] = yaml.safe_load(found)
    return made


def told(findings: Findings, overrides: dict[str, Any]) -> list[Diagnostic]:
    return [one for one in findings(yaml.safe_dump(overrides)) if one.code == "Q-7"]


def test_the_acl_of_the_documentation_lets_notifications_pass(findings: Findings) -> None:
    assert not told(findings, documented())


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ("EDGE|roce", {"L4_DST_PORT": "4792"}),
        ("EDGE|roce", {"PRIORITY": "1"}),
        ("EDGE|roce", {"IP_PROTOCOL": "6"}),
        ("EDGE|roce", {"SRC_IP": "10.0.0.0/8"}),
        ("EDGE|roce", {"PACKET_ACTION": "DROP"}),
        ("EDGE|rest", {"PRIORITY": "30", "IP_PROTOCOL": "17"}),
    ],
)
def test_an_acl_that_drops_notifications_is_found(findings: Findings, rule: str, fields: dict[str, str]) -> None:
    overrides = documented()
    overrides["overrides"]["leaf"]["ACL_RULE"][rule].update(fields)
    found = told(findings, overrides)
    assert {one.devices for one in found} == {("pod-leaf1",), ("pod-leaf2",)}
    assert all("drops RoCE packets with DSCP 48 of cnp" in one.message for one in found)


@pytest.mark.parametrize(
    "fields", [{"SRC_IP": "10.0.0.0/8"}, {"DSCP": "8"}, {"PACKET_ACTION": "FORWARD"}, {"L4_DST_PORT": "22"}]
)
def test_a_rule_that_drops_other_packets_is_not_told(findings: Findings, fields: dict[str, str]) -> None:
    overrides = documented()
    del overrides["overrides"]["leaf"]["ACL_RULE"]["EDGE|roce"]
    overrides["overrides"]["leaf"]["ACL_RULE"]["EDGE|rest"].update(fields)
    assert not told(findings, overrides)


def test_an_acl_of_the_control_plane_drops_nothing_in_transit(findings: Findings) -> None:
    overrides = documented()
    del overrides["overrides"]["leaf"]["ACL_RULE"]["EDGE|roce"]
    overrides["overrides"]["leaf"]["ACL_TABLE"]["EDGE"]["type"] = "CTRLPLANE"
    assert not told(findings, overrides)
