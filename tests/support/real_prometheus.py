"""Prometheus and Alertmanager of Debian, unpacked into a folder of a test: nothing is installed or started."""

import subprocess
from collections.abc import Iterable
from pathlib import Path

PACKAGES = ("prometheus", "prometheus-alertmanager")


def unpacked(folder: Path) -> Path:
    """Return the folder of the programs; the packages are those that apt knows."""
    root = folder / "root"
    download = ["apt-get", "download", "-q", *PACKAGES]
    if subprocess.run(download, cwd=folder, capture_output=True, check=False).returncode:
        subprocess.run(["apt-get", "update", "-q"], capture_output=True, check=True)
        subprocess.run(download, cwd=folder, capture_output=True, check=True)
    for package in sorted(folder.glob("*.deb")):
        subprocess.run(["dpkg", "-x", str(package), str(root)], check=True)
    return root / "usr" / "bin"


def tested(programs: Path, folder: Path, files: Iterable[str]) -> dict[str, bool]:
    """Return whether promtool's unit tests in each file of a folder pass."""
    words = [str(programs / "promtool"), "test", "rules", *files]
    result = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    passed = {}
    # One process for all files: a name, then SUCCESS or what failed.
    for part in (result.stdout + result.stderr).split("Unit Testing:")[1:]:
        passed[part.split()[0]] = "SUCCESS" in part and "FAILED" not in part
    return passed
