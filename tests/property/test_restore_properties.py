"""Restoring after any failure: a switch ends exactly in its snapshot, or what is missing of it is named.

The switch fails after any step of a change, of its own rollback and of what is changed back, and sessions are lost.
Judged by a model of Redis (``config_db_model``) and FRR's lines, never by what the driver says.
"""

from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from config_db_model import Redis, configurations, merges, settled, watchdogs_without_port
from hypothesis import given
from hypothesis import strategies as st
from napalm.base.exceptions import CommitError, ConnectionClosedException

from nornir_railweave.checked_driver import CheckedDriver
from nornir_railweave.device.device import ReachedDevice
from nornir_railweave.device.restore import STILL_WAITS, restore
from nornir_railweave.device.session import DeviceSession
from nornir_railweave.events import silent
from railweave.sonic.delta.change import Delta
from railweave.sonic.delta.merge import delta_of
from railweave.sonic.delta.snapshot import snapshot_before
from railweave.sonic.delta.steps import ClearStep, ReloadStep, Step, VtyshStep, steps_of, undo_steps_of
from railweave.sonic.document import BGPRAW, RunningConfig, json_tables, running_from
from railweave.sonic.frr import apply_delta, frr_delta, parse_frr, render_frr
from railweave.sonic.rows import DeviceConfig, Row
from railweave.switch_driver import AppliedChange, Capability, CommitStatus, ConfigReading, SwitchDriver

FRRS = (
    "",
    "router bgp 65001\n neighbor 10.0.0.1 remote-as 65100\n",
    "router bgp 65001\n neighbor 10.0.0.1 remote-as 65100\n neighbor 10.0.0.1 timers 3 9\n",
    "ip prefix-list A seq 5 permit 10.0.0.0/8\nrouter bgp 65001\n neighbor 10.0.0.3 remote-as 65100\n",
)
VRF = "vrf storage\n ip route 0.0.0.0/0 192.0.2.9\nexit-vrf\n"
OUR_ROWS = tuple(Row("PORT", port, {}, "ours") for port in ("Ethernet0", "Ethernet4"))
THEIRS = {"SNMP_COMMUNITY": {"seen": {"TYPE": "RO"}}}
FAULTS = (CommitError("refused"), ConnectionClosedException("gone"))


@dataclass
class Switch(SwitchDriver):
    """A switch whose program works on the model; ``budgets`` tells after how many steps each call fails (-1: never)."""

    redis: Redis
    frr: str
    budgets: list[tuple[int, Exception]] = field(default_factory=list)
    commit_id: str = "earlier"
    pending: bool = False
    undo: tuple[Step, ...] | None = None
    failed: bool = False

    @property
    def running(self) -> RunningConfig:
        return running_from({**self.redis.tables(halfway=True), BGPRAW: self.frr})

    # What the driver offers

    capabilities = frozenset({Capability.READ, Capability.APPLY_WITH_TIMER})

    def status(self) -> CommitStatus:
        return CommitStatus(pending=self.pending, commit_id=self.commit_id)

    def read(self, request: object = None) -> ConfigReading:
        return ConfigReading(self.running, self.status())

    def apply(
        self,
        delta: Delta,
        *,
        message: str,
        revert_in: int | None,
        commit_id: str,
        request: object = None,
        generation: object = None,
        restores: bool = False,
    ) -> AppliedChange:
        del request, generation, restores
        # The restored configuration is a commit of a name that was just made.
        commit_id = "restored" if message == "undone" else commit_id
        if self.pending:
            raise CommitError("a commit is pending")
        before = self.running
        self.commit_id, self.pending, self.undo = commit_id, True, undo_steps_of(delta, before)
        self._run(steps_of(delta, before))
        self.pending = revert_in is not None
        return AppliedChange(commit_id)

    def revert(self, commit_id: str, *, pending: bool) -> None:
        assert (commit_id, pending) == (self.commit_id, self.pending), "it names what was asked for a moment ago"
        if self.undo is None:
            raise CommitError("nothing to roll back")
        self.pending = True
        self._run(self.undo)
        self.pending, self.undo, self.commit_id = False, None, ""

    def _run(self, steps: tuple[Step, ...]) -> None:
        budget, fault = self.budgets.pop(0) if self.budgets else (-1, FAULTS[0])
        self.failed = budget >= 0
        for number, step in enumerate(steps):
            if number == budget:
                raise fault
            if isinstance(step, VtyshStep):
                after = render_frr(apply_delta(step.text, parse_frr(self.frr)))
                # FRR keeps no line that says that something is not there.
                self.frr = "".join(line for line in after.splitlines(keepends=True) if line.split()[:1] != ["no"])
            elif not isinstance(step, ClearStep):
                self.redis.run((step,))
                self.frr = step.frr if isinstance(step, ReloadStep) else self.frr
        if budget >= len(steps):
            raise fault  # all is done, and the answer is lost


