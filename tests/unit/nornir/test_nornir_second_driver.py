"""A fabric of switches of another network operating system, and drivers that break the contract.

Whatever a driver lacks, promises or raises, it is refused or reported by its name, and nothing travels to the top.
"""

import sys
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import pytest
from acme_nos import AcmeFleet, AcmeSwitch, AcmeSwitchDriver, napalm_driver, parsed, written
from napalm.base.base import NetworkDriver

from nornir_railweave.device.device import WaveOrder
from nornir_railweave.device.jobs import DeployJob
from nornir_railweave.device.reading import Comparer
from nornir_railweave.events import silent
from nornir_railweave.target.policy import Policy
from nornir_railweave.tasks import draining
from nornir_railweave.tasks.apply_change import apply_change
from nornir_railweave.tasks.recover_device import recover
from nornir_railweave.tasks.save_config import Saved, save_config
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave.plan.expectation import expect
from railweave.switch_driver import (
    STATE,
    AppliedChange,
    Capability,
    ConfigReading,
    NotOfferedError,
    ObserveRequest,
    SwitchDriver,
    SwitchView,
)

if TYPE_CHECKING:
    from tests.unit.nornir.conftest import Bench

NAME = "acmenos"
MTU = ("reserve: {leaves: 4, spines: 4}", "reserve: {leaves: 4, spines: 4}\nmtu: {fabric: 9200, hosts: 9000}")


class Acme:
    """A lab of four Acme switches in the place of those of a bench."""

    def __init__(self, bench: "Bench", monkeypatch: pytest.MonkeyPatch) -> None:
        self.bench = bench
        self.now_s = 0.0
        world = bench.world
        self.switches = {
            name: AcmeSwitch(written(switch.running), lambda: self.now_s, written(switch.saved))
            for name, switch in world.switches.items()
        }
        world.switches = cast("Any", self.switches)
        self.fleet = AcmeFleet(world, switches=self.switches)
        module = types.ModuleType(f"custom_napalm.{NAME}")
        driver = napalm_driver(self.fleet)
        driver.__module__ = module.__name__
        module.AcmenosDriver = driver  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        bench.driver = NAME

    def use(self, driver: type[AcmeSwitchDriver]) -> None:
        """Reach the switches by another driver from now on."""
        self.fleet.driver_class = driver

    def texts(self) -> dict[str, str]:
        return {name: switch.text for name, switch in self.switches.items()}


@pytest.fixture
def acme(bench: "Bench", monkeypatch: pytest.MonkeyPatch) -> Acme:
    """Four switches as they come from the factory."""
    return Acme(bench, monkeypatch)


@pytest.fixture
def running(deployed: "Bench", monkeypatch: pytest.MonkeyPatch) -> Acme:
    """The same, deployed and healthy."""
    return Acme(deployed, monkeypatch)


@pytest.fixture
def changed(running: Acme, redesign: Callable[..., Fabric]) -> Acme:
    """The same with another MTU to deploy."""
    running.bench.world.grow(redesign(MTU))
    running.fleet.world = running.bench.world
    return running


def test_its_language_says_what_a_configuration_says(bench: "Bench") -> None:
    config = bench.world.switches["lab-leaf1"].running
    assert parsed(written(config)) == config


def test_a_fabric_is_planned_deployed_and_verified(acme: Acme) -> None:
    made = acme.bench.plan()
    assert {device.state.value for device in made.devices.values()} == {"changed"}
    result = acme.bench.deploy(made)
    assert result.ok, result
    assert acme.bench.verify().ok
    assert all("object PORT Ethernet0\n  admin_status = up\n" in text for text in acme.texts().values())
    assert all(switch.startup == switch.text for switch in acme.switches.values())
    assert {device.state.value for device in acme.bench.plan().devices.values()} == {"unchanged"}


