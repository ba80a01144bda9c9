"""A thousand simulated switches planned, deployed and verified from one machine; prints figures only (`make scale`)."""

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.bench

ROOT = Path(__file__).resolve().parents[2]
RAILWEAVE = Path(sys.executable).with_name("railweave")
WORKERS = os.environ.get("RAILWEAVE_BENCH_WORKERS", "32")

# Four planes of 248 small leaves and 2 spines of 256 ports: 1,000 switches, 3,968 links.
INTENT = """\
fabric: scale
workload: {kind: mixed}
nodes:
  - {name: gpu, count: 496, gpus: 1, nics: {count: 1, speed: 100G, ports: 4, model: amd-pollara-400}}
topology:
  planes: 4
  rails: 1
  stripe: 2
  links_per_pair: 1
  oversubscription: "2:1"
  leaf: {model: sonic-vs, count: 248, downlink_speed: 100G, uplink_speed: 100G}
  spine: {model: nokia-ixr7220-h4-64d, count: 2}
"""


def run(folder: Path, *words: str) -> None:
    """Run a command in ``folder`` and print its seconds, its processor time and its memory."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [str(RAILWEAVE), *words], cwd=folder, env=os.environ, capture_output=True, text=True, check=False, timeout=3600
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"{' '.join(words):<44} {time.perf_counter() - began:7.1f} s, {cpu_s:6.1f} s of CPU, "
        f"largest process so far {after.ru_maxrss / 1024:.0f} MiB, simulator {simulator(folder)}"
    )


def simulator(folder: Path) -> str:
    """Return the processor time and the memory of the simulator."""
    processes = list((folder / ".railweave" / "sim").glob("*/process.json"))
    if not processes:
        return "gone"
    process = Path("/proc") / str(json.loads(processes[0].read_bytes())["pid"])
    ticks = process.joinpath("stat").read_text().split()[13:15]
    peak = next(line for line in process.joinpath("status").read_text().splitlines() if line.startswith("VmHWM"))
    return f"{sum(map(int, ticks)) / os.sysconf('SC_CLK_TCK'):.0f} s, {int(peak.split()[1]) // 1024} MiB"


def test_a_thousand_switches_are_planned_deployed_and_verified(tmp_path: Path) -> None:
    (tmp_path / "intent").mkdir()
    (tmp_path / "intent" / "fabric.yml").write_text(INTENT)
    shutil.copytree(ROOT / "inventory", tmp_path / "inventory")
    target = tmp_path / "inventory" / "sim.yml"
    target.write_text(target.read_text().replace("workers: 32 ", f"workers: {WORKERS} "))
    print(f"\n1,000 simulated switches, {WORKERS} workers, {os.cpu_count()} processors")
    try:
        run(tmp_path, "sim", "up")
        run(tmp_path, "plan", "--target", "sim")
        run(tmp_path, "deploy", "--target", "sim", "--yes", "--provision")
        run(tmp_path, "plan", "--target", "sim", "--exit-code")
        run(tmp_path, "verify", "--target", "sim")
        intent = tmp_path / "intent" / "fabric.yml"
        intent.write_text(INTENT + "mtu: {fabric: 9216, hosts: 9000}\n")
        run(tmp_path, "deploy", "--target", "sim", "--yes")
    finally:
        subprocess.run([str(RAILWEAVE), "sim", "down", "--all"], cwd=tmp_path, capture_output=True, check=False)
