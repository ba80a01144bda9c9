"""Racks of any arrangement: every device stands alone in its units, every cable spans its way and is sold so long."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from railweave.bom.bill import PartKind, bill
from railweave.cabling.assemblies import AssemblyShape, assemblies
from railweave.cabling.ends import cables_of
from railweave.catalog.load import load_catalog
from railweave.design.build import Design, design
from railweave.intent.load import load_intent_text

CATALOG = load_catalog()
INTENT = """
fabric: f
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: 6, gpus: 4, nics: {{count: 4, speed: {speed}G, model: connectx-7}}}}
topology:
  oversubscription: "4:1"
  leaf: {{model: {leaf}, downlink_speed: {speed}G, uplink_speed: {up}G}}
  spine: {{model: {leaf}, count: 2}}
racks:
  units: 42
  rack_distance_m: {pitch}
  slack_m: {slack}
  rows:
    - {{name: a, racks: a1-{racks}}}
    - {{name: b, racks: b1-{racks}, distance_m: {apart}, start_m: {start}}}
  devices:
    - {{devices: gpu1-6, racks: [a1-{racks}, b1-{racks}], height: {height}}}
    - {{devices: f-leaf1-4, racks: a{racks}, height: 2}}
    - {{devices: f-spine1-2, racks: b{racks}, height: 2, unit: 30}}
"""


@st.composite
def designs(draw: st.DrawFn) -> Design:
    text = INTENT.format(
        speed=draw(st.sampled_from((100, 200, 400))),
        up=draw(st.sampled_from((100, 400))),
        leaf=draw(st.sampled_from(("nokia-ixr7220-h4-64d", "nvidia-sn4700", "nvidia-sn5600"))),
        pitch=draw(st.sampled_from(("0.6", "0.8", "2.25"))),
        slack=draw(st.sampled_from(("0", "0.5", "2"))),
        racks=draw(st.integers(1, 6)),
        apart=draw(st.integers(0, 60)),
        start=draw(st.sampled_from(("0", "1.2", "40"))),
        height=draw(st.integers(1, 14)),
    )
    return design(load_intent_text(text, "f.yml"), CATALOG)


@given(designs())
def test_every_device_stands_alone_and_every_cable_spans_its_way(found: Design) -> None:
    fabric = found.fabric
    if fabric is None:
        assert {one.code for one in found.diagnostics if one.severity == "error"} <= {
            "RW302",
            "P-4",
            "T-4",
            "P-3",
            "T-2",
        }
        return
    assert fabric.racks is not None
    units = Counter(
        (place.rack, unit)
        for place in fabric.racks.places.values()
        for unit in range(place.unit, place.unit + place.height)
    )
    assert set(units.values()) == {1}
    assert {unit for _, unit in units} <= set(range(1, 43))
    assert fabric.racks.places.keys() == fabric.host_of.keys() | fabric.switch_of.keys()
    media: dict[object, set[str]] = {}
    cables = cables_of(fabric, CATALOG)
    for cable in cables:
        link = cable.link
        run_mm = fabric.racks.run_mm(link.lower, link.upper)
        assert run_mm <= link.length_m * 1000
        assert link.length_m == cable.medium.sold_m(link.length_m * 1000)
        assert link.length_m <= min(cable.lower.pmd.reach_m, cable.upper.pmd.reach_m)
        for end in (cable.lower, cable.upper):
            media.setdefault(end.cage, set()).add(link.media)
    assert all(len(held) == 1 for held in media.values())
    bought = assemblies(cables)
    for one in bought:
        assert one.medium.fiber or one.shape is not AssemblyShape.SHUFFLE
        runs = [fabric.racks.run_mm(cable.link.lower, cable.link.upper) for cable in one.links]
        assert {cable.link.length_m for cable in one.links} == {one.medium.sold_m(max(runs))}
    counted = bill(fabric, CATALOG)
    assert counted.remarks == ()
    assert counted.quantity(PartKind.CABLE) + counted.quantity(PartKind.FIBER) == len(bought)
