"""What moves is counted, listed, and phased or refused, whichever keys of the intent move it: counted anew from the
cable lists of both designs, as a technician would compare them."""

from collections import Counter
from functools import cache

from examples import few
from hypothesis import assume, example, given
from hypothesis import strategies as st

from railweave.cabling.table import cable_rows
from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.design.renumbering import moved_cables as moved_in_design
from railweave.design.renumbering import renumbered
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.document import plan_json
from railweave.plan.offline import plan_offline
from railweave.plan.phases.planning import Phase, PhaseKind, phases
from railweave.templates import find_templates

TWO_TIERS = """
fabric: lab
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: {nodes}, gpus: 2, nics: {{count: 2, speed: 100G, ports: 1, model: connectx-6}}}}
topology:
  shape: rail-optimized
  rails: 2
  stripe: 2
{pair}  oversubscription: "{ratio}:1"
  leaf:  {{model: sonic-vs, count: {leaves}, downlink_speed: 100G, uplink_speed: 100G}}
  spine: {{model: sonic-vs, count: {spines}}}
  reserve: {{leaves: {most_leaves}, spines: {most_spines}}}
"""
PODS = """
fabric: lab
workload: {{kind: inference}}
nodes:
  - {{name: gpu, count: 8, gpus: 2, nics: {{count: 2, speed: 100G, ports: 1, model: connectx-6}}}}
topology:
  shape: rail-optimized
  tiers: 3
  rails: 2
  stripe: 4
  pod: 1
  links_per_pair: {pair}
  oversubscription: "2:1"
  leaf:  {{model: sonic-vs, count: 4, downlink_speed: 100G, uplink_speed: 100G}}
  spine: {{model: sonic-vs, count: {spines}}}
  super_spine: {{model: sonic-vs, count: {supers}, oversubscription: "7:1"}}
  reserve: {{leaves: 8, spines: {most_spines}, pods: {pods}}}
"""
PAIRS = ("", "  links_per_pair: 1\n", "  links_per_pair: 2\n", "  links_per_pair: 4\n")


@cache
def built(text: str) -> Fabric | None:
    return design(load_intent_text(text, "lab.yml"), load_catalog()).fabric


@st.composite
def two_tiers(draw: st.DrawFn) -> str:
    stripes = draw(st.sampled_from((1, 2, 2, 3)))
    return TWO_TIERS.format(
        nodes=2 * stripes,
        leaves=2 * stripes,
        spines=draw(st.sampled_from((2, 2, 3, 4))),
        ratio=draw(st.sampled_from((2, 2, 2, 4, 8))),
        pair=draw(st.sampled_from(PAIRS)),
        most_leaves=draw(st.sampled_from((6, 8, 8, 16))),
        most_spines=draw(st.sampled_from((4, 4, 6, 8))),
    )


pods = st.builds(
    PODS.format,
    pair=st.sampled_from((1, 1, 2)),
    spines=st.sampled_from((4, 4, 8)),
    supers=st.sampled_from((2, 2, 4)),
    most_spines=st.sampled_from((16, 16, 32)),
    pods=st.sampled_from((4, 4, 8)),
)
pairs = st.one_of(st.tuples(two_tiers(), two_tiers()), st.tuples(pods, pods))


def cables(fabric: Fabric) -> set[tuple[str, str, str, str]]:
    return {(one.a_device, one.a_port, one.b_device, one.b_port) for one in cable_rows(fabric)}


def expected(base: Fabric, head: Fabric) -> Counter[str]:
    """Return how many cables of each device that both designs have go from one of its ports to another place."""
    gone, come = (
        Counter(one[0] for one in each) for each in (cables(base) - cables(head), cables(head) - cables(base))
    )
    return Counter({device: count for device in gone if (count := min(gone[device], come[device]))})


# Spines leave, and their cables go to other ports at both ends.
FEWER_SPINES = (
    PODS.format(pair=1, spines=8, supers=4, most_spines=32, pods=4),
    PODS.format(pair=2, spines=4, supers=2, most_spines=16, pods=8),
)
# Links are removed from a leaf before its last ones move.
FEWER_LINKS = (
    TWO_TIERS.format(nodes=4, leaves=4, spines=2, ratio=2, pair=PAIRS[2], most_leaves=6, most_spines=4),
    TWO_TIERS.format(nodes=4, leaves=4, spines=2, ratio=2, pair=PAIRS[1], most_leaves=6, most_spines=4),
)


@few
@given(pairs)
@example(FEWER_SPINES)
@example(FEWER_LINKS)
def test_every_cable_that_moves_is_counted_and_listed_and_phased_or_refused(texts: tuple[str, str]) -> None:
    base, head = map(built, texts)
    assume(base is not None and head is not None)
    assert base is not None
    assert head is not None
    moves = expected(base, head)
    plan = plan_offline(base, head, find_templates(), renumber=True)
    listed = Counter(one["device"] for one in plan_json(plan)["cables_to_move"])
    assert listed == moves
    assert Counter(one.before.lower for one in moved_in_design(base, head)) == moves
    found = phases_or_refusal(base, head)
    if isinstance(found, RefusedError):
        assert [(one.code, bool(one.fix)) for one in found.diagnostics] == [("RW519", True)]
        return
    carried = [cable for phase in found if phase.kind is PhaseKind.CABLES for cable in phase.cables if cable.after]
    assert len(carried) == moves.total()
    if moves:
        assert not renumbered(base, head)
        wanted = cables(head)
        for cable in carried:
            one, other = cable.ends_after
            ends = ((one.device, one.port), (other.device, other.port))
            assert {(*ends[0], *ends[1]), (*ends[1], *ends[0])} & wanted
    for before, after in zip(
        [base, *(phase.fabric for phase in found)], [phase.fabric for phase in found], strict=False
    ):
        used = Counter(
            end for link in after.links for end in ((link.lower, link.lower_port), (link.upper, link.upper_port))
        )
        assert set(used.values()) == {1}, "no port has two cables"
        networks = Counter(link.network for link in after.fabric_links)
        assert set(networks.values()) <= {1}
        if after is not head or moves:
            assert not _loses_all(before, after)


def phases_or_refusal(base: Fabric, head: Fabric) -> tuple[Phase, ...] | RefusedError:
    try:
        return phases(base, head)
    except RefusedError as refused:
        return refused


def _loses_all(before: Fabric, after: Fabric) -> list[str]:
    """Return the leaves whose uplinks all go at once."""
    kept = cables(after)
    found = []
    for leaf in before.tier_switches[0]:
        own = {one for one in cables(before) if one[0] == leaf.name}
        if leaf.name in after.switch_of and len(own) > 1 and not own & kept:
            found.append(leaf.name)
    return found
