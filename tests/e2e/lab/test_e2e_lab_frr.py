"""Switches that print their running configuration as SONiC's patched FRR 10.3 does, with foreign lines beside ours.

The daemons are Debian's; the node's vtysh adds what the patches add (SONIC_FRR, topologies/lab_node/etc/vtysh).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from railweave.sonic.trials import trials_of

pytestmark = pytest.mark.e2e

FOREIGN = (
    "zebra nexthop-group keep 1",
    "ip route 192.0.2.0/24 blackhole",
    "ip prefix-list OPERATOR seq 5 permit 192.0.2.0/24",
    "vrf mgmt",
    " ip route 203.0.113.0/24 192.0.2.254 eth0",
    "exit-vrf",
)
SWITCHES = ("frr-leaf1", "frr-leaf2", "frr-spine1", "frr-spine2")
TRACKING = ("ip nht resolve-via-default", "ipv6 nht resolve-via-default")


def shown(rig: Any, switch: str) -> list[str]:
    """Return what a switch prints."""
    return str(rig.on(switch, "vtysh -c 'show running-config'")).splitlines()


def holds_foreign_lines(rig: Any) -> None:
    for switch in SWITCHES:
        lines = shown(rig, switch)
        assert set(FOREIGN) <= set(lines), switch
        start, end = lines.index("vrf mgmt"), lines.index("exit-vrf")
        assert lines[start + 1 : end] == [FOREIGN[4], *(f" {line}" for line in TRACKING)]
        assert [lines.count(line) for line in TRACKING] == [1, 1]
        assert "frr version 10.3" in lines


LATE_S = 4


def started_at(rig: Any, switch: str, daemon: str) -> int:
    """Return when a daemon of FRR began to run, in seconds since 1970."""
    return int(rig.on(switch, f"stat -c %Y /run/frr/{daemon}.pid"))


def test_a_first_deployment_leaves_an_empty_plan_and_foreign_lines(printing: Any, proves: Any) -> None:
    assert "printing as SONiC's 10.3 (simulated)" in printing.on(SWITCHES[0], "show version")
    words = " ".join(f"-c '{line.strip()}'" for line in FOREIGN)
    for switch in SWITCHES:
        printing.on(switch, f"vtysh -c 'configure terminal' {words}")
    # The reload of its first deployment loads the startup file while bgpd does not run yet.
    printing.on(SWITCHES[0], f"echo {LATE_S} >/run/frr/bgpd.late")
    assert printing.deploy()["result"] == "done"
    lateness_s = started_at(printing, SWITCHES[0], "bgpd") - started_at(printing, SWITCHES[0], "zebra")
    assert lateness_s >= LATE_S - 1
    assert printing.plan()["changes"] == []
    assert printing.deploy()["result"] == "unchanged"
    assert printing.json("drift", "--target", "lab")["drift"] is False
    holds_foreign_lines(printing)
    proves(
        "4 switches that print as FRR 10.3 of SONiC provisioned beside a management VRF, on one bgpd "
        f"{lateness_s} s after zebra; the plan afterwards is empty"
    )


SPARE = "frr-spine3"
KEYS = "/etc/ssh/authorized_keys"
TRIED = ("description", "MTU lowered", "ECN threshold", "prefix list")
"""A trial of each method and kind of evidence; a node has no ASIC."""
SELFTEST = ("selftest", SPARE, "--target", "lab", "--spare")


def last_commit(rig: Any) -> tuple[str, str]:
    """Return the last commit of the spare switch and its stage; both empty before the first."""
    said = rig.on(SPARE, "railweave-switch status 2>/dev/null || echo", status=None).strip()
    status = json.loads(said)["status"] if said else {"id": "", "status": ""}
    return status["id"], status["status"]


def tries(rig: Any, kept: Path) -> bool:
    """Tell whether a trial waits on the spare switch, which has the classes of the commit that is ``kept``."""
    commit, stage = last_commit(rig)
    return stage == "armed" and kept.exists() and json.loads(kept.read_text())["commit"] != commit


@pytest.fixture
def with_spare(printing: Any) -> Iterator[Any]:
    """Return the lab with a spine in its intent that is bare and unused, and with short timers."""
    files = (printing.intent, printing.folder / "inventory" / "lab.yml")
    texts = [file.read_text() for file in files]
    printing.edit(("spine: {model: sonic-vs, count: 2}", "spine: {model: sonic-vs, count: 3}"))
    printing.set_rollout(verify_timeout=1, drain_timeout=1, revert_in=31)
    yield printing
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)


@pytest.mark.nightly
def test_a_selftest_leaves_a_spare_switch_as_it_was_also_where_its_runner_is_killed(
    with_spare: Any, monkeypatch: pytest.MonkeyPatch, proves: Any
) -> None:
    rig = with_spare
    before = rig.running(SPARE)
    process = rig.start(*SELFTEST, "--yes")
    kept = rig.folder / ".railweave" / "selftest" / f"frr-lab-{SPARE}.json"
    rig.wait_until(lambda: process.poll() is not None or tries(rig, kept), 120, "no trial began")
    process.kill()
    said = process.communicate()[0]
    assert process.returncode < 0, said
    reverted_s = rig.wait_until(lambda: last_commit(rig)[1] == "reverted", 90, lambda: f"still {last_commit(rig)}")

    rig.on(SPARE, f"sed -i.kept 's|^|restrict,command=\"/usr/local/bin/railweave-switch reader\" |' {KEYS}")
    try:
        looked = rig.json(*SELFTEST, "--read-only")
    finally:
        rig.on(SPARE, f"mv {KEYS}.kept {KEYS}")
    assert (looked["trials"], looked["counters"]["ports"]["count"]) == ([], 32)

    monkeypatch.setattr(
        "nornir_railweave.tasks.selftest.trials_of",
        lambda *words, **options: tuple(trial for trial in trials_of(*words, **options) if trial.name in TRIED),
    )
    done = rig.json(*SELFTEST, "--yes")
    found = {trial["name"]: trial for trial in done["trials"] if trial["verdict"] != "not-tried"}
    confirmed = {name for name, trial in found.items() if trial["verdict"] == "confirmed"}
    assert confirmed == {"description", "MTU lowered", "prefix list", "revert timer", "lost session"}
    unknown = {reason for name in found.keys() - confirmed for reason in found[name]["reasons"]}
    assert unknown == {"the switch does not show whether its daemons took the change"}
    assert done["is_back"] is True
    assert rig.running(SPARE) == before
    assert not kept.exists()
    proves(
        f"a runner killed in a self-test: reverted by the switch within {reverted_s:.0f} s; the next one confirms "
        f"{len(confirmed)} claims, cannot tell {len(found) - len(confirmed)} without an ASIC, and leaves no difference"
    )


def test_a_spine_more_leaves_an_empty_plan_and_foreign_lines(printing: Any, proves: Any) -> None:
    printing.edit(("spine: {model: sonic-vs, count: 2}", "spine: {model: sonic-vs, count: 3}"))
    assert printing.deploy()["result"] == "done"
    printing.as_intended()
    holds_foreign_lines(printing)
    proves("a third spine deployed; the plan is empty, no foreign line touched")


def test_a_change_of_routing_is_rolled_back_beside_foreign_lines(printing: Any, proves: Any) -> None:
    before = {switch: shown(printing, switch) for switch in SWITCHES}
    text = printing.intent.read_text()
    printing.intent.write_text(f"{text}bgp: {{keepalive: 2, hold: 6}}\n")
    try:
        assert printing.deploy()["result"] == "done"
        assert " neighbor SPINES timers 2 6" in shown(printing, SWITCHES[0])
        assert printing.plan()["changes"] == []
        ended = printing.json("rollback", "--target", "lab", "--yes")
    finally:
        printing.intent.write_text(text)
    assert ended["result"] == "done"
    assert {switch: shown(printing, switch) for switch in SWITCHES} == before
    printing.as_intended()
    proves("BGP timers deployed and rolled back: every switch prints what it printed before")
