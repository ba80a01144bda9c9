"""Real losses, marks and rates on one cable of a lab: an acceptance by iperf3 names it, and passes without them.

The cables of a lab are as fast as the machine. Every end gets a 1,000th of what the intent says by `tc`, and the limits
of the intent are as much lower. Faults are put in from outside the nodes, into their network namespaces. Nothing else
may run on the machine, whose processors carry the packets.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.weekly]

NODES = ("gpu1", "gpu2", "gpu3", "gpu4")
# A 1,000th of 100 Gb/s, and a fifth of that.
RATE, SLOW = "100mbit", "20mbit"
# What every kernel has, and what heeds marks: BBR does not.
TCP = ("net.ipv4.tcp_ecn=1", "net.ipv4.tcp_congestion_control=reno")
VICTIM, RAIL = "gpu1", "rail0"
FAULTS = {
    "loss": "ip protocol tcp numgen random mod 100 < 10 drop",
    # Packets that may be marked are: TCP with ECN (RFC 3168) sends as little as it can.
    "marks": "ip ecn ect0 ip ecn set ce",
}


def outside(rig: Any, node: str, *words: str) -> str:
    """Run a program of the node's image in the network of a node, by a process that is not the node's."""
    inspected = ["docker", "inspect", "--format", "{{.State.Pid}}", f"clab-{rig.name}-{node}"]
    pid = subprocess.run(inspected, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    entered = ["nsenter", "--target", pid, "--net", "--mount", *words]
    done = subprocess.run(entered, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"{node}: {' '.join(words)}\n{done.stderr}"
    return done.stdout


def slow_down(rig: Any, node: str, interface: str, rate: str) -> None:
    shaped = f"tc qdisc replace dev {interface} root tbf rate {rate} burst 256kb latency 20ms"
    outside(rig, node, *shaped.split())


class Acceptance:
    """A lab of slow cables, with the plan of its acceptance."""

    def __init__(self, rig: Any) -> None:
        self.rig = rig
        self.folder: Path = rig.folder / "acceptance"
        for node in (*NODES, *rig.switches()):
            links = outside(rig, node, "ip", "-o", "link", "show", "up")
            for interface in re.findall(r"^\d+: ((?:rail|Ethernet)\d+)@", links, re.MULTILINE):
                slow_down(rig, node, interface, RATE)
        for node in NODES:
            rig.on(node, f"sysctl -qw {' '.join(TCP)}")
        rig.run("acceptance", "plan", "--level", "smoke", "--out", str(self.folder))

    def verdict(self, status: int) -> Any:
        """Carry out all tests anew, and return what the judge says of them."""
        (self.folder / "journal.jsonl").unlink(missing_ok=True)
        result = self.rig.json("acceptance", "run", str(self.folder), "--target", "lab")
        assert result["not_run"] == []
        return self.rig.json("acceptance", "judge", str(self.folder), status=status)


@pytest.fixture(scope="module")
def acceptance(slow_cables: Any) -> Acceptance:
    return Acceptance(slow_cables)


@pytest.fixture
def fault(acceptance: Acceptance, request: pytest.FixtureRequest) -> Iterator[str]:
    """Put a fault on the cable of a node, for what arrives there, and take it away again."""
    name: str = request.param
    rig = acceptance.rig
    if name == "rate":
        leaf, port = rig.leaf_of(VICTIM, RAIL)
        slow_down(rig, leaf, port, SLOW)
        yield name
        slow_down(rig, leaf, port, RATE)
        return
    outside(rig, VICTIM, "nft", "add table netdev acceptance")
    hook = f"{{ type filter hook ingress device {RAIL} priority 0; }}"
    outside(rig, VICTIM, "nft", f"add chain netdev acceptance arriving {hook}")
    outside(rig, VICTIM, "nft", f"add rule netdev acceptance arriving {FAULTS[name]}")
    yield name
    outside(rig, VICTIM, "nft", "delete table netdev acceptance")


def test_a_healthy_lab_passes(acceptance: Acceptance, proves: Any) -> None:
    verdict = acceptance.verdict(status=0)
    assert (verdict["verdict"], verdict["findings"]) == ("passed", [])
    tools = {path.name for path in acceptance.folder.glob("results/*/*.json") if "iperf3" in path.read_text()}
    assert tools
    proves(f"{len(verdict['tests'])} tests of iperf3 over FRR passed")


@pytest.mark.parametrize("fault", ["loss", "marks", "rate"], indirect=True)
def test_a_cable_with_a_real_fault_is_named(acceptance: Acceptance, fault: str, proves: Any) -> None:
    verdict = acceptance.verdict(status=1)
    errors = [finding for finding in verdict["findings"] if finding["severity"] == "error"]
    named = {cable for finding in errors for cable in finding["cables"]}
    assert (verdict["verdict"], named) == ("failed", {f"{VICTIM} {RAIL}"}), json.dumps(errors, indent=1)
    proves(f"{fault} on {VICTIM} {RAIL}: {errors[0]['message']}")
