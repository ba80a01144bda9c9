"""What a target file says of rollouts: shares, floors and times, each fault at its place."""

import pytest

from nornir_railweave.target.policy import policy_for
from nornir_railweave.target.rollout import Rollout
from nornir_railweave.target.target_file import parse_target
from railweave.diagnostics import Diagnostic
from railweave.errors import RefusedError
from railweave.plan.consent import DeployOptions
from railweave.plan.policy import RolloutPolicy, Share


def policy(rollout: str) -> Rollout:
    return parse_target(f"source: sim\nrollout: {rollout}\n", "t.yml", "t").rollout


def fault(rollout: str) -> Diagnostic:
    with pytest.raises(RefusedError) as refused:
        policy(rollout)
    (found,) = refused.value.diagnostics
    return found


def test_nothing_said_is_one_device_at_a_time() -> None:
    assert parse_target("source: sim", "t.yml", "t").rollout.policy == RolloutPolicy(Share(count=1), Share(count=1))


def test_shares_are_counts_or_percentages() -> None:
    found = policy("{max_unavailable: {spines: 25%, leaves: 2}}").policy
    assert found.spines == Share(percent=25)
    assert found.leaves == Share(count=2)


def test_floors_and_the_size_of_a_wave_are_read() -> None:
    found = policy("{floor: {uplinks: 62.5%, paths: 2}, wave_size: 10}").policy
    assert (found.uplink_floor_percent, found.path_floor, found.wave_size) == (62.5, 2, 10)


def test_times_and_quiet_are_numbers() -> None:
    found = policy("{soak: 30, drain_timeout: 20.5, quiet: 500}")
    assert (found.soak_s, found.drain_timeout_s, found.quiet_packets_per_s) == (30, 20.5, 500)


def test_a_policy_knows_where_it_stands() -> None:
    places = parse_target("source: sim\nrollout:\n  floor:\n    uplinks: 90%\n", "t.yml", "t").rollout.policy.places
    assert str(places["floor.uplinks"]) == "t.yml:4:14"
    assert places[""].line == 2


def test_a_policy_that_is_not_stated_names_the_file() -> None:
    assert str(parse_target("source: sim", "t.yml", "t").rollout.policy.places[""]) == "t.yml"


@pytest.mark.parametrize(
    ("rollout", "words"),
    [
        ("{max_unavailable: {spines: 0}}", "a count of 1 or more"),
        ("{max_unavailable: {spines: 0%}}", "a count of 1 or more"),
        ("{max_unavailable: {leaves: 101%}}", "a count of 1 or more"),
        ("{max_unavailable: {leaves: some}}", "a count of 1 or more"),
        ("{max_unavailable: {leaves: true}}", "a count of 1 or more"),
        ("{floor: {uplinks: 75}}", "a percentage such as 75%"),
        ("{floor: {paths: -1}}", "greater than or equal to 0"),
        ("{wave_size: 0}", "greater than or equal to 1"),
        ("{quiet: 0}", "greater than 0"),
        ("{revert_in: 300, drain_timeout: 400}", "draining of 400 s"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_its_place(rollout: str, words: str) -> None:
    found = fault(rollout)
    assert words in found.message
    assert found.where.file == "t.yml"
    assert found.where.line == 2


def test_a_misspelt_key_gets_the_nearest_one() -> None:
    assert fault("{floor: {uplink: 75%}}").fix == "did you mean `uplinks`?"
    assert fault("{max_unavailable: {spine: 1}}").fix == "did you mean `spines`?"


@pytest.mark.parametrize(
    ("text", "nodes_follow", "single_step"),
    [
        ("source: sim", True, False),
        ("source: lab", True, False),
        ("source: addresses\naddress: '{name}'", False, False),
        ("source: sim\nrollout: {single_step: false}", False, False),
        ("source: sim\nrollout: {single_step: true}", True, True),
        ("source: addresses\naddress: '{name}'\nrollout: {single_step: true}", True, True),
    ],
)
def test_the_nodes_of_a_rehearsal_follow_at_once_and_its_cables_move_in_phases(
    text: str, nodes_follow: bool, single_step: bool
) -> None:
    target = parse_target(text, "t.yml", "t")
    assert policy_for(target).consent.nodes_follow is nodes_follow
    assert policy_for(target).consent.single_step is single_step
    assert policy_for(target, DeployOptions(single_step=True)).consent.single_step


def test_a_policy_holds_what_an_operator_chose() -> None:
    options = DeployOptions(provision=True, discard_newer=True, skip_unreachable=True, nodes_done=True, max_failures=2)
    policy = policy_for(parse_target("source: addresses\naddress: '{name}'", "t.yml", "t"), options)
    assert policy.consent == options
    assert policy.rollout.max_failures == 2


def test_the_command_line_goes_before_the_failures_that_a_target_allows() -> None:
    target = parse_target("source: sim\nrollout: {max_failures: 3}", "t.yml", "t")
    assert policy_for(target).rollout.max_failures == 3
    assert policy_for(target, DeployOptions(max_failures=2)).rollout.max_failures == 2
