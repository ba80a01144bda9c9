"""Another marking and a smaller MTU in phases on the lab, node by node, under traffic of the old and the new.

Two streams run in each direction between rails, so through leaves and spines. ``job`` keeps the marking and the size
with which it began, as NCCL and queue pairs do; like RDMA it heeds the interface's MTU alone, not that of routes.
``fresh`` sends by what its node is set to at that moment.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

SWITCHES = ("bare-leaf1", "bare-leaf2", "bare-spine1", "bare-spine2")
ADDRESSES = {"gpu1": "10.32.0.1", "gpu2": "10.32.0.67"}
PRIORITIES = {26: 3, 24: 5}
HEAD = """
mtu: {fabric: 4300, hosts: 4200}
traffic_classes:
  - {name: roce, role: rdma, dscp: [24], lossless: true, priority: 5, share: 90}
  - {name: cnp, role: cnp, dscp: [48], priority: 6, strict: true}
  - {name: best-effort, role: bulk, dscp: default, priority: 0, share: 10}
"""
PROGRAM = r"""
import errno, json, os, re, socket, sys, time
own, far = sys.argv[1:3]
IP_MTU, DISCOVER, DO, PROBE, RECVTOS, HEADERS = 14, 10, 2, 3, 13, 28
def tos():
    with open("/etc/nccl.conf") as file:
        return int(re.search(r"NCCL_IB_TC=(\d+)", file.read())[1])
def sender(discover):
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setsockopt(socket.IPPROTO_IP, DISCOVER, discover)
    made.bind((own, 0))
    return made
def size_now(name):
    # Connecting anew looks the route up, which may have changed.
    sending[name].connect((far, PORTS[name]))
    return sending[name].getsockopt(socket.IPPROTO_IP, IP_MTU)
def receiver(port):
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    made.setsockopt(socket.IPPROTO_IP, RECVTOS, 1)
    made.bind((own, port))
    made.setblocking(False)
    return made
PORTS = {"job": 7001, "fresh": 7002}
taking = {name: receiver(port) for name, port in PORTS.items()}
print("ready", flush=True)
sys.stdin.readline()
sending = {"job": sender(PROBE), "fresh": sender(DO)}
first = tos(), size_now("job")
sent = {name: {} for name in PORTS}
taken = {name: {} for name in PORTS}
def send(name, mark):
    made, count = sending[name], sum(sent[name].values())
    made.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, mark)
    for _ in range(3):
        size = first[1] if name == "job" else size_now(name)
        try:
            made.send(count.to_bytes(8, "big").ljust(size - HEADERS))
            break
        except OSError as fault:
            if fault.errno != errno.EMSGSIZE or name == "job":
                raise
    key = f"{mark} {size}"
    sent[name][key] = sent[name].get(key, 0) + 1
def take():
    for name, made in taking.items():
        while True:
            try:
                data, told, _, _ = made.recvmsg(16384, 256)
            except BlockingIOError:
                break
            key = f"{told[0][2][0]} {len(data) + HEADERS}"
            taken[name][key] = taken[name].get(key, 0) + 1
ended = None
while ended is None or time.monotonic() < ended + 2:
    if ended is None:
        if not os.path.exists("/tmp/job-ended"):
            send("job", first[0])
        send("fresh", tos())
        if os.path.exists("/tmp/traffic-ended"):
            ended = time.monotonic()
    take()
    time.sleep(0.02)
print(json.dumps({"sent": sent, "taken": taken}))
"""


@contextmanager
def traffic(rig: Any) -> Iterator[dict[str, Any]]:
    """Run the streams for a ``with`` block; afterwards the mapping holds what each node sent and took."""
    told: dict[str, Any] = {}
    for node in ADDRESSES:
        rig.on(node, "rm -f /tmp/job-ended /tmp/traffic-ended")
    running = {
        node: subprocess.Popen(
            ["docker", "exec", "-i", f"clab-{rig.name}-{node}", "python3", "-c", PROGRAM, own, far],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for (node, own), far in zip(ADDRESSES.items(), reversed(ADDRESSES.values()), strict=True)
    }
    try:
        for one in running.values():
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
        for one in running.values():
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        yield told
    finally:
        for node in running:
            rig.on(node, "touch /tmp/traffic-ended")
        for node, one in running.items():
            said, _ = one.communicate(timeout=60)
            told[node] = json.loads(said.splitlines()[-1])


def marking(rig: Any, node: str) -> int:
    """Return the code point with which a node's next job sends."""
    return int(rig.on(node, "sed -n 's/^NCCL_IB_TC=//p' /etc/nccl.conf")) // 4


