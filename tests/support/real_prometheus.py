"""Prometheus and Alertmanager of Debian, unpacked into a folder of a test: nothing is installed or started."""

import subprocess
from collections.abc import Iterable
from pathlib import Path

import debian_packages

PACKAGES = ("prometheus", "prometheus-alertmanager")


def unpacked(folder: Path) -> Path:
    """Return the folder of the programs."""
    return debian_packages.unpacked(folder, PACKAGES) / "usr" / "bin"


def promtool_results(programs: Path, folder: Path, files: Iterable[str]) -> dict[str, bool]:
    """Return whether promtool's unit tests in each file of a folder pass."""
    words = [str(programs / "promtool"), "test", "rules", *files]
    # In one stream: apart, it is unknown which file a failure belongs to.
    result = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    passed = {}
    # One process for all files: a name, then SUCCESS or what failed.
    for part in result.stdout.split("Unit Testing:")[1:]:
        passed[part.split()[0]] = "SUCCESS" in part and "FAILED" not in part
    return passed
