"""The program as real processes: detached from the session, guarded twice, on every Python that SONiC ships."""

import base64
import fcntl
import io
import json
import os
import shutil
import signal
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from switch_bench import Bench, bench
from switch_cases import BEFORE, transaction

from railweave_switch import packing
from railweave_switch.packing import INSTALLER, packed, packed_sha256
from railweave_switch.rows import repairs, tables_of, unmet

pytestmark = pytest.mark.slow

STATE = "var/lib/railweave/transaction.json"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the program as a folder, so that Python compiles it once for all tests."""
    folder = tmp_path_factory.mktemp("program")
    with zipfile.ZipFile(io.BytesIO(packed())) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture
def switch(tmp_path: Path, unpacked: Path) -> Iterator[Bench]:
    with bench(tmp_path, unpacked) as made:
        yield made


def change(**changes: Any) -> dict[str, Any]:
    """Return a change whose deadline passes in no test by itself, however slow the machine is."""
    return transaction(deadline_s=86_400.0, **changes)


def is_restored(switch: Bench) -> bool:
    lines = {line.strip() for line in (switch.root / "frr.txt").read_text().splitlines()}
    return tables_of(switch.rows) == BEFORE and "timers bgp 3 9" in lines and "timers bgp 1 3" not in lines


def awaited(switch: Bench, status: str) -> None:
    assert switch.guards_ended(), switch.call("status")
    assert switch.call("status")["status"]["status"] == status


def end_time(switch: Bench) -> None:
    """Let the deadline of the armed change be now, in the file that the guard reads."""
    state = switch.root / STATE
    moved = state.with_suffix(".moved")
    moved.write_text(json.dumps({**json.loads(state.read_text()), "ends_s": 0.0}, sort_keys=True))
    moved.replace(state)


def test_a_change_is_applied_confirmed_and_rolled_back_later(switch: Bench) -> None:
    before = switch.call("read")
    answer = switch.apply(change(frr_before=before["frr"]["digest"]))
    assert (answer["outcome"], answer["status"]["status"]) == ("applied", "armed")
    assert answer["config"]["digest"] == switch.call("read")["config"]["digest"] != before["config"]["digest"]
    assert "timers bgp 1 3" in answer["frr"]["text"]
    confirmed = switch.call("confirm")
    assert confirmed["outcome"] == "confirmed"
    known = switch.call("read", "--config", answer["config"]["digest"], "--frr", answer["frr"]["digest"])
    assert "tables" not in known["config"]
    assert "text" not in known["frr"]
    rolled = switch.call("revert", "--commit", "20261122-000000-aaaa", "--id", "20261122-000001-bbbb")
    assert (rolled["outcome"], rolled["error"]) == ("reverted", "")
    assert is_restored(switch)
    assert switch.guards_ended()


def test_the_deadline_restores_all_even_if_one_guard_is_killed(switch: Bench) -> None:
    assert switch.apply(change())["outcome"] == "applied"
    assert len(switch.guards()) == 2
    os.kill(switch.guards()[-1], signal.SIGKILL)
    end_time(switch)
    awaited(switch, "reverted")
    assert is_restored(switch)


def test_a_damaged_state_is_told_and_the_guard_restores_out_of_its_memory(switch: Bench) -> None:
    switch.apply(change())
    (switch.root / "var/lib/railweave/pending.json").unlink()
    (switch.root / STATE).write_text("{}")
    assert switch.call("status")["status"]["status"] in ("damaged", "reverting", "reverted")
    awaited(switch, "reverted")
    assert is_restored(switch)


def test_a_change_goes_on_when_the_session_dies(switch: Bench) -> None:
    words, data = switch.sent(change())
    with switch.held("apply-patch") as runs:
        session = switch.start(*words)
        assert session.stdin is not None
        session.stdin.write(data)
        session.stdin.close()
        assert runs()
        session.kill()
        session.wait()
    for stream in (session.stdout, session.stderr):
        if stream is not None:
            stream.close()
    told = switch.call("status", "--wait", "20261122-000000-aaaa")
    assert told["status"]["status"] == "armed"
    assert told["answer"]["outcome"] == "applied"
    assert switch.call("revert")["outcome"] == "reverted"
    assert is_restored(switch)


def test_what_others_prepare_where_anybody_can_write_neither_blocks_nor_leads_astray(switch: Bench) -> None:
    """The locks that anybody could make first: held for ever, and as a link to a file of root's."""
    (switch.root / "var/lock").mkdir(mode=0o1777)
    victim = switch.root / "etc/shadow"
    victim.write_text("root:x")
    for name in ("railweave.lock", "railweave.session"):
        (switch.root / "var/lock" / name).symlink_to(victim)
    with victim.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert switch.apply(change())["outcome"] == "applied"
        assert switch.call("confirm")["outcome"] == "confirmed"
    assert victim.read_text() == "root:x"
    folder = switch.root / "var/lib/railweave"
    assert {path.name for path in folder.iterdir()} >= {"lock", "transaction.json"}
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("prepared", ["link", "file", "open to all"])
def test_a_folder_that_somebody_else_prepared_is_not_used(switch: Bench, prepared: str) -> None:
    folder = switch.root / "var/lib/railweave"
    elsewhere = switch.root / "elsewhere"
    elsewhere.mkdir()
    if prepared == "link":
        folder.symlink_to(elsewhere)
    elif prepared == "file":
        folder.write_text("")
    else:
        folder.mkdir()
        folder.chmod(0o777)
    answer = switch.apply(change())
    assert answer["outcome"] == ("applied" if prepared == "open to all" else "failed")
    if prepared == "open to all":
        assert folder.stat().st_mode & 0o777 == 0o700, "it is root's own, so it is closed"
    else:
        assert "it is not a directory owned by root" in answer["error"]
        assert list(elsewhere.iterdir()) == []
        assert switch.rows["PORT|Ethernet4"] == {"mtu": "9100"}


