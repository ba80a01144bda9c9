"""Scripts for sites that run tests by their scheduler: one for Slurm, one for mpirun, both with the same node script.

They fill ``results/`` of a plan's directory, which all nodes share. Counters are not read.
"""

import shlex
from collections.abc import Iterator, Mapping

from railweave.acceptance.document import ReadPlan
from railweave.acceptance.model import AcceptancePlan, PlannedTest
from railweave.acceptance.running.node_work import parts_of, srun_words

FORMS_FOLDER = "forms"
"""The name of the folder of the scripts within the directory of a plan."""

# A test may take so many seconds longer than planned.
_MARGIN_S = 30
_MINUTE_S = 60

_NODE = """\
#!/bin/bash
# Runs the tests of one round on this node: servers first, then clients. Usage: node.sh ROUND [NODE]
set -u
round=$1
node=${2:-${SLURMD_NODENAME:-$(hostname -s)}}
folder=$(cd "$(dirname "$0")/.." && pwd)

run() { # TEST SECONDS WORD...
    local test=$1 bound=$2 base="$folder/results/$1/$node" started rc
    shift 2
    mkdir -p "$folder/results/$test"
    started=$(date +%s.%N)
    timeout -k 5 "$bound" "$@" >"$base.txt" 2>"$base.err"
    rc=$?
    printf '{"started": %s, "ended": %s, "rc": %d, "host": "%s", "plan_sha256": "@SHA256@"}\\n' \\
        "$started" "$(date +%s.%N)" "$rc" "$node" >"$base.meta.json"
    # perftest and mpirun report their errors on standard error, which is all there is then.
    if [ ! -s "$base.txt" ]; then
        mv "$base.err" "$base.txt"
    else
        rm -f "$base.err"
    fi
}

each() { # serve|send
    local test bound words
    while IFS=$'\\t' read -r test bound words; do
        eval "set -- $words"
        run "$test" "$bound" "$@" &
    done < <(awk -F'\\t' -v OFS='\\t' -v r="$round" -v n="$node" -v k="$1" \\
        '$1 == r && $3 == n && $4 == k {print $2, $5, $6}' "$folder/forms/tests.tsv")
}

each serve
# Servers listen by then, also on a node that starts late.
sleep "${RAILWEAVE_START_S:-3}"
each send
wait
"""

_SLURM = """\
#!/bin/bash
#SBATCH --job-name=railweave-@FABRIC@
#SBATCH --nodelist=@NODES@
#SBATCH --nodes=@COUNT@
#SBATCH --exclusive
#SBATCH --time=@MINUTES@
# Acceptance tests of @FABRIC@: run `sbatch forms/slurm.sbatch` in the directory of the plan, which all nodes share.
set -u
for round in @ROUNDS@; do
    srun --nodes=@COUNT@ --ntasks-per-node=1 --overlap forms/node.sh "$round"
done
@COLLECTIVES@"""

_MPIRUN = """\
#!/bin/bash
# Acceptance tests of @FABRIC@: run it on the first node, in the directory of the plan, which all nodes share.
set -u
for round in @ROUNDS@; do
    mpirun -np @COUNT@ -H @NODES@ --map-by ppr:1:node forms/node.sh "$round"
done
@COLLECTIVES@"""

_COLLECTIVE = """\
mkdir -p results/@TEST@
timeout -k 5 @BOUND@ @WORDS@ >results/@TEST@/@NODE@.txt 2>&1
"""


def forms_of(read: ReadPlan) -> dict[str, str]:
    """Return the contents of the scripts and of their list of tests, by file name."""
    plan = read.plan
    tests = {test.id: test for test in plan.tests}
    pair_rounds = [planned.id for planned in plan.rounds if any(tests[test].receiver for test in planned.tests)]
    values = {
        "FABRIC": plan.fabric,
        "NODES": ",".join(node.name for node in plan.nodes),
        "COUNT": str(len(plan.nodes)),
        "ROUNDS": " ".join(pair_rounds),
        # Twice the plan's time, because a scheduler takes longer to start a round.
        "MINUTES": str(2 * plan.duration_s // _MINUTE_S + 1),
    }
    slurm_values = {**values, "COLLECTIVES": "".join(_collective_lines(plan, by_srun=True))}
    mpirun_values = {**values, "COLLECTIVES": "".join(_collective_lines(plan, by_srun=False))}
    return {
        "node.sh": _filled(_NODE, {"SHA256": read.sha256}),
        "slurm.sbatch": _filled(_SLURM, slurm_values),
        "mpirun.sh": _filled(_MPIRUN, mpirun_values),
        "tests.tsv": "".join(_test_lines(plan, tests)),
    }


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Return ``text`` with each ``@NAME@`` replaced by the value of its name."""
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def _test_lines(plan: AcceptancePlan, tests: Mapping[str, PlannedTest]) -> Iterator[str]:
    """Yield a line for each node of each pair: round, test, node, serve or send, bound in seconds, words."""
    for planned in plan.rounds:
        bound_s = planned.seconds + _MARGIN_S
        pairs = [tests[test] for test in planned.tests if tests[test].receiver is not None]
        for node, parts in parts_of(pairs).items():
            for part in parts:
                role = "serve" if part.serves else "send"
                fields = (planned.id, part.test, node, role, str(bound_s), shlex.join(part.words))
                yield "\t".join(fields) + "\n"


def _collective_lines(plan: AcceptancePlan, *, by_srun: bool) -> Iterator[str]:
    """Yield the lines of the script that run each collective, by srun or by mpirun."""
    seconds_of_round = {planned.id: planned.seconds for planned in plan.rounds}
    for test in plan.tests:
        if test.receiver is not None:
            continue
        bound_s = seconds_of_round[test.round] + _MARGIN_S
        for node, words in test.argv.items():
            command = srun_words(words) if by_srun else words
            values = {"TEST": test.id, "NODE": node, "BOUND": str(bound_s), "WORDS": shlex.join(command)}
            yield _filled(_COLLECTIVE, values)
