"""The results of an acceptance: ``results/TEST/NODE.{json,csv,txt,log}``, each with its optional ``NODE.meta.json``.

Errors name results that cannot be judged: the verdict is then incomplete at best. Warnings do not change it.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import orjson

from railweave.acceptance.contents import content_of
from railweave.acceptance.model import AcceptancePlan, PlannedTest
from railweave.acceptance.readers.registry import read_tool_output
from railweave.acceptance.readers.text import number, whole
from railweave.acceptance.readings import Answer, NodeResult, ResultMeta, ToolReading
from railweave.diagnostics import Diagnostic, Where, error, warning
from railweave.forks import forked, processes_for, slice_of
from railweave.wording import first_few

RUNNING_FILE = "running.json"
"""The digests of what the switches ran, in the directory of a plan (`railweave status --json`, `digest`)."""

_META = ".meta.json"
# Tools never overwrite each other's files: nccl-tests numbers them (`ar.json.0`).
_SUFFIXES = re.compile(r"(.+?)\.(json|jsonl|csv|txt|log)(\.\d+)?")
_LARGEST_BYTES = 64 * 2**20

SHARED_ABOVE = 4_000
"""Tests above which several processes pay for their start."""

TESTED_VERSIONS: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "perftest": ((4, 4), (26, 4)),
    "nccl": ((2, 0), (2, 19)),
    "rccl": ((2, 0), (2, 19)),
    "iperf": ((3, 0), (3, 21)),
}
"""The oldest and the newest release of each program whose source the readers follow."""
_VERSION = re.compile(r"(perftest|ib_\w+|[nr]ccl|iperf)\D*(\d+)\.(\d+)", re.IGNORECASE)
_PERFTEST_PROTOCOL = (5, 6)
"""`ib_write_bw --version` prints the version of its protocol in releases of distributions: 5.x, 6.x."""


def read_results(
    root: Path, plan: AcceptancePlan, *, processes: int | None = None
) -> tuple[tuple[NodeResult, ...], tuple[Diagnostic, ...]]:
    """Return the results below ``root/results`` by test and node, and what is wrong with them.

    A result of another plan, of an unknown test or node or in a version that nobody has checked is left out. Each test
    without a result of a node that measures is an error. ``processes`` is by default one for each core, and one where
    there are few tests.
    """
    reader = _FolderReader(f"{root}/results", _sha256_of_plan(root))
    if processes is None:
        processes = processes_for(len(plan.tests), SHARED_ABOVE)
    if processes == 1:
        reader.read(plan.tests)
    else:

        def read(part: int, parts: int) -> _FolderReader:
            own = _FolderReader(reader.folder, reader.plan_sha256)
            own.read(plan.tests[slice_of(len(plan.tests), part, parts)])
            return own

        with forked(read, processes) as parts:
            for part in parts:
                reader.extend(part)
    return tuple(reader.results), tuple(reader.diagnostics(plan))


def _sha256_of_plan(root: Path) -> str:
    try:
        return hashlib.sha256((root / "plan.json").read_bytes()).hexdigest()
    except OSError:
        return ""


def measuring_nodes(test: PlannedTest) -> tuple[str, ...]:
    """Return the nodes of which one must have a result: the sender, or any of a group (rank 0 prints)."""
    if test.group:
        return tuple(dict.fromkeys(member.node for member in test.group))
    return (test.sender.node,)


def read_meta(data: bytes) -> ResultMeta | None:
    """Return what a meta file says, or None if it is no JSON object; members of another type count as missing."""
    try:
        document = orjson.loads(data)
    except ValueError:
        return None
    if not isinstance(document, dict):
        return None
    texts = [document.get(name) for name in ("tool_version", "host", "plan_sha256")]
    version, host, plan = (text if isinstance(text, str) else "" for text in texts)
    started = number(document.get("started"))
    ended = number(document.get("ended"))
    return ResultMeta(started, ended, whole(document.get("rc")), version, host, plan)


@cache
def is_tested_version(version: str) -> bool:
    """Tell whether the readers know the output of a version; one that is not stated is taken as it comes."""
    if not version:
        return True
    match = _VERSION.search(version)
    if match is None:
        return False
    program = match[1].casefold()
    if program.startswith("ib_"):
        program = "perftest"
    release = int(match[2][:6]), int(match[3][:6])
    if program == "perftest" and release[0] in _PERFTEST_PROTOCOL:
        return True
    oldest, newest = TESTED_VERSIONS[program]
    return oldest <= release <= newest


class _Complaint(NamedTuple):
    """What is wrong with any number of results."""

    code: str
    message: str
    fix: str


class _FolderReader:
    """Reads test by test; ``results`` is what counts, ``complaints`` the results and the first path of each."""

    def __init__(self, folder: str, plan_sha256: str) -> None:
        self.folder = folder
        self.plan_sha256 = plan_sha256
        self.results: list[NodeResult] = []
        self.complaints: dict[_Complaint, list[str]] = {}
        self.paths: dict[_Complaint, str] = {}
        self.without_meta = 0

    def read(self, tests: Iterable[PlannedTest]) -> None:
        for test in tests:
            self._read_test(test)

    def extend(self, other: "_FolderReader") -> None:
        """Add what another reader read of later tests."""
        self.results += other.results
        self.without_meta += other.without_meta
        for complaint, places in other.complaints.items():
            self.complaints.setdefault(complaint, []).extend(places)
            self.paths.setdefault(complaint, other.paths[complaint])

    def _read_test(self, test: PlannedTest) -> None:
        # Text, because a hundred thousand paths of pathlib take seconds.
        folder = f"{self.folder}/{test.id}"
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            names = []
        files: dict[str, list[str]] = {}
        for name in names:
            if name.endswith(_META):
                continue
            match = _SUFFIXES.fullmatch(name)
            if match is not None:
                files.setdefault(match[1], []).append(f"{folder}/{name}")
        members = {member.node for member in (test.sender, test.receiver, *test.group) if member is not None}
        kept = []
        for node, paths in files.items():
            where = f"{test.id} of {node}"
            if node not in members:
                complaint = _Complaint("RW921", "a node that takes no part has a result", "move it to its own test")
                self._add(complaint, where, paths[0])
                continue
            reading = self._judged(_chosen({path: _reading(path) for path in paths}), node, where)
            if reading is not None:
                kept.append(NodeResult(test.id, node, *reading))
        self.results.extend(kept)
        self._check_clocks(test.id, kept)
        measuring = measuring_nodes(test)
        if not any(result.node in measuring for result in kept):
            message = "tests without a result of the node that measures"
            self._add(_Complaint("RW925", message, "run them again"), test.id, folder)

    def _judged(
        self, chosen: tuple[str, ToolReading], node: str, where: str
    ) -> tuple[ToolReading, ResultMeta | None] | None:
        """Return what counts of a result and its meta file; None if it belongs to another plan or version."""
        path, reading = chosen
        meta_path = f"{os.path.dirname(path)}/{node}{_META}"
        meta = None
        try:
            meta = read_meta(content_of(meta_path, _LARGEST_BYTES))
            if meta is None:
                self._add(_Complaint("RW923", "a meta file is not JSON", "write it anew"), where, meta_path)
        except OSError:
            self.without_meta += 1
        versions = [str(reading.values.get("tool_version", ""))]
        if meta is not None:
            versions.append(meta.tool_version)
            if meta.plan_sha256 and self.plan_sha256 and meta.plan_sha256 != self.plan_sha256:
                message = f"results of another plan (plan_sha256 {meta.plan_sha256[:12]}…)"
                self._add(_Complaint("RW922", message, "run this plan, or judge them beside theirs"), where, meta_path)
                return None
        for version in versions:
            if not is_tested_version(version):
                fix = "use a release that docs/reference/acceptance-results.md names"
                self._add(_Complaint("RW924", f"the output of {version[:60]!r} is unknown", fix), where, path)
                return None
        reading = _own_part(reading, node)
        message = "; ".join(reading.remarks) or f"the result is {reading.answer}: its file was cut short"
        if not reading.format:
            self._add(_Complaint("RW924", message, "leave what the tool printed, unchanged"), where, path)
        elif _is_unusable(reading):
            self._add(_Complaint("RW923", message, "repeat the test"), where, path)
        elif meta is not None and meta.rc and reading.answer is Answer.OK:
            message = f"the tool ended with status {meta.rc}, although it has a result"
            self._add(_Complaint("RW923", message, "see what the tool reports, and repeat the test"), where, path)
            reading = ToolReading(reading.format, Answer.ERROR, reading.values, (*reading.remarks, message))
        return reading, meta

    def _check_clocks(self, test: str, results: list[NodeResult]) -> None:
        """Report nodes of one test whose times do not overlap: they ran it together."""
        starts = [result.meta.started for result in results if result.meta and result.meta.started is not None]
        ends = [result.meta.ended for result in results if result.meta and result.meta.ended is not None]
        if starts and ends and max(starts) > min(ends):
            message = "the clocks of its nodes differ, or went backwards: no time is common to all of them"
            complaint = _Complaint("RW926", message, "set the clocks (NTP), and repeat the round")
            self._add(complaint, test, f"{self.folder}/{test}")

    def _add(self, complaint: _Complaint, where: str, path: str) -> None:
        self.complaints.setdefault(complaint, []).append(where)
        self.paths.setdefault(complaint, path)

    def diagnostics(self, plan: AcceptancePlan) -> Iterator[Diagnostic]:
        planned = {test.id for test in plan.tests}
        names = os.listdir(self.folder) if os.path.isdir(self.folder) else []
        for name in sorted(names):
            if name not in planned:
                complaint = _Complaint("RW921", "results of no test of the plan", "judge them beside their own plan")
                self._add(complaint, name, f"{self.folder}/{name}")
        for complaint, places in self.complaints.items():
            message = f"{complaint.message}: {first_few(places)}"
            yield error(complaint.code, message, Where(self.paths[complaint]), fix=complaint.fix)
        if self.without_meta:
            message = f"{self.without_meta:,} results have no meta file: their plan, time and version are unknown"
            yield warning("RW922", message, Where(self.folder), fix="write NODE.meta.json beside each result")


def _reading(path: str) -> ToolReading:
    try:
        return read_tool_output(content_of(path, _LARGEST_BYTES), os.path.basename(path))
    except OSError as fault:
        return ToolReading("", Answer.NOT_MEASURED, {}, (f"cannot be read: {fault.strerror}",))


def _chosen(readings: Mapping[str, ToolReading]) -> tuple[str, ToolReading]:
    """Return the file with a value, JSON before text; files of one node that differ are ambiguous."""
    order = sorted(readings, key=lambda path: (readings[path].answer is not Answer.OK, ".json" not in path, path))
    best = readings[order[0]]
    for path in order[1:]:
        if readings[path].answer is Answer.OK and _differ(best, readings[path]):
            names = ", ".join(map(os.path.basename, (order[0], path)))
            return order[0], ToolReading(best.format, Answer.AMBIGUOUS, {}, (f"several results that differ: {names}",))
    return order[0], best


def _own_part(reading: ToolReading, node: str) -> ToolReading:
    """Return the values of ``node`` where a launcher has collected those of several hosts in one file."""
    hosts = reading.values.get("hosts")
    if not isinstance(hosts, tuple) or node not in hosts:
        return reading
    prefix = f"{node}_"
    own = {name.removeprefix(prefix): value for name, value in reading.values.items() if name.startswith(prefix)}
    return ToolReading(reading.format, reading.answer, own, reading.remarks)


def _is_unusable(reading: ToolReading) -> bool:
    """Tell whether a file is cut, mixed or not to be believed; a derived unit is not among its doubts."""
    if reading.answer is Answer.AMBIGUOUS:
        return "avg_Gbps" not in reading.values
    return reading.answer in {Answer.INCOMPLETE, Answer.INVALID}


_DIFFERENCE = 0.01


def _differ(first: ToolReading, second: ToolReading) -> bool:
    """Tell whether two readings give another number for the same name, by more than how programs round."""
    shared = [name for name in first.values.keys() & second.values.keys() if "gbps" in name.casefold()]
    for name in shared:
        left = first.values[name]
        right = second.values[name]
        if not isinstance(left, float) or not isinstance(right, float):
            continue
        if abs(left - right) > _DIFFERENCE * max(abs(left), abs(right)):
            return True
    return False
