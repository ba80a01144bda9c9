"""The metrics of nodes: those that they write for node_exporter, and what node_exporter has of the same.

The alert rules take the names from here (`telemetry.metrics`), and so does what `hosts` installs to write them.
"""

from typing import Final, NamedTuple


class ScrapedMetric(NamedTuple):
    """A metric: its name, Prometheus type, labels beside ``device``, and what it is."""

    name: str
    kind: str
    labels: tuple[str, ...]
    help: str
    # The field of COUNTERS_DB, STATE_DB or APPL_DB, or the place in /sys, that it comes from; empty for values of
    # railweave itself.
    source: str = ""

    def __str__(self) -> str:
        """Return the name, so that expressions can be written with it."""
        return self.name


# Of a node, whose file for node_exporter has them: `port` is the interface. Which file of the driver each comes from is
# in the packs of NIC vendors (`counters`).
NIC_OUT_OF_SEQUENCE: Final = ScrapedMetric(
    name="railweave_nic_out_of_sequence_total",
    kind="counter",
    labels=("port",),
    help="packets out of sequence at a NIC",
    source="hw_counters",
)
NIC_ACK_TIMEOUTS: Final = ScrapedMetric(
    name="railweave_nic_ack_timeouts_total",
    kind="counter",
    labels=("port",),
    help="timeouts of acknowledgments",
    source="hw_counters",
)
NIC_INFO: Final = ScrapedMetric(
    name="railweave_nic_info",
    kind="gauge",
    labels=("port", "rdma_device"),
    help="1 with the RDMA device of an interface",
    source="device/infiniband",
)

# node_exporter's own from 1.11 on (collector/infiniband_linux.go), for the files of mlx5 alone. Their label `device` is
# the RDMA device; Prometheus keeps it as `exported_device`, because the target's `device` is the node.
INFINIBAND_OUT_OF_SEQUENCE: Final = ScrapedMetric(
    name="node_infiniband_out_of_sequence_packets_received_total",
    kind="counter",
    labels=("exported_device",),
    help="packets out of sequence at an RDMA device",
    source="out_of_sequence",
)
INFINIBAND_ACK_TIMEOUTS: Final = ScrapedMetric(
    name="node_infiniband_local_ack_timeout_errors_total",
    kind="counter",
    labels=("exported_device",),
    help="timeouts of acknowledgments at an RDMA device",
    source="local_ack_timeout_err",
)

OF_NODES: Final = (NIC_OUT_OF_SEQUENCE, NIC_ACK_TIMEOUTS, NIC_INFO)
"""What the file of a node adds to the collectors of node_exporter."""

OF_INFINIBAND: Final = (INFINIBAND_OUT_OF_SEQUENCE, INFINIBAND_ACK_TIMEOUTS)
"""What node_exporter counts of the same; `source` is the file below hw_counters."""
