"""iperf3 3.12: TCP between two nodes, as text and with ``--json`` (esnet/iperf, src/iperf_api.c)."""

import json
import time
from typing import Any, NamedTuple

from sonic_sim.flows.flow import Flow, FlowKind, Transport
from sonic_sim.flows.model import Transfer
from sonic_sim.flows.nics import Place, addresses_of
from sonic_sim.flows.tools.run import Options, Run, ToolError

VERSION = "iperf 3.12"
_VALUED = (
    "-c", "--client", "-p", "--port", "-B", "--bind", "-t", "--time", "-P", "--parallel", "-b", "--bitrate", "-S",
    "--tos", "--dscp", "-i", "--interval", "-l", "--length", "-w", "--window", "-M", "--set-mss", "-O", "--omit",
    "--connect-timeout", "-f", "--format", "-C", "--congestion", "--idle-timeout", "--rcv-timeout",
)  # fmt: skip
_PLAIN = (
    "-s", "--server", "-1", "--one-off", "-J", "--json", "-R", "--reverse", "--bidir", "-4", "-6", "-v", "--version",
    "-Z", "--zerocopy", "-D", "--daemon", "--get-server-output", "-V", "--verbose", "--forceflush",
)  # fmt: skip
_REFUSAL = "iperf3: parameter error - unrecognized option '{option}'\n\nUsage: iperf3 [-s|-c host] [options]\n"
_DEFAULT_PORT = 5201
# IPv4 and TCP headers with time stamps.
_HEADERS = 52
_UNITS = {"k": 1e3, "m": 1e6, "g": 1e9, "": 1.0}


async def run(tool: Run) -> int:
    """Run iperf3 as server or client."""
    options = Options(tool.words, _VALUED, _PLAIN, _REFUSAL)
    if options.has("-v", "--version"):
        tool.say(f"{VERSION} (cJSON 1.7.15)\nLinux {tool.node} 6.1.0\n")
        return 0
    if options.has("-s", "--server"):
        return await _serve(tool, options)
    if not options.has("-c", "--client"):
        raise ToolError("iperf3: parameter error - must either be a client (-c) or server (-s)\n\n")
    return await _measure(tool, options)


def _port(options: Options) -> int:
    return int(options.number("-p", "--port", default=_DEFAULT_PORT))


def _failure(tool: Run, options: Options, text: str) -> ToolError:
    """Return an error in the requested form: with ``--json`` a document on standard output, else a line."""
    if options.has("-J", "--json"):
        start = {"connected": [], "version": VERSION, "system_info": f"Linux {tool.node} 6.1.0"}
        document = {"start": start, "intervals": [], "end": {}, "error": text}
        return ToolError("", output=json.dumps(document, indent="\t") + "\n")
    return ToolError(f"iperf3: error - {text}\n")


async def _serve(tool: Run, options: Options) -> int:
    """Listen for one client after the other, or with ``--one-off`` for one alone, and print the report of each test.

    Return the exit status: 1 if the only test was cut off. Raises ToolError if it cannot listen.
    """
    bind_address = options.text("-B", "--bind")
    own_nics = tool.model.nics.of_node(tool.node)
    if bind_address and not any(bind_address in addresses_of(nic) for nic in own_nics):
        raise _failure(tool, options, "unable to start listener for connections: Cannot assign requested address")
    while True:
        server = tool.starter.listen(tool.node, _port(options), "iperf3", options)
        if server is None:
            raise _failure(tool, options, "unable to start listener for connections: Address already in use")
        try:
            if not options.has("-J", "--json"):
                rule = "-" * 59
                tool.say(f"{rule}\nServer listening on {_port(options)} (test #1)\n{rule}\n")
            await server.client
            is_complete = await server.ended
        finally:
            tool.starter.close(server)
        if is_complete:
            tool.say(str(server.details))
        if options.has("-1", "--one-off"):
            return 0 if is_complete else 1


class _ConnectionEnds(NamedTuple):
    """The NICs of client and server."""

    client: Place
    server: Place


def _find_ends(tool: Run, options: Options) -> _ConnectionEnds:
    """Return the NICs of client and server. Raises ToolError if one of them is not found."""
    bind_address = options.text("-B", "--bind")
    if bind_address:
        client = tool.model.nics.by_address(bind_address)
        if client is None or client.node != tool.node:
            raise _failure(tool, options, "unable to connect to server: Cannot assign requested address")
    else:
        client = next((Place(tool.node, nic) for nic in tool.model.nics.of_node(tool.node) if nic.up), None)
    server = tool.model.nics.by_address(options.text("-c", "--client"))
    if server is None or client is None:
        raise _failure(tool, options, "unable to connect to server: No route to host")
    return _ConnectionEnds(client, server)


async def _measure(tool: Run, options: Options) -> int:
    """Send to a server, or from it, and print the report, as the server does too; return the exit status.

    Raises ToolError if the server does not listen, or packets do not reach it.
    """
    ends = _find_ends(tool, options)
    stream_count = int(options.number("-P", "--parallel", default=1))
    seconds = options.number("-t", "--time", default=10.0)
    directions = _flows(tool, options, ends, stream_count)
    flows = [flow for direction in directions for flow in direction]
    server = tool.starter.connect(ends.server.node, _port(options), "iperf3")
    if any(flow.is_stuck for flow in flows):
        raise _failure(tool, options, "unable to connect to server: No route to host")
    if server is None or server.details.text("-B", "--bind") not in ("", *addresses_of(ends.server.nic)):
        raise _failure(tool, options, "unable to connect to server: Connection refused")
    server.client.set_result(ends.client)
    try:
        took_s = await tool.send(Transfer(flows, seconds))
        json_report = _json_report(tool, options, directions, took_s)
        text_report = _text_report(flows, took_s)
        server_options: Options = server.details
        server.details = json_report if server_options.has("-J", "--json") else text_report
        tool.say(json_report if options.has("-J", "--json") else text_report)
        server.ended.set_result(True)
    finally:
        if not server.ended.done():
            server.ended.set_result(False)
    return 0


