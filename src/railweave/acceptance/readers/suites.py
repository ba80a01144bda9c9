"""Summaries of ROCm/cvs, SuperBench and Azure's node health check, and the RAS client's view of a running job."""

import re
from collections.abc import Iterable, Iterator

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
    """Read the rates (Gb/s) or typical latencies (µs) by ``NODE/NIC``.

    ``missing`` has the NICs that other nodes have results of, but not this node.
    """
    results = dict(_results(documents.first, ()))
    tests = {path[:-2] for path in results}
    values: dict[str, Scalar] = {}
    answers = []
    for path, cells in results.items():
        name = "/".join(path[-2:] if len(tests) == 1 else path)
        value = number(cells.get("bw", cells.get("t_typical")))
        tail = number(cells.get("t_99_9_pct"))
        if value is None or value < 0:
            answers.append(Answer.INVALID)
        else:
            values[name] = value
        if tail is not None:
            values[f"{name}_p999_us"] = tail
    remarks = ["cvs runs perftest with -b: rates are sums of both directions"]
    missing = _missing_nics(results)
    if missing:
        values["missing"] = missing
        remarks.append(f"without a result: {', '.join(missing)[:200]}")
    if documents.cut or documents.mixed or not values:
        answers.append(Answer.INCOMPLETE)
    return reading(CVS_RDMA_FORMAT, worst(answers), values, remarks)


