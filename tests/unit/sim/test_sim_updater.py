"""The updater's texts and refusals as SONiC 202505's own code gave them for the same patches, beyond the recordings."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from sonic_sim.device import Device

Run = Callable[..., tuple[int, str, str]]

_VLAN = {"op": "add", "path": "/VLAN/Vlan300", "value": {"vlanid": "300"}}
_FOREIGN = {"op": "add", "path": "/FOO", "value": {"a": {"x": "1"}, "b": {}}}


def _patch(run: Run, switch: Device, options: str, *operations: dict[str, Any]) -> tuple[int, list[str], str]:
    """Return the status, the lines of standard output and the last line of standard error."""
    switch.db.put("VLAN|Vlan2", {"vlanid": "2"})
    line = f"config apply-patch {options} /dev/stdin"
    status, out, complaint = run(switch, line, stdin=json.dumps(operations))
    return status, out.splitlines(), complaint.strip().rpartition("\n")[2]


def test_verbose_tells_the_steps_of_sorting(run: Run, switch: Device) -> None:
    status, lines, _ = _patch(run, switch, "-v", _VLAN)
    start = lines.index("Patch Applier: localhost: sorting patch updates.")
    assert (status, lines[start + 1 : start + 4]) == (
        0,
        [
            "Patch Sorter - Strict: Validating patch is not making changes to tables without YANG models.",
            "Patch Sorter - Strict: Validating target config according to YANG models.",
            "Patch Sorter - Strict: Sorting patch updates.",
        ],
    )


def test_what_has_no_model_is_one_change_and_the_first(run: Run, switch: Device) -> None:
    status, lines, _ = _patch(run, switch, "-n -v", _VLAN, _FOREIGN)
    told = [line.removeprefix("Patch Sorter - Non-Strict: ") for line in lines if "Non-Strict: " in line]
    foreign, vlan = json.dumps([_FOREIGN]), json.dumps([_VLAN])
    assert (status, told) == (
        0,
        [
            "Splitting current/target config based on YANG covered vs non-YANG covered configs.",
            "Validating YANG covered target config according to YANG models.",
            "Sorting non-YANG covered configs patch updates.",
            "The Non-YANG covered config update was sorted into 1 change:",
            f"  * {foreign}",
            "Regenerating patch for YANG covered configs only.",
            f"Generated patch {vlan}",
            "Validating YANG covered config patch is not making changes to tables without YANG models.",
            "Sorting YANG-covered configs patch updates.",
            "The YANG covered config update was sorted into 1 change:",
            f"  * {vlan}",
            "Merging non-YANG and YANG covered changes.",
        ],
    )
    assert [line for line in lines if line.startswith("Patch Applier:   * ")] == [
        f"Patch Applier:   * {change}" for change in (foreign, vlan)
    ]
    assert switch.db.table("FOO") == {"a": {"x": "1"}, "b": {}}


def test_rows_without_a_model_are_replaced_and_removed_with_the_flag(run: Run, switch: Device) -> None:
    switch.db.put("FOO|a", {"x": "1", "y": "2"})
    switch.db.put("FOO|gone", {"x": "1"})
    remove, replace = {"op": "remove", "path": "/FOO/gone"}, {"op": "replace", "path": "/FOO/a", "value": {"x": "3"}}
    assert _patch(run, switch, "-n", remove, replace)[0] == 0
    assert switch.db.table("FOO") == {"a": {"x": "3"}}


@pytest.mark.parametrize(
    ("later", "shown", "said"),
    [
        (
            {"op": "remove", "path": "/VLAN/Vlan300/description"},
            {"vlanid": "300"},
            "- localhost: can't remove a non-existent object 'description'",
        ),
        (
            {"op": "replace", "path": "/VLAN/Vlan300/description", "value": "y"},
            {"vlanid": "300", "description": "y"},
            "",
        ),
    ],
)
def test_a_later_operation_changes_the_value_of_an_earlier_one(
    run: Run, switch: Device, later: dict[str, Any], shown: dict[str, str], said: str
) -> None:
    """The first try of the patch changes it, so what removes part of an addition fails at the second."""
    first = {"op": "add", "path": "/VLAN/Vlan300", "value": {"vlanid": "300", "description": "x"}}
    status, lines, complaint = _patch(run, switch, "", first, later)
    assert (status, complaint) == (2 if said else 0, said)
    patch = next(line for line in lines if "localhost: Patch: " in line)
    assert json.dumps({**first, "value": shown}) in patch


def test_verbose_counts_checkpoints(run: Run, switch: Device) -> None:
    start = (
        "Config Rollbacker: Listing checkpoints starting.\n"
        "Config Rollbacker: Verifying checkpoints directory '/etc/sonic/checkpoints' exists.\n"
    )
    empty = "Config Rollbacker: Checkpoints directory is empty, returning empty checkpoints list.\n[]\n"
    run(switch, "rm -r /etc/sonic/checkpoints")
    assert run(switch, "config list-checkpoints -v") == (0, start + empty, "")
    run(switch, "config checkpoint one")
    found = (
        "Config Rollbacker: Getting checkpoints in checkpoints directory.\n"
        "Config Rollbacker: Found 1 checkpoint:\n"
        "Config Rollbacker:   * one\n"
        "Config Rollbacker: Listing checkpoints completed.\n"
        '[\n    "one"\n]\n'
    )
    assert run(switch, "config list-checkpoints -v") == (0, start + found, "")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "Expecting value: line 1 column 1 (char 0)"),
        (b"{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b"\xff", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        (b"[]", "'list' object has no attribute 'get'"),
        (b'{"PORT": []}', "'list' object has no attribute"),
        (b"null", "'NoneType' object has no attribute 'get'"),
    ],
)
def test_a_broken_checkpoint_is_refused_and_changes_nothing(
    run: Run, switch: Device, content: bytes, words: str
) -> None:
    before = switch.db.document()
    assert run(switch, "config checkpoint bad")[0] == 0
    switch.files.write("/etc/sonic/checkpoints/bad.cp.json", content, now=0.0)
    status, _, said = run(switch, "config rollback bad")
    assert status == 2
    assert said.startswith("Failed to rollback config\n")
    assert words in said
    assert switch.db.document() == before


@pytest.mark.parametrize(
    ("operation", "refused"),
    [
        ({"op": "add", "path": "/PORT/Eth200", "value": {"lanes": "200", "speed": "40000"}}, True),
        ({"op": "add", "path": "/PORT/Eth200", "value": {"lanes": "200"}}, False),
        ({"op": "add", "path": "/PORT/Ethernet0/fec", "value": "rs"}, False),
    ],
)
def test_the_validator_of_ports_finds_a_name_that_begins_as_ports_do(
    run: Run, switch: Device, operation: dict[str, Any], refused: bool
) -> None:
    _, _, said = _patch(run, switch, "", operation)
    assert ("invalid null reference in method 'Table_hget'" in said) == refused
