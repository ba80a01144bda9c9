"""Max-min fair shares of flows over links and queues, by hand."""

from hypothesis import given
from hypothesis import strategies as st

from sonic_sim.flows.shares import Lane, max_min, scheduled_shares

FREE = 1e6


def test_two_flows_share_one_link() -> None:
    assert max_min([[0], [0]], [400.0], [FREE, FREE]) == [200.0, 200.0]


def test_what_a_flow_cannot_use_is_left_to_the_others() -> None:
    # The first crosses a slow link, the second only the fast one (Bertsekas and Gallager, 6.5.2).
    assert max_min([[0, 1], [0], [0]], [400.0, 100.0], [FREE] * 3) == [100.0, 150.0, 150.0]


def test_a_flow_with_a_limit_of_its_own_has_no_more() -> None:
    assert max_min([[0], [0]], [400.0], [50.0, FREE]) == [50.0, 350.0]


def test_queues_share_a_link_by_weight() -> None:
    roce = Lane(0, 3)
    bulk = Lane(0, 0)
    rates = scheduled_shares([[roce], [bulk]], [400.0], [FREE, FREE], {roce: 90.0, bulk: 10.0})
    assert rates == [360.0, 40.0]


def test_a_queue_has_what_another_leaves_of_its_part() -> None:
    roce = Lane(0, 3)
    bulk = Lane(0, 0)
    rates = scheduled_shares([[roce], [bulk]], [400.0], [100.0, FREE], {roce: 90.0, bulk: 10.0})
    assert rates == [100.0, 300.0]


@st.composite
def networks(draw: st.DrawFn) -> tuple[list[list[int]], list[float], list[float]]:
    capacity = draw(st.lists(st.floats(1.0, 800.0), min_size=1, max_size=6))
    links = st.integers(0, len(capacity) - 1)
    paths = draw(st.lists(st.lists(links, min_size=1, max_size=4, unique=True), min_size=1, max_size=12))
    limits = draw(st.lists(st.floats(1.0, 900.0), min_size=len(paths), max_size=len(paths)))
    return paths, capacity, limits


@given(networks())
def test_no_link_is_above_its_speed_and_every_flow_has_a_bottleneck(
    network: tuple[list[list[int]], list[float], list[float]],
) -> None:
    paths, capacity, limits = network
    rates = max_min(paths, capacity, limits)
    used = [sum(rate for rate, path in zip(rates, paths, strict=True) if link in path) for link in range(len(capacity))]
    assert all(amount <= speed * (1 + 1e-9) for amount, speed in zip(used, capacity, strict=True))
    for rate, path, limit in zip(rates, paths, limits, strict=True):
        assert rate > 0
        full = [link for link in path if used[link] >= capacity[link] * (1 - 1e-9)]
        most = [max(rates[other] for other in range(len(paths)) if link in paths[other]) for link in full]
        # Max-min: at its own limit, or on a full link on which nobody has more.
        assert rate >= limit * (1 - 1e-9) or any(rate >= largest * (1 - 1e-9) for largest in most)
