"""What counters of SONiC, ethtool and rdma mean, and at which width they wrap: rules judge meanings, never names."""

import re
from enum import StrEnum
from functools import cache
from typing import NamedTuple


class CounterMeaning(StrEnum):
    """What a counter counts, in the words of the rules; a row of a queue or group counts for itself alone."""

    SENT_BYTES = "sent bytes"
    RECEIVED_BYTES = "received bytes"
    SENT_PACKETS = "sent packets"
    RECEIVED_PACKETS = "received packets"
    DROPS = "drops"
    WRED_DROPS = "WRED drops"
    MARKS = "ECN marks"
    # Of a NIC, which marks nothing itself.
    MARKED_ARRIVALS = "marked packets received"
    PFC_SENT = "PFC frames sent"
    PFC_RECEIVED = "PFC frames received"
    # Microseconds in which PFC frames from the other end kept a priority from sending.
    PAUSED_US = "PFC pause time received"
    STORMS = "PFC storms"
    FEC_UNCORRECTABLE = "FEC uncorrectable"
    # Codewords.
    FEC_CORRECTED = "FEC corrected"
    FEC_CORRECTED_BITS = "FEC corrected bits"
    ERRORS = "errors"
    LINK_DOWN = "link down"
    # Seen by the receiver of an RDMA flow: a packet before was lost or overtaken.
    OUT_OF_SEQUENCE = "out of sequence"
    # Seen by the sender of an RDMA flow: a packet or its acknowledgment was lost.
    RETRANSMISSIONS = "retransmissions"
    CNP_SENT = "CNPs sent"
    CNP_HANDLED = "CNPs handled"
    # Watermarks are the largest use of a buffer since they were cleared last, in bytes.
    HEADROOM_WATERMARK = "headroom watermark"
    SHARED_WATERMARK = "shared buffer watermark"


WATERMARKS = frozenset({CounterMeaning.HEADROOM_WATERMARK, CounterMeaning.SHARED_WATERMARK})


class CounterName(NamedTuple):
    """The meaning of a name; ``priority`` is the PFC priority in it, None without."""

    meaning: CounterMeaning
    priority: int | None
    # Of the hardware counter: it restarts at 0 after 2^bits - 1.
    bits: int


_MEANINGS: dict[str, CounterMeaning] = {}


def _add(meaning: CounterMeaning, *names: str) -> None:
    _MEANINGS.update(dict.fromkeys(names, meaning))


