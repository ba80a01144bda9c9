"""The results of an acceptance: ``results/TEST/NODE.{json,csv,txt,log}``, each with its optional ``NODE.meta.json``.

Errors name results that cannot be judged: the verdict is then incomplete at best. Warnings do not change it.
"""

import errno
import hashlib
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import orjson

from railweave.acceptance.model import AcceptancePlan, PlannedTest
from railweave.acceptance.readers.registry import read_tool_output
from railweave.acceptance.readers.text import number, whole
from railweave.acceptance.readings import Answer, NodeResult, ResultMeta, ToolReading
from railweave.diagnostics import Diagnostic, Severity, Where, error, warning

_META = ".meta.json"
# Tools never overwrite each other's files: nccl-tests numbers them (`ar.json.0`).
_SUFFIXES = re.compile(r"(.+?)\.(json|jsonl|csv|txt|log)(\.\d+)?")
_LARGEST_BYTES = 64 * 2**20

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


def read_results(root: Path, plan: AcceptancePlan) -> tuple[tuple[NodeResult, ...], tuple[Diagnostic, ...]]:
    """Return the results below ``root/results`` by test and node, and what is wrong with them.

    A result of another plan, of an unknown test or node or in a version that nobody has checked is left out. Each test
    without a result of a node that measures is an error.
    """
    reader = _FolderReader(root, plan)
    for test in plan.tests:
        reader.read_test(test)
    reader.report_unknown()
    reader.report_missing()
    return tuple(reader.results), tuple(reader.diagnostics)


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
    argv = document.get("argv")
    words = tuple(word for word in argv if isinstance(word, str)) if isinstance(argv, list) else ()
    texts = [document.get(name) for name in ("tool_version", "host", "plan_sha256")]
    version, host, plan = (text if isinstance(text, str) else "" for text in texts)
    started = number(document.get("started"))
    ended = number(document.get("ended"))
    return ResultMeta(started, ended, whole(document.get("rc")), words, version, host, plan)


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


