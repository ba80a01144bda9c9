"""Carry out a plan on the modelled fabric: every round in its order, results and counters written as a runner would."""

from pathlib import Path
from random import Random
from typing import Any

import orjson

from acceptance_faults.counters import Counters
from acceptance_faults.fabric import Fabric, Plan, nic_key, read_plan
from acceptance_faults.nature import Conditions
from acceptance_faults.tool_files import (
    RELEASES,
    Perftest,
    Release,
    Row,
    collective_of,
    nccl_json,
    nccl_text,
    option,
)
from acceptance_faults.traffic import Classes, Model, Traffic, pairs_of

START = 1_790_000_000.0
"""When a run begins: Unix seconds of September 2026."""


def carry_out(folder: Path, conditions: Conditions, seed: int) -> None:
    """Write ``results`` and ``counters`` beside the plan in a folder; equal seeds give equal bytes."""
    plan = read_plan(folder)
    run = _Run(plan, folder, conditions, Random(f"{seed}/{plan.sha256}"))
    for number, round_ in enumerate(plan.document["rounds"]):
        run.round(number, round_)
    if conditions.job is not None:
        job = {"name": "pretraining", "metric": "GPU utilisation", "unit": "%", "better": "higher", "limit": 90.0}
        (folder / "job.json").write_bytes(orjson.dumps({**job, "value": round(90.0 * conditions.job, 1)}))


