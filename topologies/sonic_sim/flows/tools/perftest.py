"""perftest (linux-rdma/perftest 24.01): bandwidth and latency between two NICs, in its own tables.

Formats: src/perftest_resources.c and perftest_parameters.h of v24.01.0-0.38; "MB/sec" is 2^20 byte/s there.
"""

import json
from dataclasses import dataclass, replace
from ipaddress import ip_address
from math import ceil
from typing import NamedTuple

from sonic_sim.flows.flow import Flow, FlowKind
from sonic_sim.flows.model import Transfer
from sonic_sim.flows.nics import Place, addresses_of
from sonic_sim.flows.tools.run import Options, Run, ToolError
from sonic_sim.flows.tools.starter import Server

PROGRAMS = {
    "ib_write_bw": "RDMA_Write BW Test", "ib_read_bw": "RDMA_Read BW Test", "ib_send_bw": "Send BW Test",
    "ib_write_lat": "RDMA_Write Latency Test", "ib_read_lat": "RDMA_Read Latency Test",
    "ib_send_lat": "Send Latency Test",
}  # fmt: skip
VERSION = "24.01.0-0.38"
_VALUED = (
    "-d", "--ib-dev", "-p", "--port", "-D", "--duration", "-q", "--qp", "-s", "--size", "-m", "--mtu", "-n", "--iters",
    "-x", "--gid-index", "--tclass", "-T", "--tos", "-S", "--sl", "-t", "--tx-depth", "-Q", "--cq-mod", "-i",
    "--ib-port", "-u", "--qp-timeout", "--out_json_file", "-I", "--inline_size", "--margin", "--bind_source_ip",
)  # fmt: skip
_PLAIN = (
    "-F", "--CPU-freq", "--report_gbits", "-b", "--bidirectional", "-a", "--all", "--out_json", "--ipv6", "-V",
    "--version", "-R", "--rdma_cm", "--cpu_util", "-N", "--noPeak", "--report-both", "-h", "--help",
)  # fmt: skip
_REFUSAL = " Invalid Command or flag. Please check command line and run again.\n"
_DEFAULT_PORT = 18515
_RULE = "-" * 87
_MTUS = (256, 512, 1024, 2048, 4096)
# IP, UDP, transport and check headers of a packet.
_MTU_OVERHEAD = 60
# The most messages a second of a test.
_MESSAGES_PER_S = 8e6
# Headers and gap of a packet on the wire.
_WIRE_OVERHEAD_BYTES = 82
_ALL_SIZES = tuple(2**power for power in range(1, 24))
# A queue pair asks seven times, each time after 67 ms (timeout 14).
_GIVES_UP_S = 0.5
_GIB_BITS = 8.388608e-3
"""Gb/s of one MiB/s."""


@dataclass(frozen=True, slots=True)
class Test:
    """A command line."""

    program: str
    options: Options

    @property
    def port(self) -> int:
        """The TCP port of the server."""
        return int(self.options.number("-p", "--port", default=_DEFAULT_PORT))

    @property
    def count(self) -> int:
        """Queue pairs."""
        return int(self.options.number("-q", "--qp", default=1))

    @property
    def size(self) -> int:
        """Bytes of a message."""
        return int(self.options.number("-s", "--size", default=2.0 if self.is_latency else 65536.0))

    @property
    def is_latency(self) -> bool:
        """Whether it measures latency."""
        return self.program.endswith("_lat")

    @property
    def tos(self) -> int:
        """The IP traffic class that it asks for."""
        return int(self.options.number("--tclass", default=0.0))

    @property
    def unit(self) -> str:
        """The unit of bandwidth."""
        return "Gb/sec" if self.options.has("--report_gbits") else "MB/sec"

    def rate(self, gbps: float) -> float:
        """Return a bandwidth in the unit of the output."""
        return gbps if self.options.has("--report_gbits") else gbps / _GIB_BITS

    def mtu(self, *places: Place) -> int:
        """Return the path MTU: what is asked for, and no more than both NICs have."""
        active = min(_active_mtu(place) for place in places)
        return min(active, int(self.options.number("-m", "--mtu", default=float(active))))


class TestEnds(NamedTuple):
    """The NICs of client and server, and the command of the server."""

    client: Place
    server: Place
    server_test: Test


@dataclass(slots=True)
class ServerSide:
    """A server that listens: its command, its NIC, and the table once the test is over."""

    test: Test
    place: Place
    table: str = ""


def _active_mtu(place: Place) -> int:
    """Return the largest path MTU that fits the MTU of a NIC's interface."""
    return max((mtu for mtu in _MTUS if mtu + _MTU_OVERHEAD <= place.nic.mtu), default=_MTUS[0])


