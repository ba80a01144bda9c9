"""PCIe slots, firmware, GIDs and the IOMMU, as nodes report them, and remarks on what slows tests down."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from railweave.acceptance.model import PlannedTest
from railweave.acceptance.running.answers import NodeAnswer
from railweave.wording import compact

_KINDS = ("reading_s", "versions", "launchers", "nics", "iommu")


def node_state(answer: NodeAnswer) -> dict[str, Any]:
    """Return the part of a node's answer that is stored, without its settings."""
    return {name: answer.document[name] for name in _KINDS if name in answer.document}


def state_remarks(answers: Mapping[str, NodeAnswer], tests: Iterable[PlannedTest]) -> list[str]:
    """Return sentences on what slows tests down or makes them fail, each with the nodes that have it."""
    gid_index = _gid_index(tests)
    nodes_of: dict[str, list[str]] = {}
    for node, answer in answers.items():
        for remark in dict.fromkeys(_remarks(answer.document, gid_index)):
            nodes_of.setdefault(remark, []).append(node)
    remarks = [f"{compact(nodes)}: {remark}" for remark, nodes in nodes_of.items()]
    return [*remarks, *_firmware_remarks(answers)]


def _gid_index(tests: Iterable[PlannedTest]) -> str:
    """Return the GID index that the commands of tests state; empty if perftest chooses one itself."""
    for test in tests:
        for words in test.argv.values():
            if words and words[0].startswith("ib_") and "-x" in words:
                return words[words.index("-x") + 1]
    return ""


def _remarks(document: Mapping[str, Any], gid_index: str) -> Iterator[str]:
    """Yield the remarks on one node."""
    for name, nic in (document.get("nics") or {}).items():
        yield from _nic_remarks(name, nic, gid_index)
    if "DMA" in str(document.get("iommu") or ""):
        yield "the IOMMU translates addresses of DMA (`iommu=pt` lets them pass)"


def _nic_remarks(name: str, nic: Mapping[str, Any], gid_index: str) -> Iterator[str]:
    """Yield the remarks on a NIC: a slow PCIe slot, redirected peer-to-peer traffic, or a GID of another type."""
    width = str(nic.get("current_link_width") or "")
    max_width = str(nic.get("max_link_width") or "")
    if width and max_width and width != max_width:
        yield f"{name} has x{width} of x{max_width} PCIe lanes"
    speed = str(nic.get("current_link_speed") or "")
    max_speed = str(nic.get("max_link_speed") or "")
    if speed and max_speed and speed != max_speed:
        yield f"{name} runs at {speed} of {max_speed}"
    if nic.get("acs") == "on":
        # GPUDirect then crosses the root complex, which carries less.
        yield f"{name} is below a bridge that redirects peer-to-peer traffic (ACS)"
    gid = (nic.get("gids") or {}).get(gid_index) or {}
    if gid_index and gid.get("type") not in (None, "RoCE v2"):
        yield f"GID {gid_index} of {name} is of type {gid['type']}, not RoCE v2 (acceptance.gid_index)"


def _firmware_remarks(answers: Mapping[str, NodeAnswer]) -> Iterator[str]:
    """Yield a remark if NICs with RDMA have several versions of firmware, with the number of NICs of each."""
    versions: Counter[str] = Counter()
    for answer in answers.values():
        nics = (answer.document.get("nics") or {}).values()
        versions.update(nic["firmware"] for nic in nics if nic.get("firmware"))
    if len(versions) > 1:
        counts = ", ".join(f"{version} on {count}" for version, count in versions.most_common())
        yield f"NICs have several versions of firmware: {counts}"
