"""What a node writes for node_exporter because its own collectors lack it, from the names that the alert rules use.

node_exporter reads ``counters`` of /sys/class/infiniband, and from 1.11 on those files of ``hw_counters`` that mlx5 has
(collector/infiniband_linux.go; sysfs/class_infiniband.go of prometheus/procfs). It has none of the names of bnxt_re and
ionic, and nothing that says which interface an RDMA device belongs to.
"""

from collections.abc import Mapping
from typing import Any, Final

from railweave.catalog.load import load_catalog
from railweave.catalog.nics import VendorPack
from railweave.fabric.node_metrics import NIC_INFO, OF_INFINIBAND, OF_NODES, ScrapedMetric
from railweave.fabric.telemetry import NicCounterPolicy
from railweave.hosts.places import Places

_COUNTERS: Final = {metric.name: metric for metric in OF_NODES if metric.kind == "counter"}
_OF_NODE_EXPORTER: Final = {metric.source for metric in OF_INFINIBAND}
"""Files below hw_counters that node_exporter 1.11 reads."""


def nic_counters(policy: NicCounterPolicy | None, vendor: str | None, places: Places) -> dict[str, Any] | None:
    """Return the ``nic_counters`` of a node's document: the file to write, who writes it, and each metric in it.

    None if the intent asks for no such file, or if the pack of the NICs' vendor has no counters.
    """
    if policy is None or vendor is None:
        return None
    pack = load_catalog().vendor_pack(vendor)
    if not pack.counters:
        return None
    return {
        "textfile": f"{policy.directory}/{places.textfile}",
        "program": places.counter_program,
        "document": places.document,
        "timer": places.counter_timer,
        "metrics": [_entry(NIC_INFO), *_counters(pack, policy)],
    }


def _counters(pack: VendorPack, policy: NicCounterPolicy) -> list[dict[str, Any]]:
    """Return each counter of a vendor's pack with its file; those that node_exporter reads itself are left out."""
    entries = []
    for name, file in pack.counters.items():
        if policy.infiniband_hw_counters and file in _OF_NODE_EXPORTER:
            continue
        entries.append({**_entry(_COUNTERS[name]), "file": file})
    return entries


def _entry(metric: ScrapedMetric) -> Mapping[str, Any]:
    """Return a metric as in the node's document."""
    return {"name": metric.name, "type": metric.kind, "help": metric.help, "labels": list(metric.labels)}
