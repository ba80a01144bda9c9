"""What a self-test concludes of simulated switches: of one that does what the rules say, and of ones that do not."""

import json

import pytest
from selftest_on_sim import NAMES, SECRETS, SWITCHES, selftest_of, spare

from nornir_railweave.tasks.selftest import SelftestOrder
from railweave.plan.selftest import SelftestReport, TrialResult, TrialVerdict
from railweave.report.selftest import selftest_json
from railweave.sonic.delta.change import Disruption
from railweave.sonic.document import running_from
from railweave.sonic.trials import trials_of
from sonic_sim import orchagent
from sonic_sim.configdb import ConfigDb
from sonic_sim.device import Device

PORT = "Ethernet0"


def tried(report: SelftestReport) -> dict[str, TrialResult]:
    return {result.name: result for result in report.results if result.verdict is not TrialVerdict.NOT_TRIED}


def told(report: SelftestReport) -> list[str]:
    """Return the secrets and names of the switch that its bundle holds."""
    text = json.dumps(selftest_json(report))
    return [word for word in (*SECRETS, *NAMES) if word in text]


def shown_by_the_asic(device: Device) -> set[str]:
    """Return the trials that objects of the ASIC decide."""
    config_db = running_from(device.db.document()).config_db
    return {one.name for one in trials_of(config_db, PORT, has_frr=True) if one.objects}


@pytest.mark.slow
@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_that_does_what_the_rules_say_confirms_them_and_is_back(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = spare(name)
    before = {key: dict(row) for key, row in device.db.rows.items()}
    report = selftest_of(device, SelftestOrder(rows=()), monkeypatch)
    found = tried(report)
    assert (report.error, report.is_back, report.ok) == ("", True, True)
    assert device.db.rows == before
    assert {one.verdict for one in found.values()} == {TrialVerdict.CONFIRMED, TrialVerdict.UNKNOWN}
    # Whether a link flaps is not seen of a port that has none.
    unknown = {one.name for one in found.values() if one.verdict is TrialVerdict.UNKNOWN}
    assert unknown == {one.name for one in found.values() if one.disruption == Disruption.FLAP}
    assert told(report) == []


def deaf_to(device: Device, tables: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let orchagent take no change of tables from now on."""
    whole = orchagent.followed_rows
    kept = {key: row for key, row in whole(device.db).items() if key.partition("|")[0] in tables}

    def followed(db: ConfigDb) -> orchagent.Rows:
        return {key: row for key, row in whole(db).items() if key.partition("|")[0] not in tables} | kept

    monkeypatch.setattr(orchagent, "followed_rows", followed)


@pytest.mark.slow
@pytest.mark.parametrize("name", SWITCHES)
def test_an_orchagent_that_takes_no_change_contradicts_every_claim_of_the_asic(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = spare(name)
    shown = shown_by_the_asic(device)
    deaf_to(device, {key.partition("|")[0] for key in orchagent.followed_rows(device.db)}, monkeypatch)
    found = tried(selftest_of(device, SelftestOrder(rows=()), monkeypatch))
    contradicted = {one.name: one.reasons[0] for one in found.values() if one.verdict is TrialVerdict.CONTRADICTED}
    assert contradicted.keys() == shown
    # A watchdog's row is made anew, which the switch refuses where its removal is not taken.
    evidence = ("the switch refused it: SWITCH: recreate: ", "the switch shows the same ")
    assert [reason for reason in contradicted.values() if not reason.startswith(evidence)] == []


@pytest.mark.slow
def test_one_table_that_is_not_taken_contradicts_its_own_claims_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    device = spare("pod-leaf1")
    deaf_to(device, {"WRED_PROFILE"}, monkeypatch)
    found = tried(selftest_of(device, SelftestOrder(rows=()), monkeypatch))
    contradicted = {one.name for one in found.values() if one.verdict is TrialVerdict.CONTRADICTED}
    assert contradicted == {"ECN threshold", "ECN probability"}


@pytest.mark.slow
def test_a_daemon_that_ends_on_a_change_contradicts_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    device = spare("pod-leaf1")
    kills = orchagent._kills
    at_boot = dict(orchagent.followed_rows(device.db))

    def dies(key: str, row: dict[str, str]) -> bool:
        return (key.startswith("SCHEDULER|") and tuple(row.items()) != at_boot.get(key)) or kills(key, row)

    monkeypatch.setattr(orchagent, "_kills", dies)
    report = selftest_of(device, SelftestOrder(rows=()), monkeypatch)
    found = tried(report)
    assert found["share"].verdict is TrialVerdict.CONTRADICTED
    assert "orchagent" in found["share"].reasons[0]
    assert told(report) == []