def test_a_change_that_breaks_bgp_is_reverted_in_its_own_language(changed: Acme) -> None:
    before = changed.texts()

    class Breaking(AcmeSwitchDriver):
        def observe(self, request: ObserveRequest = STATE) -> SwitchView:
            view = super().observe(request)
            if self.status().pending:
                cast("Any", view).get_bgp_neighbors = lambda: {"global": {"peers": {}}}
            return view

    changed.use(Breaking)
    result = changed.bench.deploy()
    assert result.result == "stopped"
    assert "bgp" in result.stopped_by
    assert changed.texts() == before


def test_a_commit_that_nobody_confirms_is_reverted_by_the_timer(changed: Acme) -> None:
    before = changed.texts()

    class Silenced(AcmeSwitchDriver):
        """Every session ends at the moment at which the commit is made, and none opens afterwards."""

        def apply(self, *arguments: Any, **options: Any) -> AppliedChange:
            super().apply(*arguments, **options)
            raise EOFError("gone")

        def read(self, request: ObserveRequest | None = None) -> ConfigReading:
            if self.switch.reverts_at_s is not None:
                raise EOFError("gone")
            return super().read(request)

    changed.use(Silenced)
    result = changed.bench.deploy()
    (lost,) = [name for name, device in result.devices.items() if device.outcome == "unreachable"]
    assert changed.texts()[lost] != before[lost]
    changed.now_s += changed.bench.rollout.revert_in_s
    changed.use(AcmeSwitchDriver)
    made = changed.bench.plan()
    assert not made.devices[lost].reading.pending
    assert changed.texts() == before


def test_an_unsaved_configuration_is_saved_and_a_dry_run_only_says_so(running: Acme) -> None:
    switch = running.switches["lab-leaf1"]
    switch.startup = ""
    with running.bench.connected() as nr:
        job = cast("Any", types.SimpleNamespace(read=lambda driver, which: types.SimpleNamespace(done=_same(driver))))
        arguments = {"jobs": {"lab-leaf1": job}, "announce": silent}
        nr.data.dry_run = True
        rehearsed = nr.filter(name="lab-leaf1").run(save_config, **arguments)["lab-leaf1"][0]
        assert (rehearsed.result, rehearsed.changed, switch.startup) == (Saved.NOT, True, "")
        nr.data.dry_run = False
        done = nr.filter(name="lab-leaf1").run(save_config, **arguments)["lab-leaf1"][0]
        assert (done.result, done.changed, switch.startup) == (Saved.NOW, True, switch.text)


def _same(driver: SwitchDriver) -> bool:
    return driver.printed("startup") == driver.printed("running")


# What it lacks


def test_what_a_driver_lacks_is_left_out_or_refused_by_name(running: Acme) -> None:
    nr = running.bench.nornir()
    (drained,) = draining.undrain(nr, ["lab-leaf1"])
    assert (drained.error, drained.unable) == ("the driver AcmenosDriver cannot drain", True)
    (recovered,) = recover(nr, ["lab-leaf1"], accept_running=False)
    assert recovered.error == "the driver AcmenosDriver keeps no transactions on the switch"


def test_a_driver_that_only_reads_plans_and_verifies_and_is_refused_to_deploy(changed: Acme) -> None:
    class Reading(AcmeSwitchDriver):
        capabilities = frozenset({Capability.READ, Capability.OBSERVE})

    before = changed.texts()
    changed.use(Reading)
    assert {device.state.value for device in changed.bench.plan().devices.values()} == {"changed"}
    changed.bench.verify()
    result = changed.bench.deploy()
    assert "the driver AcmenosDriver lacks the capability apply-with-timer; nothing was done" in result.stopped_by
    assert changed.texts() == before


