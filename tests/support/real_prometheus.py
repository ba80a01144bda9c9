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