def _missing_nics(paths: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the NICs, as ``NODE/NIC``, that lack results although another node has results of that NIC."""
    measured = [path[-2:] for path in paths]
    nodes = dict.fromkeys(node for node, _ in measured)
    nics = dict.fromkeys(nic for _, nic in measured)
    return tuple(f"{node}/{nic}" for node in nodes for nic in nics if (node, nic) not in measured)


def _results(value: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, object]]]:
    """Yield the path and the object of each result in ``value``, which is at ``path``.

    A path is the test, the size and the queue pairs, then node and NIC.
    """
    if not isinstance(value, dict) or len(path) > 6:
        return
    if len(path) > 2 and not value.keys().isdisjoint(("bw", "t_typical")):
        yield path, value
        return
    for name, member in value.items():
        yield from _results(member, (*path, name))


def cvs_rccl_matches(documents: Documents) -> bool:
    """Tell whether the value is a list of RcclTestsAggregated (cvs/schema/rccl.py)."""
    return any("busBw_mean" in row for row in documents.rows)


def read_cvs_rccl(documents: Documents) -> ToolReading:
    """Read the mean and the coefficient of variation of each size. A single run has no variation."""
    series = {(whole(row.get("inPlace")), str(row.get("collective", row.get("name")))) for row in documents.rows}
    values: dict[str, Scalar] = {}
    answers = []
    if documents.cut or documents.mixed:
        answers.append(Answer.INCOMPLETE)
    for row in documents.rows:
        size = whole(row.get("size"))
        rate = number(row.get("busBw_mean"))
        if size is None or rate is None or rate < 0:
            answers.append(Answer.INVALID)
            continue
        suffix = f"_at_{size}"
        if len(series) > 1:
            suffix += "_ip" if whole(row.get("inPlace")) == 1 else "_oop"
        values[f"busbw_GBps{suffix}"] = rate
        values[f"cv_pct{suffix}"] = Answer.NOT_MEASURED.value
        runs = whole(row.get("num_runs")) or 0
        deviation = number(row.get("busBw_std"))
        if runs > 1 and deviation is not None and rate > 0:
            values[f"cv_pct{suffix}"] = round(deviation / rate * 100, 2)
        for name in ("nodes", "ranks"):
            count = whole(row.get(name))
            if count is not None:
                values[name] = count
    return reading(CVS_RCCL_FORMAT, worst(answers), values)


_METRIC = re.compile(r"[^/]+/(?P<metric>.*?)(:\d+)?")
_BUSBW = re.compile(r"(?:\w+_)?(\d+)_busbw")


def superbench_matches(documents: Documents) -> bool:
    """Tell whether the values are nodes of results-summary.jsonl."""
    return "node" in documents.first and any("/" in name for name in documents.first)


def read_superbench(documents: Documents) -> ToolReading:
    """Read the metrics of each node as ``NODE.METRIC``. A node without all of them makes the reading incomplete."""
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
    """Yield the metrics of a node as name and value: bus bandwidths by size, and the worst of all return codes."""
    return_codes = []
    for name, raw_value in document.items():
        match = _METRIC.fullmatch(name)
        if match is None:
            continue
        if match["metric"] == "return_code":
            return_codes.append(whole(raw_value) or 0)
            continue
        value: Scalar | None = number(raw_value)
        is_measured = value is not None
        if value is None:
            value = Answer.NOT_MEASURED.value
        bus_bandwidth = _BUSBW.fullmatch(match["metric"])
        if bus_bandwidth is None:
            yield name, value
            continue
        yield f"busbw_GBps_at_{bus_bandwidth[1]}", value
        if not is_measured:
            yield "busbw", value
    if return_codes:
        yield "return_code", max(return_codes, key=abs)


_CHECK = re.compile(r"nhc: +Health check (passed|failed): +(.*)$", re.MULTILINE)
_DEVICE = re.compile(r"\bIB=([\w.-]+)")
_RATE = re.compile(r"(?:measured |IB BW=)\s*(\d+(?:\.\d+)?)\.? (Gbps|GB/s)")


def nhc_matches(text: str) -> bool:
    """Tell whether the node health check wrote ``text`` (azurehpc-health-checks, customTests/*.nhc)."""
    return "nhc: " in text and "Health check " in text


def read_nhc(text: str) -> ToolReading:
    """Read the rate of each device in Gb/s. A failed check makes the reading an error."""
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
    """Read nodes, GPUs and missing processes. An answer of OK means a healthy job: the network is not measured."""
    summary = _SUMMARY.search(text)
    if summary is None:
        remarks = ["there is no job to ask, or the text was cut short"]
        return reading(RAS_TEXT_FORMAT, Answer.NOT_MEASURED, remarks=remarks)
    nodes, processes, gpus = map(int, summary.groups())
    missing = _MISSING.search(text)
    missing_processes = 0 if missing is None else int(missing[1])
    values: dict[str, Scalar] = {"nodes": nodes, "processes": processes, "gpus": gpus, "missing": missing_processes}
    missing_gpus = list(dict.fromkeys(_PROCESS.findall(text)))
    for node, gpu in missing_gpus[:1]:
        values |= {"missing_node": node, "missing_gpu": int(gpu)}
    remarks = [f"GPU {gpu} of {node} is missing" for node, gpu in missing_gpus]
    bad_states = [errors for _, errors in _GROUP.findall(text) if errors != "OK"]
    remarks += [f"a group of communicators is {errors}" for errors in bad_states]
    _, _, errors_and_rest = text.partition("\nErrors\n")
    listed_errors, _, _ = errors_and_rest.partition("\nWarnings\n")
    if missing is not None or listed_errors.strip("=\n ") or bad_states:
        return reading(RAS_TEXT_FORMAT, Answer.ERROR, values, remarks)
    if "\nWarnings\n" not in text:
        return reading(RAS_TEXT_FORMAT, Answer.INCOMPLETE, values, ["the text has no end"])
    return reading(RAS_TEXT_FORMAT, Answer.OK, values, remarks)


def ras_json_matches(documents: Documents) -> bool:
    """Tell whether the value is a RAS report (2.28.7 on)."""
    return {"communicators", "communicators_count"} <= documents.first.keys()


def read_ras_json(documents: Documents) -> ToolReading:
    """Read how many ranks of all communicators are missing, and which ranks report an error."""
    communicators = objects(documents.first["communicators"])
    ranks = [rank for communicator in communicators for rank in objects(communicator.get("ranks"))]
    failed = [
        f"{rank.get('host')}/{rank.get('rank')}"
        for rank in ranks
        for status in objects(rank.get("status"))
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
    if documents.cut or not documents.is_single:
        answer = Answer.INCOMPLETE
    elif missing or failed:
        answer = Answer.ERROR
    elif not gpus:
        answer = Answer.NOT_MEASURED
    else:
        answer = Answer.OK
    return reading(RAS_JSON_FORMAT, answer, values, remarks)
