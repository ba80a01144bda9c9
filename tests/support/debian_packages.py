"""Programs of Debian packages, unpacked and never installed."""

import subprocess
from collections.abc import Iterable
from pathlib import Path


def unpacked(folder: Path, packages: Iterable[str]) -> Path:
    """Return the root folder of the files of ``packages``, which are those that apt knows."""
    root = folder / "root"
    download = ["apt-get", "download", "-q", *packages]
    if subprocess.run(download, cwd=folder, capture_output=True, check=False).returncode:
        subprocess.run(["apt-get", "update", "-q"], capture_output=True, check=True)
        subprocess.run(download, cwd=folder, capture_output=True, check=True)
    for package in sorted(folder.glob("*.deb")):
        subprocess.run(["dpkg", "-x", str(package), str(root)], check=True)
    return root