async def run(tool: Run) -> int:
    """Run a program of perftest as its command line says: as server without a host, else as client."""
    options = Options(tool.words, _VALUED, _PLAIN, _REFUSAL)
    if options.has("-V", "--version"):
        tool.say(f"Version: {VERSION}\n")
        return 0
    test = Test(tool.name, options)
    place = _device(tool, options)
    if len(options.others) > 1:
        raise ToolError(_REFUSAL)
    if not options.others:
        return await _serve(tool, test, place)
    return await _measure(tool, test, place, options.others[0])


def _device(tool: Run, options: Options) -> Place:
    """Return the NIC of a command. Raises ToolError if it is not found, or is down."""
    name = options.text("-d", "--ib-dev")
    place = tool.model.nics.by_device(tool.node, name)
    if place is None:
        reason = " Did not detect devices \n If device exists, check if driver is up\n"
        if name:
            reason = f" IB device {name} not found\n"
        raise ToolError(f"{reason} Unable to find the Infiniband/RoCE device\n")
    if not place.nic.up:
        raise ToolError(
            " Port number 1 state is Down\n Couldn't set the link layer\n Couldn't get context for the device\n"
        )
    return place


async def _serve(tool: Run, test: Test, place: Place) -> int:
    """Listen for a client, and print what the server prints of a test; the table only if both ends send.

    Return the exit status: 1 if the test was cut off. Raises ToolError if it cannot listen.
    """
    stars = "*" * 36
    side = ServerSide(test, place)
    server = tool.starter.listen(tool.node, test.port, tool.name, side)
    if server is None:
        raise ToolError(
            f"Couldn't listen to port {test.port}\n"
            "Unable to open file descriptor for socket connection Unable to init the socket connection\n"
        )
    try:
        tool.say(f"\n{stars}\n* Waiting for client to connect... *\n{stars}\n")
        client: Place = await server.client
        tool.say(_head(test, place, client) + _columns(test))
        is_complete = await server.ended
    finally:
        tool.starter.close(server)
    if not is_complete:
        return 1
    if test.options.has("-b", "--bidirectional"):
        tool.say(side.table)
    tool.say(f"{_RULE}\n")
    return 0


async def _measure(tool: Run, test: Test, place: Place, host: str) -> int:
    """Connect to a server, measure, and print the table; return the exit status.

    Raises ToolError if the server does not listen, or packets do not arrive.
    """
    server = _connect(tool, test, place, host)
    side: ServerSide = server.details
    ends = TestEnds(place, side.place, side.test)
    server.client.set_result(place)
    try:
        mtu = min(test.mtu(place, side.place), side.test.mtu(place, side.place))
        tool.say(_head(test, place, side.place, mtu))
        side.table = await _table(tool, test, ends, mtu)
        tool.say(f"{side.table}{_RULE}\n")
        server.ended.set_result(True)
    finally:
        if not server.ended.done():
            server.ended.set_result(False)
    return 0


def _connect(tool: Run, test: Test, place: Place, host: str) -> Server:
    """Return the server at the port of a ``host``, which is the address of a NIC or the name of a node.

    Raises ToolError if it cannot be reached, or does not listen.
    """
    node = host
    can_reach = True
    target = tool.model.nics.by_address(host)
    if target is not None:
        node = target.node
        can_reach = target.nic.up and place.nic.up
    server = tool.starter.connect(node, test.port, tool.name)
    if server is None or not can_reach:
        raise ToolError(
            f"Couldn't connect to {host}:{test.port}\n"
            "Unable to open file descriptor for socket connection Unable to init the socket connection\n"
        )
    return server


async def _table(tool: Run, test: Test, ends: TestEnds, mtu: int) -> str:
    """Let the flows of a test send, and return its table. Raises ToolError if packets do not arrive."""
    sizes: tuple[int, ...] = (test.size,)
    if test.options.has("-a", "--all"):
        sizes = _ALL_SIZES
    flows = _flows(tool, test, ends, sizes[-1], mtu)
    if any(flow.is_stuck for flow in flows):
        await tool.starter.sleep(tool.model.real_s(_GIVES_UP_S))
        raise ToolError(
            f"{_columns(test)} Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n"
            "scnt=128, ccnt=0\n"
        )
    if test.is_latency:
        return _columns(test) + await _latency(tool, test, flows)
    iterations = test.options.number("-n", "--iters", default=5000.0)
    duration = test.options.number("-D", "--duration", default=0.0)

    def iterations_s() -> float:
        """Return how long the iterations take at the rates that the flows have."""
        gbps = sum(flow.goodput for flow in flows)
        return float(iterations * test.count * sizes[-1] * 8 / max(1e-6, gbps * 1e9))

    if duration:
        seconds = await tool.send(Transfer(flows, duration))
    else:
        seconds = await tool.send(Transfer(flows), iterations_s)
    gbps = sum(flow.arrived * 8e-9 / seconds * flow.measured_share for flow in flows)
    count = iterations
    if duration:
        count = gbps * 1e9 / 8 / sizes[-1] * seconds
    rows = [_row(test, size, _at_size(gbps, size, mtu, test), count) for size in sizes]
    return _columns(test) + "".join(rows)


