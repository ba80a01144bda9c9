"""Fields and words of overrides that no release of SONiC takes are named without a switch and without libyang."""

from pathlib import Path

import pytest

from railweave.checks.rules.rw131_override_words import words
from railweave.intent.load import load_intent_text
from railweave.intent.model import Intent
from railweave.sonic.delta.leaf_words import accepted_words, has_field, is_accepted, is_modeled

ROOT = Path(__file__).resolve().parents[3]


def intent_with(overrides: str) -> Intent:
    text = (ROOT / "intent" / "lab-4.yml").read_text(encoding="utf-8")
    return load_intent_text(f"{text}overrides: {{leaf: {overrides}}}\n", "lab-4.yml")


@pytest.mark.parametrize(
    ("overrides", "path", "message"),
    [
        ("{WRED_PROFILE: {a: {ecn: 'on'}}}", "overrides.leaf.WRED_PROFILE.a.ecn", "`on` is not a valid value of `ecn`"),
        (
            "{PORT: {Ethernet20: {fec: reedsolomon}}}",
            "overrides.leaf.PORT.Ethernet20.fec",
            "`reedsolomon` is not a valid",
        ),
        (
            "{PORT: {Ethernet20: {autoneg: 'yes'}}}",
            "overrides.leaf.PORT.Ethernet20.autoneg",
            "`yes` is not a valid",
        ),
        (
            "{PFC_WD: {Ethernet0: {action: dorp}}}",
            "overrides.leaf.PFC_WD.Ethernet0.action",
            "`dorp` is not a valid",
        ),
        ("{SCHEDULER: {b: {weight: '500'}}}", "overrides.leaf.SCHEDULER.b.weight", "`500` is not a valid value"),
        ("{SCHEDULER: {b: {weight: '1_0'}}}", "overrides.leaf.SCHEDULER.b.weight", "`1_0` is not a valid value"),
        ("{SCHEDULER: {b: {weight: ' 5'}}}", "overrides.leaf.SCHEDULER.b.weight", "` 5` is not a valid value"),
        ("{SCHEDULER: {b: {wieght: '5'}}}", "overrides.leaf.SCHEDULER.b.wieght", "has no field `wieght`"),
        ("{QUEUE: {'Ethernet20|abc': {}}}", 'overrides.leaf.QUEUE["Ethernet20|abc"]', "names no priority group"),
        ("{DSCP_TO_TC_MAP: {a: {'9': '300'}}}", "overrides.leaf.DSCP_TO_TC_MAP.a.9", "`300` is not a valid value"),
    ],
)
def test_what_no_release_takes_is_refused_with_its_place(overrides: str, path: str, message: str) -> None:
    (breach,) = words(intent_with(overrides))
    assert breach.path == path
    assert message in breach.message
    assert breach.fix


@pytest.mark.parametrize(
    "overrides",
    [
        "{SFLOW: {global: {admin_state: up, polling_interval: '20'}}}",
        "{WRED_PROFILE: {a: {ecn: ecn_all, green_min_threshold: '100000', green_max_threshold: '400000'}}}",
        "{PORT: {Ethernet20: {speed: '1600000'}}}",
        "{DTEL: {INT_ENDPOINT: {INT_ENDPOINT: 'true'}}}",
        "{TACPLUS: {global: {passkey: '{secret:TACACS}'}}}",
        "{ACL_RULE: {'SITE|R1': {PRIORITY: '1', SRC_IP: 192.0.2.1/32, PACKET_ACTION: DROP}}}",
    ],
)
def test_what_a_release_takes_and_what_has_no_model_is_left_to_the_switch(overrides: str) -> None:
    assert [*words(intent_with(overrides))] == []


def test_a_misspelled_field_gets_the_nearest_one() -> None:
    (breach,) = words(intent_with("{SCHEDULER: {b: {wieght: '5'}}}"))
    assert breach.fix.startswith("did you mean `weight`?")


def test_the_words_are_those_of_sonic_s_models() -> None:
    assert is_modeled("WRED_PROFILE")
    assert not is_modeled("DTEL")
    assert has_field("PORT", "fec")
    assert accepted_words("PORT", "fec") == ("auto", "fc", "none", "rs")
    assert is_accepted("PORT", "mtu", "9100")
    assert not is_accepted("PORT", "mtu", "99999")