def test_a_napalm_driver_of_another_vendor_is_refused_by_what_it_lacks(
    bench: "Bench", monkeypatch: pytest.MonkeyPatch
) -> None:
    class PlainDriver(NetworkDriver):  # type: ignore[misc]
        def __init__(self, *_: object, **__: object) -> None:
            """Keep nothing."""

    PlainDriver.__module__ = "custom_napalm.plain"
    module = types.ModuleType("custom_napalm.plain")
    module.PlainDriver = PlainDriver  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "custom_napalm.plain", module)
    bench.driver = "plain"
    with pytest.raises(RefusedError, match="PlainDriver lacks the capabilities read, observe, apply-with-timer"):
        bench.nornir()


@pytest.mark.parametrize(
    ("capabilities", "refusal"),
    [
        (frozenset({Capability.OBSERVE}), "lacks the capabilities read, apply-with-timer"),
        (frozenset(Capability), "states the capability check and has no method `check`"),
        (frozenset({"read", "observe", "fly"}), ""),
        (3, "failed in `capabilities`: TypeError"),
    ],
)
def test_a_driver_is_asked_for_its_capabilities_before_any_device_is_tried(
    acme: Acme, capabilities: Any, refusal: str
) -> None:
    class Stating(AcmeSwitchDriver):
        pass

    Stating.capabilities = capabilities
    acme.use(Stating)
    if not refusal:
        acme.bench.nornir()
        return
    with pytest.raises(RefusedError, match=refusal):
        acme.bench.nornir()


@pytest.mark.parametrize("fault", [KeyError("x"), SystemExit(3)])
def test_a_driver_that_cannot_be_made_is_refused(acme: Acme, fault: BaseException) -> None:
    class Failing(AcmeSwitchDriver):
        def __init__(self, *_: object) -> None:
            raise fault

    acme.use(Failing)
    with pytest.raises(RefusedError, match="the driver acmenos failed in `__init__`"):
        acme.bench.nornir()


# What it says and does not do


def lying(method: str, answer: Callable[..., Any]) -> type[AcmeSwitchDriver]:
    """Return a driver with another answer of one method."""
    return type("Lying", (AcmeSwitchDriver,), {method: answer})


def outcome(acme: Acme) -> tuple[str, str]:
    """Return how the first device of a deployment ended that was worked on."""
    result = acme.bench.deploy()
    ended = [device for device in result.devices.values() if device.outcome != "not-attempted"]
    return ended[0].outcome.value, ended[0].error


def test_a_driver_that_sets_no_timer_is_found_out_and_the_change_rolled_back(changed: Acme) -> None:
    before = changed.texts()

    class Untimed(AcmeSwitchDriver):
        def apply(self, *arguments: Any, **options: Any) -> AppliedChange:
            if options["message"].endswith("(undone)"):
                return super().apply(*arguments, **options)
            return super().apply(*arguments, **{**options, "revert_in": None})

    changed.use(Untimed)
    ended, error = outcome(changed)
    assert ended == "old"
    assert "the driver AcmenosDriver says that it can apply-with-timer, and no timer runs" in error
    assert changed.texts() == before


def test_a_driver_that_applies_nothing_is_found_out(changed: Acme) -> None:
    before = changed.texts()
    changed.use(lying("apply", lambda self, delta, *, commit_id, **_: AppliedChange(commit_id)))
    ended, error = outcome(changed)
    assert (ended, "the device does not hold what was committed" in error) == ("old", True)
    assert changed.texts() == before


def test_a_driver_that_confirms_nothing_is_found_out(changed: Acme) -> None:
    before = changed.texts()
    changed.use(lying("confirm", lambda self, commit_id, *, only=None: True))
    ended, error = outcome(changed)
    assert ended == "old"
    assert "the driver AcmenosDriver says that it confirmed" in error
    assert changed.texts() == before


def test_a_driver_that_reverts_nothing_leaves_a_device_whose_missing_rows_are_named(changed: Acme) -> None:
    class Stuck(AcmeSwitchDriver):
        def observe(self, request: ObserveRequest = STATE) -> SwitchView:
            if self.status().pending:
                raise KeyError("Ethernet0")
            return super().observe(request)

        def revert(self, commit_id: str, *, pending: bool) -> None:
            """Do nothing."""

    changed.use(Stuck)
    ended, error = outcome(changed)
    assert ended == "unreachable"
    assert "the earlier configuration could not be restored, missing: PORT|" in error


