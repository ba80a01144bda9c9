"""Run inside a lab node's container: put it into a recorded state, run the recorded commands, print what they did.

Standard input has ``rows``, ``databases``, ``files``, ``setup`` and ``steps``; standard output gets a list of exit
status, both texts and the rows of CONFIG_DB before and after each step.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from lab_node.redis import CONFIG_DB, Redis


def prepare(asked: dict[str, Any]) -> None:
    """Empty the databases and what commands leave behind, and fill in the recorded state."""
    for folder in ("/etc/sonic/checkpoints", "/tmp"):
        shutil.rmtree(folder, ignore_errors=True)
        Path(folder).mkdir(parents=True)
    for path, text in asked["files"].items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)
    for number in range(8):
        redis = Redis(number)
        redis.call("FLUSHDB")
        redis.write({}, asked["databases"].get(str(number), {}))
    Redis(CONFIG_DB).call("SET", "CONFIG_DB_INITIALIZED", "1")


def run(step: dict[str, Any]) -> dict[str, Any]:
    """Run a command in a shell."""
    before = Redis(CONFIG_DB).rows()
    done = subprocess.run(
        ["bash", "-c", step["command"]], input=step.get("stdin") or "", capture_output=True, text=True, cwd="/root",
        timeout=300, check=False,
    )  # fmt: skip
    after = Redis(CONFIG_DB).rows()
    return {"exit": done.returncode, "stdout": done.stdout, "stderr": done.stderr, "before": before, "after": after}


def main() -> None:
    """Replay one scenario."""
    asked = json.load(sys.stdin)
    prepare(asked)
    for command in asked["setup"]:
        run({"command": command})
    json.dump([run(step) for step in asked["steps"]], sys.stdout)


main()