class _FolderReader:
    """Reads test by test; ``results`` and ``diagnostics`` are what it found."""

    def __init__(self, root: Path, plan: AcceptancePlan) -> None:
        self.folder = str(root / "results")
        self.plan = plan
        self.results: list[NodeResult] = []
        self.diagnostics: list[Diagnostic] = []
        self.missing: list[str] = []
        self.without_meta = 0
        try:
            self.plan_sha256 = hashlib.sha256((root / "plan.json").read_bytes()).hexdigest()
        except OSError:
            self.plan_sha256 = ""

    def read_test(self, test: PlannedTest) -> None:
        # Text, because a hundred thousand paths of pathlib take seconds.
        folder = f"{self.folder}/{test.id}"
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            self.missing.append(test.id)
            return
        files: dict[str, list[str]] = {}
        for name in names:
            match = _SUFFIXES.fullmatch(name)
            if match is not None and not name.endswith(_META):
                files.setdefault(match[1], []).append(name)
        members = {member.node for member in (test.sender, test.receiver, *test.group) if member is not None}
        kept = []
        for node, paths in files.items():
            if node not in members:
                message = f"{node} takes no part in {test.id}, but has a result of it"
                self._report("RW921", message, f"{folder}/{paths[0]}", "move it away, or to its own test")
                continue
            result = self._node_result(test.id, node, [f"{folder}/{path}" for path in paths])
            if result is not None:
                kept.append(result)
        self.results.extend(kept)
        self._check_clocks(test.id, kept)
        measuring = measuring_nodes(test)
        if not any(result.node in measuring for result in kept):
            self.missing.append(test.id)

    def _node_result(self, test: str, node: str, paths: list[str]) -> NodeResult | None:
        readings = {path: _reading(path) for path in paths}
        path, reading = self._chosen(readings, f"{test} of {node}")
        meta_path = f"{os.path.dirname(path)}/{node}{_META}"
        meta = None
        try:
            meta = read_meta(_content(meta_path))
        except OSError:
            self.without_meta += 1
        else:
            if meta is None:
                self._report("RW923", f"the meta file of {test} of {node} is not JSON", meta_path, "write it anew")
        if meta is not None and not self._is_usable(meta, meta_path, f"{test} of {node}"):
            return None
        if not reading.format:
            message = f"{test} of {node}: {'; '.join(reading.remarks)}"
            self._report("RW924", message, path, "leave what the tool printed, unchanged, in a file of its own")
        elif reading.answer in {Answer.INCOMPLETE, Answer.INVALID} or "," in reading.format:
            self._report("RW923", f"{test} of {node}: {'; '.join(reading.remarks)}", path, "repeat the test")
        if meta is not None and meta.rc and reading.answer is Answer.OK:
            message = f"{test} of {node} has a result, but its tool ended with status {meta.rc}"
            self._report("RW923", message, meta_path, "see what the tool reports, and repeat the test")
            remarks = (*reading.remarks, f"the tool ended with status {meta.rc}")
            reading = ToolReading(reading.format, Answer.ERROR, reading.values, remarks)
        return NodeResult(test, node, reading, meta)

    def _chosen(self, readings: Mapping[str, ToolReading], where: str) -> tuple[str, ToolReading]:
        """Return the file with a value, JSON before text; files of one node that differ are ambiguous."""
        order = sorted(readings, key=lambda path: (readings[path].answer is not Answer.OK, ".json" not in path, path))
        best = readings[order[0]]
        for path in order[1:]:
            other = readings[path]
            if other.answer is Answer.OK and _differ(best, other):
                names = ", ".join(map(os.path.basename, (order[0], path)))
                message = f"{where} has several results that differ: {names}"
                self._report("RW923", message, path, "leave the file of one run")
                return order[0], ToolReading(best.format, Answer.AMBIGUOUS, {}, (message,))
        return order[0], best

    def _is_usable(self, meta: ResultMeta, path: str, where: str) -> bool:
        if meta.plan_sha256 and self.plan_sha256 and meta.plan_sha256 != self.plan_sha256:
            message = f"the result {where} was made by another plan (plan_sha256 {meta.plan_sha256[:12]}…)"
            self._report("RW922", message, path, "run this plan, or judge the result beside its own")
            return False
        if not is_tested_version(meta.tool_version):
            message = f"the output of {meta.tool_version[:60]!r} is unknown ({where})"
            fix = "use a release that docs/reference/acceptance-results.md names"
            self._report("RW924", message, path, fix)
            return False
        if meta.started is not None and meta.ended is not None and meta.ended < meta.started:
            message = f"the clock of {meta.host or where} went backwards: {where} ended before it started"
            self._report("RW926", message, path, "set the clock (NTP), and repeat the test")
        return True

    def _check_clocks(self, test: str, results: list[NodeResult]) -> None:
        """Report nodes of one test whose times do not overlap: they ran it together."""
        metas = [result.meta for result in results if result.meta is not None]
        starts = [meta.started for meta in metas if meta.started is not None]
        ends = [meta.ended for meta in metas if meta.ended is not None]
        if len(starts) > 1 and ends and max(starts) > min(ends):
            nodes = ", ".join(result.node for result in results)
            message = f"the clocks of {nodes} differ by {max(starts) - min(ends):,.0f} s or more: {test} at two times"
            self._report("RW926", message, f"{self.folder}/{test}", "set the clocks (NTP), and repeat the round")

    def report_unknown(self) -> None:
        planned = {test.id for test in self.plan.tests}
        names = sorted(os.listdir(self.folder)) if os.path.isdir(self.folder) else []
        unknown = [name for name in names if name not in planned]
        if unknown:
            message = f"{len(unknown):,} results belong to no test of the plan, such as {unknown[0]}"
            self._report(
                "RW921", message, f"{self.folder}/{unknown[0]}", "judge them beside the plan that they belong to"
            )

    def report_missing(self) -> None:
        if self.missing:
            message = (
                f"{len(self.missing):,} of {len(self.plan.tests):,} tests have no result of the node that measures"
            )
            message += f", such as {self.missing[0]}"
            self._report("RW925", message, f"{self.folder}/{self.missing[0]}", "run them again")
        if self.without_meta:
            message = (
                f"{self.without_meta:,} results have no meta file: when and by which plan they were made is unknown"
            )
            fix = "write NODE.meta.json beside each result"
            self._report("RW922", message, self.folder, fix, Severity.WARNING)

    def _report(self, code: str, message: str, path: str, fix: str, severity: Severity = Severity.ERROR) -> None:
        make = error
        if severity is Severity.WARNING:
            make = warning
        self.diagnostics.append(make(code, message, Where(path), fix=fix))


def _content(path: str) -> bytes:
    # Without a buffer: each of a hundred thousand files is read once.
    with open(path, "rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size > _LARGEST_BYTES:
            raise OSError(errno.EFBIG, "the file is too large for a result")
        return file.readall()


def _reading(path: str) -> ToolReading:
    try:
        return read_tool_output(_content(path), os.path.basename(path))
    except OSError as fault:
        return ToolReading("", Answer.NOT_MEASURED, {}, (f"cannot be read: {fault.strerror}",))


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
