"""What a plan, a verification and a change cost each switch of pod-32, counted on the simulator's side."""

import contextlib
import io
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from counted_fabric import Counted, deployed_fabric, typed

import napalm_sonic.driver
import nornir_railweave.rollout.deploying
from nornir_railweave.events import Event, Step
from nornir_railweave.rollout.progress import FabricProgress
from railweave.api.deployment.rollout import deploy
from railweave.api.operator import Operator
from railweave.api.plans import plan
from railweave.api.project import Project
from railweave.api.verification import verify
from railweave.report.plan import plan_markdown
from railweave.report.plan_parts import device_remarks
from railweave.report.verification import verify_json
from railweave.sonic.delta.merge import parse_merge
from railweave.sonic.frr import parse_frr
from sonic_sim.bgp.sessions import bgp_of

pytestmark = pytest.mark.slow

INTENT = Path("intent/pod-32.yml")
LEAVES = [f"pod1-leaf{number}" for number in range(1, 5)]
SPINES = [f"pod1-spine{number}" for number in range(1, 5)]
SWITCHES = [*LEAVES, *SPINES]
AS_OPERATOR = "vtysh -c 'configure terminal' -c 'router bgp 4200001000'"
DRAIN = "bgp graceful-shutdown"
COUNTED_MODULES = {"railweave", "napalm_sonic", "nornir_railweave"}


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Counted]]:
    folder = tmp_path_factory.mktemp("pod")
    with deployed_fabric(folder, INTENT.name) as counted:
        yield folder, counted


@pytest.fixture(scope="module")
def asked_first(deployed: tuple[Path, Counted]) -> dict[str, Counter[str]]:
    """What the first plan asked of each switch."""
    folder, counted = deployed
    counted.clear()
    with contextlib.chdir(folder):
        assert not plan(Project(INTENT), "sim").deltas
    return dict(counted.asked)


@pytest.fixture
def pod(deployed: tuple[Path, Counted], asked_first: object, monkeypatch: pytest.MonkeyPatch) -> Counted:
    """The counts of pod-32, which runs what is intended and has the switch program since the first plan."""
    folder, counted = deployed
    monkeypatch.chdir(folder)
    counted.clear()
    return counted


def calls_of(monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any]) -> list[None]:
    """Return the list that grows with every call of a function, under whichever name a module knows it."""
    calls: list[None] = []

    def counted(*arguments: Any, **options: Any) -> Any:
        calls.append(None)
        return function(*arguments, **options)

    for path, module in list(sys.modules.items()):
        if path.split(".")[0] in COUNTED_MODULES:
            for name in [name for name, value in vars(module).items() if value is function]:
                monkeypatch.setattr(module, name, counted)
    assert napalm_sonic.driver
    assert nornir_railweave.rollout.deploying
    return calls


def test_the_first_plan_uploads_the_switch_program_in_one_more_command(asked_first: dict[str, Counter[str]]) -> None:
    assert asked_first == {name: Counter(logins=1, channels=2, uploads=1) for name in SWITCHES}


def test_an_unchanged_plan_costs_one_login_and_one_command(pod: Counted) -> None:
    assert not plan(Project(INTENT), "sim").deltas
    assert pod.asked == {name: Counter(logins=1, channels=1) for name in SWITCHES}


def test_an_unchanged_verification_costs_one_login_and_three_commands(pod: Counted) -> None:
    # One reads the state, two read the counters before and after it.
    assert verify(Project(INTENT), "sim").ok
    assert pod.asked == {name: Counter(logins=1, channels=3) for name in SWITCHES}
    pod.clear()
    assert verify(Project(INTENT), "sim", counters=False).ok
    assert pod.asked == {name: Counter(logins=1, channels=1) for name in SWITCHES}