# SONiC: sonic-swss orchagent/portsorch.cpp, port_stat_ids, queue_stat_ids, wred_queue_stat_ids, ingressPriorityGroup*
# (branch 202605, 2478b9c79a), pfcactionhandler.h. NVIDIA: Linux mlx5/core/en_stats.c (01dd7424), infiniband mlx5/
# counters.c (10d4de41). Broadcom: bnxt_ethtool.c, bnxt_re/hw_counters.c (063975fe). AMD: ionic_hw_stats.c (4f38da1f).
_add(CounterMeaning.SENT_BYTES, "SAI_PORT_STAT_IF_OUT_OCTETS", "SAI_QUEUE_STAT_BYTES", "tx_bytes_phy", "tx_bytes")
_add(CounterMeaning.SENT_BYTES, "octets_tx_total")
_add(CounterMeaning.RECEIVED_BYTES, "SAI_PORT_STAT_IF_IN_OCTETS", "rx_bytes_phy", "rx_bytes", "octets_rx_all")
_add(CounterMeaning.SENT_PACKETS, "SAI_PORT_STAT_IF_OUT_UCAST_PKTS", "SAI_QUEUE_STAT_PACKETS", "tx_packets_phy")
_add(CounterMeaning.RECEIVED_PACKETS, "SAI_PORT_STAT_IF_IN_UCAST_PKTS", "rx_packets_phy")
_add(CounterMeaning.DROPS, "SAI_PORT_STAT_IF_IN_DISCARDS", "SAI_PORT_STAT_IF_OUT_DISCARDS")
_add(CounterMeaning.DROPS, "SAI_PORT_STAT_IN_DROPPED_PKTS", "SAI_PORT_STAT_OUT_DROPPED_PKTS")
_add(CounterMeaning.DROPS, "SAI_QUEUE_STAT_DROPPED_PACKETS", "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS")
_add(CounterMeaning.DROPS, "rx_discards_phy", "tx_discards_phy", "rx_out_of_buffer", "out_of_buffer")
_add(CounterMeaning.DROPS, "rx_prio#_discards", "rx_prio#_buf_discard", "rx_prio#_cong_discard")
_add(CounterMeaning.DROPS, "rx_total_discard_pkts", "rx_roce_discards")
_add(CounterMeaning.WRED_DROPS, "SAI_QUEUE_STAT_WRED_DROPPED_PACKETS", "SAI_PORT_STAT_WRED_DROPPED_PACKETS")
_add(CounterMeaning.MARKS, "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS")
_add(CounterMeaning.MARKED_ARRIVALS, "np_ecn_marked_roce_packets", "rx_rdma_ecn_pkts")
_add(CounterMeaning.PFC_SENT, "SAI_PORT_STAT_PFC_#_TX_PKTS", "tx_prio#_pause", "tx_pfc_ena_frames_pri#")
_add(CounterMeaning.PFC_RECEIVED, "SAI_PORT_STAT_PFC_#_RX_PKTS", "rx_prio#_pause", "rx_pfc_ena_frames_pri#")
_add(CounterMeaning.PAUSED_US, "SAI_PORT_STAT_PFC_#_RX_PAUSE_DURATION_US", "rx_prio#_pause_duration")
_add(CounterMeaning.STORMS, "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", "tx_pause_storm_error_events")
_add(CounterMeaning.STORMS, "continuous_roce_pause_events")
# mlx5 counts in rx_pcs_symbol_err_phy what FEC did not correct.
_add(CounterMeaning.FEC_UNCORRECTABLE, "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES", "rx_pcs_symbol_err_phy")
_add(CounterMeaning.FEC_UNCORRECTABLE, "rx_fec_uncorrectable_blocks")
_add(CounterMeaning.FEC_CORRECTED, "SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES", "rx_fec_corrected_blocks")
_add(CounterMeaning.FEC_CORRECTED_BITS, "SAI_PORT_STAT_IF_IN_FEC_CORRECTED_BITS", "rx_corrected_bits_phy")
_add(CounterMeaning.ERRORS, "SAI_PORT_STAT_IF_IN_ERRORS", "SAI_PORT_STAT_IF_OUT_ERRORS", "rx_crc_errors_phy")
_add(CounterMeaning.LINK_DOWN, "link_down_events_phy")
_add(CounterMeaning.OUT_OF_SEQUENCE, "out_of_sequence", "oos_drop_count", "resp_rx_outouf_seq")
_add(CounterMeaning.RETRANSMISSIONS, "packet_seq_err", "local_ack_timeout_err", "implied_nak_seq_err")
_add(CounterMeaning.RETRANSMISSIONS, "seq_err_naks_rcvd", "to_retransmits", "req_rx_pkt_seq_err")
_add(CounterMeaning.RETRANSMISSIONS, "tx_rdma_retx_pkts", "tx_rdma_ack_timeout")
_add(CounterMeaning.CNP_SENT, "np_cnp_sent", "tx_rdma_cnp_pkts")
_add(CounterMeaning.CNP_HANDLED, "rp_cnp_handled", "rx_rdma_cnp_pkts")
_add(CounterMeaning.HEADROOM_WATERMARK, "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES")
_add(CounterMeaning.SHARED_WATERMARK, "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES")
_add(CounterMeaning.SHARED_WATERMARK, "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES")

_BITS_32 = re.compile(
    r"(out_of_(sequence|buffer)|packet_seq_err|local_ack_timeout_err|duplicate_request|rnr_nak_retry_err"
    r"|implied_nak_seq_err|rx_(write|read)_requests|rx_atomic_requests|re(q|sp)_(cqe|remote|local|transport)\w*"
    r"|roce_adp_retrans\w*|roce_slow_restart\w*)$"
)
"""mlx5 counters of a queue counter set, which the hardware holds in 32 bits (mlx5/counters.c: be32_to_cpu)."""
_PRIORITY = re.compile(r"(?<=PFC_)\d(?=_)|(?<=prio)\d(?=_)|(?<=_pri)\d$")


@cache
def counter_bits(name: str) -> int:
    """Return the width in bits at which a counter wraps: 32 for the queue counters of mlx5, else 64."""
    if _BITS_32.match(name):
        return 32
    return 64


@cache
def counter_name(name: str) -> CounterName | None:
    """Return what the counter ``name`` means, or None if no rule uses it."""
    priority = None
    digit = _PRIORITY.search(name)
    if digit is not None:
        priority = int(digit.group())
    meaning = _MEANINGS.get(_PRIORITY.sub("#", name))
    if meaning is None:
        return None
    return CounterName(meaning, priority, counter_bits(name))
