"""Runs on nodes: events to results, batches, the budget, the views."""

import io
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from rich.console import Console

from railweave.api.hosts import selected
from railweave.errors import RailweaveError, RefusedError
from railweave.fabric.model import Fabric
from railweave.hosts.outcome import ChangeKind, HostChange, HostNote, HostResult, HostsRun, HostState
from railweave.hosts.render import HostRenderer
from railweave.report.hosts import hosts_json, hosts_view
from railweave.templates import find_templates
from railweave_hosts import rollout, runner
from railweave_hosts.access import Batches, Connection, HostAccess

Pod = Callable[..., Fabric]
MTU = HostChange(ChangeKind.SETTING, "rail0", "mtu", "1500", "9000")
CONF = HostChange(ChangeKind.FILE, "/etc/nccl.conf", "content", "absent", "as intended", "+NCCL_IB_TC=106\n")


def event(host: str, kind: str, part: str = "change", **result: Any) -> dict[str, Any]:
    result["invocation"] = {"module_args": {"part": part}}
    return {"event": f"runner_on_{kind}", "event_data": {"host": host, "res": result}}


def results(*events: dict[str, Any], names: Sequence[str] = ("gpu1",)) -> list[HostResult]:
    seen = {name: runner._NodeEvents() for name in names}
    assert all(runner._add_event(one, seen, None) for one in events)
    return [one.result(name, "cut short") for name, one in seen.items()]


def test_changes_of_files_and_settings_become_one_result() -> None:
    told = {"part": "live", "subject": "rail0", "what": "mtu", "before": "1500", "after": "9000", "diff": ""}
    file = {"part": "files", "subject": "/etc/nccl.conf", "what": "content", "before": "absent", "after": "as intended"}
    file["diff"] = CONF.diff
    (found,) = results(event("gpu1", "ok", changes=[file, told]))
    assert found == HostResult("gpu1", HostState.CHANGED, (CONF, MTU))


def test_a_node_is_done_only_when_it_was_read_back() -> None:
    unchanged, cut = results(event("gpu1", "ok", changes=[]), names=("gpu1", "gpu2"))
    assert unchanged.state is HostState.UNCHANGED
    assert (cut.state, cut.error) == (HostState.FAILED, "cut short")


def test_failure_and_silence_are_told_apart() -> None:
    failed, silent = results(
        event("gpu1", "failed", msg="rail0 pfc: out of order\n", changes=[]),
        event("gpu2", "unreachable", msg="Task failed: Host key verification failed.\n"),
        names=("gpu1", "gpu2"),
    )
    assert (failed.state, failed.error) == (HostState.FAILED, "rail0 pfc: out of order")
    assert (silent.state, silent.error) == (HostState.UNREACHABLE, "Host key verification failed.")


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ({"module_stdout": "", "module_stderr": "", "rc": -9}, "exit status -9"),
        ({"module_stdout": "", "module_stderr": "Traceback\nMemoryError\n", "rc": 1}, "MemoryError"),
        ({"module_stdout": "No space left on device\n", "rc": 1}, "No space left on device"),
    ],
)
def test_of_a_program_that_printed_no_answer_its_error_is_reported(output: dict[str, Any], why: str) -> None:
    message = "Module result deserialization failed: No start of json char found"
    (failed,) = results(event("gpu1", "failed", msg=message, **output))
    assert failed.error == f"its program did not answer: {why}"


def test_a_wrong_path_of_python_is_reported_in_the_words_of_ansible() -> None:
    message = "The module interpreter '/usr/bin/python9' was not found."
    (failed,) = results(event("gpu1", "failed", msg=message, module_stdout="", module_stderr="not found", rc=127))
    assert failed.error == message


@pytest.mark.parametrize(
    ("count", "canary", "size", "wanted"),
    [(5, 1, 2, [1, 2, 2]), (5, 0, 2, [2, 2, 1]), (1, 1, 50, [1]), (3, 9, 2, [2, 1]), (4, 2, 50, [2, 2])],
)
def test_batches_hold_every_node_once(count: int, canary: int, size: int, wanted: list[int]) -> None:
    names = [f"gpu{number}" for number in range(count)]
    batches = runner.in_batches(names, canary, size)
    assert [len(batch) for batch in batches] == wanted
    assert [name for batch in batches for name in batch] == names


class Runs:
    """Stands for ansible-runner: the nodes in ``bad`` fail."""

    def __init__(self, *bad: str) -> None:
        self.bad = bad
        self.batches: list[tuple[str, ...]] = []

    def __call__(self, access: object, inventory: dict[str, object], bundles: object, **_: object) -> Any:
        self.batches.append(tuple(inventory))
        return tuple(
            HostResult(
                name,
                HostState.UNREACHABLE if name in self.bad else HostState.CHANGED,
                (),
                "" if name not in self.bad else "no answer",
            )
            for name in inventory
        )


def applied(fabric: Fabric, runs: Runs, monkeypatch: pytest.MonkeyPatch, **batches: int) -> HostsRun:
    monkeypatch.setattr(rollout, "run_role", runs)
    access = HostAccess(connection=Connection.LOCAL, batches=Batches(**batches))
    made = rollout.HostRollout(fabric, HostRenderer(fabric, find_templates()), access, "test")
    return made.apply(fabric.hosts)


