"""Whoever takes capacity sees everybody else on the switches, with no store that they share, at every moment.

One runner sleeps at a step, also in the midst of the switch's program, while another one does all that it wants; then
it goes on. Leaves never lose their last path, not for an instant. ``.ci/nightly`` tries every step.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import capacity_race
import pytest
from capacity_race import Race, sessions_of

from nornir_railweave.tasks.holding import Holding
from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.fabric.model import Fabric
from railweave.intent.load import load_intent_text
from railweave.plan.expectation import session_peer
from railweave.plan.manual_drain import WHOLE
from railweave.sonic.render.configure import Configurator
from railweave.sonic.rows import DeviceConfig
from railweave.templates import find_templates
from railweave_switch import transaction

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
EVERY = bool(os.environ.get("RAILWEAVE_EVERY_RACE"))
LONG_S = 200.0
"""How long the sleeper sleeps where it does: longer than any hold or timer."""
Act = Callable[[Race, str], bool]


def drain(device: str, *links: str) -> Act:
    return lambda race, runner: race.drain(runner, device, links).ok


def roll_out(*devices: str) -> Act:
    return lambda race, runner: not race.roll_out(runner, dict.fromkeys(devices, WHOLE)).stopped_by


def roll_out_link(leaf: str, spine: str) -> Act:
    """Roll out a change of one uplink of a leaf, which alone is drained for it."""

    def act(race: Race, runner: str) -> bool:
        fabric = race.fabric
        link = next(one for one in fabric.uplinks_of[leaf] if one.upper == spine)
        port = fabric.switch_of[leaf].panel.ports[link.port_of(leaf)].name
        return not race.roll_out(runner, {leaf: (session_peer(fabric, link, spine, port),)}).stopped_by

    return act


ACTS: Mapping[str, tuple[Act, Act]] = {
    "drain": (drain("lab-spine1"), drain("lab-spine2")),
    "drain-link": (drain("lab-leaf1", "lab-spine1"), drain("lab-leaf1", "lab-spine2")),
    "rollout": (roll_out("lab-spine1"), roll_out("lab-spine2", "lab-spine1")),
}
"""What is done to the paths over one spine, and to those over the other one."""
PAIRS = [(one, other) for one in ACTS for other in ACTS]


def rendered(name: str) -> tuple[Fabric, Mapping[str, DeviceConfig]]:
    text = (ROOT / "intent" / name).read_text(encoding="utf-8")
    fabric = design(load_intent_text(text, f"intent/{name}"), load_catalog()).fabric
    assert fabric is not None
    configurator = Configurator(fabric, find_templates())
    return fabric, {switch.name: configurator.device(switch) for switch in fabric.switches}


@pytest.fixture(scope="module")
def lab() -> tuple[Fabric, Mapping[str, DeviceConfig]]:
    return rendered("lab-4.yml")


@pytest.fixture(scope="module")
def pod() -> tuple[Fabric, Mapping[str, DeviceConfig]]:
    """Return a fabric of so many spines that a rollout asks one leaf for the state of all."""
    return rendered("pod-32.yml")


@pytest.fixture
def race_of(lab: tuple[Fabric, Mapping[str, DeviceConfig]], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that lets one act sleep at a step while another one is done; it returns the race and which of
    the two did what they wanted."""

    def race(
        one: Act, other: Act, sleeps_at: int, sleeps_s: float = 0.0, fabric: Any = lab, least: int = 1
    ) -> tuple[Race, list[bool]]:
        designed, configs = fabric
        made = Race(designed, configs, sleeper="sleeper", sleeps_at=sleeps_at, least=least)
        sessions_of(made, monkeypatch)
        done: list[bool] = []

        def meanwhile() -> None:
            made.sleep(sleeps_s)
            done.append(other(made, "other"))

        made.meanwhile = meanwhile
        done.append(one(made, "sleeper"))
        return made, done

    return race


def steps_of(race_of: Callable[..., Any], act: Act) -> int:
    return int(race_of(act, act, -1)[0].steps)