def switches_serve(rig: Any, *points: int) -> None:
    """Every switch treats these code points as lossless on their priorities."""
    for switch in SWITCHES:
        tables = rig.running(switch)
        (marked,) = tables["DSCP_TO_TC_MAP"].values()
        ports = {key: row for key, row in tables["PORT_QOS_MAP"].items() if key != "global"}
        assert ports
        for dscp in points:
            priority = str(PRIORITIES[dscp])
            assert marked[str(dscp)] == priority, switch
            assert all(priority in row["pfc_enable"].split(",") for row in ports.values()), switch


def nodes_serve(rig: Any, *points: int) -> None:
    """Every node pauses the priorities of these code points."""
    for node in ADDRESSES:
        document = json.loads(rig.on(node, "cat /etc/railweave/rails.json"))
        assert {PRIORITIES[dscp] for dscp in points} <= set(document["nic"]["pfc"]), node


def test_a_marking_and_an_mtu_change_in_phases_and_no_packet_is_lost(unnumbered: Any, proves: Any) -> None:
    rig = unnumbered
    rig.mend()
    assert rig.json("hosts", "apply", "--target", "lab", "--yes")["result"] in {"done", "unchanged"}
    before = rig.intent.read_text(encoding="utf-8")
    (rig.folder / "base.yml").write_text(before, encoding="utf-8")
    rig.intent.write_text(before + HEAD, encoding="utf-8")
    told = rig.json("phases", "base.yml")["phases"]
    assert [one["kind"] for one in told] == ["switches", "hosts", "hosts", "hosts", "cleanup"]

    phase = ("--target", "lab", "--from", "base.yml", "--phase")
    with traffic(rig) as streams:
        assert rig.deploy("--from", "base.yml", "--phase", "1")["steps"][0]["result"] == "done"
        switches_serve(rig, 24, 26)
        jobs = {26}
        for number in ("2", "3", "4"):
            if number == "4":
                refused = rig.json("hosts", "apply", *phase, number, "--yes", status=1)
                assert "no job still sends the old" in refused["diagnostics"][0]["message"]
                for node in ADDRESSES:
                    rig.on(node, "touch /tmp/job-ended")
                jobs = set()
            for node in ADDRESSES:
                stated = ("--nodes-done",) if number == "4" else ()
                applied = rig.json("hosts", "apply", *phase, number, "--limit", node, "--yes", *stated)
                assert applied["result"] == "done"
                nodes_serve(rig, *jobs, *(marking(rig, one) for one in ADDRESSES))
            if number == "2":
                refused = rig.deploy("--from", "base.yml", "--phase", "5", "--nodes-done", status=1)
                assert "gpu1, gpu2 would still change" in refused["diagnostics"][0]["message"]
        ended = rig.deploy("--from", "base.yml", "--nodes-done")
        assert [(step["number"], step["result"]) for step in ended["steps"]] == [(5, "done")]
        switches_serve(rig, 24)
    for node, far in zip(ADDRESSES, reversed(ADDRESSES), strict=True):
        assert streams[node]["sent"] == streams[far]["taken"]
        assert set(streams[node]["sent"]["job"]) == {"106 9000"}
        assert {"106 9000", "98 4200"} <= set(streams[node]["sent"]["fresh"])
    rig.as_intended()
    packets = sum(sum(one.values()) for node in streams.values() for one in node["sent"].values())
    proves(f"DSCP 26 to 24 and 9000 to 4200 bytes, node by node, under {packets} packets of both: none lost")
