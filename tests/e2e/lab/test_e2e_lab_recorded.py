"""The lab's node image answers recorded commands as SONiC did: the commands on its own Redis, files and shell.

One scenario a category, or two; those are left out that need a kernel's ports, a platform's files or a reload.
"""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from command_rig import ROOT
from recording import FOLDER, Ran, difference, expected, load, normal, rows_of, scenario_names

from nornir_railweave.lab.laboratory import ensure_image
from railweave.api.lab import image_sources

pytestmark = pytest.mark.e2e
_NODE = "railweave-recorded"
_REDIS = "redis-server --bind 127.0.0.1 --port 6379 --save '' --appendonly no --databases 16 --daemonize yes"
SCENARIOS = (
    "acl/table",
    "apply-patch/acl-bad-port",
    "apply-patch/stdin",
    "bgp/device-global",
    "bgp/t1-all",
    "gcu-qos/buffer-queue-two-ports",
    "gcu-qos/cable-length",
    "gcu-refusals/profile-name-vs32",
    "gcu-refusals/unlisted-sku",
    "general/hostname",
    "load/changed-field",
    "load/empty-table",
    "portchannel/retry-count",
    "portchannel/vlan-and-acl",
    "replace/bgpraw",
    "replace/buffer",
    "save/save",
    "save/save-prompt",
    "usage/config-abbreviations",
    "usage/config-help",
    "vlan/del-cases",
    "vlan/proxy-dhcp",
)


@pytest.fixture(scope="module")
def node() -> Iterator[str]:
    """Start a container of the node image with nothing but Redis."""
    subprocess.run(["docker", "rm", "-f", _NODE], capture_output=True, check=False)
    start = ("docker", "run", "-d", "--rm", "--name", _NODE, "--network", "none", "--entrypoint", "sleep")
    subprocess.run([*start, ensure_image(image_sources()), "3600"], capture_output=True, check=True)
    try:
        subprocess.run(["docker", "exec", _NODE, "sh", "-c", f"mkdir -p /lab && {_REDIS}"], check=True)
        replay = ROOT / "tests" / "support" / "node_replay.py"
        subprocess.run(["docker", "cp", "-q", str(replay), f"{_NODE}:/lab/replay.py"], check=True)
        yield _NODE
    finally:
        subprocess.run(["docker", "rm", "-f", _NODE], capture_output=True, check=False)


def _asked(scenario: dict[str, Any]) -> dict[str, Any]:
    """Return the recorded state and commands as the container's part of this test takes them."""
    text = (FOLDER / scenario["initial"]).read_text(encoding="utf-8")
    databases = dict(scenario.get("state") or {})
    databases["4"] = {key: row or {"NULL": "NULL"} for key, row in rows_of(json.loads(text))} | databases.get("4", {})
    platform = json.loads(text)["DEVICE_METADATA"]["localhost"]["platform"]
    files = {
        "/lab/node.json": json.dumps({"platform": platform, "serial": "N/A", "mac": "52:54:00:12:34:56", "ports": []}),
        "/etc/sonic/config_db.json": text,
        "/etc/sonic/init_cfg.json": (FOLDER / "initial" / "init_cfg.json").read_text(encoding="utf-8"),
        **(scenario.get("files") or {}),
    }
    return {"databases": databases, "files": files, "setup": scenario.get("setup") or [], "steps": scenario["steps"]}


@pytest.mark.skipif(not FOLDER.exists(), reason="the recordings are not beside the project")
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_node_answers_as_sonic_did(node: str, name: str) -> None:
    scenario = load(name)
    words = ["docker", "exec", "-i", node, "python3", "-Es", "/lab/replay.py"]
    done = subprocess.run(
        words, input=json.dumps(_asked(scenario)), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    for step, ran in zip(scenario["steps"], json.loads(done.stdout), strict=True):
        changed = difference(*({key: _fields(row) for key, row in ran[when].items()} for when in ("before", "after")))
        assert Ran(ran["exit"], normal(ran["stdout"]), normal(ran["stderr"]), changed) == expected(step), step[
            "command"
        ]


def _fields(row: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in row.items() if name != "NULL"}


def test_every_scenario_named_here_was_recorded() -> None:
    assert not FOLDER.exists() or set(SCENARIOS) <= set(scenario_names())
