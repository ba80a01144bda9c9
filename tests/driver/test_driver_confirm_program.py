"""The revert timer as it runs on a switch: the real program in a folder of its own, SONiC's commands faked on PATH."""

import ast
import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import napalm_sonic
from napalm_sonic import railweave_confirm

PROGRAM = Path(napalm_sonic.__file__).with_name("railweave_confirm.py")
FAKE = """#!/bin/sh
echo "$(basename "$0") $*" >> "$RAILWEAVE_TEST_LOG"
if [ "$1" = -f ]; then cat "$RAILWEAVE_FRR_DIRECTORY/railweave.conf" >> "$RAILWEAVE_TEST_LOG"; fi
if [ "$1" = load ]; then cat "$3" >> "$RAILWEAVE_TEST_LOG"; echo >> "$RAILWEAVE_TEST_LOG"; fi
if [ -f "$RAILWEAVE_TEST_LOG.slow" ]; then sleep 0.15; fi
if [ -f "$RAILWEAVE_TEST_LOG.refuse" ]; then cat "$RAILWEAVE_TEST_LOG.refuse" >&2; exit 2; fi
exit 0
"""
STEPS = [
    {"kind": "load", "document": {"PORT": {"Ethernet0": {"mtu": "9100"}}}},
    {"kind": "hdel", "key": "PORT|Ethernet0", "fields": ["description", "adv_speeds@"]},
    {"kind": "vtysh", "text": "no ip prefix-list X\n"},
]
METADATA = {"hwsku": "S", "mac": "m", "platform": "p", "docker_routing_config_mode": "split-unified"}


@dataclass
class Bench:
    """The program with its files."""

    folder: Path

    @property
    def state_file(self) -> Path:
        return self.folder / "state.json"

    @property
    def log(self) -> Path:
        return self.folder / "commands.log"

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "RAILWEAVE_TEST_LOG": str(self.log),
            "RAILWEAVE_FRR_DIRECTORY": str(self.folder / "frr"),
        }

    def prepare(self, deadline_s: float = 60, steps: list[dict[str, Any]] | None = None, **more: Any) -> None:
        """Write rollback file and state, as a driver does."""
        rollback = self.folder / "one.rollback.json"
        rollback.write_text(json.dumps({"version": 1, "steps": STEPS if steps is None else steps}))
        state = {"version": 1, "id": "one", "status": "prepared", "deadline_s": deadline_s, "rollback": str(rollback)}
        self.state_file.write_text(json.dumps({**state, **more}))

    def run(self, verb: str) -> tuple[int, dict[str, Any]]:
        """Run a verb; one line of JSON comes back. What starts a timer runs, as on a switch, in a process that ends."""
        if verb == "arm":
            words = [sys.executable, "-S", str(PROGRAM), verb, str(self.state_file)]
            done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
            assert done.stderr == ""
            return done.returncode, json.loads(done.stdout)
        printed = io.StringIO()
        umask = os.umask(0o022)
        try:
            with contextlib.redirect_stdout(printed):
                exit_status = railweave_confirm.main([verb, str(self.state_file)])
        finally:
            os.umask(umask)
        assert len(printed.getvalue().splitlines()) == 1
        line: dict[str, Any] = json.loads(printed.getvalue())
        return exit_status, line

    def status(self) -> str:
        return str(self.run("status")[1]["status"])

    def await_status(self, status: str) -> None:
        limit = time.monotonic() + 10
        while self.status() != status:
            assert time.monotonic() < limit, f"never {status}: {self.state_file.read_text()}"
            time.sleep(0.05)

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self.state_file.read_text())
        return state

    def ran(self) -> list[str]:
        """Return the first words of the commands that ran."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [
            " ".join(line.split()[:2])
            for line in lines
            if line.split()[:1] in (["config"], ["sonic-db-cli"], ["vtysh"])
        ]

    def kill_timer(self) -> None:
        os.kill(self.state()["pid"], signal.SIGKILL)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """The program in a fresh folder; no timer outlives the test."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "frr").mkdir()
    for name in ("config", "sonic-db-cli", "vtysh"):
        (tmp_path / "bin" / name).write_text(FAKE)
        (tmp_path / "bin" / name).chmod(0o755)
    # Whatever process 1 is here, the timer starts as on a switch without systemd.
    (tmp_path / "bin" / "systemd-run").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin" / "systemd-run").chmod(0o755)
    made = Bench(tmp_path)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    yield made
    if made.state_file.exists() and made.state().get("status") == "armed":
        made.state_file.write_text(json.dumps({**made.state(), "status": "reverted"}))


