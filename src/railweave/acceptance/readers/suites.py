"""Summaries of test suites: ROCm/cvs, SuperBench, and the node health check of Azure."""

import re

from railweave.acceptance.readers.documents import Documents
from railweave.acceptance.readers.perftest import reading, worst
from railweave.acceptance.readers.text import first_lines, number, whole
from railweave.acceptance.readings import Answer, Scalar, ToolReading

CVS_RDMA_FORMAT = "cvs-ibperf"
CVS_RCCL_FORMAT = "cvs-rccl"
SUPERBENCH_FORMAT = "superbench"
NHC_FORMAT = "nhc"


def _first(documents: Documents) -> object:
    return documents.values[0] if documents.values else None


def cvs_rdma_matches(documents: Documents) -> bool:
    """Tell whether the value is ib_bw_dict or ib_lat_dict of cvs (cvs/tests/ibperf)."""
    first = _first(documents)
    return isinstance(first, dict) and any(re.fullmatch(r"ib_\w+_(bw|lat)", name) for name in first)


def read_cvs_rdma(documents: Documents) -> ToolReading:
    """Read the rates (Gb/s) or typical latencies (µs) by ``NODE/NIC``; a NIC that others have is missing."""
    results: dict[tuple[str, ...], dict[str, object]] = {}
    _leaves(_first(documents), (), results)
    tests = {path[:-2] for path in results}
    values: dict[str, Scalar] = {}
    remarks = ["cvs runs perftest with -b: rates are sums of both directions"]
    answers = []
    for path, cells in results.items():
        name = "/".join(path[-2:]) if len(tests) == 1 else "/".join(path)
        value = number(cells.get("bw", cells.get("t_typical")))
        if value is None or value < 0:
            answers.append(Answer.INVALID)
            remarks.append(f"{name} has no number that can be true")
        else:
            values[name] = value
        tail = number(cells.get("t_99_9_pct"))
        if tail is not None:
            values[f"{name}_p999_us"] = tail
    missing = _missing(results)
    if missing:
        values["missing"] = missing
        remarks.append(f"without a result: {', '.join(missing)[:200]}")
    if documents.cut or documents.mixed or not values:
        answers.append(Answer.INCOMPLETE)
    return reading(CVS_RDMA_FORMAT, worst(answers), values, remarks)


def _leaves(value: object, path: tuple[str, ...], results: dict[tuple[str, ...], dict[str, object]]) -> None:
    """Collect the objects that hold numbers: of a test, size and queue pairs, a node and a NIC."""
    if not isinstance(value, dict) or len(path) > 6:
        return
    if len(path) > 2 and any(name in value for name in ("bw", "t_typical")):
        results[path] = value
        return
    for name, member in value.items():
        _leaves(member, (*path, name), results)


def _missing(results: dict[tuple[str, ...], dict[str, object]]) -> tuple[str, ...]:
    nodes = dict.fromkeys(path[-2] for path in results)
    nics = dict.fromkeys(path[-1] for path in results)
    measured = {path[-2:] for path in results}
    return tuple(f"{node}/{nic}" for node in nodes for nic in nics if (node, nic) not in measured)


def cvs_rccl_matches(documents: Documents) -> bool:
    """Tell whether the value is a list of RcclTestsAggregated (cvs/schema/rccl.py)."""
    first = _first(documents)
    rows = first if isinstance(first, list) else [first]
    return any(isinstance(row, dict) and "busBw_mean" in row for row in rows)


def read_cvs_rccl(documents: Documents) -> ToolReading:
    """Read means and coefficients of variation by size; one run has no variation, whatever its deviation says."""
    first = _first(documents)
    rows = [row for row in (first if isinstance(first, list) else [first]) if isinstance(row, dict)]
    places = {(whole(row.get("inPlace")), str(row.get("collective", row.get("name")))) for row in rows}
    values: dict[str, Scalar] = {}
    answers = []
    for row in rows:
        size, rate, deviation = whole(row.get("size")), number(row.get("busBw_mean")), number(row.get("busBw_std"))
        if size is None or rate is None or rate < 0:
            answers.append(Answer.INVALID)
            continue
        suffix = f"_at_{size}"
        if len(places) > 1:
            suffix += "_ip" if whole(row.get("inPlace")) else "_oop"
        values[f"busbw_GBps{suffix}"] = rate
        values[f"cv_pct{suffix}"] = Answer.NOT_MEASURED.value
        if (whole(row.get("num_runs")) or 0) > 1 and deviation is not None and rate:
            values[f"cv_pct{suffix}"] = round(deviation / rate * 100, 2)
        for name in ("nodes", "ranks"):
            count = whole(row.get(name))
            if count is not None:
                values[name] = count
    if documents.cut or documents.mixed:
        answers.append(Answer.INCOMPLETE)
    if not values:
        answers.append(Answer.NOT_MEASURED)
    return reading(CVS_RCCL_FORMAT, worst(answers), values)


