"""What happens before a run starts: refusals, and the record of what the switches run."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nornir_railweave.target.model import Source, Target
from railweave.acceptance.running.journal import AcceptanceProgress
from railweave.api import acceptance_runs
from railweave.api.project import Project
from railweave.errors import RefusedError
from railweave.plan.outcome import CheckKind, VerifyCheck, VerifyResult
from railweave.plan.status import SwitchStatus
from railweave.switch_driver import CommitStatus
from railweave_hosts.access import HostAccess
from railweave_hosts.hooks import Hooks

HOSTS: Any = [SimpleNamespace(name=f"gpu{number}") for number in range(1, 6)]


def live(target: Target) -> Any:
    return SimpleNamespace(designed=SimpleNamespace(fabric=SimpleNamespace(name="pod")), target=target)


def refusal(target: Target, *, idle: bool = False) -> tuple[str, str]:
    with pytest.raises(RefusedError) as refused:
        acceptance_runs._access(live(target), HOSTS, idle=idle)
    (diagnostic,) = refused.value.diagnostics
    return diagnostic.code, diagnostic.message


def test_nodes_that_nothing_drains_are_refused_unless_somebody_says_that_they_are_idle() -> None:
    target = Target("production", Source.ADDRESSES, address="{name}", hosts=HostAccess())
    assert refusal(target) == ("RW963", "nothing says that no job uses gpu1, gpu2, gpu3 and 2 more")
    assert acceptance_runs._access(live(target), HOSTS, idle=True) is not None
    hooks = HostAccess(hooks=Hooks(drained="true {name}"))
    hooked = Target("production", Source.ADDRESSES, address="{name}", hosts=hooks)
    assert acceptance_runs._access(live(hooked), HOSTS, idle=False) is not None
    simulated = Target("sim", Source.SIM, hosts=HostAccess())
    assert acceptance_runs._access(live(simulated), HOSTS, idle=False) is not None


def test_a_target_that_does_not_reach_nodes_is_refused() -> None:
    target = Target("production", Source.ADDRESSES, address="{name}")
    assert refusal(target, idle=True) == ("RW806", "target production does not say how to reach the GPU nodes")


def test_a_simulator_without_nodes_is_refused_with_what_starts_it_with_nodes() -> None:
    fixes = {}
    for manage in (True, False):
        policies = SimpleNamespace(hosts=SimpleNamespace(manage=manage))
        fabric = SimpleNamespace(name="pod", policies=policies)
        simulated: Any = SimpleNamespace(designed=SimpleNamespace(fabric=fabric), target=Target("sim", Source.SIM))
        diagnostic = acceptance_runs._no_access(simulated)
        assert (diagnostic.code, diagnostic.message) == ("RW806", "the simulator of pod runs without GPU nodes")
        fixes[manage] = diagnostic.fix
    start = "run `railweave sim up` as root on Linux"
    assert fixes == {
        True: f"{start}, after `railweave sim down` if the simulator was started without root",
        False: f"write `hosts: {{manage: true}}` into the intent and {start}",
    }


def test_each_check_that_fails_is_shown_and_nothing_runs() -> None:
    passed = VerifyCheck("leaf1", CheckKind.MTU, "Ethernet0", "9100", "9100", ok=True)
    failed = VerifyCheck("leaf1", CheckKind.BGP, "10.0.0.1", "established", "idle", ok=False)
    acceptance_runs._refuse_unverified(VerifyResult((passed,)))
    with pytest.raises(RefusedError) as refused:
        acceptance_runs._refuse_unverified(VerifyResult((passed, failed)))
    messages = [(diagnostic.code, diagnostic.message) for diagnostic in refused.value.diagnostics]
    assert messages == [("RW964", "leaf1 bgp 10.0.0.1: idle, not established")]


def test_a_plan_of_another_intent_is_refused() -> None:
    designed = SimpleNamespace(fabric=SimpleNamespace(name="pod"), intent=SimpleNamespace(sha256="b"))
    read: Any = SimpleNamespace(plan=SimpleNamespace(fabric="pod", intent_sha256="a"))
    fabric: Any = SimpleNamespace(designed=designed)
    project = Project(Path("intent/pod.yml"))
    with pytest.raises(RefusedError) as refused:
        acceptance_runs._refuse_other_intent(read, fabric, project, Path("acceptance"))
    (diagnostic,) = refused.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == (
        "RW961",
        "the plan of pod was made from another intent than intent/pod.yml",
    )
    read.plan.intent_sha256 = "b"
    acceptance_runs._refuse_other_intent(read, fabric, project, Path("acceptance"))


@pytest.mark.parametrize(
    ("done", "fix"),
    [
        ({"r000"}, "continue with --resume and the same --limit, or remove acc/journal.jsonl to begin anew"),
        (
            {"r000", "r001"},
            "judge what they measured by `railweave acceptance judge acc`, or remove acc/journal.jsonl to test again",
        ),
    ],
)
def test_a_directory_with_results_is_continued_or_judged(done: set[str], fix: str) -> None:
    progress = AcceptanceProgress(plan_sha256="a", not_run={name: {} for name in done})
    rounds = tuple(SimpleNamespace(id=name) for name in ("r000", "r001"))
    request: Any = SimpleNamespace(folder=Path("acc"), read=SimpleNamespace(sha256="a"), rounds=rounds, limit="")
    runner: Any = SimpleNamespace(progress=progress)
    with pytest.raises(RefusedError) as refused:
        acceptance_runs._refuse_earlier_run(runner, request, resume=False)
    (diagnostic,) = refused.value.diagnostics
    rounds_done = f"{len(done)} rounds of this plan are done in this directory"
    assert (diagnostic.code, diagnostic.message, diagnostic.fix) == ("RW962", rounds_done, fix)


def test_the_digests_of_what_switches_run_are_kept_without_those_that_are_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    statuses = {
        "leaf1": SwitchStatus("leaf1", commit=CommitStatus(pending=False, generation={"digest": "f00d"})),
        "leaf2": SwitchStatus("leaf2", error="no route to host"),
        "leaf3": None,
    }
    monkeypatch.setattr(acceptance_runs, "run_on", lambda _nornir, _names, _task: statuses)
    fabric: Any = SimpleNamespace(nornir=None)
    assert acceptance_runs._running_digests(fabric, tuple(statuses)) == {"leaf1": "f00d"}
