"""Tools of nodes on simulated flows: what they print, whom they refuse, and what both ends of a cable count."""

import asyncio
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from flow_fabrics import FlowRig, TestNic

from sonic_sim.clock import Clock
from sonic_sim.databases import COUNTERS, rows_of_database
from sonic_sim.errors import SimulatorError
from sonic_sim.faults import Faults
from sonic_sim.flows.congestion import Plumbing
from sonic_sim.flows.constants import Constants, constants_of
from sonic_sim.flows.nics import Place
from sonic_sim.flows.tools import Tools
from sonic_sim.flows.tools.starter import Starter

MEASURED = ["-D", "10", "-q", "4", "--report_gbits", "-s", "65536", "-m", "4096", "-F", "--tclass=106"]
PORTS = (("rail0p0", 0), ("rail0p1", 0), ("rail1p0", 1))
SERVER = ["ib_write_bw", "-d", "mlx5_0", "-p", "18515", *MEASURED]


class Nodes:
    """A rail-only fabric of four switches, whose tools are called."""

    def __init__(self) -> None:
        self.rig = FlowRig("rail-only", Constants(seed=3, speedup=1000), Clock(0.0))
        self.model = self.rig.model
        self.starter = Starter(self.model, grace_s=0.0, quiet_s=0.05)
        self.tools = Tools(self.model, self.starter)

    @property
    def address(self) -> str:
        """The address of the first NIC of gpu2."""
        return self.rig.nics["gpu2"][0].addresses[0].partition("/")[0]

    def run(self, *calls: tuple[str, list[str]]) -> list[tuple[int, str, str]]:
        """Run tools at once; return exit status, output and error output of each."""

        async def everything() -> list[tuple[int, str, str]]:
            return await asyncio.gather(*(self.call(node, argv) for node, argv in calls))

        return asyncio.run(everything())

    async def call(self, node: str, argv: list[str]) -> tuple[int, str, str]:
        """Run one tool."""
        said: dict[str, str] = {"stdout": "", "stderr": ""}

        def write(stream: str, text: str) -> None:
            said[stream] += text

        request: Any = type("Request", (), {"node": node, "argv": argv, "environment": {}})()
        status = await self.tools.answer_tool(request, write)
        return status, said["stdout"], said["stderr"]

    def fault(self, node: str, kind: str, **details: Any) -> None:
        """Arm a fault of a node."""
        self.rig.net.host_faults.setdefault(node, Faults()).add(kind, **details)

    def port_counters(self, device: str, port: str) -> dict[str, str]:
        """Return the counters of a port of a switch."""
        switch = self.rig.net.devices[device]
        rows = rows_of_database(switch, COUNTERS, "COUNTERS*")
        return rows[f"COUNTERS:{rows['COUNTERS_PORT_NAME_MAP'][port]}"]

    def nic_counters(self, node: str) -> dict[str, int]:
        """Return the counters of the first NIC of a node."""
        self.model.publish(node)
        return self.rig.nics[node][0].counters


@pytest.fixture(scope="module")
def everything() -> Nodes:
    """Return the nodes, made once: rendering takes a second."""
    return Nodes()


@pytest.fixture
def nodes(everything: Nodes) -> Iterator[Nodes]:
    """Return the nodes without faults."""
    yield everything
    everything.rig.net.host_faults.clear()
    for device in everything.rig.net.devices.values():
        device.faults.clear()


def test_client_and_server_meet_and_the_client_alone_measures(nodes: Nodes) -> None:
    server, client = nodes.run(("gpu2", SERVER), ("gpu1", [*SERVER, nodes.address]))
    assert (server[0], client[0]) == (0, 0)
    row = client[1].splitlines()[-2].split()
    assert row[0] == "65536"
    assert 0.96 * 392.1 < float(row[3]) < 392.2
    assert row[2] == "0.00"
    assert server[1].splitlines()[-2].startswith(" #bytes")
    assert "Mtu             : 4096[B]" in client[1]


def test_a_client_without_a_server_is_refused(nodes: Nodes) -> None:
    ((status, output, errors),) = nodes.run(("gpu1", [*SERVER, nodes.address]))
    assert (status, output) == (1, "")
    assert errors == (
        f"Couldn't connect to {nodes.address}:18515\n"
        "Unable to open file descriptor for socket connection Unable to init the socket connection\n"
    )