class _Run:
    def __init__(self, plan: Plan, folder: Path, conditions: Conditions, rng: Random) -> None:
        self.plan = plan
        self.folder = folder
        self.conditions = conditions
        self.rng = rng
        self.tests = {test["id"]: test for test in plan.document["tests"]}
        fabric = Fabric(plan, conditions)
        classes = Classes.of(plan.document["classes"])
        ports = [end for wire in fabric.wires for end in (wire.lower, wire.upper)]
        self.counters = Counters(ports, fabric.nodes, list(classes.queues), sorted(classes.lossless), rng, START)
        self.fabric = fabric
        self.model = Model(fabric, classes, conditions, self.counters, rng)
        # Nodes of one site have one release, mostly.
        self.release = rng.choice(RELEASES)
        self.json_of_nccl = rng.random() < 0.5

    def round(self, number: int, round_: dict[str, Any]) -> None:
        counters = self.counters
        folder = self.folder / "counters" / round_["id"]
        around = self.conditions.constants.pause_around_s * self.rng.uniform(0.7, 1.3)
        counters.write(folder / "before", self.conditions, None)
        kept = counters.kept(self.conditions)
        tests = [self.tests[name] for name in round_["tests"]]
        idle = [test for test in tests if not self._starts(test)]
        tests = [test for test in tests if self._starts(test)]
        seconds = float(round_["seconds"])
        if round_["kind"] == "latency":
            traffic = self._latency(tests)
        else:
            traffic = self.model.run(round_["id"], tests, seconds)
        self.model.idle(seconds + 2 * around)
        started = counters.when + around
        counters.when += seconds + 2 * around
        counters.write(folder / "after", self.conditions, kept)
        counters.when += 2.0
        if number == 0:
            # What passes between two rounds is in no reading of either.
            self.model.idle(2.0)
        for test in tests:
            self._results(test, traffic, started, seconds)
        for test in idle:
            self._lonely(test, started, seconds)

    def _starts(self, test: dict[str, Any]) -> bool:
        """Tell whether the tools of a test start on all its nodes."""
        members = [test["from"], *([test["to"]] if test.get("to") else test["group"])]
        return not any(self._lacks_tool(test, member["node"]) for member in members)

    def _lacks_tool(self, test: dict[str, Any], node: str) -> bool:
        if test["kind"] != "latency" and node in self.conditions.without_bandwidth:
            return True
        return node in self.conditions.without_tools

    def _lonely(self, test: dict[str, Any], started: float, seconds: float) -> None:
        """Write what the tool of one end prints while that of the other does not start."""
        folder = self.folder / "results" / test["id"]
        folder.mkdir(parents=True, exist_ok=True)
        if not test.get("to"):
            return
        for at in ("from", "to"):
            nic = nic_key(test[at])
            if not self._lacks_tool(test, nic[0]):
                program = self._perftest(test, nic, at)
                text = program.refused() if at == "from" else program.server()
                self._write(folder, nic[0], "txt", text, started, seconds, 1, program.argv)

    def _latency(self, tests: list[dict[str, Any]]) -> Traffic:
        """Return which pairs reach each other; their packets are too few for any link."""
        traffic = Traffic()
        for test in tests:
            for sender, receiver, _ in pairs_of(test):
                if self.fabric.path(sender, receiver, self.rng) is None:
                    traffic.unreachable.add(test["id"])
        return traffic

    def _results(self, test: dict[str, Any], traffic: Traffic, started: float, seconds: float) -> None:
        folder = self.folder / "results" / test["id"]
        folder.mkdir(parents=True, exist_ok=True)
        if test["tool"] in ("nccl", "rccl"):
            self._collective(test, traffic, folder, started, seconds)
            return
        sender = nic_key(test["from"])
        receiver = nic_key(test["to"])
        reached = test["id"] not in traffic.unreachable
        program = self._perftest(test, sender)
        if not reached:
            text = program.refused()
        elif test["kind"] == "latency":
            text = self._latency_text(program, test, sender, receiver)
        else:
            text = program.bandwidth(traffic.rate[test["id"]], seconds)
        suffix = "json" if program.as_json and reached else "txt"
        self._write(folder, sender[0], suffix, text, started, seconds, 0 if reached else 1, program.argv)
        server = self._perftest(test, receiver, at="to")
        self._write(folder, receiver[0], "txt", server.server(), started, seconds, 0, server.argv)

    def _perftest(self, test: dict[str, Any], nic: tuple[str, int, int], at: str = "from") -> Perftest:
        argv = tuple(test["argv"].get(nic[0], ()))
        release: Release = self.release
        if self.rng.random() < 0.02:
            release = self.rng.choice(RELEASES)
        return Perftest(argv, release, int(test["queue_pairs"]), int(test["bytes"]), f"mlx5_{test[at]['nic']}")

    def _latency_text(
        self, program: Perftest, test: dict[str, Any], sender: tuple[str, int, int], receiver: tuple[str, int, int]
    ) -> str:
        nature = self.conditions.constants
        hops = self.fabric.path(sender, receiver, self.rng) or []
        slow = min(self.conditions.slow_node.get(nic[0], 1.0) for nic in (sender, receiver))
        switches = len(hops) - 1
        typical = nature.nic_latency_us / slow + nature.hop_latency_us * switches * self.rng.uniform(0.95, 1.05)
        tail = typical + nature.tail_us * self.rng.lognormvariate(0.0, 0.25)
        tail += max(self.conditions.long_tail.get(nic[0], 0.0) for nic in (sender, receiver))
        for hop in hops:
            if self.conditions.loss.get((hop.wire, hop.up)):
                # A lost packet waits for the timeout of the NIC.
                tail += 4000.0
        return program.latency(typical, tail, self.rng)

    def _collective(self, test: dict[str, Any], traffic: Traffic, folder: Path, started: float, seconds: float) -> None:
        members = [nic_key(member) for member in test["group"]]
        hosts = list(dict.fromkeys(member[0] for member in members))
        root = next(iter(test["argv"]), hosts[0])
        argv = tuple(test["argv"].get(root, ()))
        if test["id"] in traffic.unreachable or not hosts:
            text = f"{hosts[0]}: Test NCCL failure common.cu:1005 'unhandled system error'\n"
            self._write(folder, root, "txt", text, started, seconds, 3, argv)
            return
        rows = self._collective_rows(test, traffic, argv, members, hosts)
        gpus = self._gpus(argv, members, hosts)
        suffix = "txt"
        text = nccl_text(argv, hosts, gpus, rows)
        if option(argv, "-J") is not None:
            suffix = "json"
            text = nccl_json(argv, hosts, gpus, rows)
        self._write(folder, root, suffix, text, started, seconds, 0, argv)

    def _collective_rows(
        self,
        test: dict[str, Any],
        traffic: Traffic,
        argv: tuple[str, ...],
        members: list[tuple[str, int, int]],
        hosts: list[str],
    ) -> list[Row]:
        """Return the rows of a ring: every channel waits for its slowest hop, and the collective for all channels."""
        rings: dict[tuple[int, int], int] = {}
        for member in members:
            rings[member[1:]] = rings.get(member[1:], 0) + 1
        hops = sum(count for count in rings.values() if count > 1) or 1
        # The traffic of a test is the sum over all hops; rings are as fast as their mean, less what the slowest costs.
        mean = traffic.rate[test["id"]] / hops
        slowest = min(mean, traffic.slowest.get(test["id"], mean))
        bus = len(rings) * slowest / 8 * self.rng.uniform(0.985, 1.0)
        bus *= min(self.conditions.slow_gpu.get(host, 1.0) for host in hosts)
        ranks = len(hosts) * self._gpus(argv, members, hosts)
        factor = {"all_reduce": 2.0}.get(collective_of(argv), 1.0) * (ranks - 1) / ranks
        steps = (2 if collective_of(argv) == "all_reduce" else 1) * (ranks - 1)
        rows = []
        for size in _sizes(argv, int(test["bytes"])):
            fixed = steps * self.conditions.constants.collective_alpha_us * 0.35
            micros = fixed + size * factor / bus / 1e3
            rows.append(Row(size, micros * self.rng.uniform(1.0, 1.004), micros * self.rng.uniform(1.0, 1.004)))
        return rows

    def _gpus(self, argv: tuple[str, ...], members: list[tuple[str, int, int]], hosts: list[str]) -> int:
        """Return the ranks of a node, as mpirun was told; without it a GPU for each NIC."""
        ranks = option(argv, "-np", "-n") if "mpirun" in argv else None
        if ranks:
            return max(1, int(ranks) // len(hosts))
        return max(1, len({member[1] for member in members if member[0] == hosts[0]}))

    def _write(
        self,
        folder: Path,
        node: str,
        suffix: str,
        text: str,
        started: float,
        seconds: float,
        rc: int,
        argv: tuple[str, ...],
    ) -> None:
        if node in self.conditions.silent:
            return
        skew = self.rng.uniform(-1, 1) * self.conditions.constants.clock_skew_s
        version = f"perftest {self.release.version}"
        if any(word.endswith("_perf") for word in argv):
            version = "nccl-tests 2.19.6"
        meta = {
            "started": round(started + skew, 3),
            "ended": round(started + skew + seconds + self.rng.uniform(0.5, 1.5), 3),
            "rc": rc,
            "argv": list(argv),
            "tool_version": version,
            "host": node,
            "plan_sha256": self.plan.sha256,
        }
        # Without pathlib: a folder has thousands of files.
        for name, content in ((f"{node}.{suffix}", text.encode()), (f"{node}.meta.json", orjson.dumps(meta))):
            with open(f"{folder}/{name}", "wb", buffering=0) as file:
                file.write(content)


def _sizes(argv: tuple[str, ...], largest: int) -> list[int]:
    """Return the message sizes of nccl-tests from its options."""
    least = _bytes(option(argv, "-b", "--minbytes") or "") or largest
    most = _bytes(option(argv, "-e", "--maxbytes") or "") or largest
    factor = int(option(argv, "-f", "--stepfactor") or 2)
    sizes = [least]
    while sizes[-1] * factor <= most:
        sizes.append(sizes[-1] * factor)
    return sizes


def _bytes(text: str) -> int:
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    if text[-1:].upper() in units:
        return int(float(text[:-1]) * units[text[-1].upper()])
    return int(text or 0)