def _flows(tool: Run, options: Options, ends: _ConnectionEnds, count: int) -> list[list[Flow]]:
    """Return ``count`` flows for each direction in which the test sends; with ``--bidir`` there are two directions."""
    tos = int(options.number("-S", "--tos", default=options.number("--dscp", default=0.0) * 4))
    payload_bytes = min(ends.client.nic.mtu, ends.server.nic.mtu) - _HEADERS
    kind = FlowKind(Transport.TCP, tos, payload_bytes, packets_per_ack=2.0, limit_gbps=_bitrate_gbps(options))
    directions = []
    if not options.has("-R", "--reverse"):
        directions.append(tool.model.flows(ends.client, ends.server, kind, count))
    if options.has("-R", "--reverse", "--bidir"):
        directions.append(tool.model.flows(ends.server, ends.client, kind, count))
    return directions


def _bitrate_gbps(options: Options) -> float:
    """Return the bitrate in Gb/s that a stream is limited to. Raises ToolError if it is not valid."""
    text = options.text("-b", "--bitrate").lower()
    if not text or text == "0":
        # No limit.
        return 1e6
    unit = text[-1] if text[-1] in _UNITS else ""
    try:
        return float(text.removesuffix(unit)) * _UNITS[unit] / 1e9
    except ValueError as error:
        raise ToolError(f"iperf3: parameter error - bad bitrate {text}\n") from error


def _json_report(tool: Run, options: Options, directions: list[list[Flow]], seconds: float) -> str:
    """Return the JSON of a test."""
    flows = [flow for direction in directions for flow in direction]
    document = {"start": _start(tool, options, flows, len(directions[0]), seconds), "intervals": []}
    document["end"] = _end(directions, seconds)
    return json.dumps(document, indent="\t") + "\n"


def _start(tool: Run, options: Options, flows: list[Flow], stream_count: int, seconds: float) -> dict[str, Any]:
    """Return the part of the JSON that describes the test."""
    now = int(time.time())
    connected = []
    for number, flow in enumerate(flows):
        connected.append(
            {
                "socket": 5 + 2 * number,
                "local_host": addresses_of(flow.sender.nic)[0],
                "local_port": 40000 + 2 * number,
                "remote_host": addresses_of(flow.receiver.nic)[0],
                "remote_port": _port(options),
            }
        )
    return {
        "connected": connected,
        "version": VERSION,
        "system_info": f"Linux {tool.node} 6.1.0",
        "timestamp": {"time": time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(now)), "timesecs": now},
        "connecting_to": {"host": options.text("-c", "--client"), "port": _port(options)},
        "cookie": "simulated",
        "tcp_mss_default": flows[0].kind.payload_bytes,
        "test_start": {
            "protocol": "TCP",
            "num_streams": stream_count,
            "blksize": 131072,
            "omit": 0,
            "duration": int(seconds),
            "bytes": 0,
            "blocks": 0,
            "reverse": int(options.has("-R", "--reverse")),
            "tos": flows[0].kind.tos,
        },
    }


def _end(directions: list[list[Flow]], seconds: float) -> dict[str, Any]:
    """Return the part of the JSON with the results; those of a second direction have names of their own."""
    end: dict[str, Any] = {"streams": []}
    socket = 5
    for flows, suffix in zip(directions, ("", "_bidir_reverse"), strict=False):
        sent = [_sum(flow.arrived, seconds, retransmits=int(flow.lost)) for flow in flows]
        received = [_sum(flow.arrived * flow.measured_share, seconds) for flow in flows]
        for sender, receiver in zip(sent, received, strict=True):
            end["streams"].append({"sender": {"socket": socket, **sender}, "receiver": {"socket": socket, **receiver}})
            socket += 2
        lost = sum(int(flow.lost) for flow in flows)
        end[f"sum_sent{suffix}"] = _sum(sum(part["bytes"] for part in sent), seconds, retransmits=lost)
        end[f"sum_received{suffix}"] = _sum(sum(part["bytes"] for part in received), seconds)
    names = ("host_total", "host_user", "host_system", "remote_total", "remote_user", "remote_system")
    end["cpu_utilization_percent"] = dict.fromkeys(names, 10.0)
    end["sender_tcp_congestion"] = "cubic"
    end["receiver_tcp_congestion"] = "cubic"
    return end


def _sum(byte_count: float, seconds: float, **retransmits: int) -> dict[str, Any]:
    """Return the results of a stream, or of all streams of a direction, as the JSON has them."""
    return {"start": 0, "end": seconds, "seconds": seconds, "bytes": int(byte_count),
            "bits_per_second": byte_count * 8 / seconds, **retransmits, "sender": True}  # fmt: skip


def _text_report(flows: list[Flow], seconds: float) -> str:
    """Return the report of a test as text."""
    rows = ["[ ID] Interval           Transfer     Bitrate         Retr"]
    for number, flow in enumerate(flows):
        for share, side in ((1.0, "sender"), (flow.measured_share, "receiver")):
            byte_count = flow.arrived * share
            retransmits = f"{int(flow.lost):<4d}" if side == "sender" else "    "
            rows.append(
                f"[{5 + 2 * number:3d}]   0.00-{seconds:.2f}  sec  {byte_count / 2**30:5.1f} GBytes"
                f"  {byte_count * 8e-9 / seconds:5.1f} Gbits/sec  {retransmits}         {side}"
            )
    return "\n".join(("- " * 25, *rows, "", "iperf Done.", ""))
