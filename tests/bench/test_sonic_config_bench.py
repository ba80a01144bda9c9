"""Time and memory from an intent to all artifacts, each size in a process of its own; bars of docs (2 cores)."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

INTENT = """
fabric: bench
workload: {{kind: pretraining}}
nodes:
  - name: gpu
    count: {nodes}
    gpus: 8
    nics: {{count: {rails}, speed: {speed}, ports: {planes}, model: {nic}, pcie: gen5x16}}
topology:
  shape: rail-optimized
  planes: {planes}
  leaf: {{model: nokia-ixr7220-h4-64d, count: {leaves}, downlink_speed: {speed}, uplink_speed: {speed}}}
  spine: {{model: nokia-ixr7220-h4-64d, count: {spines}}}
"""

# Sixty-four pods of 64 switches: more than one two-tier fabric can hold, so the copies only share their addresses.
PROGRAM = """
import resource, sys, time
started = time.perf_counter()
from dataclasses import replace
from pathlib import Path
from railweave.catalog.load import load_catalog
from railweave.design.build import design
from railweave.intent.load import load_intent
from railweave.report.artifacts import write_artifacts
from railweave.templates import find_templates

def copies(fabric, count):
    if count == 1:
        return fabric
    switches, hosts, links, blocks = [], [], [], {}
    for copy in range(count):
        switches += [replace(one, name=f"{one.name}-{copy}") for one in fabric.switches]
        hosts += [replace(one, name=f"{one.name}-{copy}") for one in fabric.hosts]
        links += [replace(one, lower=f"{one.lower}-{copy}", upper=f"{one.upper}-{copy}") for one in fabric.links]
        blocks |= {f"{name}-{copy}": block for name, block in fabric.host_blocks.items()}
    return replace(
        fabric, switches=tuple(switches), hosts=tuple(hosts), links=tuple(links), host_blocks=blocks
    )

fabric = copies(design(load_intent(Path(sys.argv[1])), load_catalog()).fabric, int(sys.argv[3]))
files = write_artifacts(fabric, Path(sys.argv[2]), find_templates())
peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
cpu = sum(one.ru_utime + one.ru_stime for one in usage)
print(len(fabric.switches), len(fabric.links), files, peak // 1024, cpu, time.perf_counter() - started)
"""

POD = {"nic": "connectx-7", "speed": "400G", "planes": 1, "rails": 4, "leaves": 32, "spines": 32, "nodes": 256}
SIZES = {
    64: (0.5, 1, POD),
    256: (1.0, 1, POD | {"speed": "200G", "planes": 2, "leaves": 64, "spines": 64, "nodes": 512, "rails": 8}),
    1024: (
        3.0,
        1,
        POD
        | {"nic": "amd-pollara-400", "speed": "100G", "planes": 4, "leaves": 128, "spines": 128, "nodes": 2048}
        | {"rails": 8},
    ),
    4096: (10.0, 64, POD),
}


@pytest.mark.bench
@pytest.mark.parametrize("switches", SIZES)
def test_from_intent_to_all_artifacts(switches: int, tmp_path: Path) -> None:
    bar_s, pods, shape = SIZES[switches]
    intent = tmp_path / "bench.yml"
    intent.write_text(INTENT.format(**shape), encoding="utf-8")
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(intent), str(tmp_path / "out"), str(pods)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    found, links, files, peak_mib, cpu_s, seconds = done.stdout.split()
    print(
        f"\n{found} switches, {links} links to {files} files: {float(seconds):.2f} s ({float(cpu_s):.2f} of CPU), "
        f"{float(seconds) / bar_s:.2f} of the bar of {bar_s} s; {peak_mib} MiB a process"
    )
    assert int(found) == switches
    assert int(files) >= 2 * switches + 2
