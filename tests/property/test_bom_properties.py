"""Every link is in one cable, every cage that ends fibers has one module, and a bill is the sum of what leads to it."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from railweave.bom.bill import PartKind, bill, change
from railweave.cabling.assemblies import AssemblyShape, assemblies
from railweave.cabling.ends import cables_of
from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text

CATALOG = load_catalog()
SWITCHES = ("nokia-ixr7220-h4-64d", "nvidia-sn4700", "nvidia-sn5600")
INTENT = """
fabric: small
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 8, nics: {{count: {nics}, speed: {speed}G, model: {nic}}}}}
topology:
  oversubscription: "8:1"
  leaf: {{model: {leaf}, downlink_speed: {speed}G, uplink_speed: {up}G}}
  spine: {{model: {spine}}}
cabling: {{host: {{media: {near}}}, leaf_spine: {{media: {far}, length_m: {length}}}}}
"""


@st.composite
def fabrics(draw: st.DrawFn) -> Fabric:
    nic, speeds = draw(st.sampled_from([("connectx-7", (100, 200, 400)), ("connectx-6", (100, 200))]))
    text = INTENT.format(
        nodes=draw(st.integers(1, 40)),
        nics=draw(st.sampled_from((1, 2, 4, 8))),
        speed=draw(st.sampled_from(speeds)),
        nic=nic,
        leaf=draw(st.sampled_from(SWITCHES)),
        up=draw(st.sampled_from((100, 200, 400))),
        spine=draw(st.sampled_from(SWITCHES)),
        near=draw(st.sampled_from(("auto", "dr", "aoc"))),
        far=draw(st.sampled_from(("auto", "dac", "sr", "dr", "fr"))),
        length=draw(st.sampled_from((2, 30, 90, 400))),
    )
    return fabric_or_another(text)


def fabric_or_another(text: str) -> Fabric:
    """Return the fabric of an intent; a refused one gives way to one that is not."""
    found = design(load_intent_text(text, "small.yml"), CATALOG).fabric
    if found is not None:
        return found
    plain = design(load_intent_text(PLAIN, "plain.yml"), CATALOG).fabric
    assert plain is not None
    return plain


PLAIN = INTENT.format(
    nodes=4, nics=2, speed=100, nic="connectx-6", leaf=SWITCHES[0], up=400, spine=SWITCHES[0], near="auto", far="auto",
    length=30,
)  # fmt: skip


@given(fabrics())
def test_every_link_is_in_one_cable_and_every_plug_of_it_is_used_once(fabric: Fabric) -> None:
    cables = cables_of(fabric, CATALOG)
    bought = assemblies(cables)
    assert Counter(cable.link for one in bought for cable in one.links) == Counter(fabric.links)
    for one in bought:
        if one.shape is not AssemblyShape.SHUFFLE:
            assert len({cable.lower.cage for cable in one.links}) == 1 or len({c.upper.cage for c in one.links}) == 1
        assert len({cable.medium.id for cable in one.links}) == 1
    if all(not one.medium.fiber for one in bought):
        plugs = [
            cage for one in bought for cage in {c.lower.cage for c in one.links} | {c.upper.cage for c in one.links}
        ]
        mixed = {cage for cage, times in Counter(plugs).items() if times > 1}
        assert not mixed or bill(fabric, CATALOG).remarks


@given(fabrics())
def test_modules_are_those_of_the_cages_that_end_fibers(fabric: Fabric) -> None:
    cables = cables_of(fabric, CATALOG)
    cages = {
        (end.cage, cable.medium.id) for cable in cables if cable.medium.fiber for end in (cable.lower, cable.upper)
    }
    found = bill(fabric, CATALOG)
    assert found.quantity(PartKind.MODULE) == len(cages)
    assert found.quantity(PartKind.SWITCH) == len(fabric.switches)
    assert found.quantity(PartKind.NIC) == sum(len({port.nic for port in host.ports}) for host in fabric.hosts)
    for cable in cables:
        for end in (cable.lower, cable.upper):
            assert set(end.form_factors) & set(cable.medium.form_factors)
            assert end.pmd.speed_gbps == cable.link.speed_gbps
            assert end.pmd.reach_m >= cable.link.length_m
        assert cable.lower.pmd.wire_lane_gbps == cable.upper.pmd.wire_lane_gbps


@given(fabrics(), fabrics())
def test_a_bill_and_the_change_to_another_are_that_other(before: Fabric, after: Fabric) -> None:
    first, second = bill(before, CATALOG), bill(after, CATALOG)
    counts = Counter({(one.part, one.description, one.length_m): one.quantity for one in first.lines})
    for one in change(first, second, "before").lines:
        counts[one.part, one.description, one.length_m] += one.quantity
    assert +counts == Counter({(one.part, one.description, one.length_m): one.quantity for one in second.lines})
