"""Two tiers of 102.4T switches with 512 ports of 200G, 256 uplinks a leaf: checked, rendered, bought and failed."""

import re
from pathlib import Path

from railweave import api
from railweave.bom.bill import PartKind

INTENT = """
fabric: wide
workload: {kind: pretraining}
nodes: [{name: gpu, count: 4, gpus: 2, nics: {count: 2, speed: 200G, ports: 2, model: connectx-8, pcie: gen6x16}}]
topology:
  planes: 2
  leaf: {model: nokia-ixr7220-h6-128}
  spine: {model: nokia-ixr7220-h6-128}
traffic_classes: [{name: all, role: bulk, dscp: default, priority: 0, share: 100}]
"""


def test_two_tiers_of_wide_leaves_pass_check_render_bom_and_failures(tmp_path: Path) -> None:
    (tmp_path / "wide.yml").write_text(INTENT, encoding="utf-8")
    wide = api.open_project(tmp_path / "wide.yml")
    assert api.check(wide).ok
    # 2 rails in 2 planes are 4 leaves of 256 uplinks; 512 ports of a spine take those of 2 leaves, and 2 spines of a
    # plane is the least.
    switches, host_links, fabric_links = 4 + 4, 4 * 2 * 2, 4 * 256
    assert api.bom(wide).quantity(PartKind.SWITCH) == switches
    assert api.failures(wide).singles == host_links + fabric_links + switches + 2, "each plane fails as well"
    api.render(wide, tmp_path / "out")
    frr = (tmp_path / "out" / "switches" / "wide-leaf1" / "frr.conf").read_text(encoding="utf-8")
    assert set(re.findall(r"maximum-paths \d+", frr)) == {"maximum-paths 512"}
    assert len(re.findall(r"^ neighbor 10\.\S+ peer-group SPINES$", frr, re.M)) == 256
