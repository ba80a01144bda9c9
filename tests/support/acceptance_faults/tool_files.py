"""What perftest and nccl-tests print, release by release."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

RULE = "-" * 87
GIB_BITS = 8.388608e-3
"""Gb/s of one MiB/s: what perftest calls MB/sec is 2^20 bytes in every release."""


@dataclass(frozen=True)
class Release:
    """A release of perftest by the form of its output."""

    version: str
    quoted_json: bool
    mib_label: str


RELEASES = (
    Release("4.5-0.17", quoted_json=False, mib_label="MB/sec"),
    Release("24.01.0-0.38", quoted_json=True, mib_label="MB/sec"),
    Release("25.10.0-0.128", quoted_json=True, mib_label="MiB/sec"),
)


def option(argv: Sequence[str], *names: str) -> str | None:
    """Return the value of an option, written as ``-q 4`` or ``--qp=4``; "" for one without a value."""
    for place, word in enumerate(argv):
        name, joined, value = word.partition("=")
        if name in names:
            if joined:
                return value
            follows = argv[place + 1] if place + 1 < len(argv) else "-"
            return "" if follows.startswith("-") else follows
    return None


@dataclass(frozen=True)
class Perftest:
    """One run of perftest as its command asked for it."""

    argv: tuple[str, ...]
    release: Release
    queue_pairs: int
    size: int
    device: str

    @property
    def title(self) -> str:
        program = next((word for word in self.argv if "ib_" in word), "ib_write_bw").rsplit("/", 1)[-1]
        verb = {"write": "RDMA_Write", "read": "RDMA_Read", "send": "Send"}.get(program.split("_")[1], "RDMA_Write")
        return f"{verb} {'Latency' if program.endswith('lat') else 'BW'} Test"

    @property
    def gbits(self) -> bool:
        return option(self.argv, "--report_gbits") is not None

    @property
    def as_json(self) -> bool:
        return option(self.argv, "--out_json") is not None

    def bandwidth(self, gbps: float, seconds: float) -> str:
        """Return the client's output of a bandwidth test."""
        rate = round(gbps, 2) if self.gbits else round(gbps / GIB_BITS, 2)
        message_rate = gbps * 1e3 / 8 / self.size
        iterations = int(gbps * 1e9 / 8 / self.size * seconds)
        peak = 0.0 if option(self.argv, "-D", "--duration") is not None else rate * 1.002
        if self.as_json:
            return self._json(
                {
                    "MsgSize": str(self.size),
                    "n_iterations": str(iterations),
                    "BW_peak": f"{peak:.2f}",
                    "BW_average": f"{rate:.2f}",
                    "MsgRate": f"{message_rate:.6f}",
                }
            )
        row = f" {self.size:<10} {iterations:<10}     {peak:<7.2f}            {rate:<7.2f}\t\t     {message_rate:.6f}"
        return self._text(self._bandwidth_head, row)

    def latency(self, typical: float, tail: float, rng: Random) -> str:
        """Return the client's output of a latency test by iterations."""
        iterations = int(option(self.argv, "-n", "--iters") or 1000)
        least = typical * 0.94
        average = typical * 1.015
        most = tail * rng.uniform(1.2, 2.5)
        near_tail = typical + (tail - typical) * 0.1
        if self.as_json:
            return self._json(
                {
                    "MsgSize": str(self.size),
                    "n_iterations": str(iterations),
                    "t_min": f"{least:.2f}",
                    "t_max": f"{most:.2f}",
                    "t_typical": f"{typical:.2f}",
                    "t_avg": f"{average:.2f}",
                    "t_stdev": "0.00",
                    "percentile_99": f"{near_tail:.2f}",
                    "percentile_99.9": f"{tail:.2f}",
                }
            )
        head = (
            " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
            "   99% percentile[usec]   99.9% percentile[usec] "
        )
        row = (
            f" {self.size:<7} {iterations:<10}     {least:<7.2f}        {most:<7.2f}      {typical:<7.2f}  \t"
            f"       {average:<7.2f}     \t0.00   \t\t{near_tail:<7.2f}\t\t{tail:<7.2f}"
        )
        return self._text(head, row)

    def server(self) -> str:
        """Return what the server of a one-way test prints: everything but a result."""
        stars = "*" * 36
        waiting = f"\n{stars}\n* Waiting for client to connect... *\n{stars}\n"
        return waiting + self._text(self._bandwidth_head, None)

    @staticmethod
    def refused() -> str:
        """Return what a client prints that reaches nobody."""
        return (
            "Couldn't connect to 10.61.3.20:18515\n"
            "Unable to open file descriptor for socket connection Unable to init the socket connection\n"
        )

    def retries_exceeded(self) -> str:
        """Return what a client prints whose packets no longer come through."""
        text = self._text(self._bandwidth_head, None).rsplit(RULE, 1)[0]
        return text + " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\nscnt=128, ccnt=0\n"

    @property
    def _bandwidth_head(self) -> str:
        unit = "Gb/sec" if self.gbits else self.release.mib_label
        return f" #bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]"

    def _text(self, head: str, row: str | None) -> str:
        lines = [
            RULE,
            f"                    {self.title}",
            f" Dual-port       : OFF\t\tDevice         : {self.device}",
            f" Number of qps   : {self.queue_pairs}\t\tTransport type : IB",
            " Connection type : RC\t\tUsing SRQ      : OFF",
            " PCIe relax order: ON",
            " ibv_wr* API     : ON",
            " TX depth        : 128",
            " CQ Moderation   : 1",
            " Mtu             : 4096[B]",
            " Link type       : Ethernet",
            " GID index       : 3",
            " Max inline data : 0[B]",
            " rdma_cm QPs\t : OFF",
            " Data ex. method : Ethernet",
            RULE,
            " local address: LID 0000 QPN 0x01f2 PSN 0x3a11c0 RKey 0x1ff9a1 VAddr 0x007f20aa4000",
            " GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:61:03:04",
            " remote address: LID 0000 QPN 0x01f9 PSN 0x3a62e3 RKey 0x1ffbb4 VAddr 0x007f6611c000",
            " GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:61:03:20",
            RULE,
            head,
            *([row] if row else []),
            RULE,
        ]
        return "\n".join(lines) + "\n"

    def _json(self, results: dict[str, str]) -> str:
        info = {
            "test": f'"{self.title.replace(" ", "_")}"',
            "Dual_port": '"OFF"',
            "Device": f'"{self.device}"',
            "Number_of_qps": str(self.queue_pairs),
            "Transport_type": '"IB"',
            "Connection_type": '"RC"',
            "Using_SRQ": '"OFF"',
            "PCIe_relax_order": '"ON"',
            "ibv_wr_API": '"ON"',
            "TX_depth": "128",
            "CQ_Moderation": "1",
            "Mtu": "4096",
            "Link_type": '"Ethernet"',
            "GID_index": "3",
            "Max_inline_data": "0",
            "rdma_cm_QPs": '"OFF"',
            "Data_ex_method": '"Ethernet"',
        }
        if self.release.quoted_json:
            parts = [
                ",\n".join(f'"{name}": {value}' for name, value in part.items()) + "\n" for part in (info, results)
            ]
            return f'{{\n"test_info": {{\n{parts[0]}}},\n"results": {{\n{parts[1]}}}\n}}\n'
        # Before 24.01 neither names nor words are quoted, and every value has a comma behind it.
        bare = {name: value if name == "Device" else value.strip('"') for name, value in info.items()}
        parts = ["".join(f"{name}: {value},\n" for name, value in part.items()) for part in (bare, results)]
        return f"{{\ntest_info: {{\n{parts[0]}}},\nresults: {{\n{parts[1]}}}\n}}\n"


