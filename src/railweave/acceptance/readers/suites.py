"""Summaries of ROCm/cvs, SuperBench and Azure's node health check, and the RAS client's view of a running job."""

import re
from collections.abc import Iterator

from railweave.acceptance.readers.answers import reading, worst
from railweave.acceptance.readers.documents import Documents, objects
from railweave.acceptance.readers.text import lines_with, number, whole
from railweave.acceptance.readings import Answer, Scalar, ToolReading

CVS_RDMA_FORMAT = "cvs-ibperf"
CVS_RCCL_FORMAT = "cvs-rccl"
SUPERBENCH_FORMAT = "superbench"
NHC_FORMAT = "nhc"
RAS_TEXT_FORMAT = "ras-text"
RAS_JSON_FORMAT = "ras-json"


def cvs_rdma_matches(documents: Documents) -> bool:
    """Tell whether the value is ib_bw_dict or ib_lat_dict of cvs (cvs/tests/ibperf)."""
    return any(re.fullmatch(r"ib_\w+_(bw|lat)", name) for name in documents.first)


def read_cvs_rdma(documents: Documents) -> ToolReading:
    """Read the rates (Gb/s) or typical latencies (µs) by ``NODE/NIC``; a NIC that others have is missing."""
    results = dict(_leaves(documents.first, ()))
    is_single = len({path[:-2] for path in results}) == 1
    values: dict[str, Scalar] = {}
    answers = []
    for path, cells in results.items():
        name = "/".join(path[-2:] if is_single else path)
        value = number(cells.get("bw", cells.get("t_typical")))
        tail = number(cells.get("t_99_9_pct"))
        if value is None or value < 0:
            answers.append(Answer.INVALID)
        else:
            values[name] = value
        if tail is not None:
            values[f"{name}_p999_us"] = tail
    remarks = ["cvs runs perftest with -b: rates are sums of both directions"]
    nics = dict.fromkeys(path[-1] for path in results)
    measured = {path[-2:] for path in results}
    pairs = [(node, nic) for node in dict.fromkeys(path[-2] for path in results) for nic in nics]
    missing = tuple("/".join(pair) for pair in pairs if pair not in measured)
    if missing:
        values["missing"] = missing
        remarks.append(f"without a result: {', '.join(missing)[:200]}")
    if documents.cut or documents.mixed or not values:
        answers.append(Answer.INCOMPLETE)
    return reading(CVS_RDMA_FORMAT, worst(answers), values, remarks)


def _leaves(value: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, object]]]:
    """Yield the objects that hold numbers: of a test, size and queue pairs, a node and a NIC."""
    if not isinstance(value, dict) or len(path) > 6:
        return
    if len(path) > 2 and not value.keys().isdisjoint(("bw", "t_typical")):
        yield path, value
        return
    for name, member in value.items():
        yield from _leaves(member, (*path, name))


def cvs_rccl_matches(documents: Documents) -> bool:
    """Tell whether the value is a list of RcclTestsAggregated (cvs/schema/rccl.py)."""
    return any("busBw_mean" in row for row in documents.rows)


def read_cvs_rccl(documents: Documents) -> ToolReading:
    """Read means and coefficients of variation by size; one run has no variation, whatever its deviation says."""
    places = {(whole(row.get("inPlace")), str(row.get("collective", row.get("name")))) for row in documents.rows}
    values: dict[str, Scalar] = {}
    answers = [Answer.INCOMPLETE for _ in range(documents.cut or documents.mixed)]
    for row in documents.rows:
        size = whole(row.get("size"))
        rate = number(row.get("busBw_mean"))
        deviation = number(row.get("busBw_std"))
        if size is None or rate is None or rate < 0:
            answers.append(Answer.INVALID)
            continue
        suffix = f"_at_{size}"
        if len(places) > 1:
            suffix += ("_oop", "_ip")[whole(row.get("inPlace")) == 1]
        values |= {f"busbw_GBps{suffix}": rate, f"cv_pct{suffix}": Answer.NOT_MEASURED.value}
        if (whole(row.get("num_runs")) or 0) > 1 and deviation is not None and rate:
            values[f"cv_pct{suffix}"] = round(deviation / rate * 100, 2)
        counts = {name: whole(row.get(name)) for name in ("nodes", "ranks")}
        values |= {name: count for name, count in counts.items() if count is not None}
    return reading(CVS_RCCL_FORMAT, worst(answers), values)


_METRIC = re.compile(r"[^/]+/(?P<metric>.*?)(:\d+)?")
_BUSBW = re.compile(r"(?:\w+_)?(\d+)_busbw")


def superbench_matches(documents: Documents) -> bool:
    """Tell whether the values are nodes of results-summary.jsonl."""
    return "node" in documents.first and any("/" in name for name in documents.first)


def read_superbench(documents: Documents) -> ToolReading:
    """Read the metrics of each node as ``NODE.METRIC``; a node without them failed."""
    values: dict[str, Scalar] = {}
    remarks: list[str] = []
    for document in documents.rows:
        node = str(document.get("node"))
        metrics = dict(_superbench_metrics(document))
        values.update({f"{node}.{name}": value for name, value in metrics.items()})
        rates = [value for name, value in metrics.items() if name != "return_code"]
        if metrics.get("return_code") or not rates or Answer.NOT_MEASURED.value in rates:
            remarks.append(f"{node} has no result, or not all of them")
    if documents.cut or documents.mixed:
        remarks.append("the file was cut short")
    return reading(SUPERBENCH_FORMAT, Answer.INCOMPLETE if remarks else Answer.OK, values, remarks)


