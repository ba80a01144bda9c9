"""What a whole level quick costs on 32 simulated nodes and 8 switches, by the commands that a user types.

Needs root, as simulated nodes do. Run alone, on an idle machine: ``python tests/bench/accepting.py [LEVEL]``.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from figures import Figures, run

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from kill_moments import descendants

ROOT = Path(__file__).resolve().parents[2]
NODES = 32
MOST_S = 300.0
"""The seconds within which the level is to be carried out."""
MOST_MIB = 1024.0
"""The memory of the controller, the simulator and all nodes together."""
MOST_MS_A_NODE = 600.0
"""The controller's processor time for each node."""

_MANAGED = "hosts: {manage: true, frontend: eno1}\n"
_SAMPLE_S = 3.0


@dataclass(frozen=True, slots=True)
class AcceptanceFigures:
    """What one `acceptance run` cost; starting and deploying the fabric is left out."""

    nodes: int
    switches: int
    rounds: int
    tests: int
    # How many tests did not run and how many rounds were repeated, by reason.
    not_run: dict[str, int]
    repeated: dict[str, int]
    verdict: str
    elapsed_s: float
    # User and system time of the command and its children; sessions of SSH that outlive a task of Ansible are missing.
    controller_cpu_s: float
    controller_cpu_ms_per_node: float
    # The same of the simulator, its nodes and what ran on them.
    simulator_cpu_s: float
    # The largest sums of proportional set sizes (proc_pid_smaps(5)).
    peak_controller_mib: float
    peak_together_mib: float
    # Of one minute, before and after.
    load_average: tuple[float, float]

    def as_figures(self) -> Figures:
        """Return what a table of measurements shows: the memory is of all together."""
        return Figures(self.elapsed_s, self.controller_cpu_s, self.peak_together_mib)


def measure(checkout: Path, folder: Path, level: str = "quick") -> AcceptanceFigures:
    """Start and deploy the fabric in a new ``folder``, carry out a level, judge it, and end the fabric."""
    (folder / "inventory").mkdir(parents=True)
    (folder / "inventory/sim.yml").write_text((ROOT / "inventory/sim.yml").read_text())
    (folder / "intent.yml").write_text((ROOT / "intent/pod-32.yml").read_text() + _MANAGED)
    to_target = ("intent.yml", "--target", "sim")
    try:
        run(checkout, folder, "sim", "up", "intent.yml")
        run(checkout, folder, "deploy", *to_target, "--yes", "--provision")
        run(checkout, folder, "hosts", "apply", *to_target, "--yes")
        run(checkout, folder, "acceptance", "plan", "intent.yml", "--level", level, "--out", "out")
        return _carried_out(checkout, folder)
    finally:
        subprocess.run([_program(checkout), "sim", "down", "--all"], cwd=folder, capture_output=True, check=False)


def _carried_out(checkout: Path, folder: Path) -> AcceptanceFigures:
    (endpoints,) = (folder / ".railweave/sim").glob("*/endpoints.json")
    simulator = json.loads(endpoints.read_text())["pid"]
    loads = [os.getloadavg()[0]]
    before_s = _cpu_s(simulator)
    with _sampled(os.getpid(), simulator) as peaks:
        words = ("acceptance", "run", "out", "--intent", "intent.yml", "--target", "sim", "--json")
        figures = run(checkout, folder, *words, statuses=(0, 1))
    loads.append(os.getloadavg()[0])
    result = json.loads(_last_document(folder / "output.txt"))
    run(checkout, folder, "acceptance", "judge", "out", "--json", statuses=(0, 1))
    verdict = json.loads(_last_document(folder / "output.txt"))
    return AcceptanceFigures(
        nodes=NODES,
        switches=len(json.loads((folder / "out/plan.json").read_text())["devices"]),
        rounds=result["rounds"],
        tests=result["tests"]["planned"],
        not_run=_by_reason(result["not_run"]),
        repeated=_by_reason(result["repeated"]),
        verdict=verdict["verdict"],
        elapsed_s=round(figures.elapsed_s, 1),
        controller_cpu_s=round(figures.cpu_s, 2),
        controller_cpu_ms_per_node=round(1000 * figures.cpu_s / NODES, 1),
        simulator_cpu_s=round(_cpu_s(simulator) - before_s, 2),
        peak_controller_mib=round(peaks["controller"], 1),
        peak_together_mib=round(peaks["together"], 1),
        load_average=(round(loads[0], 2), round(loads[1], 2)),
    )


def _by_reason(rows: list[dict[str, str]]) -> dict[str, int]:
    return dict(Counter(row["reason"] for row in rows))


def _program(checkout: Path) -> str:
    return str(checkout / ".venv/bin/railweave")


def _last_document(path: Path) -> str:
    """Return the JSON in what a command printed: progress and warnings are lines before it."""
    lines = path.read_text(encoding="utf-8").splitlines()
    first = max(number for number, line in enumerate(lines) if line == "{")
    return "\n".join(lines[first:])


@contextmanager
def _sampled(parent: int, simulator: int) -> Iterator[dict[str, float]]:
    """Yield the largest memory in MiB of all that ``parent`` starts meanwhile, and of that and a simulator."""
    peaks = {"controller": 0.0, "together": 0.0}
    is_over = threading.Event()

    def sample() -> None:
        while not is_over.wait(_SAMPLE_S):
            controller = sum(map(_pss_mib, descendants(parent)))
            together = controller + sum(map(_pss_mib, [simulator, *descendants(simulator)]))
            peaks["controller"] = max(peaks["controller"], controller)
            peaks["together"] = max(peaks["together"], together)

    sampler = threading.Thread(target=sample, daemon=True)
    sampler.start()
    try:
        yield peaks
    finally:
        is_over.set()
        sampler.join()


def _cpu_s(simulator: int) -> float:
    """Return the processor time of a simulator, of its children, and of what has ended below them."""
    ticks = 0
    for pid in [simulator, *descendants(simulator)]:
        try:
            words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        # utime, stime, cutime and cstime are fields 14 to 17 (proc_pid_stat(5)); the first word here is field 3.
        ticks += sum(map(int, words[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _pss_mib(pid: int) -> float:
    """Return the memory of a process, with its part of what it shares with others; 0 if it has ended."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    for line in text.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def main() -> None:
    """Measure the level that the command line names, quick by default."""
    level = "quick"
    if len(sys.argv) > 1:
        level = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="railweave-accepting-") as place:
        figures: dict[str, Any] = asdict(measure(ROOT, Path(place) / "project", level))
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