UNASKED = frozenset({"interfaces", "revert", "printed", "serial_number"})
"""Methods that a deployment without a failure does not need."""

GARBAGE: Mapping[str, Any] = {
    "read": None,
    "status": {"pending": False},
    "observe": 7,
    "interfaces": None,
    "apply": "done",
    "confirm": "yes",
    "revert": True,
    "printed": b"{}",
    "serial_number": None,
    "last_reading": 3,
}


@pytest.mark.parametrize("method", GARBAGE)
def test_an_answer_of_another_kind_is_reported(changed: Acme, method: str) -> None:
    answer: Any = property(lambda self: GARBAGE[method])
    if method != "last_reading":
        answer = lambda self, *_, **__: GARBAGE[method]  # noqa: E731
    changed.use(lying(method, answer))
    said = everything(changed)
    expected = "what it shows cannot be read" if method == "observe" else "AcmenosDriver answered `"
    assert method in UNASKED or expected in said


# What it raises


class OddError(BaseException):
    """Not even an Exception."""


@pytest.mark.parametrize(
    ("method", "fault"),
    [
        ("read", KeyError("x")),
        ("read", SystemExit(3)),
        ("observe", OddError("odd")),
        ("apply", NotOfferedError()),
        ("apply", SystemExit(3)),
        ("confirm", RecursionError()),
        ("printed", AttributeError("nothing")),
    ],
)
def test_whatever_a_driver_raises_is_reported(changed: Acme, method: str, fault: BaseException) -> None:
    def failing(*_: object, **__: object) -> Any:
        raise fault

    changed.use(lying(method, failing))
    said = everything(changed)
    # What the switches boot is only asked where nothing else is to do.
    assert method == "printed" or f"AcmenosDriver failed in `{method}`" in said or "does not implement `apply`" in said


def everything(acme: Acme) -> str:
    """Plan, deploy and verify; return what is said of the devices, and what happened on them."""
    bench = acme.bench
    said: list[str] = [str(bench.verify())]
    made = bench.plan()
    said += [device.error for device in made.devices.values()]
    try:
        result = bench.deploy(made)
    except RefusedError as refused:
        said.append(str(refused))
    else:
        said += [device.error for device in result.devices.values()]
    said += [event.text for event in bench.events]
    return "\n".join(said)


# Nornir's habits


def test_a_dry_run_changes_nothing_and_says_what_would_change(changed: Acme) -> None:
    bench = changed.bench
    before = changed.texts()
    made = bench.plan()
    fabric = bench.world.fabric
    name = "lab-spine1"
    compare = Comparer(fabric, bench.world.intended)
    planned = made.devices[name]
    job = DeployJob(compare, expect(fabric, fabric.switch_of[name]), planned)
    policy = Policy(rollout=bench.rollout, reconnect_s=0.05, clock=bench.clock)
    order = WaveOrder({name: job}, frozenset(), 0, policy, silent, str)
    with bench.connected() as nr:
        nr.data.dry_run = True
        result = nr.filter(name=name).run(apply_change, order=order)[name][0]
    assert (result.failed, result.changed) == (False, True)
    assert "@@ PORT|Ethernet0 @@" in result.diff
    assert "-  mtu: 9100" in result.diff
    assert "+  mtu: 9200" in result.diff
    assert changed.texts() == before


def test_a_rollout_of_a_dry_run_changes_nothing(changed: Acme, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = changed.bench
    before = changed.texts()
    nornir = bench.nornir

    def dry() -> Any:
        nr = nornir()
        nr.data.dry_run = True
        return nr

    monkeypatch.setattr(bench, "nornir", dry)
    assert bench.deploy().stopped_by == "dry run: no device was changed"
    assert changed.texts() == before
