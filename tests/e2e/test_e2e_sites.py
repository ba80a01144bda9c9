"""A fabric whose leaves are worked on from a site, by a command or over a task queue with a real broker."""

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from site_rig import Broker, SiteRig, free_port, redis_broker

pytestmark = pytest.mark.e2e

CANNOT = shutil.which("redis-server") is None
LEAF = "lab-leaf1"
OLD, NEW = " neighbor SPINES timers 3 9", " neighbor SPINES timers 2 8"


@pytest.fixture
def site(deployed_lab: Any) -> SiteRig:
    return SiteRig(deployed_lab)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    if CANNOT:
        pytest.skip("needs redis-server")
    with redis_broker(tmp_path) as running:
        yield running


def refusal(site: SiteRig) -> Any:
    (found,) = site.project.plan(status=1)["diagnostics"]
    assert found["code"] == "RW606"
    return found["message"]


def change(site: SiteRig) -> None:
    site.project.edit(("fabric: lab\n", "fabric: lab\nbgp: {keepalive: 2, hold: 8}\n"))
    site.pull()


def journal(site: SiteRig) -> list[Any]:
    (newest,) = sorted((site.project.folder / ".railweave" / "journal").glob("*.jsonl"))[-1:]
    return [json.loads(line) for line in newest.read_text(encoding="utf-8").splitlines()]


def test_a_site_reached_by_a_command_plans_deploys_and_verifies_as_this_machine_does(site: SiteRig) -> None:
    change(site)
    here = site.project.plan()
    assert here["changes"]
    site.by_command()
    assert site.project.plan() == here
    assert site.project.deploy()["result"] == "done"
    assert NEW in site.lines(LEAF)
    assert site.project.verify()["ok"] is True
    told = [(one["step"], one["text"]) for one in journal(site) if one["device"] == LEAF]
    assert ("applying", "by a worker of site west") in told
    assert [step for step, _ in told][-2:] == ["outcome", "verified"]


def test_processes_of_this_machine_read_the_same(site: SiteRig) -> None:
    change(site)
    here = site.project.plan()
    site.edit_target(rollout={"processes": 2}, timeouts={"worker": 90})
    assert site.project.plan() == here
    assert site.project.verify(status=None)["checks"]


def test_a_site_with_another_intent_is_refused_before_any_switch_is_read(site: SiteRig) -> None:
    site.by_command()
    site.project.edit(("fabric: lab\n", "fabric: lab\nbgp: {keepalive: 2, hold: 8}\n"))
    assert "it has another project: digest of intent, templates and models is" in refusal(site)
    site.pull()
    assert site.project.plan()["changes"]


def test_a_site_whose_worker_cannot_start_is_named_with_its_last_words(site: SiteRig) -> None:
    site.by_command("{ echo no route to runner >&2; exit 7; }")
    assert refusal(site) == "the worker of site west ended (exit status 7): no route to runner"


def kill_amid_the_change(site: SiteRig, worker: Callable[[], int]) -> Any:
    """Deploy, and kill the worker once its switch runs the change that nobody has confirmed; return the result."""
    process = site.project.start("deploy", "--target", "sim", "--yes", "--json")
    try:
        site.project.wait_until(
            lambda: process.poll() is not None or NEW in site.lines(LEAF), 120, "the change is on the switch"
        )
        assert process.poll() is None, process.communicate()[0]
        os.kill(worker(), signal.SIGKILL)
        said, _ = process.communicate(timeout=200)
    finally:
        if process.poll() is None:
            site.project.kill(process)
    return json.loads(said[said.index("{") :])


def timer_strikes(site: SiteRig) -> None:
    site.project.wait_until(lambda: OLD in site.lines(LEAF), 150, "the switch reverts by its own timer")
    assert NEW not in site.lines(LEAF)


@pytest.mark.nightly
def test_a_worker_killed_amid_a_change_stops_the_rollout_and_its_switch_reverts_by_itself(site: SiteRig) -> None:
    spent, pid = site.clone / "spent", site.clone / "pid"
    site.by_command(f"test ! -e {spent} && echo $$ >{pid}")
    site.slow_to_heal()

    def worker() -> int:
        spent.touch()
        return int(pid.read_text())

    stopped = kill_amid_the_change(site, worker)
    assert stopped["result"] == "stopped"
    assert stopped["devices"][LEAF]["outcome"] == "unreachable"
    assert stopped["devices"]["lab-leaf2"]["outcome"] == "not-attempted"
    error = stopped["devices"][LEAF]["error"]
    assert error.startswith("the worker of site west ended (signal 9)")
    assert error.endswith("The switch itself reverts a commit that was not confirmed, 50 s after it began")
    timer_strikes(site)


def test_a_site_takes_its_part_of_a_rollout_from_a_queue(site: SiteRig, broker: Broker) -> None:
    change(site)
    here = site.project.plan()
    site.by_queue(broker.url)
    with site.queue_worker():
        assert site.project.plan() == here
        assert site.project.deploy()["result"] == "done"
        assert NEW in site.lines(LEAF)
        assert site.project.verify()["ok"] is True
        # The next state of the project: the worker reads its clone again.
        site.project.edit(("hold: 8", "hold: 12"))
        assert "it has another project" in refusal(site)
        site.pull()
        assert site.project.plan()["changes"]


@pytest.mark.nightly
def test_a_worker_of_a_queue_that_is_killed_amid_a_change_is_named(site: SiteRig, broker: Broker) -> None:
    site.by_queue(broker.url, worker_s=12)
    site.slow_to_heal()
    with site.queue_worker() as worker:
        site.project.wait_until(
            lambda: site.project.run("plan", status=None).returncode == 0, 120, "the worker is there"
        )
        stopped = kill_amid_the_change(site, lambda: worker.pid)
    error = stopped["devices"][LEAF]["error"]
    assert error.startswith(f"worker railweave-west-{worker.pid}@")
    assert "of site west was silent for 12 s; nobody there can examine it: no worker of site west took it in" in error
    assert stopped["devices"][LEAF]["outcome"] == "unreachable"
    timer_strikes(site)


@pytest.mark.parametrize("there", ["nobody listens", "nobody works"])
def test_a_queue_that_nobody_answers_is_named_within_its_time(site: SiteRig, broker: Broker, there: str) -> None:
    url = broker.url if there == "nobody works" else f"redis://127.0.0.1:{free_port()}/0"
    site.by_queue(url, worker_s=3)
    begun = time.monotonic()
    message = refusal(site)
    assert time.monotonic() - begun < 120
    if there == "nobody works":
        assert message == "no worker of site west took it in 3 s"
    else:
        assert message.startswith("the broker of site west cannot be reached: ")
