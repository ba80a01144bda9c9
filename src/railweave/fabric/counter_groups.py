"""SONiC's groups of counters: the commands that turn them on, how often they are polled, and what that costs a switch.

The commands and the intervals that they accept are those of ``counterpoll`` (sonic-utilities counterpoll/main.py), the
default intervals those of orchagent (sonic-swss orchagent/portsorch.cpp, switchorch.cpp), what is on those of
init_cfg.json (sonic-buildimage). syncd reads each object of a group once in its interval, so objects ÷ interval is what
a group costs.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

QUEUES = 8
"""Queues, and priority groups, of a port: one for each priority. Chips with more of them cost more."""


class CounterState(StrEnum):
    """What the intent says of a group: polled, not polled, or no row, so that a switch keeps its own."""

    ENABLE = "enable"
    DISABLE = "disable"
    KEEP = "keep"


class CounterSetting(NamedTuple):
    """The state of a group, and its interval in milliseconds if the intent states one."""

    state: CounterState = CounterState.KEEP
    poll_ms: int | None = None


KEPT = CounterSetting()
POLLED = CounterSetting(CounterState.ENABLE)


class CounterGroup(NamedTuple):
    """A group of counters with the command that turns it on and off."""

    # The group in ``telemetry.counters`` of the intent.
    key: str
    # Takes ``enable`` and ``disable``.
    command: str
    # What is polled, and how many of it a port has; 0 is one for the whole switch.
    objects: str
    per_port: int
    # Milliseconds; 0 for the watchdog, whose interval is ``pfc_watchdog.poll_ms``.
    poll_ms: int
    least_ms: int = 0
    most_ms: int = 0
    # SONiC polls it unless somebody turns it off.
    is_on_by_default: bool = True
    # The first release whose orchagent polls it; empty for all in `releases`.
    since: str = ""

    @property
    def enable(self) -> str:
        """Return the command that turns the group on."""
        return f"{self.command} enable"

    def interval_ms(self, setting: CounterSetting) -> int:
        """Return how often it is polled with a setting."""
        return setting.poll_ms or self.poll_ms

    def count(self, ports: int) -> int:
        """Return how many objects a switch with so many ports has."""
        return self.per_port * ports or 1


GROUPS: tuple[CounterGroup, ...] = (
    CounterGroup(
        key="port", command="counterpoll port", objects="ports", per_port=1, poll_ms=1_000, least_ms=100, most_ms=30_000
    ),
    CounterGroup(
        key="queue",
        command="counterpoll queue",
        objects="queues",
        per_port=QUEUES,
        poll_ms=10_000,
        least_ms=100,
        most_ms=30_000,
    ),
    CounterGroup(
        key="watermark",
        command="counterpoll watermark",
        objects="queues and priority groups",
        per_port=2 * QUEUES,
        poll_ms=60_000,
        least_ms=1_000,
        most_ms=60_000,
    ),
    CounterGroup(
        key="pg_drop",
        command="counterpoll pg-drop",
        objects="priority groups",
        per_port=QUEUES,
        poll_ms=10_000,
        least_ms=1_000,
        most_ms=30_000,
    ),
    CounterGroup(
        key="port_buffer_drop",
        command="counterpoll port-buffer-drop",
        objects="ports",
        per_port=1,
        poll_ms=60_000,
        least_ms=30_000,
        most_ms=300_000,
    ),
    CounterGroup(
        key="phy",
        command="counterpoll phy",
        objects="ports",
        per_port=1,
        poll_ms=10_000,
        least_ms=100,
        most_ms=30_000,
        since="202505",
    ),
    # counterpoll does not have it (sonic-utilities pfcwd/main.py).
    CounterGroup("pfcwd", "pfcwd counter_poll", "queues that the PFC watchdog watches", 0, 0),
    # Their YANG model is older than their code: up to 202411 orchagent ignores the rows of both.
    CounterGroup(
        key="wred_queue",
        command="counterpoll wredqueue",
        objects="queues",
        per_port=QUEUES,
        poll_ms=10_000,
        least_ms=100,
        most_ms=30_000,
        is_on_by_default=False,
        since="202505",
    ),
    CounterGroup(
        key="wred_port",
        command="counterpoll wredport",
        objects="ports",
        per_port=1,
        poll_ms=1_000,
        least_ms=100,
        most_ms=30_000,
        is_on_by_default=False,
        since="202505",
    ),
    CounterGroup(
        key="switch",
        command="counterpoll switch",
        objects="switch",
        per_port=0,
        poll_ms=60_000,
        least_ms=1_000,
        most_ms=60_000,
        is_on_by_default=False,
        since="202511",
    ),
)
"""In the order of the intent's reference."""

GROUP_OF: Mapping[str, CounterGroup] = {group.key: group for group in GROUPS}

SWITCH = GROUP_OF["switch"]
"""Counts the trimmed packets of a whole switch, so only a switch that trims gets its row."""
WATCHDOG = GROUP_OF["pfcwd"]


class CounterPolicy(NamedTuple):
    """``telemetry.counters`` of an intent, with its defaults: what SONiC polls anyway stays as it is, what our alerts
    lack is turned on."""

    port: CounterSetting = KEPT
    queue: CounterSetting = KEPT
    watermark: CounterSetting = KEPT
    pg_drop: CounterSetting = KEPT
    port_buffer_drop: CounterSetting = KEPT
    phy: CounterSetting = KEPT
    pfcwd: CounterSetting = KEPT
    wred_queue: CounterSetting = POLLED
    wred_port: CounterSetting = POLLED
    switch: CounterSetting = POLLED

    def of(self, group: CounterGroup) -> CounterSetting:
        """Return the setting of a group."""
        setting: CounterSetting = getattr(self, group.key)
        return setting

    def polls(self, group: CounterGroup, release: str) -> bool:
        """Tell whether switches of a release poll a group."""
        if release < group.since:
            return False
        state = self.of(group).state
        if state is CounterState.KEEP:
            return group.is_on_by_default
        return state is CounterState.ENABLE


MOST_TIMES_DEFAULT = 3
"""The most that polling may cost before `check` warns, as a multiple of what SONiC's own intervals cost the switch.

SONiC's maintainers took the queues from every second to every 10 s for the CPU of syncd (sonic-swss pull request 483),
later the watermarks from 10 s to 60 s (2031, sonic-buildimage issue 9202). Queues every second alone are 3.4 times the
default; with the groups that our alerts lack it is 1.6 times.
"""


def reads_per_s(counters: CounterPolicy, ports: int, release: str) -> float:
    """Return how many objects a second syncd reads on a switch with so many ports."""
    total = 0.0
    for group in GROUPS:
        # What the watchdog polls is stated by `pfc_watchdog`, and costs the same whatever this group says.
        if counters.polls(group, release) and group.poll_ms:
            total += group.count(ports) * 1000 / group.interval_ms(counters.of(group))
    return total


ALL_KEPT = CounterPolicy(wred_queue=KEPT, wred_port=KEPT, switch=KEPT)
"""SONiC's own groups and intervals."""
