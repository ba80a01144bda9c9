"""NAPALM's ping: the switch's own ping, its lines read into values."""

import re
import shlex
from typing import TYPE_CHECKING, Any

from napalm_sonic.codec import strip_ansi
from napalm_sonic.decoding import decodes

if TYPE_CHECKING:
    from napalm_sonic.session import Session

_ANSWER = re.compile(r"bytes from (?P<address>\S+?):? icmp_seq=\d+ .*time=(?P<rtt>[0-9.]+) ms")
_COUNTS = re.compile(r"(?P<sent>\d+) packets transmitted, (?P<received>\d+) (packets )?received")
_TIMES = re.compile(r"rtt min/avg/max/mdev = ([0-9.]+)/([0-9.]+)/([0-9.]+)/([0-9.]+) ms")
_MARGIN_S = 15.0


def ping_command(destination: str, source: str, ttl: int, timeout_s: int, size: int, count: int, vrf: str) -> str:
    """Return the command; ``source`` is an address or interface, ``vrf`` "" for the default one."""
    words = ["ping", "-n", "-c", str(count), "-W", str(timeout_s), "-t", str(ttl), "-s", str(size)]
    if source:
        words += ["-I", source]
    command = shlex.join([*words, destination])
    return f"ip vrf exec {shlex.quote(vrf)} {command}" if vrf else command


@decodes("what ping printed")
def ping(session: "Session", command: str, limit_s: float) -> dict[str, Any]:
    """Return ``{"success": {…}}`` with times in milliseconds, or ``{"error": text}`` where ping could not be sent."""
    command = session.as_root(command)
    done = session.run(command, limit_s + _MARGIN_S)
    text = strip_ansi(done.stdout)
    counts = _COUNTS.search(text)
    if counts is None:
        return {"error": (strip_ansi(done.stderr).strip() or text.strip() or f"ping ended with {done.exit_status}")}
    sent, received = int(counts["sent"]), int(counts["received"])
    times = _TIMES.search(text)
    low, mean, high, deviation = (float(times[place]) for place in range(1, 5)) if times else (0.0, 0.0, 0.0, 0.0)
    return {
        "success": {
            "probes_sent": sent,
            "packet_loss": sent - received,
            "rtt_min": low,
            "rtt_max": high,
            "rtt_avg": mean,
            "rtt_stddev": deviation,
            "results": [{"ip_address": one["address"], "rtt": float(one["rtt"])} for one in _ANSWER.finditer(text)],
        }
    }