def test_a_plan_and_a_verification_warn_of_switches_of_another_release(pod: Counted) -> None:
    text = INTENT.read_text(encoding="utf-8")
    INTENT.write_text(f"{text}sonic: {{release: 202411}}\n", encoding="utf-8")
    try:
        made, seen = plan(Project(INTENT), "sim"), verify(Project(INTENT), "sim")
    finally:
        INTENT.write_text(text, encoding="utf-8")
    warning = (
        "pod1-leaf1…4, pod1-spine1…4: SONiC 202505 runs, and sonic.release of the intent is 202411: state the release"
        " that runs, or upgrade the switch"
    )
    assert [one.text for one in device_remarks(made)] == [f"warning: {warning}"]
    assert f"warning: {warning}" in plan_markdown(made)
    assert seen.ok
    assert verify_json(seen)["warnings"] == (warning,)
    assert verify(Project(INTENT), "sim").warnings == ()


def set_timers(keepalive: int, hold: int) -> None:
    lines = [line for line in INTENT.read_text(encoding="utf-8").splitlines() if not line.startswith("bgp:")]
    lines.append(f"bgp: {{keepalive: {keepalive}, hold: {hold}}}")
    INTENT.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def test_a_change_of_a_bgp_timer_costs_one_login_and_few_commands_and_parses(
    pod: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plan, reading and baseline, change and gate, confirmation, verification; a spine is held, drained and undrained.
    Before each of the four waves of a spine the first leaf is held, on which all runners exclude each other, and
    another leaf is asked whether all other spines carry its traffic."""
    set_timers(2, 8)
    parses, merges = calls_of(monkeypatch, parse_frr), calls_of(monkeypatch, parse_merge)
    result = deploy(Project(INTENT), "sim")
    assert result is not None
    assert result.ok
    holds = {LEAVES[0]: 4 + 1}
    assert {name: pod.asked[name] for name in LEAVES} == {
        name: Counter(logins=1, channels=5 + 1 + holds.get(name, 0)) for name in LEAVES
    }
    assert {name: pod.asked[name] for name in SPINES} == {name: Counter(logins=1, channels=7 + 1) for name in SPINES}
    assert len(merges) <= 2 * len(SWITCHES)
    # One more, not of a switch: the check of an intent reads one file of FRR.
    assert len(parses) <= 3 * len(SWITCHES) + 1


class Meanwhile(Operator):
    """Lets somebody work on the fabric as soon as the first switch of a rollout is confirmed."""

    def __init__(self, work: Callable[[str], None]) -> None:
        self.work: Callable[[str], None] | None = work

    def progress(self) -> FabricProgress:
        operator = self

        class Progress(FabricProgress):
            def __call__(self, event: Event) -> None:
                work = operator.work
                if event.step is Step.CONFIRMED and work is not None:
                    operator.work = None
                    work(event.device)

        return Progress(io.StringIO())


def test_who_leads_traffic_away_between_two_waves_stops_the_rollout(pod: Counted) -> None:
    """One leaf misses a way, so all switches are asked, and the one that carries no traffic is named."""
    gone: list[str] = []

    def lead_away(confirmed: str) -> None:
        gone.append(next(name for name in reversed(SPINES) if name != confirmed))
        typed(pod.devices[gone[0]], "TSA")
        pod.clear()

    set_timers(2, 10)
    holds = 4  # a spine and the first leaf, and given up again
    result = deploy(Project(INTENT, Meanwhile(lead_away)), "sim")
    typed(pod.devices[gone[0]], "TSB")
    assert result is not None
    assert f"({gone[0]} without traffic)" in result.stopped_by
    assert sum(counts["channels"] for counts in pod.asked.values()) <= 1 + len(SWITCHES) + holds


def test_a_leaf_misses_a_spine_that_is_drained_by_any_means(pod: Counted) -> None:
    leaf, spine = pod.devices["pod1-leaf1"], pod.devices["pod1-spine2"]
    far = bgp_of(pod.devices["pod1-leaf2"])
    assert far is not None
    line = f"railweave-switch observe --towards {far.router_id}/32"

    def used() -> set[str]:
        return set(json.loads(typed(leaf, line))["towards"])

    uplinks = used()
    assert len(uplinks) >= len(SPINES)
    for away, back in (("TSA", "TSB"), (f"{AS_OPERATOR} -c '{DRAIN}'", f"{AS_OPERATOR} -c 'no {DRAIN}'")):
        typed(spine, away)
        assert len(used()) < len(uplinks)
        typed(spine, back)
        assert used() == uplinks
