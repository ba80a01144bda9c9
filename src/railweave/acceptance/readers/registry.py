"""The readers of all formats, and which of them takes a file: the content decides, never the name."""

from collections.abc import Callable
from typing import NamedTuple

from railweave.acceptance.readers import iperf3, nccl, perftest_json, perftest_text, rccl, suites
from railweave.acceptance.readers.documents import Documents, read_documents
from railweave.acceptance.readers.text import decoded
from railweave.acceptance.readings import Answer, ToolReading


class TextReader(NamedTuple):
    """A format that is text."""

    format: str
    matches: Callable[[str], bool]
    read: Callable[[str], ToolReading]


class DocumentReader(NamedTuple):
    """A format that is JSON, or nearly."""

    format: str
    matches: Callable[[Documents], bool]
    read: Callable[[Documents], ToolReading]


TEXT_READERS = (
    TextReader(perftest_text.FORMAT, perftest_text.matches, perftest_text.read),
    TextReader(nccl.TEXT_FORMAT, nccl.text_matches, nccl.read_text),
    TextReader(nccl.DIAGNOSTICS_FORMAT, nccl.diagnostics_match, nccl.read_diagnostics),
    TextReader(rccl.CSV_FORMAT, rccl.csv_matches, rccl.read_csv),
    TextReader(suites.NHC_FORMAT, suites.nhc_matches, suites.read_nhc),
    TextReader(suites.RAS_TEXT_FORMAT, suites.ras_text_matches, suites.read_ras_text),
)
DOCUMENT_READERS = (
    DocumentReader(perftest_json.FORMAT, perftest_json.matches, perftest_json.read),
    DocumentReader(nccl.JSON_FORMAT, nccl.json_matches, nccl.read_json),
    DocumentReader(rccl.JSON_FORMAT, rccl.json_matches, rccl.read_json),
    DocumentReader(iperf3.FORMAT, iperf3.matches, iperf3.read),
    DocumentReader(suites.CVS_RDMA_FORMAT, suites.cvs_rdma_matches, suites.read_cvs_rdma),
    DocumentReader(suites.CVS_RCCL_FORMAT, suites.cvs_rccl_matches, suites.read_cvs_rccl),
    DocumentReader(suites.SUPERBENCH_FORMAT, suites.superbench_matches, suites.read_superbench),
    DocumentReader(suites.RAS_JSON_FORMAT, suites.ras_json_matches, suites.read_ras_json),
)
FORMATS = tuple(reader.format for reader in (*TEXT_READERS, *DOCUMENT_READERS))

_CONTAINED = {nccl.TEXT_FORMAT: {nccl.DIAGNOSTICS_FORMAT}}
"""Formats that another one contains: NCCL writes its diagnostics into the output of nccl-tests."""


def read_tool_output(data: bytes, name: str = "") -> ToolReading:
    """Return the reading of a file of a test tool. Nothing is raised, whatever its bytes are.

    ``name`` is only used in remarks.
    """
    text = decoded(data)
    if not text.strip():
        return ToolReading("", Answer.NOT_MEASURED, {}, ("the file is empty: the tool was killed, or a disk was full",))
    reading = None
    if text.lstrip()[0] in "{[":
        reading = _read_documents(text)
    if reading is None:
        reading = _read_text(text)
    if reading is None:
        reading = _read_embedded_documents(text)
    if reading is not None:
        return reading
    where = f" in {name}" if name else ""
    return ToolReading("", Answer.NOT_MEASURED, {}, (f"no known format{where}",))


def _read_text(text: str) -> ToolReading | None:
    """Return the reading by the text format that matches, or None. If several match, it is ambiguous."""
    readers = [reader for reader in TEXT_READERS if reader.matches(text)]
    contained_formats = {contained for reader in readers for contained in _CONTAINED.get(reader.format, ())}
    readers = [reader for reader in readers if reader.format not in contained_formats]
    if not readers:
        return None
    if len(readers) > 1:
        formats = ", ".join(reader.format for reader in readers)
        return ToolReading(formats, Answer.AMBIGUOUS, {}, (f"output of several programs in one file: {formats}",))
    return readers[0].read(text)


def _read_embedded_documents(text: str) -> ToolReading | None:
    """Return the reading of JSON that follows lines of a launcher or logger, or None if there is none."""
    for start in ("\n{", "\n[", "{"):
        _, found_start, rest = text.partition(start)
        if found_start:
            reading = _read_documents(start.strip() + rest)
            if reading is not None:
                return reading
    return None


def _read_documents(text: str) -> ToolReading | None:
    """Return the reading by the first JSON format that matches, or None."""
    documents = read_documents(text)
    for reader in DOCUMENT_READERS:
        if reader.matches(documents):
            return reader.read(documents)
    return None