@pytest.mark.parametrize(
    ("one", "other"),
    PAIRS,
)
@pytest.mark.parametrize("sleeps_s", [0.0, LONG_S])
def test_whoever_sleeps_at_any_step_paths_are_left(
    race_of: Callable[..., Any], one: str, other: str, sleeps_s: float
) -> None:
    first, second = ACTS[one][0], ACTS[other][1]
    steps, is_patient = steps_of(race_of, first), other == "rollout"
    start, stride = (0, 1) if EVERY else (PAIRS.index((one, other)) % 16, 16)
    for step in range(1 + start, steps + 1, stride):
        race, done = race_of(first, second, step, sleeps_s)
        assert not race.crossed, race.crossed[0]
        # A rollout waits until the hold of the sleeper is over, and then neither may have gone through.
        assert sleeps_s or is_patient or any(done), "\n".join(race.story)


def test_a_rollout_waits_until_the_switches_end_what_a_lost_runner_holds_there(
    race_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lost runner leaves holds and an unconfirmed commit, which end by their timers. Programs on switches go on."""
    monkeypatch.setattr(capacity_race, "PROGRAM_STEPS", ())
    lost, other = roll_out("lab-spine1"), roll_out("lab-spine2")
    for step in range(1, steps_of(race_of, lost) + 1):
        race, done = race_of(lost, other, step)
        assert done[0], "\n".join(race.story)


@pytest.mark.parametrize("sleeps_s", [0.0, LONG_S])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (drain("pod1-spine1"), roll_out("pod1-spine2")),
        (roll_out("pod1-spine1"), drain("pod1-spine2")),
        (roll_out("pod1-spine1"), roll_out("pod1-spine2", "pod1-spine1")),
    ],
)
def test_who_asks_one_leaf_for_the_state_of_all_spines_takes_no_second_one(
    race_of: Callable[..., Any], pod: Any, one: Act, other: Act, sleeps_s: float
) -> None:
    steps = int(race_of(one, one, -1, 0.0, pod, 3)[0].steps)
    for step in range(1, steps + 1, 1 if EVERY else 24):
        race, _ = race_of(one, other, step, sleeps_s, pod, 3)
        assert not race.crossed, race.crossed[0]


def test_a_first_leaf_that_is_silent_is_replaced_by_all_switches(race_of: Callable[..., Any], pod: Any) -> None:
    """One of the two runners does not reach the leaf on which they exclude each other."""
    one, other = roll_out("pod1-spine1"), roll_out("pod1-spine2")

    def unreached(race: Race, runner: str) -> bool:
        race.cut_off = (runner, "pod1-leaf1")
        return one(race, runner)

    steps = int(race_of(unreached, other, -1, 0.0, pod, 3)[0].steps)
    for step in range(1, steps + 1, 1 if EVERY else 16):
        race, _ = race_of(unreached, other, step, 0.0, pod, 3)
        assert not race.crossed, race.crossed[0]


@pytest.mark.parametrize(("one", "other"), [("drain", "drain"), ("rollout", "drain")])
def test_without_holds_that_others_see_paths_are_lost(
    race_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, one: str, other: str
) -> None:
    """What the races show hangs on the hold."""
    monkeypatch.setattr(Holding, "take", lambda holding, peers_of: "")
    monkeypatch.setattr(transaction, "take_up", lambda host, name: None)
    first, second = ACTS[one][0], ACTS[other][1]
    assert any(race_of(first, second, step)[0].crossed for step in range(1, steps_of(race_of, first) + 1))


@pytest.mark.parametrize("act", [drain("lab-spine1"), roll_out("lab-spine1")])
def test_without_a_refusal_by_the_switch_a_sleeper_crosses_the_floor(
    race_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, act: Act
) -> None:
    monkeypatch.setattr(transaction, "take_up", lambda host, name: None)
    other = drain("lab-spine2")
    assert any(race_of(act, other, step, LONG_S)[0].crossed for step in range(1, steps_of(race_of, act) + 1))
