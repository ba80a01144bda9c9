"""A simulated fabric that runs its intent, nodes included, with a plan of its acceptance."""

from pathlib import Path
from typing import Any


def planned_acceptance(project: Any, keys: str) -> Path:
    """Append ``keys`` to the intent, deploy switches and nodes, and return the folder of a plan of level smoke."""
    with project.intent.open("a", encoding="utf-8") as intent:
        intent.write(keys)
    project.up()
    project.deploy()
    project.run("hosts", "apply", "--target", "sim", "--yes")
    folder: Path = project.folder / "acceptance"
    project.run("acceptance", "plan", "--level", "smoke", "--out", str(folder))
    return folder
