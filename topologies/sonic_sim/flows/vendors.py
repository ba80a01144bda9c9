"""Counters of NICs under the names of their drivers.

NVIDIA: Linux mlx5/core/en_stats.c, infiniband mlx5/counters.c. Broadcom: bnxt_ethtool.c, bnxt_re/hw_counters.c. AMD:
ionic_hw_stats.c. The model counts under the names of mlx5; those of another driver are here.
"""

from collections.abc import Collection, Mapping

PRIORITIES = range(8)
WAYS = ("rx", "tx")
# Hardware counters of 32 bits (mlx5/counters.c: be32_to_cpu).
_NARROW = frozenset({"out_of_sequence", "packet_seq_err", "local_ack_timeout_err"})
_MLX5 = (
    *("tx_bytes_phy", "rx_bytes_phy", "tx_packets_phy", "rx_packets_phy", "rx_discards_phy", "rx_crc_errors_phy"),
    *("rx_corrected_bits_phy", "rx_pcs_symbol_err_phy"),
    *("out_of_sequence", "packet_seq_err", "local_ack_timeout_err"),
    *("np_cnp_sent", "np_ecn_marked_roce_packets", "rp_cnp_handled", "rp_cnp_ignored"),
    *(f"{way}_prio{priority}_{what}" for way in WAYS for priority in PRIORITIES for what in ("bytes", "packets")),
)
_OTHERS: Mapping[str, Mapping[str, str]] = {
    "broadcom": {
        "tx_bytes_phy": "tx_bytes", "rx_bytes_phy": "rx_bytes", "rx_discards_phy": "rx_total_discard_pkts",
        "rx_pcs_symbol_err_phy": "rx_fec_uncorrectable_blocks", "rx_corrected_bits_phy": "rx_fec_corrected_blocks",
        "out_of_sequence": "oos_drop_count", "packet_seq_err": "seq_err_naks_rcvd",
        "local_ack_timeout_err": "to_retransmits", "np_cnp_sent": "np_cnp_sent", "rp_cnp_handled": "rp_cnp_handled",
        "np_ecn_marked_roce_packets": "np_ecn_marked_roce_packets",
        **{f"{way}_prio{number}_pause": f"{way}_pfc_ena_frames_pri{number}" for way in WAYS for number in PRIORITIES},
    },
    "amd": {
        "tx_bytes_phy": "octets_tx_total", "rx_bytes_phy": "octets_rx_all", "out_of_sequence": "resp_rx_outouf_seq",
        "packet_seq_err": "req_rx_pkt_seq_err", "local_ack_timeout_err": "tx_rdma_ack_timeout",
        "np_ecn_marked_roce_packets": "rx_rdma_ecn_pkts", "np_cnp_sent": "tx_rdma_cnp_pkts",
        "rp_cnp_handled": "rx_rdma_cnp_pkts",
        **{f"{way}_prio{number}_pause": f"frames_{way}_pri{number}_pause" for way in WAYS for number in PRIORITIES},
    },
}  # fmt: skip


def vendor_counters(vendor: str, pfc: Collection[int], row: Mapping[str, float]) -> dict[str, int]:
    """Return the counters of a row as the driver of ``vendor`` shows them.

    The counters of pauses are only those of the priorities in ``pfc``.
    """
    pauses = [f"{way}_prio{priority}_pause" for way in WAYS for priority in pfc]
    counters: dict[str, int] = {}
    vendor_names = _OTHERS.get(vendor)
    if vendor_names is not None:
        for name, vendor_name in vendor_names.items():
            if not name.endswith("_pause") or name in pauses:
                counters[vendor_name] = int(row.get(name, 0.0))
        return counters
    lanes = [name for name in row if name.startswith("rx_err_lane_")]
    for name in (*_MLX5, *pauses, *lanes):
        counters[name] = int(row.get(name, 0.0))
        if name in _NARROW:
            counters[name] %= 2**32
    return counters