def test_what_is_sent_to_be_installed_is_in_no_folder_meanwhile(switch: Bench, tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()
    sent = b"import os, sys, tempfile\nprint(sys.argv[0].rstrip('0123456789'), os.listdir(tempfile.gettempdir()))\n"
    done = subprocess.run(
        [switch.python, "-I", "-S", "-c", INSTALLER],
        input=base64.b64encode(sent),
        env={**switch.environment, "TMPDIR": str(tmp_path / "temporary")},
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode().split() == ["/proc/self/fd/", "[]"]


def test_no_process_list_and_no_readable_file_shows_a_secret(switch: Bench) -> None:
    """Keys of SNMP_COMMUNITY and passwords of neighbors go to Redis and to files for root alone, never into argv."""
    switch.rows["SNMP_COMMUNITY|s3cret"] = {"TYPE": "RO", "OLD": "1"}
    document = change()
    document["before"]["SNMP_COMMUNITY"] = {"s3cret": {"OLD": "1"}}
    document["after"]["SNMP_COMMUNITY"] = {"s3cret": {"OLD": None}}
    document["steps"] += [
        {"kind": "hdel", "key": "SNMP_COMMUNITY|s3cret", "fields": ["OLD"]},
        {"kind": "vtysh", "text": "router bgp 65001\n neighbor 10.0.0.1 password s3cret\nexit\n"},
    ]
    assert switch.apply(document)["outcome"] == "applied"
    assert switch.rows["SNMP_COMMUNITY|s3cret"] == {"TYPE": "RO"}
    assert "neighbor 10.0.0.1 password s3cret" in (switch.root / "frr.txt").read_text()
    assert "s3cret" not in (switch.root / "commands.log").read_text()
    assert set((switch.root / "modes.log").read_text().split()) == {"600"}
    for file in (switch.root / "var/lib/railweave").iterdir():
        assert file.stat().st_mode & 0o077 == 0, file


def test_a_transaction_that_was_cut_on_its_way_changes_nothing(switch: Bench) -> None:
    words, data = switch.sent(change())
    answer = switch.call(*words, stdin=data[:-20])
    assert (answer["outcome"], answer["error"].split(":")[0]) == ("refused", "the transaction arrived truncated")
    assert switch.call("status")["status"]["status"] == "none"


def test_a_state_of_a_later_version_is_named_and_left_alone(switch: Bench) -> None:
    (switch.root / "var/lib/railweave").mkdir()
    text = '{"version": 99, "id": "x", "status": "armed"}'
    (switch.root / STATE).write_text(text)
    answer = switch.apply(change())
    assert "version 99" in answer["error"]
    assert "version 99" in switch.call("status")["status"]["error"]
    assert (switch.root / STATE).read_text() == text


def test_it_is_started_out_of_the_input_of_the_command_that_sends_it(switch: Bench) -> None:
    command = [switch.python, "-I", "-S", "-c", INSTALLER, "status", "--expect", packed_sha256()]
    done = subprocess.run(
        command, input=base64.b64encode(packed()), env=switch.environment, capture_output=True, check=True
    )
    assert json.loads(done.stdout)["outcome"] == "status"


def test_a_program_of_another_version_says_so(switch: Bench) -> None:
    switch.install()
    assert switch.call("status", "--expect", packed_sha256())["outcome"] == "status"
    assert switch.call("status", "--expect", "0" * 64)["outcome"] == "other program"


@pytest.mark.parametrize("version", ["3.9", "3.11", "3.13"])
def test_it_runs_on_every_python_that_sonic_ships(switch: Bench, version: str) -> None:
    found = [*Path("~/.pyenv/versions").expanduser().glob(f"{version}*/bin/python"), shutil.which(f"python{version}")]
    if not found[0]:
        pytest.skip(f"no Python {version} here")
    switch.python = str(found[0])
    switch.install()
    applied = switch.apply(change())
    assert applied["outcome"] == "applied", applied
    assert switch.call("revert")["outcome"] == "reverted"
    assert is_restored(switch)


def test_the_same_sources_make_the_same_program() -> None:
    first = packed()
    packing._packed.cache_clear()
    assert packed() == first


def test_a_repair_never_deletes_the_row_that_orchagent_crashes_without() -> None:
    rows = {"PFC_WD|GLOBAL": {"POLL_INTERVAL": "400"}, "PFC_WD|Ethernet0": {"action": "drop"}}
    part = {"PFC_WD": {"GLOBAL": None, "Ethernet0": None}}
    assert unmet(part, rows) == ["PFC_WD|Ethernet0"]
    assert repairs(part, rows) == [("DEL", "PFC_WD|Ethernet0")]
