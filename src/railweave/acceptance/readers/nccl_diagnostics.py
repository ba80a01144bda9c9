"""The report of NCCL_RUN_DIAGNOSTICS=1 (NCCL 2.31 on, RCCL): [INFO] is its only word for a failure."""

import re

from railweave.acceptance.readers.perftest import reading
from railweave.acceptance.readers.text import first_lines, number
from railweave.acceptance.readings import Answer, Scalar, ToolReading

FORMAT = "nccl-diagnostics"
_LINE = re.compile(r"NCCL DIAG (?:\[(OK|INFO)\] +)?(.*)")
_RATES = re.compile(r"net bw: ([\d.]+)/([\d.]+)/([\d.]+) Gbit/s min/median/max (same|cross)-nic")
_OUTLIER = re.compile(r"net bw: (\S+-nic) rank (\d+) \(([^)]*)\): ([\d.]+) Gbit/s, >")
_EDGES = re.compile(r"p2p: (\d+)/(\d+) directed")
_FAILED = re.compile(r"mismatch|failed|unavailable|returned \d|off median|outlier")


def matches(text: str) -> bool:
    """Tell whether a report of active diagnostics is in ``text``."""
    return "NCCL DIAG" in text


def read(text: str) -> ToolReading:
    """Read a report. Without rates of the network nothing was measured, whatever the GPUs of a node said."""
    values: dict[str, Scalar] = {}
    failed = False
    for tag, message in _LINE.findall(text):
        rates = _RATES.match(message)
        if rates is not None:
            for name, value in zip(("min", "median", "max"), rates.groups(), strict=False):
                values[f"{rates[4]}_nic_{name}_Gbps"] = number(value) or 0.0
        outlier = _OUTLIER.match(message)
        if outlier is not None:
            values.setdefault("outlier_rank", number(outlier[2]) or 0)
            values.setdefault("outlier_host", outlier[3])
        if message.startswith("p2p:"):
            edges = _EDGES.match(message)
            is_partial = edges is not None and edges[1] != edges[2]
            values["p2p_ok"] = values.get("p2p_ok") is not False and not is_partial and not _fails(tag, message)
        failed |= _fails(tag, message) or values.get("p2p_ok") is False
    remarks = list(first_lines(text, re.compile(r"\[INFO\]")))
    if failed:
        return reading(FORMAT, Answer.ERROR, values, remarks)
    if "diagnostics completed" not in text:
        return reading(FORMAT, Answer.INCOMPLETE, values, [*remarks, "the report has no end"])
    if not any(name.endswith("_Gbps") for name in values):
        remarks.append("the network was not measured: it takes several nodes with ib_write_bw")
        return reading(FORMAT, Answer.NOT_MEASURED, values, remarks)
    return reading(FORMAT, Answer.OK, values, remarks)


def _fails(tag: str, message: str) -> bool:
    return tag == "INFO" and _FAILED.search(message) is not None
