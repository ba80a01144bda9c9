"""A rollout whose process gets SIGTERM: it ends at once at the second, and reports its state."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from by_check import sampled

from railweave.api.deployment.rollout import report_ended_state
from railweave.api.operator import Operator
from railweave.api.project import JOURNALS, Project

PROGRAM = """
import threading, time
from railweave.cli import main

def blocked(arguments):
    threading.Thread(target=threading.Event().wait).start()
    try:
        print("ready", flush=True)
        while True:
            time.sleep(0.05)  # pause() would miss a signal that comes just before it
    except KeyboardInterrupt:
        return 130

main.main = blocked
main.run([])
"""


@pytest.mark.parametrize("number", sampled([signal.SIGINT, signal.SIGTERM], every=2))
def test_a_command_that_is_told_to_end_ends_as_interrupted_though_devices_are_at_work(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.send_signal(number)
            assert process.wait(300) == 130
        finally:
            process.kill()


class Listening(Operator):
    def __init__(self) -> None:
        self.told: list[str] = []

    def tell(self, note: str) -> None:
        self.told.append(note)


def test_the_state_of_a_rollout_that_is_ended_at_once_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    JOURNALS.mkdir(parents=True)
    name = "20261122T101500Z-lab-4-abcdef"
    devices = {device: {"wave": 1} for device in ("leaf1", "leaf2", "leaf3")}
    lines = [
        {"step": "started", "fabric": "lab-4", "target": "sim", "devices": devices},
        {"step": "outcome", "device": "leaf1", "outcome": "new"},
        {"step": "applying", "device": "leaf2"},
    ]
    journal = "".join(f"{json.dumps(line)}\n" for line in lines)
    (JOURNALS / f"{name}.jsonl").write_text(journal, encoding="utf-8")
    operator = Listening()
    target = SimpleNamespace(name="sim", rollout=SimpleNamespace(revert_in_s=900))
    fabric = SimpleNamespace(designed=SimpleNamespace(fabric=SimpleNamespace(name="lab-4")), target=target)
    with pytest.raises(KeyboardInterrupt), report_ended_state(Project(Path("x"), operator), cast("Any", fabric)):
        raise KeyboardInterrupt
    (told,) = operator.told
    assert "1 of 3 devices committed; changing leaf2. A switch" in told
    assert "rolls it back by itself within 900 s" in told
    assert f"`railweave deploy --resume {name} --target sim`" in told