def test_without_a_commit_there_is_nothing(bench: Bench) -> None:
    assert bench.run("status") == (
        0,
        {"status": "none", "id": None, "by": None, "deadline_at": None, "remaining_s": None, "error": None},
    )
    assert bench.run("confirm")[0] == 3
    assert bench.run("revert")[0] == 3
    assert bench.run("arm")[0] == 3


def test_armed_and_confirmed_nothing_is_ever_undone(bench: Bench) -> None:
    bench.prepare(deadline_s=0.4)
    exit_status, line = bench.run("arm")
    assert (exit_status, line["status"], line["id"]) == (0, "armed", "one")
    assert 0 < line["remaining_s"] <= 0.4
    exit_status, line = bench.run("confirm")
    assert (exit_status, line["status"]) == (0, "confirmed")
    time.sleep(0.5)
    assert bench.status() == "confirmed"
    assert bench.ran() == []
    assert bench.run("confirm")[0] == 3
    assert bench.run("revert")[0] == 3


def test_the_deadline_undoes_every_step_in_order_and_once(bench: Bench) -> None:
    bench.prepare(deadline_s=0.3)
    assert bench.run("arm")[0] == 0
    bench.await_status("reverted")
    time.sleep(0.1)
    assert bench.ran() == ["config load", "sonic-db-cli CONFIG_DB", "vtysh -f"]
    text = bench.log.read_text()
    assert '{"PORT": {"Ethernet0": {"mtu": "9100"}}}' in text
    assert "sonic-db-cli CONFIG_DB HDEL PORT|Ethernet0 description adv_speeds@" in text
    assert "no ip prefix-list X" in text
    assert not (bench.folder / "frr/railweave.conf").exists()
    assert bench.run("confirm")[0] == 3


def test_revert_undoes_at_once_and_again_without_effect(bench: Bench) -> None:
    bench.prepare()
    bench.run("arm")
    assert bench.run("revert")[1]["status"] == "reverted"
    ran = bench.ran()
    assert len(ran) == 3
    assert bench.run("revert")[0] == 0
    assert bench.ran() == ran


def test_a_prepared_state_can_be_reverted_without_a_timer(bench: Bench) -> None:
    bench.prepare()
    assert bench.run("revert")[1]["status"] == "reverted"
    assert len(bench.ran()) == 3


def test_what_is_armed_cannot_be_armed_again(bench: Bench) -> None:
    bench.prepare()
    assert bench.run("arm")[0] == 0
    exit_status, line = bench.run("arm")
    assert (exit_status, line["status"]) == (3, "armed")
    assert "nothing prepared" in line["error"]


def test_a_rollback_file_that_cannot_be_read_stops_the_change_before_it_starts(bench: Bench) -> None:
    bench.prepare(steps=[{"kind": "dance"}])
    exit_status, line = bench.run("arm")
    assert exit_status == 1
    assert "dance" in line["error"]
    assert bench.status() == "prepared"


def test_a_dead_timer_is_told_and_revert_still_works(bench: Bench) -> None:
    bench.prepare(deadline_s=0.4)
    bench.run("arm")
    bench.kill_timer()
    assert bench.status() == "armed"
    time.sleep(0.4)
    assert bench.status() == "expired"
    assert bench.run("confirm")[0] == 3
    assert bench.run("revert")[1]["status"] == "reverted"
    assert len(bench.ran()) == 3


def test_after_a_reboot_the_process_id_may_be_somebody_elses(bench: Bench) -> None:
    bench.prepare(status="armed", deadline_at=time.time() - 5, pid=os.getpid())
    assert bench.status() == "expired"


def test_a_timer_killed_before_its_deadline_does_not_forbid_the_confirmation(bench: Bench) -> None:
    bench.prepare()
    bench.run("arm")
    bench.kill_timer()
    assert bench.run("confirm")[1]["status"] == "confirmed"


def test_a_failed_step_is_told_in_the_devices_words_and_may_be_tried_again(bench: Bench) -> None:
    (bench.folder / "commands.log.refuse").write_text("Error: the database is loading\n")
    bench.prepare()
    exit_status, line = bench.run("revert")
    assert (exit_status, line["status"]) == (1, "failed")
    assert "config load -y" in line["error"]
    assert "the database is loading" in line["error"]
    (bench.folder / "commands.log.refuse").unlink()
    assert bench.run("revert")[1]["status"] == "reverted"