@dataclass(frozen=True)
class Row:
    """A row of nccl-tests: bytes, and microseconds out of place and in place."""

    size: int
    micros: float
    micros_in_place: float


FACTORS: dict[str, Callable[[int], float]] = {
    "all_reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "all_gather": lambda ranks: (ranks - 1) / ranks,
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks,
    "alltoall": lambda ranks: (ranks - 1) / ranks,
    "sendrecv": lambda ranks: 1.0,
}
"""Bus bandwidth as a multiple of the algorithm's, by the number of ranks."""


def collective_of(argv: Sequence[str]) -> str:
    """Return the operation that a command runs."""
    for word in argv:
        name = word.rsplit("/", 1)[-1]
        if name.endswith("_perf"):
            return name.removesuffix("_perf")
    return "all_reduce"


def nccl_text(argv: Sequence[str], hosts: Sequence[str], gpus: int, rows: Sequence[Row]) -> str:
    """Return the table of nccl-tests for ``gpus`` ranks on each host."""
    ranks = len(hosts) * gpus
    factor = FACTORS[collective_of(argv)](ranks)
    lines = [
        f"# nThread 1 nGpus 1 minBytes {rows[0].size} maxBytes {rows[-1].size} step: 2(factor) warmup iters: 5"
        " iters: 20 agg iters: 1 validation: 1 graph: 0",
        "#",
        "# Using devices",
    ]
    lines += [
        f"#  Rank {rank:2d} Group  0 Pid {41000 + rank:6d} on {hosts[rank // gpus]:>10s} device {rank % gpus:2d}"
        f" [0x{0x18 + rank % gpus:02x}] NVIDIA H200"
        for rank in range(ranks)
    ]
    columns = "    time   algbw   busbw #wrong"
    lines += [
        "#",
        "#" + " " * 62 + "out-of-place" + " " * 23 + "in-place          ",
        f"#       size         count      type   redop    root {columns} {columns}",
        "#        (B)    (elements)                            " + 2 * "   (us)  (GB/s)  (GB/s)       ",
    ]
    buses = []
    for row in rows:
        cells = ""
        for micros in (row.micros, row.micros_in_place):
            rate = row.size / micros / 1e3
            buses.append(rate * factor)
            cells += f"  {_time(micros):>7s}  {rate:6.2f}  {rate * factor:6.2f}      0"
        lines.append(f"{row.size:12d}  {row.size // 4:12d}     float     sum      -1{cells}")
    lines += ["# Out of bounds values : 0 OK", f"# Avg bus bandwidth    : {sum(buses) / len(buses):g} ", "#", ""]
    return "\n".join(lines)


