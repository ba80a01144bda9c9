"""What nodes tell of their NICs' slots, firmware and GIDs, and of their kernel: read, never inferred."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from railweave.acceptance.model import PlannedTest
from railweave.acceptance.running.answers import NodeAnswer
from railweave.wording import compact

_KINDS = ("reading_s", "versions", "launchers", "nics", "iommu")


def node_state(answer: NodeAnswer) -> dict[str, Any]:
    """Return what is kept of a node's answer, apart from its settings."""
    return {name: answer.document[name] for name in _KINDS if name in answer.document}


def state_remarks(answers: Mapping[str, NodeAnswer], tests: Iterable[PlannedTest]) -> list[str]:
    """Return in sentences what slows tests down or makes them fail, each with the nodes that it is true of."""
    gid_index = _gid_index(tests)
    nodes_of: dict[str, list[str]] = {}
    for node, answer in answers.items():
        for remark in dict.fromkeys(_remarks(answer.document, gid_index)):
            nodes_of.setdefault(remark, []).append(node)
    remarks = [f"{compact(nodes)}: {remark}" for remark, nodes in nodes_of.items()]
    return [*remarks, *_firmware_remarks(answers)]


def _gid_index(tests: Iterable[PlannedTest]) -> str:
    """Return the GID index that tests state, empty where perftest takes one itself."""
    for test in tests:
        for words in test.argv.values():
            if words and words[0].startswith("ib_") and "-x" in words:
                return words[words.index("-x") + 1]
    return ""


def _remarks(document: Mapping[str, Any], gid_index: str) -> Iterator[str]:
    for name, nic in (document.get("nics") or {}).items():
        width = str(nic.get("current_link_width") or "")
        widest = str(nic.get("max_link_width") or "")
        if width and widest and width != widest:
            yield f"{name} has x{width} of x{widest} PCIe lanes"
        speed = str(nic.get("current_link_speed") or "")
        fastest = str(nic.get("max_link_speed") or "")
        if speed and fastest and speed != fastest:
            yield f"{name} runs at {speed} of {fastest}"
        if nic.get("acs") == "on":
            # GPUDirect then crosses the root complex, which carries less.
            yield f"{name} is below a bridge that redirects peer-to-peer traffic (ACS)"
        gid = (nic.get("gids") or {}).get(gid_index) or {}
        if gid_index and gid.get("type") not in (None, "RoCE v2"):
            yield f"GID {gid_index} of {name} is of type {gid['type']}, not RoCE v2 (acceptance.gid_index)"
    if "DMA" in str(document.get("iommu") or ""):
        yield "the IOMMU translates addresses of DMA (`iommu=pt` lets them pass)"


def _firmware_remarks(answers: Mapping[str, NodeAnswer]) -> Iterator[str]:
    """Yield that NICs with RDMA have several versions of firmware, with their numbers."""
    versions: Counter[str] = Counter()
    for answer in answers.values():
        versions.update(nic["firmware"] for nic in (answer.document.get("nics") or {}).values() if nic.get("firmware"))
    if len(versions) > 1:
        counts = ", ".join(f"{version} on {count}" for version, count in versions.most_common())
        yield f"NICs have several versions of firmware: {counts}"
