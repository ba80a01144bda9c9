"""Intents whose switches or NICs have no model: counted and tried for failures, but not configured."""

from pathlib import Path

import pytest

from railweave import api
from railweave.bom.bill import PartKind
from railweave.diagnostics import Severity
from railweave.errors import RefusedError

INTENT = """\
fabric: inline
workload: {kind: pretraining}
nodes:
  - {name: gpu, count: 32, gpus: 8, nics: {count: 4, speed: 400G%s}}
topology:
  leaf: {%s}
  spine: {%s}
"""
INLINE = "ports: 64, speed: 400G"
CHASSIS = "model: arista-7808r3a-36d2"
MODEL = "model: nvidia-sn5600"
NIC = ", model: connectx-7"


def project(folder: Path, nic: str, leaf: str, spine: str) -> api.Project:
    file = folder / "inline.yml"
    file.write_text(INTENT % (nic, leaf, spine), encoding="utf-8")
    return api.open_project(file)


def errors(intent: api.Project) -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in api.check(intent).diagnostics if one.severity is Severity.ERROR]


CAUSES = {
    "nothing has a model": ("", INLINE, INLINE, ["topology.leaf", "topology.spine", "nodes[0].nics"]),
    "switches have none": (NIC, INLINE, INLINE, ["topology.leaf", "topology.spine"]),
    "spines have none": (NIC, MODEL, INLINE, ["topology.spine"]),
    "only NICs have none": ("", MODEL, MODEL, ["nodes[0].nics"]),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_what_render_refuses_is_an_error_of_check_that_names_what_lacks(tmp_path: Path, cause: str) -> None:
    *parts, lacking = CAUSES[cause]
    intent = project(tmp_path, *parts)
    refused = [
        ("RW113", f"`{path}` has no catalog model: the fabric can be sized, not configured")
        for path in sorted(lacking, key=lambda path: not path.startswith("nodes"))
    ]
    assert errors(intent) == refused
    with pytest.raises(RefusedError) as caught:
        api.render(intent, tmp_path / "out")
    assert [(one.code, one.message) for one in caught.value.diagnostics if one.severity is Severity.ERROR] == refused
    assert not (tmp_path / "out").exists()


def test_a_chassis_is_an_error_of_check_and_counted_all_the_same(tmp_path: Path) -> None:
    intent = project(tmp_path, NIC, MODEL, CHASSIS)
    message = "a chassis of line cards, each with a SONiC of its own: the fabric can be sized, not configured"
    assert errors(intent) == [("RW126", message)]
    assert api.size(intent).spines == 2
    assert api.bom(intent).quantity(PartKind.SWITCH) == 6
    assert api.failures(intent).singles


@pytest.mark.parametrize("cause", CAUSES)
def test_a_fabric_without_models_is_counted_and_tried_for_failures(tmp_path: Path, cause: str) -> None:
    *parts, lacking = CAUSES[cause]
    intent = project(tmp_path, *parts)
    # 32 nodes of 4 ports: 128 links to 4 leaves, one a rail. At 1:1 a leaf of 64 ports has 32 uplinks, one of 128 ports
    # 64; a spine has as many ports.
    fabric_links = 4 * (64 if parts[1] == MODEL else 32)
    spines = fabric_links // (128 if parts[2] == MODEL else 64)
    assert (api.size(intent).leaves, api.size(intent).spines) == (4, spines)
    bill = api.bom(intent)
    assert bill.quantity(PartKind.SWITCH) == 4 + spines
    assert bill.quantity(PartKind.NIC) == 128
    assert any("without a model" in remark for remark in bill.remarks) == bool(lacking)
    failures = api.failures(intent)
    assert failures.singles == 128 + fabric_links + 4 + spines


def test_a_bill_says_what_is_not_known_of_parts_without_a_model(tmp_path: Path) -> None:
    bill = api.bom(project(tmp_path, "", INLINE, INLINE))
    assert [(line.part, line.quantity) for line in bill.lines] == [
        ("64x400G switch", 6),
        ("NIC without a model", 128),
        ("AOC any form factor 400G to any form factor 400G", 128),
        ("AOC any form factor 400G to any form factor 400G", 128),
    ]
    assert bill.remarks == (
        "switches and NICs without a model: their modules and cables are of the cheapest medium of that speed and"
        " length; name models before ordering",
    )