def test_frr_that_complains_about_lines_that_never_came_does_not_stop_the_revert(bench: Bench) -> None:
    (bench.folder / "bin/vtysh").write_text("#!/bin/sh\necho 'line 1: % Cannot find prefix-list X' >&2\nexit 1\n")
    bench.prepare()
    assert bench.run("revert")[1]["status"] == "reverted"
    assert "Cannot find" in bench.state()["notes"][0]


def test_frr_that_is_down_fails_the_revert(bench: Bench) -> None:
    (bench.folder / "bin/vtysh").write_text("#!/bin/sh\necho 'bgpd is not running'\nexit 1\n")
    bench.prepare()
    assert bench.run("revert")[1]["status"] == "failed"


def test_a_command_that_is_missing_fails_the_revert(bench: Bench) -> None:
    (bench.folder / "bin/config").unlink()
    bench.prepare()
    assert "config load" in bench.run("revert")[1]["error"]


def test_confirm_and_the_deadline_never_both_win(bench: Bench) -> None:
    (bench.folder / "commands.log.slow").touch()
    bench.prepare(deadline_s=0.2)
    bench.run("arm")
    time.sleep(0.15)
    exit_status, _ = bench.run("confirm")
    bench.await_status("confirmed" if exit_status == 0 else "reverted")
    assert (bench.ran() == []) == (exit_status == 0)


def test_a_confirmation_during_the_revert_waits_and_is_refused(bench: Bench) -> None:
    (bench.folder / "commands.log.slow").touch()
    bench.prepare(deadline_s=0.1)
    bench.run("arm")
    bench.await_status("reverting")
    exit_status, line = bench.run("confirm")
    assert (exit_status, line["status"]) == (3, "reverted")


def test_a_revert_asked_for_while_the_timer_reverts_runs_nothing_twice(bench: Bench) -> None:
    (bench.folder / "commands.log.slow").touch()
    bench.prepare(deadline_s=0.1)
    bench.run("arm")
    bench.await_status("reverting")
    assert bench.run("revert")[1]["status"] == "reverted"
    assert len(bench.ran()) == 3


def test_a_revert_cut_in_the_middle_runs_again_from_the_start(bench: Bench) -> None:
    bench.prepare(status="reverting", deadline_at=time.time() - 5, pid=1)
    assert bench.run("revert")[1]["status"] == "reverted"
    assert len(bench.ran()) == 3


