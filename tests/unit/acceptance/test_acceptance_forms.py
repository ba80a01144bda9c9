"""Scripts for Slurm and mpirun: bash reads them, and with stand-ins of both launchers they fill the results."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from acceptance_nodes import RECORDED
from small_acceptance import PlanBuilder, Shape, small_plan

from railweave.acceptance.document import ReadPlan
from railweave.acceptance.folder import read_results
from railweave.acceptance.model import AcceptancePlan, RoundKind
from railweave.acceptance.running.forms import forms_of

LAUNCHER = """#!/bin/bash
# Runs the node script for both nodes, or another program once.
while [ $# -gt 0 ]; do
    case "$1" in
    *node.sh)
        for node in gpu1 gpu2; do SLURMD_NODENAME=$node "$@" $NODE_WORD & done
        wait
        exit 0 ;;
    *_perf) exec "$@" ;;
    esac
    shift
done
exit 9
"""


@pytest.fixture
def plan() -> AcceptancePlan:
    shape = Shape(rails=1, stripes=1, nodes=2, spines=1)
    builder = PlanBuilder(shape)
    builder.add_pairs(RoundKind.ISOLATED, [(0, 1)])
    builder.add_collective((0, 1))
    pair, group = builder.tests
    words = ("ib_write_bw", "-d", "mlx5 0")
    launch = ("mpirun", "-np", "2", "-H", "gpu1:1,gpu2:1", "-x", "A=b", "all_reduce_perf", "-b", "8")
    tests = (
        pair._replace(argv={"gpu1": (*words, "10.0.0.1"), "gpu2": words}),
        group._replace(argv={"gpu1": launch}),
    )
    base = small_plan(shape)
    kept = {name: getattr(base, name) for name in ("devices", "classes", "settings", "level", "seed")}
    rounds = tuple(builder.rounds)
    return AcceptancePlan(
        "pod", "0" * 64, duration_s=99, rounds=rounds, tests=tests, links=(), nodes=base.nodes, **kept
    )


def write(plan: AcceptancePlan, folder: Path) -> None:
    (folder / "forms").mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "recorded").write_text(RECORDED)
    for name, text in forms_of(ReadPlan(plan, "f" * 64)).items():
        (folder / "forms" / name).write_text(text)
        (folder / "forms" / name).chmod(0o755)
    tool = '#!/bin/bash\n[ "$2" != "mlx5 0" ] || cat "$RECORDED"\n'
    for name, text in (("srun", LAUNCHER), ("mpirun", LAUNCHER), ("ib_write_bw", tool)):
        (folder / "bin" / name).write_text(text)
    (folder / "bin/all_reduce_perf").write_text('#!/bin/bash\necho "ranks of $*"\n')
    for path in (folder / "bin").iterdir():
        path.chmod(0o755)


def test_bash_reads_every_script_and_slurm_is_told_the_nodes_and_the_time(plan: AcceptancePlan, tmp_path: Path) -> None:
    write(plan, tmp_path)
    for name in ("node.sh", "mpirun.sh", "slurm.sbatch"):
        subprocess.run(["bash", "-n", tmp_path / "forms" / name], check=True)
    options = [
        line for line in (tmp_path / "forms/slurm.sbatch").read_text().splitlines() if line.startswith("#SBATCH")
    ]
    assert options == [
        "#SBATCH --job-name=railweave-pod",
        "#SBATCH --nodelist=gpu1,gpu2",
        "#SBATCH --nodes=2",
        "#SBATCH --exclusive",
        "#SBATCH --time=4",
    ]
    assert (tmp_path / "forms/tests.tsv").read_text().splitlines() == [
        "r000\tr000-0000\tgpu1\tsend\t45\tib_write_bw -d 'mlx5 0' 10.0.0.1",
        "r000\tr000-0000\tgpu2\tserve\t45\tib_write_bw -d 'mlx5 0'",
    ]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("awk") is None, reason="the node script needs awk")
@pytest.mark.parametrize("form", ["slurm.sbatch", "mpirun.sh"])
def test_a_script_fills_the_results_of_all_nodes(plan: AcceptancePlan, tmp_path: Path, form: str) -> None:
    write(plan, tmp_path)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "RAILWEAVE_START_S": "0.1"}
    environment |= {"RECORDED": str(tmp_path / "recorded"), "NODE_WORD": ""}
    subprocess.run([f"forms/{form}"], cwd=tmp_path, env=environment, check=True, timeout=30)
    results, _ = read_results(tmp_path, plan)
    measured = {(result.test, result.node): result.reading.values.get("avg_Gbps") for result in results}
    assert measured == {
        ("r000-0000", "gpu1"): 391.51,
        ("r000-0000", "gpu2"): 391.51,
        ("r001-0000", "gpu1"): None,
    }
    meta = json.loads((tmp_path / "results/r000-0000/gpu2.meta.json").read_text())
    assert (meta["rc"], meta["host"], meta["plan_sha256"]) == (0, "gpu2", "f" * 64)
    assert (tmp_path / "results/r001-0000/gpu1.txt").read_text() == "ranks of -b 8\n"