def _superbench_metrics(document: dict[str, object]) -> Iterator[tuple[str, Scalar]]:
    codes = []
    for name, raw in document.items():
        match = _METRIC.fullmatch(name)
        parsed = number(raw)
        if match is None:
            continue
        rate = _BUSBW.fullmatch(match["metric"])
        value = Answer.NOT_MEASURED.value if parsed is None else parsed
        if match["metric"] == "return_code":
            codes.append(whole(raw) or 0)
        elif rate is None:
            yield name, value
        else:
            yield f"busbw_GBps_at_{rate[1]}", value
            if parsed is None:
                yield "busbw", value
    if codes:
        yield "return_code", max(codes, key=abs)


_CHECK = re.compile(r"nhc: +Health check (passed|failed): +(.*)$", re.MULTILINE)
_DEVICE = re.compile(r"\bIB=([\w.-]+)")
_RATE = re.compile(r"(?:measured |IB BW=)\s*(\d+(?:\.\d+)?)\.? (Gbps|GB/s)")


def nhc_matches(text: str) -> bool:
    """Tell whether the node health check wrote ``text`` (azurehpc-health-checks, customTests/*.nhc)."""
    return "nhc: " in text and "Health check " in text


def read_nhc(text: str) -> ToolReading:
    """Read the rate of each device in Gb/s; one check that failed makes the reading an error."""
    values: dict[str, Scalar] = {}
    answer = Answer.OK
    for outcome, message in _CHECK.findall(text):
        device = _DEVICE.search(message)
        rate = _RATE.search(message)
        if rate is not None and rate[2] == "GB/s":
            values["busbw_GBps"] = number(rate[1]) or 0.0
        elif rate is not None and device is not None:
            values[device[1]] = number(rate[1]) or 0.0
        if outcome == "failed":
            answer = Answer.ERROR
    if not values and answer is Answer.OK:
        answer = Answer.NOT_MEASURED
    return reading(NHC_FORMAT, answer, values, lines_with(text, "Health check failed")[:5])


_SUMMARY = re.compile(r"^[ ]*(\d+)[ ]+[\d-]+[ ]+[\d-]+[ ]+(\d+)[ ]+(\d+) *$", re.MULTILINE)
_GROUP = re.compile(r"^[ ]*\d+[ ]+\d+[ ]+\S+[ ]+\S+[ ]+\S+[ ]+\S+[ ]+([A-Z]+)[ ]+([A-Z]+) *$", re.MULTILINE)
_PROCESS = re.compile(r"^[ ]*Process \d+ on node (\S+) managing GPUs? (\d+)", re.MULTILINE)
_MISSING = re.compile(r"Missing communicator data from (\d+) job process")


def ras_text_matches(text: str) -> bool:
    """Tell whether the RAS client of NCCL or RCCL wrote ``text``, or its failure to connect."""
    return "Job summary" in text or text.startswith(("read socket: Connection", "Failed to connect"))


def read_ras_text(text: str) -> ToolReading:
    """Read nodes, GPUs and what is missing; a healthy job is no measurement of the network, but no error either."""
    summary = _SUMMARY.search(text)
    missing = _MISSING.search(text)
    if summary is None:
        return reading(
            RAS_TEXT_FORMAT, Answer.NOT_MEASURED, remarks=["there is no job to ask, or the text was cut short"]
        )
    values: dict[str, Scalar] = {"nodes": int(summary[1]), "processes": int(summary[2]), "gpus": int(summary[3])}
    values["missing"] = 0 if missing is None else int(missing[1])
    processes = list(dict.fromkeys(_PROCESS.findall(text)))
    if processes:
        values |= {"missing_node": processes[0][0], "missing_gpu": int(processes[0][1])}
    remarks = [f"GPU {gpu} of {node} is missing" for node, gpu in processes]
    states = [errors for _, errors in _GROUP.findall(text) if errors != "OK"]
    remarks += [f"a group of communicators is {errors}" for errors in states]
    listed = text.partition("\nErrors\n")[2].partition("\nWarnings\n")[0].strip("=\n ")
    if missing or listed or states:
        return reading(RAS_TEXT_FORMAT, Answer.ERROR, values, remarks)
    if "\nWarnings\n" not in text:
        return reading(RAS_TEXT_FORMAT, Answer.INCOMPLETE, values, ["the text has no end"])
    return reading(RAS_TEXT_FORMAT, Answer.OK, values, remarks)


def ras_json_matches(documents: Documents) -> bool:
    """Tell whether the value is a RAS report (2.28.7 on)."""
    return {"communicators", "communicators_count"} <= documents.first.keys()


def read_ras_json(documents: Documents) -> ToolReading:
    """Read the ranks of all communicators: those that are missing, and those with an error."""
    communicators = objects(documents.first["communicators"])
    ranks = [rank for communicator in communicators for rank in objects(communicator.get("ranks"))]
    states = [(rank, status) for rank in ranks for status in objects(rank.get("status"))]
    failed = [
        f"{rank.get('host')}/{rank.get('rank')}"
        for rank, status in states
        if status.get("async_error") or status.get("abort_flag")
    ]
    missing = sum(whole(communicator.get("missing_ranks_count")) or 0 for communicator in communicators)
    gpus = max((whole(communicator.get("size")) or 0 for communicator in communicators), default=0)
    values: dict[str, Scalar] = {
        "nodes": len({str(rank.get("host")) for rank in ranks}),
        "gpus": gpus,
        "missing": missing,
    }
    remarks = [f"rank {name} reports an error" for name in failed]
    answers = [Answer.ERROR for _ in range(bool(missing or failed))]
    if documents.cut or not documents.is_single:
        answers = [Answer.INCOMPLETE]
    elif not gpus:
        answers.append(Answer.NOT_MEASURED)
    return reading(RAS_JSON_FORMAT, worst(answers), values, remarks)
