"""The simulator says which extra is missing."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from railweave import api
from railweave.errors import RailweaveError

INTENT = Path(__file__).resolve().parents[3] / "intent/lab-4.yml"


def test_the_extra_that_the_simulator_needs_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def found(name: str) -> Any:
        return None if name in ("asyncssh", "tabulate") else find_spec(name)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("railweave.api.simulator.sim.find_spec", found)

    with pytest.raises(RailweaveError) as refused:
        api.sim.up(api.open_project(INTENT))

    needed = "the simulator needs the extra railweave[sim] (missing: asyncssh, tabulate): pip install 'railweave[sim]'"
    assert str(refused.value) == needed