def test_a_tool_that_is_killed_ends_its_flow_and_listens_no_more(nodes: Nodes) -> None:
    async def kill() -> None:
        server = asyncio.ensure_future(nodes.call("gpu2", SERVER))
        client = asyncio.ensure_future(nodes.call("gpu1", [*SERVER[:-7], "-D", "1000000", nodes.address]))
        await asyncio.sleep(0.3)
        assert nodes.model.running
        client.cancel()
        assert (await server)[0] == 1

    asyncio.run(kill())
    assert not nodes.model.running
    ((status, _, _),) = nodes.run(("gpu1", [*SERVER, nodes.address]))
    assert status == 1


def test_a_small_mtu_makes_small_packets(nodes: Nodes) -> None:
    nic = nodes.rig.nics["gpu2"][0]
    nic.mtu = 1500
    try:
        _, client = nodes.run(("gpu2", SERVER), ("gpu1", [*SERVER, nodes.address]))
    finally:
        nic.mtu = 9000
    assert "Mtu             : 1024[B]" in client[1]
    # 1,024 of 1,106 bytes are payload.
    assert 0.96 * 370.3 < float(client[1].splitlines()[-2].split()[3]) < 370.4


def test_a_lossy_cable_counts_sent_minus_received(nodes: Nodes) -> None:
    nodes.fault("gpu2", "lossy", nic=0, ratio=0.01)
    before = nodes.port_counters("rails-leaf1", "Ethernet8"), dict(nodes.nic_counters("gpu2"))
    _, client = nodes.run(("gpu2", SERVER), ("gpu1", [*SERVER, nodes.address]))
    after = nodes.port_counters("rails-leaf1", "Ethernet8"), nodes.nic_counters("gpu2")
    sent = int(after[0]["SAI_PORT_STAT_IF_OUT_OCTETS"]) - int(before[0]["SAI_PORT_STAT_IF_OUT_OCTETS"])
    received = after[1]["rx_bytes_phy"] - before[1]["rx_bytes_phy"]
    assert received == pytest.approx(0.99 * sent, rel=1e-6)
    assert after[1]["out_of_sequence"] > before[1]["out_of_sequence"]
    assert float(client[1].splitlines()[-2].split()[3]) < 0.9 * 392


def test_what_a_node_sends_arrives_at_its_switch(nodes: Nodes) -> None:
    before = nodes.port_counters("rails-leaf1", "Ethernet0"), dict(nodes.nic_counters("gpu1"))
    nodes.run(("gpu2", SERVER), ("gpu1", [*SERVER, nodes.address]))
    after = nodes.port_counters("rails-leaf1", "Ethernet0"), nodes.nic_counters("gpu1")
    sent = after[1]["tx_bytes_phy"] - before[1]["tx_bytes_phy"]
    received = int(after[0]["SAI_PORT_STAT_IF_IN_OCTETS"]) - int(before[0]["SAI_PORT_STAT_IF_IN_OCTETS"])
    # A port is never above its speed: 400 Gb/s for 10 seconds, and some keepalives.
    assert abs(sent - received) < 64 * 1024
    assert 0.95 * 500e9 < sent <= 500e9


def test_iperf3_is_refused_in_json_and_measures_what_arrived(nodes: Nodes) -> None:
    client = ["iperf3", "-c", nodes.address, "-p", "5300", "-t", "10", "-P", "2", "-J"]
    ((status, output, _),) = nodes.run(("gpu1", client))
    assert status == 1
    assert json.loads(output)["error"] == "unable to connect to server: Connection refused"
    _, (status, output, _) = nodes.run(("gpu2", ["iperf3", "-s", "-1", "-p", "5300", "-J"]), ("gpu1", client))
    end = json.loads(output)["end"]
    assert status == 0
    assert end["sum_received"]["bits_per_second"] > 0.95 * 396e9
    assert end["sum_received"]["bytes"] <= end["sum_sent"]["bytes"]


MPIRUN = ["mpirun", "-np", "8", "-H", "gpu1:4,gpu2:4", "-x", "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1"]
ALL_REDUCE = ["all_reduce_perf", "-b", "2097152", "-e", "8589934592", "-f", "16", "-g", "1", "-n", "20", "-w", "5"]


