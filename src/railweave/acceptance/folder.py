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
    """Return the results below ``root/results``, in the order of tests and nodes, and diagnostics of them.

    Results of another plan, of an unknown test or node, and of a version whose output is unknown are left out. A test
    without a result of a node that measures is an error. ``processes`` is how many read the files, by default one for
    each core, or a single one for few tests.
    """
    folder = f"{root}/results"
    plan_sha256 = _sha256_of_plan(root)

    def read_part(part: int, parts: int) -> _FolderReader:
        reader = _FolderReader(folder, plan_sha256)
        reader.read(plan.tests[slice_of(len(plan.tests), part, parts)])
        return reader

    if processes is None:
        processes = processes_for(len(plan.tests), SHARED_ABOVE)
    reader = _FolderReader(folder, plan_sha256)
    if processes == 1:
        reader.read(plan.tests)
    else:
        with forked(read_part, processes) as part_readers:
            for part_reader in part_readers:
                reader.extend(part_reader)
    return tuple(reader.results), tuple(reader.diagnostics(plan))


def _sha256_of_plan(root: Path) -> str:
    try:
        return hashlib.sha256((root / "plan.json").read_bytes()).hexdigest()
    except OSError:
        return ""


def measuring_nodes(test: PlannedTest) -> tuple[str, ...]:
    """Return the nodes that may have the result of a test: its sender, or each node of a group (rank 0 prints it)."""
    if test.group:
        return tuple(dict.fromkeys(member.node for member in test.group))
    return (test.sender.node,)