def nccl_json(argv: Sequence[str], hosts: Sequence[str], gpus: int, rows: Sequence[Row]) -> str:
    """Return the file that nccl-tests 2.19 writes (``-J``)."""
    ranks = len(hosts) * gpus
    factor = FACTORS[collective_of(argv)](ranks)
    devices = [
        {"rank": rank, "group": 0, "pid": 5100 + rank, "hostname": hosts[rank // gpus], "device": rank % gpus}
        for rank in range(ranks)
    ]
    document: dict[str, Any] = {
        "version": 3,
        "start_time": "2026-10-02 03:14:09",
        "args": list(argv),
        "env": ["NCCL_CROSS_NIC=0", "HOME=/root"],
        "nccl_version": 23101,
        "config": {
            "nthreads": 1,
            "ngpus": 1,
            "minimum_bytes": rows[0].size,
            "maximum_bytes": rows[-1].size,
            "iterations": 20,
            "blocking_collectives": "false",
            "devices": devices,
        },
        "results": [
            {
                "size": row.size,
                "count": row.size // 4,
                "type": "float",
                "redop": "sum",
                "root": "    -1",
                "out_of_place": _json_cell(row.size, row.micros, factor),
                "in_place": _json_cell(row.size, row.micros_in_place, factor),
                "actual_iterations": 20,
                "experiment_name": "",
            }
            for row in rows
        ],
        "out_of_bounds": {"count": 0, "okay": "true"},
        "average_bus_bandwidth": {"bandwidth": 0.0, "okay": "unchecked"},
        "errors": [""],
        "end_time": "2026-10-02 03:15:31",
    }
    return json.dumps(document)


def _json_cell(size: int, micros: float, factor: float) -> dict[str, float]:
    rate = size / micros / 1e3
    return {"time": round(micros, 6), "alg_bw": round(rate, 6), "bus_bw": round(rate * factor, 6), "nwrong": 0.0}


def _time(micros: float) -> str:
    """Return a time as nccl-tests prints it: fewer decimals for longer ones."""
    if micros >= 10000:
        return f"{micros:.0f}"
    if micros >= 100:
        return f"{micros:.1f}"
    return f"{micros:.2f}"