@pytest.mark.parametrize("launcher", [MPIRUN, ["srun", "-w", "gpu[1-2]", "-n", "8"]])
def test_a_collective_reaches_what_its_nics_carry(nodes: Nodes, launcher: list[str]) -> None:
    ((status, output, _),) = nodes.run(("gpu1", [*launcher, *ALL_REDUCE]))
    rows = [line.split() for line in output.splitlines() if line and not line.startswith("#")]
    assert status == 0
    assert [row[0] for row in rows] == ["2097152", "33554432", "536870912", "8589934592"]
    # Four NICs of 400 Gb/s with 98 % of payload.
    assert 0.95 * 196 < float(rows[-1][7]) <= 196.1
    nodes.fault("gpu2", "slow-gpu")
    ((_, slow, _),) = nodes.run(("gpu1", [*launcher, *ALL_REDUCE]))
    assert float(slow.splitlines()[-4].split()[7]) < 0.7 * 196


def test_latency_has_percentiles(nodes: Nodes) -> None:
    argv = ["ib_write_lat", "-d", "mlx5_0", "-n", "10000", "-s", "64", "-F"]
    _, (status, output, _) = nodes.run(("gpu2", argv), ("gpu1", [*argv, nodes.address]))
    values = [float(word) for word in output.splitlines()[-2].split()]
    assert status == 0
    assert values[:2] == [64, 10000]
    assert 1 < values[2] < values[4] < values[7] < values[8] < values[3] < 50


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["ib_write_bw", "-d", "mlx5_9"], " IB device mlx5_9 not found\n Unable to find the Infiniband/RoCE device\n"),
        (["ib_write_bw", "--nonsense"], " Invalid Command or flag. Please check command line and run again.\n"),
        (["iperf3"], "iperf3: parameter error - must either be a client (-c) or server (-s)\n\n"),
        (["mpirun", "-np", "2", "hostname"], "mpirun was unable to find the specified executable file.\n"),
    ],
)
def test_a_tool_refuses_in_its_own_words(nodes: Nodes, argv: list[str], text: str) -> None:
    assert nodes.run(("gpu1", argv)) == [(1, "", text)]


def test_constants_are_set_and_multiplied() -> None:
    constants = constants_of({"SONIC_SIM_FLOWS": "speedup=20 burst_bytes=*2"})
    assert (constants.speedup, constants.burst_bytes) == (20.0, 131072.0)
    with pytest.raises(SimulatorError, match="SONIC_SIM_FLOWS: no constant 'x'; there are: loss_ratio, healthy_ber"):
        constants_of({"SONIC_SIM_FLOWS": "x=1"})


def test_a_detail_of_a_fault_beyond_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^ratio 2 is not between 0 and 1$"):
        Faults().add("lossy", ratio=2)


def test_faults_of_two_nics_stand_beside_each_other_and_are_cleared_by_kind() -> None:
    faults = Faults()
    faults.add("slow-nic", nic=0, gbps=100)
    faults.add("slow-nic", nic=1, gbps=50)
    faults.add("slow-gpu")
    assert [fault["gbps"] for fault in faults.to_json()[:2]] == [100, 50]
    assert faults.clear("slow-nic") == 2
    assert [fault["kind"] for fault in faults.to_json()] == ["slow-gpu"]


def test_the_ports_of_a_nic_share_its_slow_bus_evenly_in_each_direction() -> None:
    rails = {name: Place("gpu1", TestNic(name, nic=number)) for name, number in PORTS}
    far = Place("gpu2", TestNic("rail0p0"))
    net: Any = SimpleNamespace(hosts={"gpu1", "gpu2"}, host_faults={"gpu1": Faults()}, devices={})
    net.host_faults["gpu1"].add("slow-nic", nic=0, gbps=200)
    flows: Any = [
        SimpleNamespace(sender=rails["rail0p0"], receiver=far),
        SimpleNamespace(sender=rails["rail0p1"], receiver=far),
        SimpleNamespace(sender=rails["rail1p0"], receiver=far),
        SimpleNamespace(sender=far, receiver=rails["rail0p0"]),
        SimpleNamespace(sender=far, receiver=rails["rail0p0"]),
    ]
    storms: Any = None
    plumbing = Plumbing(net, Constants(), storms, flows)
    assert plumbing.sending_bus_gbps(rails["rail0p0"]) == 100
    assert plumbing.receiving_bus_gbps(rails["rail0p0"]) == 200
    # The other NIC has no fault.
    assert plumbing.sending_bus_gbps(rails["rail1p0"]) is None
