"""What each node does in a block: its tests with their words, and the NICs whose counters it reads around rounds."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from railweave.acceptance.model import AcceptancePlan, AcceptanceRound, PlannedTest
from railweave.acceptance.running.timing import TimedRound

NODE_PROGRAM_VERSION = 1
"""The version of the work documents that the program on the nodes reads."""


class NodePart(NamedTuple):
    """What a node starts for a test: servers are there before clients."""

    test: str
    serves: bool
    words: tuple[str, ...]
    # The command for another launcher, for nodes without the program of `words`; empty if there is none.
    instead: tuple[str, ...] = ()


def members_of(test: PlannedTest) -> tuple[str, ...]:
    """Return the nodes that take part in a test."""
    ports = test.group or (test.sender, test.receiver)
    return tuple(dict.fromkeys(port.node for port in ports if port is not None))


def limited_rounds(plan: AcceptancePlan, nodes: Collection[str]) -> tuple[AcceptanceRound, ...]:
    """Return the rounds of a plan with only those tests whose nodes are all among ``nodes``.

    Rounds without such a test are left out.
    """
    allowed_nodes = set(nodes)
    allowed_tests = {test.id for test in plan.tests if allowed_nodes.issuperset(members_of(test))}
    rounds = []
    for planned in plan.rounds:
        tests = tuple(test for test in planned.tests if test in allowed_tests)
        if tests:
            rounds.append(planned._replace(tests=tests))
    return tuple(rounds)


def parts_of(tests: Iterable[PlannedTest]) -> dict[str, list[NodePart]]:
    """Return the parts of tests by node; the sender of a pair is the client."""
    parts: dict[str, list[NodePart]] = {}
    for test in tests:
        for node, words in test.argv.items():
            serves = test.receiver is not None and node != test.sender.node
            instead: tuple[str, ...] = ()
            if test.receiver is None:
                instead = srun_words(words)
            parts.setdefault(node, []).append(NodePart(test.id, serves, words, instead))
    return parts


def srun_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the command of a collective for srun, made from that for mpirun; empty if it is no command of mpirun."""
    if not words or words[0] != "mpirun":
        return ()
    hosts: list[str] = []
    variables: list[str] = []
    ranks = "1"
    program: list[str] = []
    remaining = iter(words[1:])
    for word in remaining:
        if word == "-np":
            ranks = next(remaining)
        elif word == "-H":
            hosts = [host.partition(":")[0] for host in next(remaining).split(",")]
        elif word == "-x":
            variables.append(next(remaining))
        else:
            # The first word that is not an option of mpirun.
            program = [word, *remaining]
    ranks_per_node = int(ranks) // max(1, len(hosts))
    placement = ("-N", str(len(hosts)), "-n", ranks, f"--ntasks-per-node={ranks_per_node}", "-w", ",".join(hosts))
    # Open MPI's ranks find each other by PMIx. Variables are set by env, because their values contain commas, which
    # separate the variables of --export.
    return ("srun", "--mpi=pmix", *placement, "env", *variables, *program)


def programs_of(tests: Iterable[PlannedTest]) -> tuple[str, ...]:
    """Return the programs of tests whose version nodes are asked for. Collectives print their version themselves."""
    programs = {words[0] for test in tests if test.receiver is not None for words in test.argv.values()}
    return tuple(sorted(programs))


def interfaces_of(plan: AcceptancePlan) -> Mapping[str, tuple[str, ...]]:
    """Return the interfaces of each node, whose counters are read."""
    interfaces: dict[str, list[str]] = {}
    for link in plan.links:
        if link.nic_port is not None:
            interfaces.setdefault(link.lower.device, []).append(link.lower.port)
    return {node: tuple(names) for node, names in interfaces.items()}


def block_work(
    block: str,
    plan_sha256: str,
    rounds: Sequence[TimedRound],
    tests: Mapping[str, PlannedTest],
    nodes: Collection[str],
) -> dict[str, dict[str, Any]]:
    """Return the work document of each of ``nodes`` for a block; a node without a test only reads its counters."""
    documents: dict[str, dict[str, Any]] = {}
    for node in nodes:
        documents[node] = {"version": NODE_PROGRAM_VERSION, "plan": plan_sha256, "block": block, "rounds": []}
    for planned, times in rounds:
        parts = parts_of(tests[test] for test in planned.tests)
        for node in nodes:
            node_tests = list(_part_documents(parts.get(node, ())))
            documents[node]["rounds"].append({**times._asdict(), "tests": node_tests})
    return documents


def _part_documents(parts: Iterable[NodePart]) -> Iterator[dict[str, Any]]:
    for part in parts:
        yield {"test": part.test, "serves": part.serves, "words": part.words, "instead": part.instead}
