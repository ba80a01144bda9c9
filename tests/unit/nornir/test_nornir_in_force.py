"""Configured is not in force: what ports and sessions of a simulated fabric run with is compared with the intent."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from counted_fabric import Counted, deployed_fabric, typed

from railweave.api.project import Project
from railweave.api.verification import drift, verify
from railweave.plan.outcome import CheckKind
from sonic_sim.frr.tree import Context

INTENT = Path("intent/pod-32.yml")


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Counted]]:
    folder = tmp_path_factory.mktemp("pod")
    with deployed_fabric(folder, INTENT.name) as counted:
        yield folder, counted


@pytest.fixture
def pod(deployed: tuple[Path, Counted], monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    """Return pod-32, which runs what is intended; faults are cleared afterwards."""
    folder, counted = deployed
    monkeypatch.chdir(folder)
    yield counted
    for device in counted.devices.values():
        device.faults.clear()


def failed() -> list[tuple[str, str, str]]:
    return [(one.device, one.subject, one.actual) for one in verify(Project(INTENT), "sim").failed]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("force", "said"),
    [
        pytest.param({"speed": 100000}, "speed is 100000, configured", marks=pytest.mark.slow),
        ({"fec": "none"}, "fec is none, configured rs"),
    ],
)
def test_a_port_that_runs_with_another_value_is_found(pod: Counted, force: dict[str, object], said: str) -> None:
    leaf = pod.devices["pod1-leaf1"]
    port = next(name for name in leaf.network.ports(leaf) if leaf.network.link_up(leaf, name))
    leaf.faults.add("in-force", port=port, **force)
    ((device, subject, actual),) = failed()
    assert (device, subject) == ("pod1-leaf1", "daemons")
    assert actual.startswith(f"PORT|{port} {said}")
    assert [str(one) for one in drift(Project(INTENT), "sim").plan.devices["pod1-leaf1"].reading.unapplied] == [actual]


@pytest.mark.slow
def test_what_is_not_reported_is_said_and_not_taken_for_right(pod: Counted) -> None:
    assert verify(Project(INTENT), "sim").warnings == ()
    for name in ("pod1-spine1", "pod1-spine2"):
        pod.devices[name].faults.add("in-force", fec="N/A")
    result = verify(Project(INTENT), "sim")
    assert result.ok
    assert result.warnings == (
        "pod1-spine1, pod1-spine2: SONiC does not report the FEC in force on ports, so it is not compared with"
        " the intent (FEC is reported from 202311 on, where the ASIC's SAI has it)",
    )


@pytest.mark.slow
def test_a_port_that_is_down_has_nothing_in_force(pod: Counted) -> None:
    leaf = pod.devices["pod1-leaf1"]
    ends = {port: leaf.network.far_end(leaf, port) for port in leaf.network.ports(leaf)}
    port = next(port for port, end in ends.items() if end is not None and end.node in pod.devices)
    leaf.faults.add("in-force", port=port, speed=100000)
    leaf.faults.add("link-down", port=port)
    found = verify(Project(INTENT), "sim").failed
    assert found
    assert not [one for one in found if one.kind is CheckKind.APPLIED]


@pytest.mark.slow
def test_bfd_that_notices_silence_later_than_designed_is_found_at_both_ends(pod: Counted) -> None:
    text = INTENT.read_text(encoding="utf-8")
    INTENT.write_text(f"{text}bgp: {{bfd: true}}\n", encoding="utf-8")
    for device in pod.devices.values():
        device.bfdd = True
        for context in device.frr.root.children.values():
            if context.header.startswith("router bgp"):
                typed(device, watched(context))
    checks = [one for one in verify(Project(INTENT), "sim").checks if one.subject.endswith("(BFD)")]
    assert checks
    assert {one.actual for one in checks} == {"silence noticed after 0.9 s"}
    pod.devices["pod1-leaf2"].faults.add("in-force", interval_ms=1000)
    result = verify(Project(INTENT), "sim")
    links = 2 * len([one for one in checks if one.device == "pod1-leaf2"])
    assert {one.actual for one in result.failed} == {"silence noticed after 3 s"}
    assert len(result.failed) == links
    assert "show bfd peers" in result.advice[0]


def watched(context: Context) -> str:
    """Return the command that lets BFD watch all neighbors of a BGP instance."""
    peers = {
        line.split()[1] for line in context.lines.values() if line.startswith("neighbor ") and "peer-group" in line
    }
    typed_lines = [f"-c 'neighbor {peer} bfd'" for peer in sorted(peers)]
    return " ".join(["vtysh -c 'configure terminal'", f"-c '{context.header}'", *typed_lines])