def _at_size(gbps: float, size: int, mtu: int, test: Test) -> float:
    """Return the bandwidth at a ``size`` of messages, from that at the size that was sent, in Gb/s.

    Small messages are limited by how many a second are sent.
    """
    if size == test.size:
        return gbps
    # The last packet of a message may not be full.
    packets_fill = size / ceil(size / mtu) / mtu
    return min(gbps * packets_fill, _MESSAGES_PER_S * size * 8 / 1e9)


def _flows(tool: Run, test: Test, ends: TestEnds, size: int, mtu: int) -> list[Flow]:
    """Return the flows of a test with messages of ``size`` bytes; what is read comes from the server."""
    packets = ceil(size / mtu)
    payload = max(1, size // packets)
    wire_bits = (payload + _WIRE_OVERHEAD_BYTES) * 8
    limit_gbps = _MESSAGES_PER_S * packets * wire_bits / 1e9 / test.count
    client_kind = FlowKind(
        tos=test.tos, payload_bytes=payload, packets_per_ack=min(packets, 16.0), limit_gbps=limit_gbps
    )
    server_kind = replace(client_kind, tos=ends.server_test.tos)
    is_read = "_read_" in test.program
    is_bidirectional = test.options.has("-b", "--bidirectional")
    flows: list[Flow] = []
    if not is_read or is_bidirectional:
        flows += tool.model.flows(ends.client, ends.server, client_kind, test.count)
    if is_read or is_bidirectional:
        flows += tool.model.flows(ends.server, ends.client, server_kind, test.count)
    return flows


async def _latency(tool: Run, test: Test, flows: list[Flow]) -> str:
    """Measure, and return the row of the table. Its times are those of half a round trip, of a read of a whole one."""
    constants = tool.model.constants
    flow = flows[0]
    queued = tool.model.queued_us(flow.path)
    typical_us = constants.nic_delay_us + (len(flow.path) - 1) * constants.queue_delay_us + queued.mean_us
    # The time that the packet itself takes on a link, at 100 Gb/s.
    typical_us += flow.frame_bytes * 8e-3 / 100
    if "_read_" in test.program:
        typical_us = 2 * typical_us
    random = tool.model.random
    typical_us *= 1 + random.uniform(0, constants.measurement_noise)
    iterations = int(test.options.number("-n", "--iters", default=1000.0))
    duration = test.options.number("-D", "--duration", default=0.0)
    # One message is on its way at a time.
    payload_gbps = test.size * 8e-3 / typical_us
    flow.kind = _limited(flow.kind, payload_gbps * flow.wire_bytes / max(1, flow.kind.payload_bytes) / 2)
    await tool.send(Transfer(flows, duration or iterations * 2 * typical_us / 1e6))
    average_us = typical_us * 1.015
    if duration:
        round_trips = int(duration * 5e5 / typical_us)
        per_s = 5e5 / typical_us
        return f" {test.size:<7d} {round_trips:<10d}      {average_us:<7.2f}       {per_s:<7.2f}\n"
    least_us = typical_us * 0.94
    percentile_99_9_us = typical_us + constants.tail_us * random.uniform(0.6, 1.4) + queued.most_us
    most_us = percentile_99_9_us * random.uniform(1.1, 2.0)
    percentile_99_us = typical_us + (percentile_99_9_us - typical_us) * 0.15
    return (
        f" {test.size:<7d} {iterations:<10d}      {least_us:<7.2f}        {most_us:<7.2f}      {typical_us:<7.2f}  \t"
        f"       {average_us:<7.2f}     \t0.00   \t\t{percentile_99_us:<7.2f}\t\t{percentile_99_9_us:<7.2f}\n"
    )


def _limited(kind: FlowKind, gbps: float) -> FlowKind:
    """Return a kind of flow that sends at most ``gbps``, and of which every packet is acknowledged."""
    return replace(kind, packets_per_ack=1.0, limit_gbps=max(gbps, 1e-6))


class _BandwidthRow(NamedTuple):
    """A row of a bandwidth test: rates in the unit of the output, and messages in millions a second."""

    size: int
    iterations: int
    peak: float
    average: float
    messages: float


def _row(test: Test, size: int, gbps: float, count: float) -> str:
    """Return the row of a bandwidth test with ``count`` messages of ``size`` bytes, as text or as JSON."""
    average = test.rate(gbps)
    peak = average * 1.001
    if test.options.has("-D", "--duration"):
        # perftest measures no peak then.
        peak = 0.0
    row = _BandwidthRow(size, int(count), peak, average, gbps * 1e9 / 8 / size / 1e6)
    if test.options.has("--out_json") and test.options.text("--out_json_file") == "/dev/stdout":
        return _json(test, row)
    start = f" {size:<7d}    {row.iterations:<10d}       "
    if average < 0.1:
        return f"{start}{peak:<7.6f}            {average:<7.6f}            {row.messages:<7.6f}\n"
    return f"{start}{peak:<7.2f}            {average:<7.2f}\t\t   {row.messages:<7.6f}\n"


def _json(test: Test, row: _BandwidthRow) -> str:
    """Return what ``--out_json`` writes, which is JSON from 24.01 on."""
    info = {
        "test": PROGRAMS[test.program].replace(" ", "_"), "Dual_port": "OFF", "Device": test.options.text("-d"),
        "Number_of_qps": test.count, "Transport_type": "IB", "Connection_type": "RC", "Using_SRQ": "OFF",
        "PCIe_relax_order": "ON", "ibv_wr_API": "ON", "TX_depth": 128, "CQ_Moderation": 1, "Mtu": 4096,
        "Link_type": "Ethernet", "GID_index": 3, "Max_inline_data": 0, "rdma_cm_QPs": "OFF",
        "Data_ex_method": "Ethernet", "TOS": test.tos,
    }  # fmt: skip
    results = {"MsgSize": row.size, "n_iterations": row.iterations, "BW_peak": round(row.peak, 2),
               "BW_average": round(row.average, 2), "MsgRate": round(row.messages, 6)}  # fmt: skip
    return json.dumps({"test_info": info, "results": results}, indent=0) + "\n"


def _columns(test: Test) -> str:
    """Return the heading of the columns."""
    if not test.is_latency:
        return f" #bytes     #iterations    BW peak[{test.unit}]    BW average[{test.unit}]   MsgRate[Mpps]\n"
    if test.options.has("-D", "--duration"):
        return " #bytes        #iterations       t_avg[usec]    tps average\n"
    return (
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
        "   99% percentile[usec]   99.9% percentile[usec] \n"
    )


def _head(test: Test, own: Place, other: Place, mtu: int = 0) -> str:
    """Return what one end prints before the table, for its ``own`` NIC; an ``mtu`` of 0 is that of the command."""
    mtu = mtu or test.mtu(own, other)
    moderation = "" if test.is_latency else " CQ Moderation   : 1\n"
    gid = test.options.text("-x", "--gid-index", default="3")
    lines = (
        _RULE,
        f"                    {PROGRAMS[test.program]}",
        f" Dual-port       : OFF\t\tDevice         : {own.nic.rdma}",
        f" Number of qps   : {test.count}\t\tTransport type : IB",
        " Connection type : RC\t\tUsing SRQ      : OFF",
        " PCIe relax order: ON",
        " ibv_wr* API     : ON",
        f" TX depth        : 128\n{moderation} Mtu             : {mtu}[B]",
        " Link type       : Ethernet",
        f" GID index       : {gid}",
        " Max inline data : 0[B]",
        " rdma_cm QPs\t : OFF",
        " Data ex. method : Ethernet",
        _RULE,
    )
    pairs = ""
    for _ in range(test.count):
        pairs += f" local address: LID 0000 QPN 0x01f2 PSN 0x3a11c0 RKey 0x1ff9a1 VAddr 0x007f20aa4000\n{_gid(own)}"
    for _ in range(test.count):
        pairs += f" remote address: LID 0000 QPN 0x01f9 PSN 0x3a62e3 RKey 0x1ffbb4 VAddr 0x007f6611c000\n{_gid(other)}"
    return "\n".join(lines) + "\n" + pairs + f"{_RULE}\n"


def _gid(place: Place) -> str:
    """Return a GID as perftest prints it: the bytes of the address, which for IPv4 is in the form mapped to IPv6."""
    addresses = addresses_of(place.nic)
    if not addresses:
        return " GID: 00\n"
    gid = ip_address(addresses[0]).packed
    if len(gid) == 4:
        gid = bytes(10) + b"\xff\xff" + gid
    return " GID: " + ":".join(f"{byte:02d}" for byte in gid) + "\n"