def read_meta(data: bytes) -> ResultMeta | None:
    """Return the content of a meta file, or None if it is no JSON object. Members of a wrong type count as missing."""
    try:
        document = orjson.loads(data)
    except ValueError:
        return None
    if not isinstance(document, dict):
        return None
    return ResultMeta(
        started=number(document.get("started")),
        ended=number(document.get("ended")),
        rc=whole(document.get("rc")),
        tool_version=_text(document.get("tool_version")),
        host=_text(document.get("host")),
        plan_sha256=_text(document.get("plan_sha256")),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


@cache
def is_tested_version(version: str) -> bool:
    """Tell whether the readers know the output of a version; an empty version counts as known."""
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
    """A diagnostic that any number of results may share."""

    code: str
    message: str
    fix: str


class _ToolFile(NamedTuple):
    """A result file of a node, with what its reader found in it."""

    path: str
    reading: ToolReading


class _FolderReader:
    """Reads the results of one test after the other, and collects complaints about those that cannot be judged."""

    def __init__(self, folder: str, plan_sha256: str) -> None:
        self.folder = folder
        self.plan_sha256 = plan_sha256
        self.results: list[NodeResult] = []
        # The results that a complaint is about, in words, and the first file of them.
        self.complaints: dict[_Complaint, list[str]] = {}
        self.paths: dict[_Complaint, str] = {}
        self.without_meta = 0

    def read(self, tests: Iterable[PlannedTest]) -> None:
        for test in tests:
            self._read_test(test)

    def extend(self, other: "_FolderReader") -> None:
        """Add the results and complaints of a reader of later tests."""
        self.results += other.results
        self.without_meta += other.without_meta
        for complaint, subjects in other.complaints.items():
            self.complaints.setdefault(complaint, []).extend(subjects)
            self.paths.setdefault(complaint, other.paths[complaint])

    def _read_test(self, test: PlannedTest) -> None:
        """Add the results of all nodes of a test, and a complaint about each that is missing or cannot be judged."""
        folder = f"{self.folder}/{test.id}"
        members = {member.node for member in (test.sender, test.receiver, *test.group) if member is not None}
        results = []
        for node, paths in _files_of_nodes(folder).items():
            where = f"{test.id} of {node}"
            if node not in members:
                complaint = _Complaint("RW921", "a node that takes no part has a result", "move it to its own test")
                self._add(complaint, where, paths[0])
                continue
            tool_file = _best_file([_ToolFile(path, _reading(path)) for path in paths])
            meta_path = f"{folder}/{node}{_META}"
            meta = self._read_meta(meta_path, where)
            if self._belongs_to_plan(tool_file, meta, meta_path, where):
                reading = self._checked_reading(tool_file, meta, node, where)
                results.append(NodeResult(test.id, node, reading, meta))
        self.results.extend(results)
        self._check_clocks(test.id, results)
        measuring = measuring_nodes(test)
        if not any(result.node in measuring for result in results):
            message = "tests without a result of the node that measures"
            self._add(_Complaint("RW925", message, "run them again"), test.id, folder)

    def _read_meta(self, path: str, where: str) -> ResultMeta | None:
        """Return the content of a meta file; None if there is none, or if it is not JSON (a complaint)."""
        try:
            meta = read_meta(content_of(path, _LARGEST_BYTES))
        except OSError:
            self.without_meta += 1
            return None
        if meta is None:
            self._add(_Complaint("RW923", "a meta file is not JSON", "write it anew"), where, path)
        return meta

    def _belongs_to_plan(self, tool_file: _ToolFile, meta: ResultMeta | None, meta_path: str, where: str) -> bool:
        """Tell whether a result is one of this plan, and of a version whose output is known; complains if it is not."""
        versions = [str(tool_file.reading.values.get("tool_version", ""))]
        if meta is not None:
            versions.append(meta.tool_version)
            plans_are_known = bool(meta.plan_sha256 and self.plan_sha256)
            if plans_are_known and meta.plan_sha256 != self.plan_sha256:
                message = f"results of another plan (plan_sha256 {meta.plan_sha256[:12]}…)"
                self._add(_Complaint("RW922", message, "run this plan, or judge them beside theirs"), where, meta_path)
                return False
        for version in versions:
            if not is_tested_version(version):
                fix = "use a release that docs/reference/acceptance-results.md names"
                self._add(_Complaint("RW924", f"the output of {version[:60]!r} is unknown", fix), where, tool_file.path)
                return False
        return True

    def _checked_reading(self, tool_file: _ToolFile, meta: ResultMeta | None, node: str, where: str) -> ToolReading:
        """Return the reading of a node; complains if it has no usable value, or if the tool ended with an error.

        A value of a tool that ended with an error is returned as an error.
        """
        reading = _own_part(tool_file.reading, node)
        message = "; ".join(reading.remarks) or f"the result is {reading.answer}: its file was cut short"
        if not reading.format:
            self._add(_Complaint("RW924", message, "leave what the tool printed, unchanged"), where, tool_file.path)
        elif _is_unusable(reading):
            self._add(_Complaint("RW923", message, "repeat the test"), where, tool_file.path)
        elif meta is not None and meta.rc and reading.answer is Answer.OK:
            message = f"the tool ended with status {meta.rc}, although it has a result"
            complaint = _Complaint("RW923", message, "see what the tool reports, and repeat the test")
            self._add(complaint, where, tool_file.path)
            return ToolReading(reading.format, Answer.ERROR, reading.values, (*reading.remarks, message))
        return reading

    def _check_clocks(self, test: str, results: list[NodeResult]) -> None:
        """Complain about a test whose nodes ran it together, but at different times by their clocks."""
        metas = [result.meta for result in results if result.meta is not None]
        starts = [meta.started for meta in metas if meta.started is not None]
        ends = [meta.ended for meta in metas if meta.ended is not None]
        if starts and ends and max(starts) > min(ends):
            message = "the clocks of its nodes differ, or went backwards: no time is common to all of them"
            complaint = _Complaint("RW926", message, "set the clocks (NTP), and repeat the round")
            self._add(complaint, test, f"{self.folder}/{test}")

    def _add(self, complaint: _Complaint, where: str, path: str) -> None:
        self.complaints.setdefault(complaint, []).append(where)
        self.paths.setdefault(complaint, path)

    def diagnostics(self, plan: AcceptancePlan) -> Iterator[Diagnostic]:
        """Yield a diagnostic for each complaint, and a warning if meta files are missing.

        Directories of tests that are not in the plan are complaints, too.
        """
        planned = {test.id for test in plan.tests}
        names = os.listdir(self.folder) if os.path.isdir(self.folder) else []
        for name in sorted(names):
            if name not in planned:
                complaint = _Complaint("RW921", "results of no test of the plan", "judge them beside their own plan")
                self._add(complaint, name, f"{self.folder}/{name}")
        for complaint, subjects in self.complaints.items():
            message = f"{complaint.message}: {first_few(subjects)}"
            yield error(complaint.code, message, Where(self.paths[complaint]), fix=complaint.fix)
        if self.without_meta:
            message = f"{self.without_meta:,} results have no meta file: their plan, time and version are unknown"
            yield warning("RW922", message, Where(self.folder), fix="write NODE.meta.json beside each result")


def _reading(path: str) -> ToolReading:
    try:
        return read_tool_output(content_of(path, _LARGEST_BYTES), os.path.basename(path))
    except OSError as fault:
        return ToolReading("", Answer.NOT_MEASURED, {}, (f"cannot be read: {fault.strerror}",))


def _files_of_nodes(folder: str) -> dict[str, list[str]]:
    """Return the paths of the result files in a test's directory, by node; meta files are left out."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return {}
    paths: dict[str, list[str]] = {}
    for name in names:
        match = _SUFFIXES.fullmatch(name)
        if match is not None and not name.endswith(_META):
            # Text, because a hundred thousand paths of pathlib take seconds.
            paths.setdefault(match[1], []).append(f"{folder}/{name}")
    return paths


def _best_file(files: Iterable[_ToolFile]) -> _ToolFile:
    """Return the best of the files of one node: one with a value rather than one without, then JSON rather than text.

    If files have values that differ, its reading is ambiguous.
    """
    best, *further_files = sorted(files, key=_preference)
    for file in further_files:
        if file.reading.answer is Answer.OK and _differ(best.reading, file.reading):
            names = ", ".join(map(os.path.basename, (best.path, file.path)))
            remarks = (f"several results that differ: {names}",)
            return _ToolFile(best.path, ToolReading(best.reading.format, Answer.AMBIGUOUS, {}, remarks))
    return best


def _preference(file: _ToolFile) -> tuple[bool, bool, str]:
    """Return the key that sorts the best file first."""
    has_no_value = file.reading.answer is not Answer.OK
    is_text = ".json" not in file.path
    return has_no_value, is_text, file.path


def _own_part(reading: ToolReading, node: str) -> ToolReading:
    """Return the reading with only the values of ``node`` if its file has several hosts, else the reading itself.

    A launcher may collect several hosts in one file. Names of values begin with the name of the host then.
    """
    hosts = reading.values.get("hosts")
    if not isinstance(hosts, tuple) or node not in hosts:
        return reading
    prefix = f"{node}_"
    own = {name.removeprefix(prefix): value for name, value in reading.values.items() if name.startswith(prefix)}
    return ToolReading(reading.format, reading.answer, own, reading.remarks)


def _is_unusable(reading: ToolReading) -> bool:
    """Tell whether a file was cut short, has an impossible value, or has none that can be told from others."""
    if reading.answer is Answer.AMBIGUOUS:
        # A value whose unit was derived can be judged.
        return "avg_Gbps" not in reading.values
    return reading.answer in {Answer.INCOMPLETE, Answer.INVALID}


_DIFFERENCE = 0.01


def _differ(first: ToolReading, second: ToolReading) -> bool:
    """Tell whether two readings have a rate that differs by more than programs round (`_DIFFERENCE`)."""
    shared_rates = [name for name in first.values.keys() & second.values.keys() if "gbps" in name.casefold()]
    for name in shared_rates:
        first_rate = first.values[name]
        second_rate = second.values[name]
        if not isinstance(first_rate, float) or not isinstance(second_rate, float):
            continue
        if abs(first_rate - second_rate) > _DIFFERENCE * max(abs(first_rate), abs(second_rate)):
            return True
    return False
