"""Files of a run below the directory of its plan: outputs of tests with their meta files, and counters of rounds."""

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from railweave.acceptance.counter_files import TABLES
from railweave.acceptance.counter_names import counter_name
from railweave.acceptance.folder import RUNNING_FILE
from railweave.acceptance.running.answers import StoredTest
from railweave.errors import RailweaveError
from railweave.files import cannot_write

_VERSION = 1


class ResultsFolder:
    """Writes into the directory of a plan; every method raises RailweaveError if a file cannot be written."""

    def __init__(self, folder: Path) -> None:
        """Create nothing yet."""
        self.folder = folder

    def clear(self, round_id: str, tests: Iterable[str]) -> None:
        """Remove what an earlier attempt at a round left."""
        for path in (self.folder / "counters" / round_id, *(self.folder / "results" / test for test in tests)):
            shutil.rmtree(path, ignore_errors=True)

    def write_test(self, node: str, stored: StoredTest, version: str) -> None:
        """Write the output and the meta file of a test on a node; without output the meta file alone."""
        base = self.folder / "results" / stored.test
        if stored.output:
            suffix = "txt"
            # nccl-tests and iperf3 print JSON with an option for it.
            if stored.output.lstrip().startswith(("{", "[")):
                suffix = "json"
            self._write(base / f"{node}.{suffix}", stored.output)
        meta = {**stored.meta, "host": node, "tool_version": version}
        self._write(base / f"{node}.meta.json", json.dumps(meta, indent=1) + "\n")

    def has_test(self, test: str, node: str) -> bool:
        """Tell whether the result of a test on a node is there."""
        return (self.folder / "results" / test / f"{node}.meta.json").exists()

    def has_counters(self, round_id: str, when: str, device: str) -> bool:
        """Tell whether the counters of a device ``before`` or ``after`` a round are there."""
        return (self.folder / "counters" / round_id / when / f"{device}.json").exists()

    def write_counters(self, round_id: str, when: str, device: str, reading: Mapping[str, Any]) -> None:
        """Write the counters of a switch or node ``before`` or ``after`` a round, without those that no rule uses."""
        document: dict[str, Any] = {"version": _VERSION, "device": device, "at": reading["at"], "boot": reading["boot"]}
        for table in TABLES:
            if table in reading:
                document[table] = {name: _meaningful(row) for name, row in reading[table].items()}
        self._write(self.folder / "counters" / round_id / when / f"{device}.json", json.dumps(document))

    def write_missing(self, round_id: str, when: str, device: str, why: str) -> None:
        """Write why a switch has no counters before or after a round."""
        document = {"version": _VERSION, "device": device, "error": why}
        self._write(self.folder / "counters" / round_id / when / f"{device}.json", json.dumps(document))

    def write_running(self, digests: Mapping[str, str]) -> None:
        """Write the digest of what each switch runs, for `status` to compare with later."""
        document = {"version": _VERSION, "switches": dict(digests)}
        self._write(self.folder / RUNNING_FILE, json.dumps(document, indent=1) + "\n")

    @staticmethod
    def _write(path: Path, text: str) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="replace")
        except OSError as fault:
            raise RailweaveError(cannot_write(path, fault)) from fault


def _meaningful(row: Mapping[str, int]) -> dict[str, int]:
    return {name: value for name, value in row.items() if counter_name(name) is not None}
