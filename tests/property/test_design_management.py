"""What holds for the management network of every fabric that the design lets pass."""

from dataclasses import dataclass, replace

from designed_fabrics import built
from hypothesis import given
from hypothesis import strategies as st

from railweave.fabric.management import Management
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.intent.model import Intent

_MOST_STRIPES, _MOST_SPINES = 6, 4


@dataclass(frozen=True)
class Wish:
    """The parts of an intent that the management network depends on; spines are of a plane, a rail or a pod."""

    shape: str
    pods: int
    stripes: int
    nodes: int
    planes: int
    spines: int
    short: int
    ports: int
    node_ports: int
    more_stripes: int = 0
    more_spines: int = 0

    def grown(self) -> "Wish":
        """Return the wish for the same fabric with more stripes (or pods) and spines, and full stripes."""
        return replace(self, stripes=self.stripes + self.more_stripes, spines=self.spines + self.more_spines, short=0)

    def intent(self) -> Intent:
        return load_intent_text(self.text(), "management.yml")

    def text(self) -> str:
        rails = 1 if self.shape == "rack-aligned" else 2
        # Where spines are apart by rail or pod, these multiply what is asked of one.
        groups = 2 if self.shape == "rail-only" else self.stripes if self.pods else 1
        reserved_groups = 2 if self.shape == "rail-only" else _MOST_STRIPES if self.pods else 1
        pods = f"  tiers: 3\n  pod: 1\n  super_spine: {{model: sonic-vs, count: {self.spines}}}\n" if self.pods else ""
        reserve = f"leaves: {_MOST_STRIPES * rails}, spines: {_MOST_SPINES * reserved_groups}"
        names = [f"port{number}" for number in range(self.node_ports)]
        nics = f"{{count: 2, speed: 100G, ports: {self.planes}, model: connectx-6}}"
        return f"""
fabric: f
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: {max(1, self.nodes * self.stripes - self.short)}, gpus: 8, nics: {nics}}}
topology:
  shape: {self.shape}
  planes: {self.planes}
  stripe: {self.nodes}
  links_per_pair: 1
  oversubscription: "8:1"
  leaf: {{model: sonic-vs, downlink_speed: 100G, uplink_speed: 100G}}
  spine: {{model: sonic-vs, count: {self.spines * groups}}}
  reserve: {{{reserve}{f", pods: {_MOST_STRIPES}" if self.pods else ""}}}
{pods}management:
  pool: 172.16.0.0/16
  switch: {{ports: {self.ports}}}
  node_ports: [{", ".join(names)}]
"""


wishes = st.builds(
    Wish,
    shape=st.sampled_from(["rail-optimized", "rack-aligned", "rail-only"]),
    pods=st.sampled_from([0, 0, 1]),
    stripes=st.integers(1, 3),
    nodes=st.integers(1, 4),
    planes=st.sampled_from([1, 2]),
    spines=st.integers(2, 3),
    short=st.integers(0, 3),
    ports=st.sampled_from([2, 3, 8, 48]),
    node_ports=st.integers(0, 3),
    more_stripes=st.integers(0, 3),
    more_spines=st.integers(0, 1),
).map(lambda wish: replace(wish, pods=0) if wish.shape == "rail-only" else wish)


def planned(fabric: Fabric) -> Management:
    assert fabric.management is not None
    return fabric.management


@given(wishes)
def test_every_device_has_its_ports_and_nothing_is_given_twice(wish: Wish) -> None:
    fabric = built(wish)
    found = planned(fabric)
    expected = sorted(
        [(name, "eth0") for name in fabric.switch_of]
        + [(name, f"port{number}") for name in fabric.host_of for number in range(wish.node_ports)]
    )
    assert sorted((one.device, one.name) for one in found.ports) == expected
    pool = found.pool
    assert all(pool.first + 16 <= one.address < pool.first + pool.size - 1 for one in found.ports)
    assert len({one.address for one in found.ports}) == len(found.ports)
    assert len({(one.switch, one.port) for one in found.ports}) == len(found.ports)
    assert all(1 <= one.port <= wish.ports for one in found.ports)
    assert {one.switch for one in found.ports} == found.switches.keys()


@given(wishes)
def test_growth_moves_no_address_and_no_cable(wish: Wish) -> None:
    before, after = planned(built(wish)), planned(built(wish.grown()))
    assert set(before.ports) <= set(after.ports)