def test_the_timer_survives_the_end_of_the_session_that_armed_it(bench: Bench) -> None:
    bench.prepare(deadline_s=0.5)
    session = subprocess.run(
        ["setsid", "sh", "-c", f"{sys.executable} {PROGRAM} arm {bench.state_file}; kill -HUP 0"],
        env=bench.environment,
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert b"armed" in session.stdout
    bench.await_status("reverted")


def test_under_systemd_the_timer_is_a_unit_of_its_own(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    (bench.folder / "bin/systemd-run").write_text(f'#!/bin/sh\necho "$*" > {bench.folder}/unit\n')
    monkeypatch.setattr(railweave_confirm, "process_one", lambda: "systemd")
    monkeypatch.setenv("PATH", bench.environment["PATH"])
    railweave_confirm.start_detached("/var/lib/railweave/state.json", "20261121-1")
    words = (bench.folder / "unit").read_text().split()
    assert words[:3] == ["--collect", "--quiet", "--unit=railweave-confirm-20261121-1"]
    assert words[-2:] == ["_wait", "/var/lib/railweave/state.json"]


def test_a_revert_waits_for_a_change_that_is_still_being_written(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    config = bench.folder / "bin/config"
    config.write_text("#!/bin/sh\nsleep 5\n")
    writing = subprocess.Popen([str(config), "load", "-y", "/tmp/railweave-test.load"])
    try:
        limit = time.monotonic() + 5
        while not railweave_confirm.changes_running() and time.monotonic() < limit:
            time.sleep(0.01)
        assert railweave_confirm.changes_running()
        monkeypatch.setattr(railweave_confirm, "BUSY_LIMIT_S", 0.1)
        railweave_confirm.await_quiet()
    finally:
        writing.kill()
        writing.wait()
    assert not railweave_confirm.changes_running()


def test_a_reload_puts_the_earlier_configuration_and_frr_file_back(bench: Bench) -> None:
    config_db = {"DEVICE_METADATA": {"localhost": METADATA}}
    bench.prepare(steps=[{"kind": "reload", "config_db": config_db, "frr": "router bgp 1\n"}, {"kind": "save"}])
    assert bench.run("revert")[1]["status"] == "reverted"
    assert bench.ran() == ["config reload", "config save", "vtysh -c"]
    assert (bench.folder / "frr/frr.conf").read_text() == "router bgp 1\n"
    assert json.loads((bench.folder / "revert.reload.json").read_text()) == config_db


def test_a_reload_in_another_routing_mode_leaves_frrs_file_alone(bench: Bench) -> None:
    metadata = {**METADATA, "docker_routing_config_mode": "separated"}
    steps = [{"kind": "reload", "config_db": {"DEVICE_METADATA": {"localhost": metadata}}, "frr": "x"}]
    bench.prepare(steps=steps)
    assert bench.run("revert")[1]["status"] == "reverted"
    assert not (bench.folder / "frr/frr.conf").exists()


def test_a_reload_that_would_hang_the_switch_is_refused(bench: Bench) -> None:
    bench.prepare(steps=[{"kind": "reload", "config_db": {"PORT": {}}, "frr": ""}])
    exit_status, line = bench.run("revert")
    assert (exit_status, line["status"]) == (1, "failed")
    assert "lacks hwsku, mac, platform" in line["error"]
    assert bench.ran() == []


def test_files_with_secrets_are_for_root_alone(bench: Bench) -> None:
    bench.prepare()
    bench.state_file.chmod(0o600)
    bench.run("revert")
    assert (bench.folder / "revert.load.json").stat().st_mode & 0o077 == 0
    assert bench.state_file.stat().st_mode & 0o077 == 0


def test_wrong_usage_is_told(bench: Bench) -> None:
    done = subprocess.run([sys.executable, str(PROGRAM), "dance"], capture_output=True, text=True, check=False)
    assert done.returncode == 64
    assert done.stderr.startswith("usage: railweave-confirm")


def test_the_program_runs_on_the_oldest_python_of_a_switch_and_imports_the_standard_library_only() -> None:
    tree = ast.parse(PROGRAM.read_text(encoding="utf-8"), feature_version=(3, 7))
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in imported} <= sys.stdlib_module_names


def supersede(bench: Bench, **more: Any) -> None:
    """Prepare a second change in the place of the armed one, as a driver does for a commit under a drain."""
    earlier = bench.state()
    path = bench.folder / "two.rollback.json"
    path.write_text(json.dumps({"version": 1, "steps": [{"kind": "save"}]}))
    timer = {name: earlier[name] for name in ("id", "deadline_at", "rollback")}
    state = {"version": 1, "id": "two", "status": "prepared", "deadline_s": 60, "rollback": str(path)}
    bench.state_file.write_text(json.dumps({**state, "supersedes": timer, **more}))


def test_a_timer_stays_until_the_change_that_supersedes_it_is_armed(bench: Bench) -> None:
    bench.prepare(deadline_s=0.6, steps=[{"kind": "vtysh", "text": "no bgp graceful-shutdown\n"}])
    assert bench.run("arm")[0] == 0
    supersede(bench)
    bench.await_status("reverted")
    assert bench.ran() == ["vtysh -f"], "its own steps, not those of the change that never came"
    assert "no bgp graceful-shutdown" in bench.log.read_text()
    assert bench.run("arm")[0] == 3, "the change comes too late"


def test_a_timer_ends_when_the_change_that_supersedes_it_is_armed(bench: Bench) -> None:
    bench.prepare(deadline_s=0.6)
    assert bench.run("arm")[0] == 0
    first = bench.state()["pid"]
    supersede(bench)
    assert bench.run("arm")[0] == 0
    limit = time.monotonic() + 10
    while Path(f"/proc/{first}").exists() and time.monotonic() < limit:
        time.sleep(0.05)
    assert (bench.status(), bench.state()["id"], bench.ran()) == ("armed", "two", [])
    assert bench.run("revert")[1]["status"] == "reverted"
    assert bench.ran() == ["config save", "vtysh -c"]


def test_a_timer_leaves_a_change_alone_that_does_not_supersede_it(bench: Bench) -> None:
    bench.prepare(deadline_s=0.3)
    assert bench.run("arm")[0] == 0
    supersede(bench, supersedes=None)
    time.sleep(1.5)
    assert (bench.status(), bench.ran()) == ("prepared", [])
