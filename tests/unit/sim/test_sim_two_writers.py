"""Two writers at once: SONiC's updater does not lock, its reload does; rows of both are whole whoever comes last."""

import asyncio
import json
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st
from sim_switches import sim_device

from sonic_sim.clock import Clock
from sonic_sim.device import Device, Fabric
from sonic_sim.shell.run import Shell
from sonic_sim.shell.streams import Captured

Answer = tuple[int, str, str]
PORTS = ("Ethernet0", "Ethernet4", "Ethernet8")


def new_switch() -> Device:
    device = Device(sim_device("leaf1", 1), Clock(0.0))
    device.install()
    Fabric().add_device(device)
    return device


def at_once(device: Device, *lines: str) -> list[Answer]:
    """Return what several sessions print that each type a line in the same moment."""

    async def all_of_them() -> list[Answer]:
        heard = [Captured("") for _ in lines]
        shells = [Shell(device, "root", "/root") for _ in lines]
        typed = (shell.run_line(line, one.streams) for shell, line, one in zip(shells, lines, heard, strict=True))
        statuses = await asyncio.gather(*typed)
        return [(status, one.stdout, one.stderr) for status, one in zip(statuses, heard, strict=True)]

    return asyncio.run(all_of_them())


def patch_of(device: Device, name: str, values: Mapping[str, str]) -> str:
    """Return the command that applies a patch of ports' descriptions."""
    steps = [{"op": "add", "path": f"/PORT/{port}/description", "value": value} for port, value in values.items()]
    device.files.write(f"/tmp/{name}.json", json.dumps(steps).encode())
    return f"config apply-patch /tmp/{name}.json"


def described(device: Device) -> dict[str, str]:
    return {port: device.db.get(f"PORT|{port}").get("description", "") for port in PORTS}


def test_of_two_patches_at_once_both_land_and_the_second_fails() -> None:
    device = new_switch()
    before = device.db.document()["PORT"]
    lines = [patch_of(device, name, {port: name}) for name, port in (("one", "Ethernet0"), ("two", "Ethernet4"))]
    (first, out, _), (second, _, said) = at_once(device, *lines)
    assert (first, second) == (0, 2)
    assert "Patch applied successfully." in out
    assert "after applying patch to config, there are still some parts not updated" in said
    assert described(device) == {"Ethernet0": "one", "Ethernet4": "two", "Ethernet8": ""}
    now = device.db.document()["PORT"]
    for port, row in before.items():
        assert {name: now[port][name] for name in row} == dict(row)
    assert at_once(device, patch_of(device, "three", {"Ethernet8": "three"}))[0][0] == 0, "nobody else is at work"


def test_the_same_patch_twice_at_once_succeeds_twice() -> None:
    device = new_switch()
    line = patch_of(device, "same", {"Ethernet0": "same"})
    assert [status for status, _, _ in at_once(device, line, line)] == [0, 0]


def test_a_dry_run_disturbs_nobody() -> None:
    device = new_switch()
    dry = patch_of(device, "dry", {"Ethernet0": "dry"}).replace("apply-patch", "apply-patch -d")
    real = patch_of(device, "real", {"Ethernet4": "real"})
    assert [status for status, _, _ in at_once(device, dry, real)] == [0, 0]
    assert described(device)["Ethernet0"] == ""


def test_of_two_reloads_at_once_the_second_gets_no_lock() -> None:
    device = new_switch()
    line = "config reload -y -f"
    (first, out, _), (second, refused, _) = at_once(device, line, line)
    assert (first, second) == (0, 1)
    assert out.endswith("Released lock on /etc/sonic/reload.lock\n")
    assert refused == "Failed to acquire lock on /etc/sonic/reload.lock\n"
    assert at_once(device, line)[0][0] == 0, "the lock is free again"


def test_a_patch_goes_past_the_lock_of_a_reload() -> None:
    device = new_switch()
    answers = at_once(device, "config reload -y -f", patch_of(device, "past", {"Ethernet0": "past"}))
    assert [status for status, _, _ in answers] == [0, 0]
    assert described(device)["Ethernet0"] == "past"


VALUES = st.dictionaries(st.sampled_from(PORTS), st.sampled_from(("a", "b", "c")), min_size=1)


@given(patches=st.lists(VALUES, min_size=2, max_size=3))
def test_whatever_is_patched_at_once_the_last_writer_of_each_row_wins(patches: list[dict[str, str]]) -> None:
    device = new_switch()
    lines = [patch_of(device, f"patch{place}", values) for place, values in enumerate(patches)]
    answers = at_once(device, *lines)
    wanted = dict.fromkeys(PORTS, "")
    for values in patches:
        wanted |= values
    assert described(device) == wanted
    assert {status for status, _, _ in answers} <= {0, 2}
    assert answers[0][0] == 0
    assert device.patching == []
