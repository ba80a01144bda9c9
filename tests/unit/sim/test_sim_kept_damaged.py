"""What a simulator kept and cannot read, such as after a full disk, is named with what removes it."""

from pathlib import Path

import pytest

from sonic_sim.clock import Clock
from sonic_sim.errors import SimulatorError
from sonic_sim.kept import Keeper


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"vers', "unexpected end of data: line 1 column 7 (char 6)"),
        ("", "Input is a zero-length, empty document: line 1 column 1 (char 0)"),
        ("{}", "'spec'"),
    ],
)
def test_a_switch_that_cannot_be_read_is_named_with_a_fix(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "devices").mkdir()
    (tmp_path / "fabric.json").write_text('{"devices": ["leaf1"]}')
    file = tmp_path / "devices" / "leaf1.json"
    file.write_text(text)
    with pytest.raises(SimulatorError) as refused:
        Keeper(tmp_path).load_devices(Clock())
    fix = "`railweave sim down` removes it, and `railweave sim up` starts afresh"
    assert str(refused.value) == f"{file} cannot be read ({why}); {fix}"


def test_a_fabric_that_cannot_be_read_is_named_too(tmp_path: Path) -> None:
    (tmp_path / "fabric.json").write_text("x")
    with pytest.raises(SimulatorError, match=r"fabric\.json cannot be read .* `railweave sim down` removes it"):
        Keeper(tmp_path).load_fabric()
