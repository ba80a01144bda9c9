"""Counters of every port, queue, group and NIC, which grow and are written before and after each round."""

from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import orjson

from acceptance_faults.fabric import End
from acceptance_faults.nature import Conditions

SAI = "SAI_PORT_STAT_"
QUEUE = "SAI_QUEUE_STAT_"
GROUP = "SAI_INGRESS_PRIORITY_GROUP_STAT_"
PORT_NAMES = (
    *(SAI + name for name in ("IF_IN_OCTETS", "IF_OUT_OCTETS", "IF_IN_UCAST_PKTS", "IF_OUT_UCAST_PKTS")),
    *(SAI + name for name in ("IF_IN_ERRORS", "IF_IN_DISCARDS", "IF_OUT_DISCARDS")),
    *(SAI + name for name in ("IF_IN_FEC_CORRECTABLE_FRAMES", "IF_IN_FEC_NOT_CORRECTABLE_FRAMES")),
    *(SAI + name for name in ("IF_IN_FEC_SYMBOL_ERRORS", "IF_IN_FEC_CORRECTED_BITS")),
)
STORMS = "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED"
QUEUE_NAMES = (
    *(QUEUE + name for name in ("PACKETS", "BYTES", "DROPPED_PACKETS", "WRED_ECN_MARKED_PACKETS")),
    QUEUE + "SHARED_WATERMARK_BYTES",
    STORMS,
)
GROUP_NAMES = tuple(GROUP + name for name in ("DROPPED_PACKETS", "SHARED_WATERMARK_BYTES", "XOFF_ROOM_WATERMARK_BYTES"))
NIC_NAMES = (
    *("tx_bytes_phy", "rx_bytes_phy", "tx_packets_phy", "rx_packets_phy", "rx_discards_phy", "rx_crc_errors_phy"),
    *("rx_corrected_bits_phy", "rx_pcs_symbol_err_phy", "link_down_events_phy"),
    *("rx_err_lane_0_phy", "rx_err_lane_1_phy", "rx_err_lane_2_phy", "rx_err_lane_3_phy"),
    *("out_of_sequence", "packet_seq_err", "local_ack_timeout_err"),
    *("np_cnp_sent", "np_ecn_marked_roce_packets", "rp_cnp_handled", "rp_cnp_ignored"),
)
# Hardware counters of 32 bits (mlx5), which come round within weeks.
NARROW = frozenset({"out_of_sequence", "packet_seq_err", "local_ack_timeout_err"})


# The other priority that vendors and guides choose for RoCE.
OTHER_PRIORITY = 4

Lies = dict[tuple[str, str, str], int]
"""What counters that lie had at the start of a round, by device, port and name."""


class Counters:
    """The counters of a fabric between its start and the end of the last round."""

    def __init__(
        self, ports: list[End], nodes: set[str], queues: list[int], priorities: list[int], rng: Random, when: float
    ) -> None:
        self.rng = rng
        self._random = rng.random
        self.when = when
        self.nodes = nodes
        self.documents: dict[str, Any] = {}
        paused = sorted({*priorities, OTHER_PRIORITY})
        for device, port in ports:
            document = self.documents.setdefault(device, self._empty(device))
            if device in nodes:
                names = list(NIC_NAMES)
                for priority in range(8):
                    names += [f"tx_prio{priority}_bytes", f"rx_prio{priority}_bytes"]
                for priority in paused:
                    names += [f"rx_prio{priority}_pause", f"tx_prio{priority}_pause"]
                document["nics"][port] = {name: self._history(name) for name in names}
                continue
            names = [*PORT_NAMES]
            for priority in paused:
                names += [f"{SAI}PFC_{priority}_RX_PKTS", f"{SAI}PFC_{priority}_TX_PKTS"]
            document["ports"][port] = {name: self._history(name) for name in names}
            for queue in queues:
                document["queues"][f"{port}|{queue}"] = {name: self._history(name) for name in QUEUE_NAMES}
            for priority in priorities:
                document["groups"][f"{port}|{priority}"] = {name: self._history(name) for name in GROUP_NAMES}

    def _empty(self, device: str) -> dict[str, Any]:
        head = {"version": 1, "device": device, "at": 0.0, "boot": f"{self.rng.randrange(16**8):08x}"}
        if device in self.nodes:
            return {**head, "nics": {}}
        return {**head, "ports": {}, "queues": {}, "groups": {}}

    def _history(self, name: str) -> int:
        """Return what a counter has from earlier: traffic of weeks, errors of the installation, old watermarks."""
        if name.endswith(("WATERMARK_BYTES",)):
            return 0
        if name in NARROW and self.rng.random() < 0.02:
            return 2**32 - self.rng.randrange(1, 2000)
        if "OCTETS" in name or "bytes" in name.lower():
            return self.rng.randrange(10**12, 10**15)
        if "PKTS" in name or "PACKETS" in name or "packets" in name:
            return self.rng.randrange(10**6, 10**9)
        return self.rng.randrange(0, 5000)

    def row(self, device: str, table: str, row: str) -> dict[str, int]:
        """Return the counters of a port, queue, group or NIC."""
        values: dict[str, int] = self.documents[device][table][row]
        return values

    def grow(self, device: str, table: str, row: str, name: str, amount: float) -> None:
        """Let a counter grow; fractions are rounded at random, so that rare events happen sometimes."""
        self.add(self.documents[device][table][row], name, amount)

    def add(self, values: dict[str, int], name: str, amount: float) -> None:
        """Let a counter of a row grow."""
        whole = int(amount)
        if whole != amount and self._random() < amount - whole:
            whole += 1
        value = values[name] + whole
        if name in NARROW:
            value %= 2**32
        values[name] = value

    def peak(self, device: str, table: str, row: str, name: str, value: float) -> None:
        """Raise a watermark that lasts until somebody clears it (PERSISTENT_WATERMARKS)."""
        values = self.documents[device][table][row]
        values[name] = max(values[name], int(value))

    def write(self, folder: Path, conditions: Conditions, baseline: Lies | None) -> None:
        """Write a reading of all devices; ``baseline`` holds what a lying counter had at the start of the round."""
        folder.mkdir(parents=True, exist_ok=True)
        for device, document in self.documents.items():
            if device in conditions.silent:
                continue
            document["at"] = round(
                self.when + self.rng.uniform(-1, 1) * conditions.constants.clock_skew_s + self.rng.uniform(0, 1.5), 3
            )
            shown = self._shown(document, device, conditions, baseline)
            with open(f"{folder}/{device}.json", "wb", buffering=0) as file:
                file.write(orjson.dumps(shown))

    def kept(self, conditions: Conditions) -> Lies:
        """Return the values of the counters that lie, as they are before a round."""
        return {
            key: self.documents[key[0]]["nics" if key[0] in self.nodes else "ports"][key[1]][key[2]]
            for key in conditions.lying
        }

    def _shown(self, document: Any, device: str, conditions: Conditions, baseline: Lies | None) -> Any:
        lies = {key: share for key, share in conditions.lying.items() if key[0] == device}
        if not lies or baseline is None:
            return document
        shown = deepcopy(document)
        table = shown["nics" if device in self.nodes else "ports"]
        for key, share in lies.items():
            _, port, name = key
            table[port][name] = baseline[key] + int((table[port][name] - baseline[key]) * share)
        return shown
