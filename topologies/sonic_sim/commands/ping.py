"""``ping``: answers come from the addresses that the simulated routes reach."""

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


@program("ping")
def ping(call: Call) -> Result:
    """Run ``ping [-n] [-c N] [-W S] [-t TTL] [-s BYTES] [-I SOURCE] ADDRESS`` with the texts of iputils."""
    wanted = _wanted(call.argv[1:])
    if isinstance(wanted, str):
        return Result(2, err=f"ping: {wanted}\n")
    hops = hops_to(call.device, call.device.network, wanted.target)
    times = [] if hops is None or hops > wanted.ttl else [_rtt_ms(hops, number) for number in range(wanted.count)]
    lines = [f"PING {wanted.target} ({wanted.target}) {wanted.size}({wanted.size + 28}) bytes of data."]
    for number, took in enumerate(times, start=1):
        head = f"{wanted.size + 8} bytes from {wanted.target}: icmp_seq={number}"
        lines.append(f"{head} ttl={64 - max(0, (hops or 0) - 1)} time={took:.3f} ms")
    seconds = wanted.count - 1 if times else wanted.count * wanted.wait_s
    lost = f"{0 if times else 100}% packet loss, time {seconds * 1000}ms"
    lines += [
        "",
        f"--- {wanted.target} ping statistics ---",
        f"{wanted.count} packets transmitted, {len(times)} received, {lost}",
    ]
    if times:
        mean = sum(times) / len(times)
        spread = (sum((one - mean) ** 2 for one in times) / len(times)) ** 0.5
        lines.append(f"rtt min/avg/max/mdev = {min(times):.3f}/{mean:.3f}/{max(times):.3f}/{spread:.3f} ms")
    return Result(0 if times else 1, out="\n".join(lines) + "\n", seconds=float(seconds))


def _rtt_ms(hops: int, number: int) -> float:
    return round(_HOP_MS * (hops + 1) + 0.01 * (number % 3), 3)


def _wanted(words: list[str]) -> _Wanted | str:
    """Return what is asked for, or the error."""
    options: dict[str, str] = {}
    targets = []
    rest = iter(words)
    for word in rest:
        if word in _VALUED:
            options[word] = next(rest, "")
        elif not word.startswith("-"):
            targets.append(word)
    numbers = {
        name: options.get(name, default) for name, default in (("-c", "5"), ("-W", "1"), ("-t", "64"), ("-s", "56"))
    }
    wrong = next((text for text in numbers.values() if not text.isdigit()), None)
    if wrong is not None:
        return f"invalid argument: '{wrong}'"
    if len(targets) != 1:
        return "usage error: Destination address required"
    try:
        target = str(ipaddress.ip_address(targets[0]))
    except ValueError:
        return f"{targets[0]}: Name or service not known"
    return _Wanted(target, *(int(numbers[name]) for name in _NUMBERS))
