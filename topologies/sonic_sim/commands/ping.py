"""``ping``: answers come from the addresses that the simulated routes reach, past the ACLs on the way."""

import ipaddress
from dataclasses import dataclass

from sonic_sim.neighbors import hops_to
from sonic_sim.shell.programs import Call, Result, program

_HOP_MS = 0.12
_NUMBERS = ("-c", "-W", "-t", "-s")
_VALUED = ("-c", "-W", "-w", "-t", "-s", "-I", "-i", "-M", "-Q")


@dataclass(frozen=True, slots=True)
class _Wanted:
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
    wanted = _wanted(call.argv[1:])
    if isinstance(wanted, str):
        return Result(2, err=f"ping: {wanted}\n")
    hops = hops_to(call.device, call.device.network, wanted.target, wanted.source)
    # The data come with 8 bytes of ICMP and 20 of IP.
    lines = [f"PING {wanted.target} ({wanted.target}) {wanted.size}({wanted.size + 28}) bytes of data."]
    times: list[float] = []
    if hops is not None and hops <= wanted.ttl:
        times = [_rtt_ms(hops, number) for number in range(wanted.count)]
        # Every switch on the way but the first counts the time to live down from 64.
        ttl = 64 - max(0, hops - 1)
        head = f"{wanted.size + 8} bytes from {wanted.target}"
        for number, took in enumerate(times, start=1):
            lines.append(f"{head}: icmp_seq={number} ttl={ttl} time={took:.3f} ms")
    seconds = wanted.count - 1 if times else wanted.count * wanted.wait_s
    lost_percent = 0 if times else 100
    counts = f"{wanted.count} packets transmitted, {len(times)} received"
    lines += ["", f"--- {wanted.target} ping statistics ---"]
    lines.append(f"{counts}, {lost_percent}% packet loss, time {seconds * 1000}ms")
    if times:
        mean = sum(times) / len(times)
        spread = (sum((took - mean) ** 2 for took in times) / len(times)) ** 0.5
        lines.append(f"rtt min/avg/max/mdev = {min(times):.3f}/{mean:.3f}/{max(times):.3f}/{spread:.3f} ms")
    return Result(0 if times else 1, out="\n".join(lines) + "\n", seconds=float(seconds))


def _rtt_ms(hops: int, number: int) -> float:
    return round(_HOP_MS * (hops + 1) + 0.01 * (number % 3), 3)


def _wanted(words: list[str]) -> _Wanted | str:
    """Return the parsed words, or an error."""
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
    count, wait_s, ttl, size = (int(options[name]) for name in _NUMBERS)
    return _Wanted(target, count, wait_s, ttl, size, _address(options["-I"]))


def _address(text: str) -> str:
    """Return an address to send from; empty for an interface, whose address is that of the port."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""
