"""What nccl-tests writes with -J (file version 1 to 3): truth values are text, and `env` is never read."""

from collections.abc import Iterator

from railweave.acceptance.readers.collectives import CollectiveRow, collective_values
from railweave.acceptance.readers.documents import Documents
from railweave.acceptance.readers.perftest import reading, worst
from railweave.acceptance.readers.text import number, whole
from railweave.acceptance.readings import Answer, Scalar, ToolReading

FORMAT = "nccl-json"


def matches(documents: Documents) -> bool:
    """Tell whether the first value is a report of nccl-tests or rccl-tests."""
    first = documents.values[0] if documents.values else None
    return isinstance(first, dict) and "version" in first and ("nccl_version" in first or "rccl_version" in first)


def read(documents: Documents) -> ToolReading:
    """Read a report. Environment variables are in it, with secrets: nothing of them leaves this function."""
    document = documents.values[0]
    if documents.mixed or len(documents.values) > 1 or not isinstance(document, dict):
        return reading(FORMAT, Answer.AMBIGUOUS, remarks=["the file holds more than one report: one file a test"])
    values: dict[str, Scalar] = {}
    remarks: list[str] = []
    config = document.get("config")
    devices = config.get("devices") if isinstance(config, dict) else None
    hosts = [str(device.get("hostname")) for device in _objects(devices)]
    if hosts:
        values.update({"ranks": len(hosts), "nodes": len(set(hosts))})
    version = whole(document.get("nccl_version", document.get("rccl_version")))
    if version is not None:
        # 2.31.1 is 23101 (NCCL_VERSION of nccl.h, from 2.9 on).
        values["nccl_version"] = f"{version // 10000}.{version // 100 % 100}.{version % 100}"
    answer, measured = collective_values(_rows(document.get("results")))
    values.update(measured)
    answers = [answer]
    if documents.cut or "end_time" not in document:
        remarks.append("the file was cut short: the run did not end")
        answers.append(Answer.INCOMPLETE)
    answers.append(_read_summary(document, values, remarks))
    if len(hosts) == 1:
        remarks.append("one rank alone: no network was used (a build without MPI=1?)")
        answers.append(Answer.NOT_MEASURED)
    return reading(FORMAT, worst(answers), values, remarks)


def _read_summary(document: dict[str, object], values: dict[str, Scalar], remarks: list[str]) -> Answer:
    answer = Answer.OK
    bounds = document.get("out_of_bounds")
    if isinstance(bounds, dict):
        count = whole(bounds.get("count"))
        if count is not None:
            values["out_of_bounds"] = count
        values["okay"] = bounds.get("okay") in ("true", True)
        if not values["okay"]:
            answer = Answer.ERROR
    average = document.get("average_bus_bandwidth")
    if isinstance(average, dict):
        rate = number(average.get("bandwidth"))
        if rate is not None:
            values["avg_busbw_GBps"] = rate
        if average.get("okay") in ("false", False):
            remarks.append("the test says FAILED: the average is below NCCL_TESTS_MIN_BW")
            answer = Answer.ERROR
    remarks.extend(str(error)[:200] for error in _list(document.get("errors")) if error)
    return answer


def _rows(results: object) -> Iterator[CollectiveRow]:
    for result in _objects(results):
        size = whole(result.get("size"))
        if size is None:
            continue
        for name, in_place in (("out_of_place", False), ("in_place", True)):
            cells = result.get(name)
            if not isinstance(cells, dict):
                continue
            iterations = result.get(f"{name}_per_iter")
            yield CollectiveRow(
                size,
                in_place,
                number(cells.get("bus_bw")),
                number(cells.get("time", cells.get("cpu_time"))),
                whole(cells.get("nwrong")),
                more=_iterations(iterations),
            )


def _iterations(report: object) -> dict[str, float]:
    if not isinstance(report, dict):
        return {}
    named = {"i_min_us": "min_us", "i_max_us": "max_us", "i_p99_us": "p99_us", "i_cv_pct": "cv_pct"}
    numbers = {ours: number(report.get(name)) for ours, name in named.items()}
    return {ours: value for ours, value in numbers.items() if value is not None}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _objects(value: object) -> list[dict[str, object]]:
    return [item for item in _list(value) if isinstance(item, dict)]
