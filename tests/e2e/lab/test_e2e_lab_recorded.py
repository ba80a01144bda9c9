"""The lab's node image answers recorded commands as SONiC did: the commands on its own Redis, files and shell.

Every recorded scenario that the simulator knows is replayed but those of LEFT_OUT.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from by_night import sampled
from command_rig import ROOT
from recording import FOLDER, Ran, difference, expected, load, normal, rows_of, scenario_names

from nornir_railweave.lab.laboratory import ensure_image
from railweave.api.lab import image_sources
from sonic_sim.device import VERSION_FILE
from sonic_sim.image import Image

pytestmark = pytest.mark.e2e
IMAGE = Image(version="SONiC.202505.0-recorded", built_by="recorded@lab")
_NODE = "railweave-recorded"
_REDIS = "redis-server --bind 127.0.0.1 --port 6379 --save '' --appendonly no --databases 16 --daemonize yes"
_FRAMES = re.compile(r"(?<=^Traceback \(most recent call last\):\n)(?:  .*\n)+", re.MULTILINE)
LEFT_OUT: dict[str, tuple[str, ...]] = {
    "a kernel with the switch's ports": (
        *("frr/routes", "interface/ip-add", "show/interfaces-breakout-leaf", "show/ip-interfaces", "show/tables"),
    ),
    "the platform's files, which labs do not have": (
        *("cfggen/hwinfo", "interface/breakout", "interface/breakout-asic-stuck"),
        *("interface/breakout-load-predefined", "qos/reload-leaf"),
    ),
    "an ASIC other than the virtual one": ("qos/reload-mellanox",),
    "routing daemons, or none of FRR at all": (
        *("apply-patch/add-row-missing-table", "frr/bgp-summary", "frr/vtysh-forms"),
        *("show/route-nobgpd", "show/running-all", "show/vtysh"),
    ),
    "systemd, or a stand-in of `systemctl`": ("reload/not-ready",),
    "another user, a terminal, no `sudo`": ("apply-patch/no-sudo", "apply-patch/terminal", "general/root"),
    "the software versions of the recording's machine": ("show/version", "show/version-parts"),
}
"""The scenarios that make no sense in a container with nothing but Redis, by what they need."""
_UNFIT = {one for named in LEFT_OUT.values() for one in named}
SCENARIOS = [one for one in (scenario_names() if FOLDER.exists() else ()) if one not in _UNFIT]


@pytest.fixture(scope="module")
def node() -> Iterator[str]:
    """Start a container of the node image with nothing but Redis."""
    subprocess.run(["docker", "rm", "-f", _NODE], capture_output=True, check=False)
    start = ("docker", "run", "-d", "--rm", "--name", _NODE, "--network", "none", "--privileged")
    named = ("--hostname", "sonic", "--add-host", "sonic:127.0.0.1", "--entrypoint", "sleep")
    subprocess.run([*start, *named, ensure_image(image_sources()), "3600"], capture_output=True, check=True)
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
        VERSION_FILE: IMAGE.version_file(scenario.get("asic_type", "vs")),
        "/etc/sonic/init_cfg.json": (FOLDER / "initial" / "init_cfg.json").read_text(encoding="utf-8"),
        **(scenario.get("files") or {}),
    }
    return {"databases": databases, "files": files, "setup": scenario.get("setup") or [], "steps": scenario["steps"]}


@pytest.mark.skipif(not FOLDER.exists(), reason="the recordings are not beside the project")
# `make test` replays all of them on the simulator: on the node's own Redis, files and shell a tenth will do by day.
@pytest.mark.parametrize("name", sampled(SCENARIOS, every=10))
def test_the_node_answers_as_sonic_did(node: str, name: str) -> None:
    scenario = load(name)
    words = ["docker", "exec", "-i", node, "python3", "-Es", "/lab/replay.py"]
    done = subprocess.run(
        words, input=json.dumps(_asked(scenario)), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    for step, ran in zip(scenario["steps"], json.loads(done.stdout), strict=True):
        changed = difference(ran["before"], ran["after"])
        out, err = (normal(_FRAMES.sub("  ...\n", ran[stream])) for stream in ("stdout", "stderr"))
        assert Ran(ran["exit"], out, err, changed) == expected(step), step["command"]


def test_every_scenario_left_out_was_recorded() -> None:
    assert not FOLDER.exists() or set(scenario_names()) >= _UNFIT


@pytest.mark.skipif(not FOLDER.exists(), reason="the recordings are not beside the project")
def test_the_page_on_the_simulator_counts_them() -> None:
    page = (ROOT / "docs" / "reference" / "simulator.md").read_text(encoding="utf-8")
    assert f"answers {len(SCENARIOS)} of the {len(scenario_names())} recorded scenarios" in page
    assert all(f"| {need} | {len(named)} |" in page for need, named in LEFT_OUT.items())
