"""Fabrics of a file that state some of their pools: what they do not state is apart, and stays when one is added."""

from itertools import combinations

from examples import fewest
from hypothesis import given
from hypothesis import strategies as st

from railweave.fabric.policy import Pool
from railweave.intent.load import load_intent_text
from railweave.intent.model import Intent

NAMES = ("a", "b", "c", "d")
STATED = {
    "hosts": ["10.96.0.0/11", "10.16.0.0/14", "10.200.0.0/14", "172.20.0.0/14"],
    "links": ["10.128.0.0/11", "10.96.0.0/12", "192.168.0.0/16"],
    "loopbacks": ["10.254.0.0/16", "10.20.0.0/16"],
}
wishes = st.lists(
    st.fixed_dictionaries({}, optional={key: st.sampled_from(pools) for key, pools in STATED.items()}),
    min_size=2,
    max_size=len(NAMES),
)


def text(stated: list[dict[str, str]]) -> str:
    names = NAMES[: len(stated)]
    groups = "".join(f"      - {{fabric: {name}, count: 1, speed: 100G}}\n" for name in names)
    fabrics = "".join(
        f"  {name}: {{topology: {{leaf: {{model: sonic-vs}}, spine: {{model: sonic-vs}}}}, addressing: {{"
        + ", ".join(f"{key}: {pool}" for key, pool in own.items())
        + "}}\n"
        for name, own in zip(names, stated, strict=True)
    )
    nodes = f"nodes:\n  - name: gpu\n    count: 2\n    gpus: 1\n    nics:\n{groups}"
    return f"fabric: pod\nworkload: {{kind: inference}}\n{nodes}fabrics:\n{fabrics}"


def read(stated: list[dict[str, str]]) -> list[Intent]:
    return [load_intent_text(text(stated), f"f.yml#{name}") for name in NAMES[: len(stated)]]


@given(wishes)
@fewest
def test_what_is_carved_meets_nothing_above_it_and_stays(stated: list[dict[str, str]]) -> None:
    intents = read(stated)
    above: list[Pool] = []
    for intent, own in zip(intents, stated, strict=True):
        pools = intent.pools
        for key, pool in pools.items():
            if key in own:
                assert str(pool) == own[key]
            else:
                assert not any(pool.meets(other) for other in above)
        for (key, pool), (other_key, other) in combinations(pools.items(), 2):
            assert (key in own and other_key in own) or not pool.meets(other)
        above += pools.values()
    numbers = [intent.policies.addressing.leaf_asn for intent in intents]
    assert len(set(numbers)) == len(numbers)
    # A fabric at the end moves nothing.
    assert [one.policies.addressing for one in read(stated[:-1])] == [
        one.policies.addressing for one in intents[: len(stated) - 1]
    ]
