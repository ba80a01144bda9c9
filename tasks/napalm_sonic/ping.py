"""NAPALM's ping, by the switch's ping command."""

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
    if vrf:
        return f"ip vrf exec {shlex.quote(vrf)} {command}"
    return command


@decodes("what ping printed")
def ping(session: "Session", command: str, limit_s: float) -> dict[str, Any]:
    """Return ``{"success": {…}}`` with times in milliseconds, or ``{"error": text}`` if ping could not be sent."""
    command = session.as_root(command)
    done = session.run(command, limit_s + _MARGIN_S)
    text = strip_ansi(done.stdout)
    counts = _COUNTS.search(text)
    # Nothing was sent, for example because the name cannot be resolved.
    if counts is None:
        return {"error": strip_ansi(done.stderr).strip() or text.strip() or f"ping ended with {done.exit_status}"}
    sent = int(counts["sent"])
    received = int(counts["received"])
    # Without any answer ping prints no times; NAPALM's are 0 then.
    minimum, mean, maximum, deviation = 0.0, 0.0, 0.0, 0.0
    times = _TIMES.search(text)
    if times is not None:
        minimum, mean, maximum, deviation = map(float, times.groups())
    results = [{"ip_address": answer["address"], "rtt": float(answer["rtt"])} for answer in _ANSWER.finditer(text)]
    return {
        "success": {
            "probes_sent": sent,
            "packet_loss": sent - received,
            "rtt_min": minimum,
            "rtt_max": maximum,
            "rtt_avg": mean,
            "rtt_stddev": deviation,
            "results": results,
        }
    }
