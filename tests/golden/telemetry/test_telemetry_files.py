"""The folder of a small fabric, byte by byte; ``RAILWEAVE_UPDATE_GOLDEN=1`` rewrites it: look at the difference."""

import os
from pathlib import Path

from telemetry_samples import fabric_of, telemetry_files

HERE = Path(__file__).parent
KEPT = HERE / "monitoring"


def test_the_monitoring_of_a_fabric_is_written_as_before() -> None:
    files = telemetry_files(fabric_of((HERE / "fabric.yml").read_text(encoding="utf-8")))
    if os.environ.get("RAILWEAVE_UPDATE_GOLDEN"):
        for name, text in files.items():
            (KEPT / name).parent.mkdir(parents=True, exist_ok=True)
            (KEPT / name).write_text(text, encoding="utf-8")
    kept = {path.relative_to(KEPT).as_posix(): path for path in KEPT.rglob("*.*")}
    assert kept.keys() == files.keys()
    for name, text in files.items():
        assert text == kept[name].read_text(encoding="utf-8"), name
