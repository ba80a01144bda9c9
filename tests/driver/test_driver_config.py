"""The configuration contract over real SSH on a small switch: every ending is the old or the new configuration."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from driven_clock import DrivenClock
from napalm.base.exceptions import (
    CommandErrorException,
    CommitConfirmException,
    CommitError,
    ConnectionClosedException,
    ConnectionException,
    LockError,
    MergeConfigException,
    ReplaceConfigException,
)
from small_switch import SmallHost

from napalm_sonic.driver import SonicDriver
from napalm_sonic.program import new_id
from railweave.sonic.frr import parse_frr
from railweave_switch.main import PROGRAM
from railweave_switch.state import KEPT_COMMITS

MTU = {"PORT": {"Ethernet0": {"mtu": "9000"}}}
QOS = {"DSCP_TO_TC_MAP": {"AZURE": {"26": None, "24": "3"}}}
NEIGHBOR = {"bgpraw": "router bgp 65001\n neighbor 10.0.0.1 description spine1\nexit\n"}


def load(driver: SonicDriver, document: dict[str, Any]) -> None:
    driver.load_merge_candidate(config=json.dumps(document))


def frr_lines(switch: Any) -> set[Any]:
    return set(parse_frr(switch.frr).entries)


# Loading


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"port": {}}', "not a valid name of a CONFIG_DB table"),
        ('{"PORT": {"Ethernet0": {"mtu": {"a": 1}}}}', "PORT|Ethernet0|mtu"),
        ('{"PORT": {"Ethernet0": 1}}', "not a row"),
        ('{"PORT": {"E": {}, "E": {}}}', "duplicate key 'E'"),
        ('{"bgpraw": 1}', "bgpraw"),
    ],
)
def test_a_candidate_of_the_wrong_shape_is_refused_before_any_device_sees_it(text: str, told: str) -> None:
    driver = SonicDriver("unreachable", "admin", "")
    with pytest.raises(MergeConfigException) as merge:
        driver.load_merge_candidate(config=text)
    assert told in str(merge.value)
    with pytest.raises(ReplaceConfigException):
        driver.load_replace_candidate(config=text)


def test_a_replace_that_would_hang_the_switch_is_refused() -> None:
    with pytest.raises(ReplaceConfigException, match="hwsku, mac, platform"):
        SonicDriver("switch", "admin", "").load_replace_candidate(config='{"PORT": {}}')


def test_the_file_wins_over_the_text(tmp_path: Path) -> None:
    (tmp_path / "candidate.json").write_text(json.dumps(MTU))
    driver = SonicDriver("switch", "admin", "")
    driver.load_merge_candidate(filename=str(tmp_path / "candidate.json"), config="{")
    with pytest.raises(MergeConfigException, match="cannot read"):
        driver.load_merge_candidate(filename=str(tmp_path / "none.json"))


# Comparing


def test_no_candidate_and_an_equal_candidate_compare_empty(driver: SonicDriver, switch: Any) -> None:
    assert driver.compare_config() == ""
    driver.load_replace_candidate(config=json.dumps(switch.document()))
    assert driver.compare_config() == ""
    load(driver, {"PORT": {"Ethernet0": {"mtu": "9100"}}, "VLAN": {"Vlan9": None}, "bgpraw": "router bgp 65001\n"})
    assert driver.compare_config() == ""


def test_the_comparison_shows_rows_fields_and_frr_lines(driver: SonicDriver) -> None:
    load(driver, {**MTU, **QOS, "INTERFACE": {"Ethernet0|10.0.0.0/31": None, "Ethernet4": {}}, **NEIGHBOR})
    assert driver.compare_config().splitlines() == [
        "--- running",
        "+++ candidate",
        "@@ DSCP_TO_TC_MAP|AZURE @@ write",
        "+  24: 3",
        "-  26: 3",
        "@@ INTERFACE|Ethernet0|10.0.0.0/31 @@ removed, patch",
        "@@ INTERFACE|Ethernet4 @@ added, patch",
        "@@ PORT|Ethernet0 @@ patch",
        "-  mtu: 9100",
        "+  mtu: 9000",
        "@@ frr router bgp 65001 @@",
        "+  neighbor 10.0.0.1 description spine1",
    ]


def test_the_comparison_hides_secrets_and_still_shows_that_they_change(driver: SonicDriver) -> None:
    load(
        driver,
        {
            "TACPLUS": {"global": {"passkey": "n3w"}},
            "SNMP_COMMUNITY": {"public": None},
            "bgpraw": "router bgp 65001\n neighbor 10.0.0.1 password hush\n",
        },
    )
    shown = driver.compare_config()
    assert "passkey" in shown
    assert "password" in shown
    for secret in ("n3w", "s3cret", "public", "hush"):
        assert secret not in shown


# Committing


def test_a_merge_arrives_is_saved_and_leaves_all_else_alone(driver: SonicDriver, switch: Any) -> None:
    before = copy.deepcopy(switch.tables)
    load(driver, {**MTU, **QOS, **NEIGHBOR})
    driver.commit_config(message="smaller frames")
    before["PORT"]["Ethernet0"]["mtu"] = "9000"
    before["DSCP_TO_TC_MAP"]["AZURE"] = {"48": "6", "24": "3"}
    assert switch.tables == before
    assert "neighbor 10.0.0.1 description spine1" in switch.frr
    assert switch.saved
    assert not switch.locked
    assert switch.state()["status"] == "confirmed"
    assert switch.state()["message"] == "smaller frames"
    assert driver.compare_config() == ""
    assert "/etc/sonic/frr/railweave.conf" not in switch.files


def test_a_replace_removes_what_it_does_not_name(driver: SonicDriver, switch: Any) -> None:
    wanted = copy.deepcopy(switch.document())
    del wanted["DSCP_TO_TC_MAP"], wanted["PORT"]["Ethernet0"]["mtu"]
    wanted["bgpraw"] = wanted["bgpraw"].replace("65000", "65009")
    driver.load_replace_candidate(config=json.dumps(wanted))
    driver.commit_config()
    driver.load_replace_candidate(config=json.dumps(wanted))
    assert driver.compare_config() == ""
    assert "DSCP_TO_TC_MAP" not in switch.tables
    assert "65009" in switch.frr


def test_rows_that_the_switch_makes_itself_survive_a_replace(driver: SonicDriver, switch: Any) -> None:
    wanted = json.dumps(switch.document())
    switch.tables["BUFFER_PROFILE"] = {"pg_lossless_40000_5m_profile": {"size": "1"}}
    switch.tables["PORT"]["Ethernet0"]["dhcp_rate_limit"] = "300"
    driver.load_replace_candidate(config=wanted)
    assert driver.compare_config() == ""


def test_an_empty_change_touches_nothing(driver: SonicDriver, switch: Any) -> None:
    load(driver, {"PORT": {"Ethernet0": {"mtu": "9100"}}})
    driver.commit_config(revert_in=60)
    assert not driver.has_pending_commit()
    assert not [command for command in switch.commands if command.startswith(("config", "vtysh -f"))]


def test_a_commit_without_a_candidate_is_refused(driver: SonicDriver) -> None:
    with pytest.raises(CommitError, match="no candidate"):
        driver.commit_config()


@pytest.mark.parametrize("revert_in", [0, -1, True, 1.5])
def test_a_senseless_deadline_is_refused_before_anything_happens(
    driver: SonicDriver, switch: Any, revert_in: Any
) -> None:
    load(driver, MTU)
    with pytest.raises(CommitError, match="revert_in"):
        driver.commit_config(revert_in=revert_in)
    assert switch.commands == []


def test_a_candidate_whose_rows_moved_since_the_comparison_is_refused(driver: SonicDriver, switch: Any) -> None:
    load(driver, MTU)
    driver.compare_config()
    switch.tables["PORT"]["Ethernet4"]["mtu"] = "1500"
    switch.tables["PORT"]["Ethernet0"]["mtu"] = "1500"
    with pytest.raises(CommitError, match=r"PORT\|Ethernet0;"):
        driver.commit_config()
    assert switch.tables["PORT"]["Ethernet0"]["mtu"] == "1500"


def test_rows_that_others_change_meanwhile_are_no_obstacle(driver: SonicDriver, switch: Any) -> None:
    load(driver, MTU)
    driver.compare_config()
    switch.tables["PORT"]["Ethernet4"]["mtu"] = "1500"
    driver.commit_config()
    assert switch.tables["PORT"]["Ethernet4"]["mtu"] == "1500"


# Refusals and failures


def test_a_refused_step_restores_all_and_tells_the_devices_own_words(driver: SonicDriver, switch: Any) -> None:
    before, frr = copy.deepcopy(switch.tables), frr_lines(switch)
    switch.refuse["vtysh -f"] = (1, "", "line 2: % Unknown command: neighbor\n")
    load(driver, {**MTU, **QOS, **NEIGHBOR})
    with pytest.raises(CommitError, match=r"Unknown command.*earlier configuration is restored"):
        driver.commit_config()
    assert switch.tables == before
    assert frr_lines(switch) == frr
    assert not switch.saved
    assert not switch.locked
    assert switch.state()["status"] == "reverted"
    switch.refuse.clear()
    driver.commit_config()
    assert switch.tables["PORT"]["Ethernet0"]["mtu"] == "9000"


def test_a_command_that_says_0_and_does_nothing_is_found_out_by_reading_back(driver: SonicDriver, switch: Any) -> None:
    before = copy.deepcopy(switch.tables)
    switch.ignore.add("config load")
    load(driver, {**QOS})
    with pytest.raises(CommitError, match=r"read back: DSCP_TO_TC_MAP\|AZURE"):
        driver.commit_config()
    assert switch.tables == before


def test_a_refusal_whose_effect_is_there_is_a_success(driver: SonicDriver, switch: Any) -> None:
    load(driver, MTU)

    def late(command: str) -> None:
        if command.startswith("config apply-patch"):
            switch.tables["PORT"]["Ethernet0"]["mtu"] = "9000"

    switch.on_command = late
    switch.refuse["config apply-patch"] = (2, "", "Error: after applying patch to config, still some parts not updated")
    driver.commit_config()
    assert switch.state()["status"] == "confirmed"


def test_frr_lines_that_the_rollback_steps_cannot_undo_are_restored_too(driver: SonicDriver, switch: Any) -> None:
    frr = frr_lines(switch)

    def half(command: str) -> None:
        if command.startswith("vtysh -f"):
            switch.on_command = None
            switch.apply_frr("router bgp 65001\n neighbor 10.0.0.1 timers 1 3\n no network 10.1.0.1/32\n")

    switch.on_command = half
    switch.refuse["vtysh -f"] = (1, "", "% half done")
    load(driver, NEIGHBOR)

    def mend(command: str) -> None:
        half(command)
        if "show running-config" in command and switch.on_command is None:
            switch.refuse.clear()

    switch.on_command = mend
    with pytest.raises(CommitError, match=r"half done"):
        driver.commit_config()
    switch.refuse.clear()
    driver.rollback() if driver.has_pending_commit() else None
    assert frr_lines(switch) == frr


def test_frr_that_does_not_answer_is_refused_where_it_would_change(driver: SonicDriver, switch: Any) -> None:
    switch.frr = ""
    load(driver, NEIGHBOR)
    with pytest.raises(MergeConfigException, match="FRR does not answer"):
        driver.compare_config()
    with pytest.raises(CommitError, match="FRR does not answer"):
        driver.commit_config()
    load(driver, MTU)
    driver.commit_config()


@pytest.mark.parametrize("revert_in", [None, 60])
def test_a_session_cut_in_a_commit_comes_back_for_the_answer(
    driver: SonicDriver, switch: Any, revert_in: int | None
) -> None:
    switch.cut_after = "config load"
    load(driver, QOS)
    driver.commit_config(revert_in=revert_in)
    assert switch.tables["DSCP_TO_TC_MAP"]["AZURE"] == {"48": "6", "24": "3"}
    assert switch.state()["status"] == ("confirmed" if revert_in is None else "armed")


def test_a_switch_that_does_not_come_back_is_left_to_its_timer(served: Any, switch: Any) -> None:
    with served.driver(reload_timeout=0.3) as driver:
        switch.cut_after = "config load"
        load(driver, QOS)

        def gone() -> None:
            raise ConnectionException("gone")

        driver.device.open, driver.device.clock = gone, DrivenClock()
        with pytest.raises(ConnectionClosedException, match="within 60 s unless"):
            driver.commit_config(revert_in=60)
    assert switch.state()["status"] == "armed"


def test_an_unsaved_commit_says_that_it_runs(driver: SonicDriver, switch: Any) -> None:
    switch.refuse["config save"] = (2, "", "No space left on device")
    load(driver, MTU)
    with pytest.raises(CommitError, match=r"runs but could not be saved.*No space left"):
        driver.commit_config()
    assert switch.tables["PORT"]["Ethernet0"]["mtu"] == "9000"


# Commit-confirm


def test_a_timed_commit_is_armed_before_it_applies_and_saved_when_confirmed(
    driver: SonicDriver, switch: Any, served: Any
) -> None:
    load(driver, MTU)
    driver.commit_config(revert_in=60)
    assert switch.state()["status"] == "armed"
    assert not switch.saved
    with served.driver() as other:
        assert other.has_pending_commit()
        load(other, QOS)
        with pytest.raises(CommitError, match=r"confirm_commit\(\) keeps it"):
            other.commit_config()
        other.confirm_commit()
        assert not other.has_pending_commit()
    assert switch.saved
    assert not driver.has_pending_commit()
    with pytest.raises(CommitConfirmException, match="confirmed already"):
        driver.confirm_commit()


def test_confirming_without_a_commit_is_refused(driver: SonicDriver) -> None:
    assert not driver.has_pending_commit()
    with pytest.raises(CommitConfirmException, match="no commit waits"):
        driver.confirm_commit()


def test_a_switch_that_never_had_the_program_has_nothing_pending_and_gets_it_with_the_first_change(
    driver: SonicDriver, switch: Any
) -> None:
    assert not driver.has_pending_commit()
    assert PROGRAM not in switch.files
    load(driver, MTU)
    driver.commit_config()
    assert PROGRAM in switch.files


def test_another_version_of_the_program_is_replaced_unless_something_is_pending(
    driver: SonicDriver, switch: Any
) -> None:
    load(driver, MTU)
    driver.commit_config()
    right = switch.files[PROGRAM]
    switch.files[PROGRAM] = "an older one"
    load(driver, QOS)
    driver.commit_config(revert_in=60)
    assert switch.files[PROGRAM] == right
    switch.files[PROGRAM] = "an older one"
    with pytest.raises(CommitError, match=r"another version .* pending there \(armed.*`railweave recover`"):
        driver.confirm_commit()
    assert switch.files[PROGRAM] == "an older one"
    assert driver.revert_timer.recover().outcome == "armed", "by the version that is there"


def test_a_way_back_that_cannot_be_prepared_stops_the_commit(
    driver: SonicDriver, switch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = copy.deepcopy(switch.tables)
    monkeypatch.setattr(SmallHost, "start_guard", lambda host, name: None)
    load(driver, MTU)
    with pytest.raises(CommitError, match=r"guard .* does not start"):
        driver.commit_config(revert_in=60)
    assert switch.tables == before


def test_a_change_slower_than_its_deadline_is_taken_back(driver: SonicDriver, switch: Any) -> None:
    before = copy.deepcopy(switch.tables)

    def slow(command: str) -> None:
        if command.startswith("config apply-patch"):
            switch.slept_s += 61

    switch.on_command = slow
    load(driver, MTU)
    with pytest.raises(CommitError, match="passed while the change was applied; the earlier configuration is restored"):
        driver.commit_config(revert_in=60)
    assert switch.tables == before


def test_a_damaged_state_is_named_with_the_command_that_repairs_it(driver: SonicDriver, switch: Any) -> None:
    load(driver, MTU)
    driver.commit_config()
    switch.files["/var/lib/railweave/transaction.json"] = "{}"
    assert driver.revert_timer.status().state == "damaged"
    load(driver, QOS)
    with pytest.raises(CommitError, match=r"is empty: `railweave-switch recover` repairs it"):
        driver.commit_config()


# Rolling back


def test_rollback_of_a_pending_commit_reverts_now(driver: SonicDriver, switch: Any) -> None:
    before, frr = copy.deepcopy(switch.tables), frr_lines(switch)
    load(driver, {**MTU, **QOS, **NEIGHBOR})
    driver.commit_config(revert_in=60)
    driver.rollback()
    assert switch.tables == before
    assert frr_lines(switch) == frr
    assert not driver.has_pending_commit()
    assert not switch.saved


def test_rollback_undoes_the_last_commit_of_an_earlier_session_and_saves(
    driver: SonicDriver, switch: Any, served: Any
) -> None:
    before, frr = copy.deepcopy(switch.tables), frr_lines(switch)
    load(driver, {**MTU, **QOS, **NEIGHBOR})
    driver.commit_config()
    driver.close()
    switch.saved = False
    with served.driver() as later:
        later.rollback()
        assert switch.saved
        with pytest.raises(CommitError, match="no commit to roll back"):
            later.rollback()
    assert switch.tables == before
    assert frr_lines(switch) == frr


def test_rollback_after_a_commit_that_changed_nothing_undoes_nothing_of_another_session(
    driver: SonicDriver, switch: Any, served: Any
) -> None:
    with served.driver() as other:
        load(other, MTU)
        other.commit_config()
    load(driver, MTU)
    driver.commit_config()
    driver.rollback()
    assert switch.tables["PORT"]["Ethernet0"]["mtu"] == "9000"
    load(driver, QOS)
    driver.commit_config()
    driver.rollback()
    assert switch.tables["PORT"]["Ethernet0"]["mtu"] == "9000"
    assert switch.tables["DSCP_TO_TC_MAP"]["AZURE"]["26"] == "3"


def test_rollback_after_a_commit_that_changed_nothing_reverts_an_own_commit_that_waits(
    driver: SonicDriver, switch: Any
) -> None:
    before = copy.deepcopy(switch.tables)
    for _ in range(2):
        load(driver, MTU)
        driver.commit_config(revert_in=60)
    driver.rollback()
    assert switch.tables == before


def test_rollback_with_no_commit_is_refused(driver: SonicDriver) -> None:
    with pytest.raises(CommitError, match="no commit"):
        driver.rollback()


def test_the_rollback_files_of_the_last_commits_stay_and_restore_what_each_changed(
    driver: SonicDriver, switch: Any
) -> None:
    made = []
    for mtu in range(9000, 9013):
        load(driver, {"PORT": {"Ethernet0": {"mtu": str(mtu)}}})
        driver.commit_config()
        made.append(driver.revert_timer.status().commit_id)
    kept = sorted(path for path in switch.files if path.endswith(".rollback.json"))
    assert kept == sorted(f"/var/lib/railweave/{commit}.rollback.json" for commit in made[-KEPT_COMMITS:])
    assert driver.changes.rollback_document(made[-5]) == {"PORT": {"Ethernet0": {"mtu": "9007"}}}
    for gone in (made[0], "../../etc/shadow", ""):
        with pytest.raises(CommitError, match="is not on the switch"):
            driver.changes.rollback_document(gone)


def test_names_of_commits_sort_by_time_within_a_second_too(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([1_763_720_100_000_000_000, 1_763_720_100_000_009_000, 1_763_720_100_999_999_999])
    monkeypatch.setattr("napalm_sonic.program.time.time_ns", lambda: next(moments))
    numbers = iter(["ffff", "0000", "0000"])
    monkeypatch.setattr("napalm_sonic.program.secrets.token_hex", lambda _: next(numbers))
    assert [new_id() for _ in range(3)] == [
        "20251121-101500-00000ffff",
        "20251121-101500-000090000",
        "20251121-101500-f423f0000",
    ]


# Locks


def test_a_locked_switch_is_refused_with_the_holders_name(driver: SonicDriver, served: Any) -> None:
    with served.driver(config_lock=True) as holder:
        load(driver, MTU)
        with pytest.raises(LockError, match=r"locked by .*process \d+"):
            driver.commit_config()
        load(holder, MTU)
        holder.commit_config()
    load(driver, QOS)
    driver.commit_config()


def test_a_lost_session_frees_the_lock(driver: SonicDriver, switch: Any, served: Any) -> None:
    with served.driver(config_lock=True) as holder:
        switch.cut_after = "echo"
        with pytest.raises(ConnectionClosedException):
            holder.cli(["echo bye"])
    with served.driver(lock_wait=5) as patient:
        load(patient, MTU)
        patient.commit_config()


def test_lock_disable_leaves_locking_to_the_caller(served: Any, switch: Any) -> None:
    with served.driver(lock_disable=True) as driver:
        load(driver, MTU)
        driver.commit_config()
    assert "flock" not in switch.commands
    with served.driver(config_lock=True, lock_disable=True) as driver:
        load(driver, QOS)
        driver.commit_config()
    assert "flock" not in switch.commands


# Reloads


def provision(switch: Any, lines: str = "") -> dict[str, Any]:
    """Return a change that needs a reload."""
    return {"DEVICE_METADATA": {"localhost": {"hostname": "pod1-leaf1"}}, **({"bgpraw": lines} if lines else {})}


def test_the_comparison_says_what_reloads_and_what_nobody_knows_the_effect_of(driver: SonicDriver) -> None:
    load(driver, {"RESTAPI": {"config": {"log_level": "info"}}})
    assert "@@ RESTAPI|config @@ added, patch, effect unknown until reload" in driver.compare_config().splitlines()
    load(driver, {"PORT": {"Ethernet0": {"lanes": "1,2"}}})
    assert "@@ PORT|Ethernet0 @@ reload" in driver.compare_config().splitlines()


def test_a_driver_that_refuses_reloads_names_what_needs_one(served: Any, switch: Any) -> None:
    with served.driver(refuse_reload=True) as driver:
        load(driver, {"PORT": {"Ethernet0": {"lanes": "1,2", "mtu": "9000"}}})
        with pytest.raises(CommitError, match=r"PORT\|Ethernet0 cannot change without a reload .*nothing was applied"):
            driver.commit_config()
        assert not any(command.startswith("config reload") for command in switch.commands)
        load(driver, {"PORT": {"Ethernet0": {"mtu": "9000"}}})
        driver.commit_config()
    with pytest.raises(ValueError, match="'refuse_reload' is true or false"):
        served.driver(refuse_reload="yes")


def test_a_reload_comes_back_with_all_rows_and_frr_lines(driver: SonicDriver, switch: Any) -> None:
    load(driver, {**provision(switch), **MTU, **NEIGHBOR})
    driver.commit_config()
    assert switch.tables["DEVICE_METADATA"]["localhost"]["hostname"] == "pod1-leaf1"
    assert switch.tables["TACPLUS"] == {"global": {"passkey": "s3cret"}}
    assert "neighbor 10.0.0.1 description spine1" in switch.frr
    assert "neighbor 10.0.0.1 remote-as 65000" in switch.frr


CRASH = """Stopping SONiC target ...
Running command: /usr/local/bin/db_migrator.py -o migrate
Traceback (most recent call last):
  File "/usr/local/bin/db_migrator.py", line 1350, in main
    result = getattr(dbmgtr, operation)()
