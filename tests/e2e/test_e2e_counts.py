"""What a change, a plan and a verification cost each switch: logins, commands and uploads, counted where they begin."""

from collections import Counter
from typing import Any

import pytest

from napalm_sonic.session import Session

pytestmark = pytest.mark.e2e


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> dict[str, Counter[str]]:
    """Logins, channels and uploads of each switch, by its address."""
    found: dict[str, Counter[str]] = {}
    opened, channel = Session.open, Session.channel

    def counted(session: Session, what: str) -> None:
        found.setdefault(session.hostname, Counter())[what] += 1

    def open_counted(session: Session) -> None:
        if session._connection is None:
            counted(session, "logins")
        opened(session)

    def channel_counted(session: Session, command: str) -> Any:
        counted(session, "channels")
        if " install " in command:
            counted(session, "uploads")
        return channel(session, command)

    monkeypatch.setattr(Session, "open", open_counted)
    monkeypatch.setattr(Session, "channel", channel_counted)
    return found


def test_a_plan_without_changes_and_a_verification_cost_one_login_and_one_command(
    new_project: Any, counts: dict[str, Counter[str]]
) -> None:
    project = new_project("lab-4.yml")
    project.up()
    assert project.deploy()["result"] == "done"
    counts.clear()
    project.plan()
    assert len(counts) == 4
    assert all(one == Counter(logins=1, channels=1) for one in counts.values()), counts
    counts.clear()
    project.verify()
    assert all(one == Counter(logins=1, channels=1) for one in counts.values()), counts


def test_a_change_of_a_bgp_timer_costs_a_leaf_eleven_commands(
    new_project: Any, counts: dict[str, Counter[str]]
) -> None:
    """Plan, reading again, baseline (2), apply, reading back, gate (2), reading, confirmation, verification."""
    project = new_project("lab-4.yml")
    project.up()
    assert project.deploy()["result"] == "done"
    project.intent.write_text(project.intent.read_text() + "bgp: {keepalive: 2, hold: 8}\n")
    counts.clear()
    assert project.deploy()["result"] == "done"
    leaves = sorted(counts.values(), key=lambda one: one["channels"])[:2]
    assert all(one == Counter(channels=11, logins=1) for one in leaves), counts
