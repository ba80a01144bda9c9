"""What chance explains: the bound holds its odds for every mean, and is not wider than these need."""

from chance import odds_of_at_least
from hypothesis import example, given
from hypothesis import strategies as st

from railweave.acceptance.judge.statistics import FALSE_FINDING_ODDS, most_by_chance


@given(mean=st.floats(0, 1e-3) | st.floats(0, 5) | st.floats(0, 400), comparisons=st.integers(0, 10**6))
@example(mean=0.0, comparisons=1)
@example(mean=1e-9, comparisons=1)
@example(mean=300.0, comparisons=512)
def test_more_than_chance_explains_is_as_rare_as_the_odds_say(mean: float, comparisons: int) -> None:
    odds = FALSE_FINDING_ODDS / max(comparisons, 1)
    most = most_by_chance(mean, comparisons)
    assert odds_of_at_least(most + 1, mean) <= odds
    # The bound of the tail is a few percent above it.
    assert odds_of_at_least(most, mean) > 0.9 * odds