KeyError: 'profile'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/usr/local/bin/db_migrator.py", line 1360, in <module>
    sys.exit(1)
SystemExit: 1
Released lock on /etc/sonic/reload.lock
"""


def test_the_error_of_a_reload_is_told_although_its_rows_are_there(driver: SonicDriver, switch: Any) -> None:
    load(driver, provision(switch))
    assert driver.compare_config()

    def loads_and_fails(command: str) -> None:
        if command.startswith("config reload"):
            switch.tables = json.loads(switch.files[command.rsplit(maxsplit=1)[-1]])

    switch.on_command = loads_and_fails
    switch.refuse["config reload"] = (1, CRASH, "")
    assert driver._compared is not None
    applied = driver.changes.apply(driver._compared, revert_in=60)
    assert applied.complaint == "config reload -y: KeyError: 'profile'"


def test_a_reload_that_fails_names_its_first_error_and_keeps_the_rest_beside_it(
    driver: SonicDriver, switch: Any
) -> None:
    load(driver, provision(switch))
    switch.refuse["config reload"] = (1, CRASH, "")
    with pytest.raises(CommitError, match="config reload -y: KeyError: 'profile'; ") as caught:
        driver.commit_config()
    assert "Traceback" not in str(caught.value)
    assert "db_migrator.py" in caught.value.__notes__[0]


def test_a_reload_that_cuts_the_session_is_followed_over_a_new_one(driver: SonicDriver, switch: Any) -> None:
    switch.cut_after = "config reload"
    switch.files["/etc/sonic/frr/frr.conf"] = switch.frr
    load(driver, {**provision(switch), **NEIGHBOR})
    driver.commit_config(revert_in=60)
    assert driver.has_pending_commit()
    driver.confirm_commit()
    assert "description spine1" in switch.frr


def test_a_reload_that_sonic_refuses_leaves_the_old_configuration(driver: SonicDriver, switch: Any) -> None:
    before = copy.deepcopy(switch.tables)
    switch.refuse["config reload"] = (1, "file fails YANG validation! Error: hostname\nAborted!\n", "")
    load(driver, provision(switch))

    with pytest.raises(CommitError, match=r"fails YANG validation.*restored"):
        driver.commit_config()
    assert switch.tables == before
    assert len([one for one in switch.commands if one.startswith("config reload")]) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/etc/sonic/golden_config_db.json", "{}"),
        ("/etc/sonic/minigraph.xml", "<DeviceMiniGraph/>"),
    ],
)
def test_a_reload_that_would_lose_the_routing_mode_is_refused(
    driver: SonicDriver, switch: Any, path: str, text: str
) -> None:
    switch.files[path] = text
    load(driver, provision(switch))
    with pytest.raises(CommitError, match="routing mode"):
        driver.commit_config()
    assert not [command for command in switch.commands if command.startswith("config reload")]


def test_a_golden_file_that_states_the_mode_is_no_obstacle(driver: SonicDriver, switch: Any) -> None:
    golden = {"DEVICE_METADATA": {"localhost": {"docker_routing_config_mode": "split-unified"}}}
    switch.files["/etc/sonic/golden_config_db.json"] = json.dumps(golden)
    load(driver, provision(switch))
    driver.commit_config()


def test_rollback_of_a_reload_reloads_the_earlier_configuration(driver: SonicDriver, switch: Any) -> None:
    before, frr = copy.deepcopy(switch.tables), frr_lines(switch)
    load(driver, {**provision(switch), **NEIGHBOR})
    driver.commit_config()
    driver.rollback()
    assert switch.tables == {**before, "VERSIONS": switch.tables["VERSIONS"]}
    assert frr_lines(switch) == frr


# Reading


def test_get_config_gives_running_startup_and_candidate(driver: SonicDriver, switch: Any) -> None:
    load(driver, MTU)
    config = driver.get_config()
    assert json.loads(config["running"]) == switch.document()
    assert json.loads(config["startup"]) == {"bgpraw": None}
    assert json.loads(config["candidate"]) == MTU
    assert driver.get_config(retrieve="candidate")["running"] == ""


def test_get_config_sanitized_hides_secrets(driver: SonicDriver) -> None:
    text = driver.get_config(retrieve="running", sanitized=True)["running"]
    assert "s3cret" not in text
    assert "public" not in text


def test_the_running_text_is_the_switchs_own(driver: SonicDriver, switch: Any) -> None:
    printed = json.dumps(switch.document(), indent=3)
    switch.refuse["show runningconfiguration all"] = (0, printed, "")
    assert driver.get_config(retrieve="running")["running"] == printed
    switch.refuse["show runningconfiguration all"] = (0, "Warning: {old}\n" + printed, "")
    assert json.loads(driver.get_config(retrieve="running")["running"]) == switch.document()


@pytest.mark.parametrize("printed", ["", "[]", "{}", "Traceback (most recent call last):"])
def test_a_configuration_that_is_none_is_an_error(driver: SonicDriver, switch: Any, printed: str) -> None:
    switch.refuse["show runningconfiguration all"] = (0, printed, "")
    with pytest.raises(CommandErrorException):
        driver.get_config(retrieve="running")


def test_frr_is_asked_itself_where_the_one_command_lacks_it(driver: SonicDriver, switch: Any) -> None:
    switch.refuse["show runningconfiguration all"] = (0, json.dumps({**switch.tables, "bgpraw": None}), "")
    switch.refuse["vtysh -c 'show running-config'"] = (0, switch.frr, "")
    assert json.loads(driver.get_config(retrieve="running")["running"])["bgpraw"] == switch.frr
