"""iperf3 3.12: TCP between two nodes, as text and with ``--json`` (esnet/iperf, src/iperf_api.c)."""

import json
import time
from typing import Any

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
_FAMILIES = {"k": 1e3, "m": 1e6, "g": 1e9, "": 1.0}


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


def _fail(tool: Run, options: Options, text: str) -> ToolError:
    """Return an error in the form that was asked for: JSON on standard output, or a line."""
    if options.has("-J", "--json"):
        start = {"connected": [], "version": VERSION, "system_info": f"Linux {tool.node} 6.1.0"}
        document = {"start": start, "intervals": [], "end": {}, "error": text}
        return ToolError("", output=json.dumps(document, indent="\t") + "\n")
    return ToolError(f"iperf3: error - {text}\n")


async def _serve(tool: Run, options: Options) -> int:
    bound = options.text("-B", "--bind")
    if bound and not any(bound in addresses_of(nic) for nic in tool.model.nics.of_node(tool.node)):
        raise _fail(tool, options, "unable to start listener for connections: Cannot assign requested address")
    while True:
        server = tool.starter.listen(tool.node, _port(options), "iperf3", options)
        if server is None:
            raise _fail(tool, options, "unable to start listener for connections: Address already in use")
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


def _places(tool: Run, options: Options) -> tuple[Place, Place]:
    """Return the NICs of client and server. Raises ToolError where they do not reach each other."""
    host = options.text("-c", "--client")
    bound = options.text("-B", "--bind")
    receiver = tool.model.nics.by_address(host)
    sender = tool.model.nics.by_address(bound) if bound else None
    if bound and (sender is None or sender.node != tool.node):
        raise _fail(tool, options, "unable to connect to server: Cannot assign requested address")
    if sender is None:
        sender = next((Place(tool.node, nic) for nic in tool.model.nics.of_node(tool.node) if nic.up), None)
    if receiver is None or sender is None:
        raise _fail(tool, options, "unable to connect to server: No route to host")
    return sender, receiver


async def _measure(tool: Run, options: Options) -> int:
    sender, receiver = _places(tool, options)
    count = int(options.number("-P", "--parallel", default=1))
    seconds = options.number("-t", "--time", default=10.0)
    tos = int(options.number("-S", "--tos", default=options.number("--dscp", default=0.0) * 4))
    payload = min(sender.nic.mtu, receiver.nic.mtu) - _HEADERS
    kind = FlowKind(Transport.TCP, tos, payload, packets_per_ack=2.0, limit_gbps=_bitrate(options))
    ways = []
    if not options.has("-R", "--reverse"):
        ways.append(tool.model.flows(sender, receiver, kind, count))
    if options.has("-R", "--reverse", "--bidir"):
        ways.append(tool.model.flows(receiver, sender, kind, count))
    flows = [flow for way in ways for flow in way]
    server = tool.starter.connect(receiver.node, _port(options), "iperf3")
    if any(flow.is_stuck for flow in flows):
        raise _fail(tool, options, "unable to connect to server: No route to host")
    bound = "" if server is None else server.details.text("-B", "--bind")
    if server is None or bound not in ("", *addresses_of(receiver.nic)):
        raise _fail(tool, options, "unable to connect to server: Connection refused")
    server.client.set_result(sender)
    try:
        took = await tool.send(Transfer(flows, seconds))
        as_json = _report(tool, options, ways, took)
        text = as_json if options.has("-J", "--json") else _text(flows, took)
        server.details = as_json if server.details.has("-J", "--json") else _text(flows, took)
        tool.say(text)
        server.ended.set_result(True)
    finally:
        if not server.ended.done():
            server.ended.set_result(False)
    return 0


def _bitrate(options: Options) -> float:
    text = options.text("-b", "--bitrate").lower()
    if not text or text == "0":
        return 1e6
    unit = text[-1] if text[-1] in _FAMILIES else ""
    try:
        return float(text.removesuffix(unit)) * _FAMILIES[unit] / 1e9
    except ValueError as error:
        raise ToolError(f"iperf3: parameter error - bad bitrate {text}\n") from error


def _report(tool: Run, options: Options, ways: list[list[Flow]], seconds: float) -> str:
    """Return the document of a test; that of both directions has the second one under names of its own."""
    now = int(time.time())
    connected = []
    for number, flow in enumerate(flow for way in ways for flow in way):
        connected.append(
            {
                "socket": 5 + 2 * number,
                "local_host": addresses_of(flow.sender.nic)[0],
                "local_port": 40000 + 2 * number,
                "remote_host": addresses_of(flow.receiver.nic)[0],
                "remote_port": _port(options),
            }
        )
    count = len(ways[0])
    start = {
        "connected": connected,
        "version": VERSION,
        "system_info": f"Linux {tool.node} 6.1.0",
        "timestamp": {"time": time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(now)), "timesecs": now},
        "connecting_to": {"host": options.text("-c", "--client"), "port": _port(options)},
        "cookie": "simulated",
        "tcp_mss_default": ways[0][0].kind.payload_bytes,
        "test_start": {
            "protocol": "TCP",
            "num_streams": count,
            "blksize": 131072,
            "omit": 0,
            "duration": int(seconds),
            "bytes": 0,
            "blocks": 0,
            "reverse": int(options.has("-R", "--reverse")),
            "tos": ways[0][0].kind.tos,
        },
    }
    end: dict[str, Any] = {"streams": []}
    number = 5
    for way, suffix in zip(ways, ("", "_bidir_reverse"), strict=False):
        sent = [_sum(flow.arrived, seconds, retransmits=int(flow.lost)) for flow in way]
        received = [_sum(flow.arrived * flow.measured_share, seconds) for flow in way]
        for left, right in zip(sent, received, strict=True):
            end["streams"].append({"sender": {"socket": number, **left}, "receiver": {"socket": number, **right}})
            number += 2
        lost = sum(int(flow.lost) for flow in way)
        end[f"sum_sent{suffix}"] = _sum(sum(part["bytes"] for part in sent), seconds, retransmits=lost)
        end[f"sum_received{suffix}"] = _sum(sum(part["bytes"] for part in received), seconds)
    names = ("host_total", "host_user", "host_system", "remote_total", "remote_user", "remote_system")
    end["cpu_utilization_percent"] = dict.fromkeys(names, 10.0)
    end["sender_tcp_congestion"] = end["receiver_tcp_congestion"] = "cubic"
    return json.dumps({"start": start, "intervals": [], "end": end}, indent="\t") + "\n"


def _sum(amount: float, seconds: float, **more: int) -> dict[str, Any]:
    return {"start": 0, "end": seconds, "seconds": seconds, "bytes": int(amount),
            "bits_per_second": amount * 8 / seconds, **more, "sender": True}  # fmt: skip


def _text(flows: list[Flow], seconds: float) -> str:
    rows = ["[ ID] Interval           Transfer     Bitrate         Retr"]
    for number, flow in enumerate(flows):
        for share, word in ((1.0, "sender"), (flow.measured_share, "receiver")):
            amount = flow.arrived * share
            retransmits = f"{int(flow.lost):<4d}" if word == "sender" else "    "
            rows.append(
                f"[{5 + 2 * number:3d}]   0.00-{seconds:.2f}  sec  {amount / 2**30:5.1f} GBytes"
                f"  {amount * 8e-9 / seconds:5.1f} Gbits/sec  {retransmits}         {word}"
            )
    return "\n".join(("- " * 25, *rows, "", "iperf Done.", ""))