_METRIC = re.compile(r"(?P<benchmark>[^/]+)/(?P<metric>.*?)(?::(?P<rank>\d+))?")
_BUSBW = re.compile(r"(?:\w+_)?(\d+)_busbw")


def superbench_matches(documents: Documents) -> bool:
    """Tell whether the values are nodes of results-summary.jsonl."""
    first = _first(documents)
    return isinstance(first, dict) and "node" in first and any("/" in name for name in first)


def read_superbench(documents: Documents) -> ToolReading:
    """Read the metrics of each node as ``NODE.METRIC``; a node without them failed."""
    values: dict[str, Scalar] = {}
    remarks: list[str] = []
    answers = []
    for document in documents.values:
        if not isinstance(document, dict) or not isinstance(document.get("node"), str):
            continue
        node = document["node"]
        metrics = _superbench_metrics(node, document)
        values.update(metrics)
        numbers = [name for name, value in metrics.items() if not isinstance(value, str) and "return_code" not in name]
        if not numbers or Answer.NOT_MEASURED.value in metrics.values() or metrics.get(f"{node}.return_code"):
            remarks.append(f"{node} has no result, or not all of them")
            answers.append(Answer.INCOMPLETE)
    if documents.cut or documents.mixed:
        answers.append(Answer.INCOMPLETE)
    return reading(SUPERBENCH_FORMAT, worst(answers), values, remarks)


def _superbench_metrics(node: str, document: dict[str, object]) -> dict[str, Scalar]:
    values: dict[str, Scalar] = {}
    for name, raw in document.items():
        match = _METRIC.fullmatch(name)
        if match is None:
            continue
        value: Scalar = Answer.NOT_MEASURED.value
        parsed = number(raw)
        if parsed is not None:
            value = parsed
        rate = _BUSBW.fullmatch(match["metric"])
        if match["metric"] == "return_code":
            values[f"{node}.return_code"] = max(value, values.get(f"{node}.return_code", 0), key=_failure)
        elif rate is not None:
            values[f"{node}.busbw_GBps_at_{rate[1]}"] = value
            if parsed is None:
                values[f"{node}.busbw"] = value
        else:
            values[f"{node}.{name}"] = value
    return values


def _failure(code: Scalar) -> float:
    return abs(code) if isinstance(code, int | float) else 1.0


_CHECK = re.compile(r"^(?:\S+ \| )?(\w+): +nhc: +Health check (passed|failed): +(.*)$", re.MULTILINE)
_DEVICE = re.compile(r"\bIB=([\w.-]+)")
_GBPS = re.compile(r"(?:measured|IB BW=)\s*([\d.]+) Gbps")
_GBYTES = re.compile(r"measured ([\d.]+) GB/s")


def nhc_matches(text: str) -> bool:
    """Tell whether the node health check wrote ``text`` (azurehpc-health-checks, customTests/*.nhc)."""
    return re.search(r"\bnhc: +Health check (passed|failed)", text) is not None


def read_nhc(text: str) -> ToolReading:
    """Read the rate of each device in Gb/s; one check that failed makes the reading an error."""
    values: dict[str, Scalar] = {}
    answers = [Answer.OK]
    for _, outcome, message in _CHECK.findall(text):
        device, rate, busbw = _DEVICE.search(message), _GBPS.search(message), _GBYTES.search(message)
        if device and rate and number(rate[1].rstrip(".")) is not None:
            values[device[1]] = number(rate[1].rstrip(".")) or 0.0
        elif busbw and number(busbw[1].rstrip(".")) is not None:
            values["busbw_GBps"] = number(busbw[1].rstrip(".")) or 0.0
        if outcome == "failed":
            answers.append(Answer.ERROR)
    if not values and Answer.ERROR not in answers:
        answers.append(Answer.NOT_MEASURED)
    return reading(NHC_FORMAT, worst(answers), values, first_lines(text, re.compile("Health check failed")))
