"""``ping``: answers come from the addresses that the simulated routes reach, past the ACLs on the way."""

import ipaddress
from dataclasses import dataclass

from sonic_sim.neighbors import hops_to
from sonic_sim.shell.programs import Call, Result, program

_HOP_MS = 0.12
# The headers before the data.
_ICMP_BYTES = 8
_IP_BYTES = 20
_NUMBERS = ("-c", "-W", "-t", "-s")
_VALUED = ("-c", "-W", "-w", "-t", "-s", "-I", "-i", "-M", "-Q")


@dataclass(frozen=True, slots=True)
class _PingOptions:
    """A command line of ``ping``: ``count`` packets with ``size`` bytes of data, each waited for ``wait_s`` seconds."""

    target: str
    count: int
    wait_s: int
    ttl: int
    size: int
    # The address to send from; empty for that of the port.
    source: str


@program("ping")
def ping(call: Call) -> Result:
    """Run ``ping [-n] [-c N] [-W S] [-t TTL] [-s BYTES] [-I SOURCE] ADDRESS`` with the texts of iputils."""
    options = _options(call.argv[1:])
    if isinstance(options, str):
        return Result(2, err=f"ping: {options}\n")
    target = options.target
    hops = hops_to(call.device, call.device.network, target, options.source)
    lines = [f"PING {target} ({target}) {options.size}({options.size + _ICMP_BYTES + _IP_BYTES}) bytes of data."]
    times_ms: list[float] = []
    if hops is not None and hops <= options.ttl:
        times_ms = [_rtt_ms(hops, number) for number in range(options.count)]
        # Every switch on the way but the first counts the time to live down from 64.
        ttl = 64 - max(0, hops - 1)
        start = f"{options.size + _ICMP_BYTES} bytes from {target}"
        for number, time_ms in enumerate(times_ms, start=1):
            lines.append(f"{start}: icmp_seq={number} ttl={ttl} time={time_ms:.3f} ms")
    # A packet a second, or the wait for each answer.
    seconds = options.count - 1 if times_ms else options.count * options.wait_s
    lost_percent = 0 if times_ms else 100
    counts = f"{options.count} packets transmitted, {len(times_ms)} received"
    lines += ["", f"--- {target} ping statistics ---"]
    lines.append(f"{counts}, {lost_percent}% packet loss, time {seconds * 1000}ms")
    if times_ms:
        lines.append(_statistics(times_ms))
    return Result(0 if times_ms else 1, out="\n".join(lines) + "\n", seconds=float(seconds))


def _statistics(times_ms: list[float]) -> str:
    """Return the line with the least, mean and largest time, and the standard deviation."""
    mean = sum(times_ms) / len(times_ms)
    variance = sum((time_ms - mean) ** 2 for time_ms in times_ms) / len(times_ms)
    return f"rtt min/avg/max/mdev = {min(times_ms):.3f}/{mean:.3f}/{max(times_ms):.3f}/{variance**0.5:.3f} ms"


def _rtt_ms(hops: int, number: int) -> float:
    """Return the round-trip time of a packet, by its number."""
    # A little more for some packets, the same in every run.
    return round(_HOP_MS * (hops + 1) + 0.01 * (number % 3), 3)


def _options(words: list[str]) -> _PingOptions | str:
    """Return the parsed words, or the message of an error in them."""
    # iputils would send without end; five packets show as much.
    options = {"-c": "5", "-W": "1", "-t": "64", "-s": "56", "-I": ""}
    targets = []
    rest = iter(words)
    for word in rest:
        if word in _VALUED:
            options[word] = next(rest, "")
        elif not word.startswith("-"):
            targets.append(word)
    for name in _NUMBERS:
        if not options[name].isdigit():
            return f"invalid argument: '{options[name]}'"
    if len(targets) != 1:
        return "usage error: Destination address required"
    try:
        target = str(ipaddress.ip_address(targets[0]))
    except ValueError:
        return f"{targets[0]}: Name or service not known"
    return _PingOptions(
        target,
        count=int(options["-c"]),
        wait_s=int(options["-W"]),
        ttl=int(options["-t"]),
        size=int(options["-s"]),
        source=_address(options["-I"]),
    )


def _address(text: str) -> str:
    """Return the address to send from that ``-I`` names; empty if it names an interface or is not given."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""
