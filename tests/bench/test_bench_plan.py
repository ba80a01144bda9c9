"""Time and memory of a plan of simulated devices on which nothing changed; prints figures only."""

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

# 96 leaves and 4 spines of 128 ports: 100 switches, 12 stripes of 8 rails.
INTENT = """\
fabric: bench100
workload: {kind: mixed}
nodes:
  - {name: gpu, count: 48, gpus: 8, nics: {count: 8, speed: 400G, model: connectx-7}}
topology:
  stripe: 4
  links_per_pair: 1
  oversubscription: "1:1"
  leaf: {model: nvidia-sn5600, count: 96, downlink_speed: 400G, uplink_speed: 400G}
  spine: {model: nvidia-sn5600, count: 4}
"""


def run(folder: Path, *words: str) -> float:
    """Run a command in ``folder`` and return its seconds."""
    began = time.perf_counter()
    done = subprocess.run(
        [str(RAILWEAVE), *words], cwd=folder, env=os.environ, capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return time.perf_counter() - began


def test_plan_of_a_hundred_devices_without_a_change(tmp_path: Path) -> None:
    (tmp_path / "intent").mkdir()
    (tmp_path / "intent" / "fabric.yml").write_text(INTENT)
    shutil.copytree(ROOT / "inventory", tmp_path / "inventory")
    try:
        up_s = run(tmp_path, "sim", "up")
        deploy_s = run(tmp_path, "deploy", "--target", "sim", "--yes", "--provision")
        plan_s = [run(tmp_path, "plan", "--target", "sim") for _ in range(3)]
        verify_s = run(tmp_path, "verify", "--target", "sim")
    finally:
        run(tmp_path, "sim", "down", "--all")
    peak_mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(
        f"\n100 simulated switches: up {up_s:.1f} s, first deployment {deploy_s:.1f} s, "
        f"plan without a change {sorted(plan_s)[1]:.1f} s (median of 3), verify {verify_s:.1f} s, "
        f"largest process {peak_mib:.0f} MiB"
    )
