"""The state of a running job as NCCL's or RCCL's RAS client shows it, as text or (2.28.7 on) as JSON."""

import re

from railweave.acceptance.readers.documents import Documents
from railweave.acceptance.readers.perftest import reading
from railweave.acceptance.readers.text import whole
from railweave.acceptance.readings import Answer, Scalar, ToolReading

TEXT_FORMAT = "ras-text"
JSON_FORMAT = "ras-json"
_SUMMARY = re.compile(r"^\s*(\d+)\s+[\d-]+\s+[\d-]+\s+(\d+)\s+(\d+)\s*$", re.MULTILINE)
_GROUP = re.compile(r"^\s*\d+\s+\d+\s+\S+\s+\S+\s+\S+\s+\S+\s+([A-Z]+)\s+([A-Z]+)\s*$", re.MULTILINE)
_PROCESS = re.compile(r"^\s*Process \d+ on node (\S+) managing GPUs? (\d+)", re.MULTILINE)
_MISSING = re.compile(r"Missing communicator data from (\d+) job process")
_NO_JOB = re.compile(r"Connection (refused|reset by peer)|Failed to connect")


def text_matches(text: str) -> bool:
    """Tell whether the RAS client wrote ``text``, or its failure to connect."""
    return "Job summary" in text or (_NO_JOB.search(text) is not None and "read socket" in text)


def read_text(text: str) -> ToolReading:
    """Read nodes, GPUs and what is missing; a healthy job is no measurement of the network, but no error either."""
    values: dict[str, Scalar] = {}
    remarks: list[str] = []
    summary = _SUMMARY.search(text)
    if summary is not None:
        values.update({"nodes": int(summary[1]), "processes": int(summary[2]), "gpus": int(summary[3])})
    values["missing"] = 0
    missing = _MISSING.search(text)
    if missing is not None:
        values["missing"] = int(missing[1])
    processes = list(dict.fromkeys(_PROCESS.findall(text)))
    for node, gpu in processes[:1]:
        values.update({"missing_node": node, "missing_gpu": int(gpu)})
    if len(processes) > 1:
        values["missing_gpus"] = tuple(f"{node}/{gpu}" for node, gpu in processes)
    remarks.extend(f"GPU {gpu} of {node} is missing" for node, gpu in processes)
    states = _GROUP.findall(text)
    remarks.extend(f"a group of communicators is {status}: {errors}" for status, errors in states if errors != "OK")
    _, _, errors = text.partition("\nErrors\n")
    listed = re.sub(r"^=+$", "", errors.partition("\nWarnings\n")[0], flags=re.MULTILINE).strip()
    if values["missing"] or listed or any(errors != "OK" for _, errors in states):
        return reading(TEXT_FORMAT, Answer.ERROR, values, remarks)
    if summary is None:
        return reading(TEXT_FORMAT, Answer.NOT_MEASURED, remarks=["there is no job to ask"])
    if "\nWarnings\n" not in text:
        return reading(TEXT_FORMAT, Answer.INCOMPLETE, values, ["the text has no end"])
    return reading(TEXT_FORMAT, Answer.OK, values, remarks)


def json_matches(documents: Documents) -> bool:
    """Tell whether the value is a RAS report."""
    first = documents.values[0] if documents.values else None
    return isinstance(first, dict) and "communicators" in first and "communicators_count" in first


def read_json(documents: Documents) -> ToolReading:
    """Read the ranks of all communicators: those that are missing, and those with an error."""
    document = documents.values[0]
    communicators = document.get("communicators") if isinstance(document, dict) else None
    hosts: set[str] = set()
    gpus = 0
    missing = 0
    failed: list[str] = []
    for communicator in communicators if isinstance(communicators, list) else []:
        if not isinstance(communicator, dict):
            continue
        gpus = max(gpus, whole(communicator.get("size")) or 0)
        missing += whole(communicator.get("missing_ranks_count")) or 0
        ranks = communicator.get("ranks")
        for rank in ranks if isinstance(ranks, list) else []:
            if isinstance(rank, dict):
                hosts.add(str(rank.get("host")))
                status = rank.get("status")
                if isinstance(status, dict) and (status.get("async_error") or status.get("abort_flag")):
                    failed.append(f"{rank.get('host')}/{rank.get('rank')}")
    values: dict[str, Scalar] = {"nodes": len(hosts), "gpus": gpus, "missing": missing}
    if failed:
        values["failed"] = tuple(failed)
    if documents.cut or documents.mixed:
        return reading(JSON_FORMAT, Answer.INCOMPLETE, values, ["the file was cut short"])
    if missing or failed:
        return reading(JSON_FORMAT, Answer.ERROR, values, [f"rank {name} reports an error" for name in failed])
    if not gpus:
        return reading(JSON_FORMAT, Answer.NOT_MEASURED, values, ["there is no communicator"])
    return reading(JSON_FORMAT, Answer.OK, values)
