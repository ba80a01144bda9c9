"""`size` accepts what `check` does, and what lacks a model to be configured.

Random intents over every model of the catalog, at every speed.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from railweave import api
from railweave.api.project import Project
from railweave.catalog.load import load_catalog
from railweave.catalog.panel import speeds
from railweave.diagnostics import Severity
from railweave.errors import RefusedError

CATALOG = load_catalog()
LOSSY = """
traffic_classes:
  - {name: roce, role: rdma, dscp: [26], priority: 3, share: 90}
  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}
  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}
"""


@st.composite
def intents(draw: st.DrawFn) -> str:
    """Return an intent whose leaf and spine are any models at any of the leaf's speeds, with any NIC or none."""
    leaf, spine = draw(st.sampled_from(CATALOG.switch_ids())), draw(st.sampled_from(CATALOG.switch_ids()))
    down, up = (draw(st.sampled_from(speeds(CATALOG.switch(leaf)))) for _ in range(2))
    nic = draw(st.none() | st.sampled_from(CATALOG.nic_ids()))
    named = f", model: {nic}" if nic else ""
    pair = draw(st.sampled_from(["auto", "1", "2", "32", "96"]))
    return f"""
fabric: pod
workload: {{kind: {draw(st.sampled_from(["pretraining", "inference"]))}}}
nodes:
  - name: gpu
    count: {draw(st.integers(1, 64))}
    gpus: 8
    nics: {{count: {draw(st.sampled_from([1, 2, 8]))}, speed: {down}G{named}}}
topology:
  links_per_pair: {pair}
  oversubscription: {draw(st.sampled_from(["auto", '"1:1"', '"8:1"']))}
  leaf: {{model: {leaf}, downlink_speed: {down}G, uplink_speed: {up}G}}
  spine: {{model: {spine}}}
cabling:
  host: {{length_m: {draw(st.sampled_from([3, 20, 300, 2000]))}}}
  leaf_spine: {{length_m: {draw(st.sampled_from([3, 30, 300, 2000]))}}}
{draw(st.sampled_from(["", LOSSY]))}"""


@given(intents())
def test_size_accepts_exactly_what_check_accepts(text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "pod.yml"
        path.write_text(text, encoding="utf-8")
        try:
            api.size(Project(path))
            sized = True
        except RefusedError:
            sized = False
        errors = {found.code for found in api.check(Project(path)).diagnostics if found.severity is Severity.ERROR}
        # A switch or NIC without a model, and a chassis, can be sized and bought, not configured.
        assert sized == (not errors - {"RW113", "RW126"})