@dataclass
class Connected:
    """A session that is always found again."""

    switch: Switch

    @property
    def driver(self) -> CheckedDriver:
        return CheckedDriver(self.switch, "Switch")

    def reconnect(self, within_s: float, clock: object) -> CheckedDriver:
        del within_s, clock
        return self.driver


def differing(now: RunningConfig, before: RunningConfig) -> set[str]:
    """Return the rows, and FRR where a line of it is ours, that are not as they were."""
    here, there = (settled(one.config_db) for one in (now, before))
    rows = {
        f"{table}|{key}"
        for table in here.keys() | there.keys()
        for key in here.get(table, {}).keys() | there.get(table, {}).keys()
        if here.get(table, {}).get(key) != there.get(table, {}).get(key)
    }
    assert now.frr is not None
    assert before.frr is not None
    return rows | ({"FRR"} if frr_delta(parse_frr(now.frr), parse_frr(before.frr)) else set())


def orphans_of(before: RunningConfig) -> set[str]:
    """Return what no reload brings back: watchdogs of ports that were not there."""
    return {f"PFC_WD|{key}" for key in watchdogs_without_port(before.config_db)}


budgets = st.lists(st.tuples(st.integers(-1, 6), st.sampled_from(FAULTS)), min_size=3, max_size=3)


@given(
    configurations(),
    merges(),
    st.sampled_from(FRRS),
    st.sampled_from(FRRS),
    st.sampled_from(FRRS),
    budgets,
    st.booleans(),
    st.booleans(),
)
def test_a_switch_ends_in_its_snapshot_or_what_is_missing_is_named(
    start: RunningConfig,
    merge: dict[str, Any],
    frr: str,
    other_frr: str,
    intended: str,
    faults: list[tuple[int, Exception]],
    confirmed: bool,
    others_commit: bool,
) -> None:
    switch = Switch(Redis(json_tables(start.config_db)), render_frr(parse_frr(frr + VRF)), faults)
    before = switch.running
    delta = delta_of({**merge, BGPRAW: frr_delta(parse_frr(frr), parse_frr(other_frr))}, before)
    snapshot = snapshot_before(delta, before, DeviceConfig("leaf1", OUR_ROWS, intended))
    try:
        switch.apply(delta, message="", revert_in=60, commit_id="ours")
        switch.pending = not confirmed
    except FAULTS_TYPES:
        pass
    if others_commit and not switch.pending:
        switch.commit_id = "theirs"
    switch.redis.load(THEIRS)
    wiped = delta.reloads  # a reload restores CONFIG_DB as a whole, with what others have written meanwhile

    def made(last: CommitStatus) -> bool:
        return last.commit_id in ("ours", "restored")

    device = ReachedDevice(cast("DeviceSession", Connected(switch)), "leaf1", silent, 0)
    missing = restore(device, snapshot, made, "undone")

    now = switch.running
    left = differing(now, before) - {"SNMP_COMMUNITY|seen"}
    assert wiped or now.config_db["SNMP_COMMUNITY"] == THEIRS["SNMP_COMMUNITY"]
    assert "ip route 0.0.0.0/0 192.0.2.9" in (now.frr or "")
    if not switch.pending and not switch.failed:
        assert set(missing) <= orphans_of(before), "nothing stood in the way"
    if not missing:
        assert left == set()
        assert not (switch.pending and made(CommitStatus(pending=True, commit_id=switch.commit_id)))
    elif missing != (STILL_WAITS,):
        named = {"FRR" if one.startswith("FRR ") else one for one in missing}
        assert left <= named <= left | orphans_of(before)


FAULTS_TYPES = (CommitError, ConnectionClosedException)


@given(
    configurations(), merges(), st.sampled_from(FRRS), st.sampled_from(FRRS), st.sampled_from(FRRS), st.integers(0, 8)
)
def test_what_is_missing_after_any_prefix_of_the_steps_brings_the_snapshot_back(
    start: RunningConfig, merge: dict[str, Any], frr: str, other_frr: str, intended: str, done: int
) -> None:
    switch = Switch(Redis(json_tables(start.config_db)), render_frr(parse_frr(frr + VRF)), [(done, FAULTS[0])])
    before = switch.running
    delta = delta_of({**merge, BGPRAW: frr_delta(parse_frr(frr), parse_frr(other_frr))}, before)
    snapshot = snapshot_before(delta, before, DeviceConfig("leaf1", OUR_ROWS, intended))
    with pytest.raises(CommitError):
        switch.apply(delta, message="", revert_in=60, commit_id="ours")
    switch.redis.load(THEIRS)
    switch.pending, now = False, switch.running
    back = snapshot.difference(now, "restore").delta
    assert bool(back) == bool(snapshot.missing(now))
    switch.apply(back, message="", revert_in=None, commit_id="back")
    assert differing(switch.running, before) == {"SNMP_COMMUNITY|seen"}
    assert set(snapshot.missing(switch.running)) <= orphans_of(before)
