"""Random fabrics of two tiers or of one switch a rail, for properties of what is made of a fabric."""

from hypothesis import assume
from hypothesis import strategies as st

from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text

TWO_TIERS = """
fabric: drawn
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 8, nics: {{count: {nics}, speed: 100G, ports: {planes}, model: connectx-6}}}}
topology:
  shape: {shape}
  planes: {planes}
  oversubscription: "8:1"
  stripe: {stripe}
  leaf: {{model: sonic-vs, downlink_speed: 100G, uplink_speed: 100G}}
  spine: {{model: sonic-vs}}
"""


@st.composite
def fabrics(draw: st.DrawFn) -> Fabric:
    stripe = draw(st.integers(1, 6))
    written = TWO_TIERS.format(
        nodes=draw(st.integers(1, 14)) * stripe - draw(st.integers(0, stripe - 1)),
        nics=draw(st.sampled_from((1, 2, 4))),
        planes=draw(st.sampled_from((1, 2))),
        shape=draw(st.sampled_from(("rail-optimized", "rail-only"))),
        stripe=stripe,
    )
    found = design(load_intent_text(written, "drawn.yml"), load_catalog()).fabric
    assume(found is not None)
    assert found is not None
    return found