def test_a_change_goes_batch_by_batch(pod: Pod, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs()
    run = applied(pod(), runs, monkeypatch, canary=1, size=4)
    assert [len(batch) for batch in runs.batches] == [1, 4, 3]
    assert run.ok


def test_more_failures_than_allowed_stop_before_the_next_batch(pod: Pod, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs("gpu1", "gpu3")
    run = applied(pod(), runs, monkeypatch, canary=1, size=3, max_failures=1)
    assert [len(batch) for batch in runs.batches] == [1, 3]
    assert run.named(HostState.NOT_ATTEMPTED) == ("gpu5", "gpu6", "gpu7", "gpu8")
    assert run.stopped_by == "2 failed, 1 allowed; first gpu1: no answer"
    assert not run.ok


def test_without_ansible_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("railweave_hosts.runner.sys.executable", "/nowhere/python")
    monkeypatch.setattr("railweave_hosts.runner.shutil.which", lambda name: None)
    with pytest.raises(RailweaveError, match=r"pip install 'railweave\[hosts\]'"):
        runner.run_role(HostAccess(), {}, {}, check=True)


def test_devices_are_selected_by_name_pattern_role_or_kind() -> None:
    kinds = {"pod-leaf1": "leaf", "pod-spine1": "spine", **{f"gpu{number}": "gpu" for number in range(1, 13)}}
    assert selected(kinds, "gpu2, gpu1?") == {"gpu2", "gpu10", "gpu11", "gpu12"}
    assert selected(kinds, "spine,gpu[12]") == {"pod-spine1", "gpu1", "gpu2"}
    assert len(selected(kinds, "gpu")) == 12
    assert selected(kinds, "") == set(kinds)
    with pytest.raises(RefusedError, match="no device is named gpu99") as refused:
        selected(kinds, "gpu1,gpu99")
    assert "gpu1…12" in refused.value.diagnostics[0].fix


def shown(run: HostsRun, **options: bool) -> str:
    stream = io.StringIO()
    Console(file=stream, width=140).print(hosts_view(run, **options))
    return stream.getvalue()


def test_the_json_has_every_node_with_its_changes() -> None:
    run = HostsRun(
        "pod",
        "lab",
        True,
        (HostResult("gpu1", HostState.CHANGED, (MTU,)), HostResult("gpu2", HostState.FAILED, (), "no")),
    )
    document = hosts_json(run)
    assert document["result"] == "stopped"
    assert document["hosts"]["gpu1"]["changes"] == [
        {"kind": "setting", "subject": "rail0", "what": "mtu", "before": "1500", "after": "9000", "diff": None}
    ]
    assert document["hosts"]["gpu2"] == {"state": "failed", "changes": [], "error": "no", "notes": []}
    assert document["summary"] == {"unchanged": 0, "changed": 1, "failed": 1, "unreachable": 0, "not-attempted": 0}


def test_the_same_change_on_many_nodes_is_one_line() -> None:
    run = HostsRun(
        "pod", "lab", False, tuple(HostResult(f"gpu{n}", HostState.CHANGED, (MTU, CONF)) for n in range(1, 33))
    )
    text = shown(run)
    assert "32 nodes would change" in text
    assert text.count("rail0") == 1
    assert "(32)" in text
    assert "NCCL_IB_TC" not in text
    assert "+NCCL_IB_TC=106" in shown(run, files=True)


def test_a_stopped_run_says_why_and_what_was_left() -> None:
    hosts = (
        HostResult("gpu1", HostState.FAILED, (), "rail0 pfc: out of order"),
        HostResult("gpu2", HostState.NOT_ATTEMPTED),
    )
    text = shown(HostsRun("pod", "lab", True, hosts, "1 failed, 0 allowed"))
    assert "stopped: 1 failed, 0 allowed" in text
    assert "gpu1: rail0 pfc: out of order" in text
    assert "not attempted: gpu2 (1)" in text


def test_firmware_that_does_not_fit_is_told_once_for_all_nodes_and_is_no_change() -> None:
    note = HostNote("rail0", "CNP_DSCP_P1", "0 until the NIC restarts, 48 then: a restart is pending", True)
    hosts = tuple(HostResult(f"gpu{n}", HostState.UNCHANGED, notes=(note,)) for n in range(1, 4))
    run = HostsRun("pod", "lab", False, hosts)
    text = shown(run)
    assert "no changes: 3 nodes as intended" in text
    assert text.count("CNP_DSCP_P1") == 1
    assert "a restart is pending  [gpu1…3]" in text
    assert hosts_json(run)["hosts"]["gpu2"]["notes"] == [
        {"subject": "rail0", "what": "CNP_DSCP_P1", "text": note.text, "restart_pending": True}
    ]


def test_notes_of_an_event_are_kept_with_the_node() -> None:
    told = {"subject": "rail0", "what": "LINK_TYPE_P1", "text": "1, and 2 fits", "pending": False}
    (found,) = results(event("gpu1", "ok", changes=[], notes=[told]))
    assert found.state is HostState.UNCHANGED
    assert found.notes == (HostNote("rail0", "LINK_TYPE_P1", "1, and 2 fits", False),)


def test_a_plan_says_where_an_earlier_change_did_not_end() -> None:
    hosts = (HostResult("gpu1", HostState.UNCHANGED), HostResult("gpu2", HostState.UNCHANGED, interrupted=True))
    assert "an earlier change did not end on gpu2: apply continues it" in shown(HostsRun("pod", "lab", False, hosts))


def test_a_rollback_is_told_as_one() -> None:
    hosts = (HostResult("gpu1", HostState.CHANGED, (MTU,)), HostResult("gpu2", HostState.UNCHANGED))
    assert "1 node rolled back, 1 node without a snapshot" in shown(
        HostsRun("pod", "lab", True, hosts, is_rollback=True)
    )
