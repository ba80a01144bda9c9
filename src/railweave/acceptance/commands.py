"""The commands of tests: perftest between NICs with RDMA, iperf3 between others, nccl-tests among GPUs.

perftest exchanges addresses over TCP, so a queue pair has its traffic class from ``--tclass`` (``--tos`` is for
connections of RDMA-CM alone). Results are the tables that the programs print: its JSON is not JSON before 24.01.
"""

from collections.abc import Mapping, Sequence

from railweave.acceptance.endpoints import Endpoint, Pair
from railweave.acceptance.limits.collectives import Algorithm, Collective
from railweave.acceptance.model import Tool
from railweave.fabric.acceptance import AcceptancePolicy
from railweave.fabric.devices import Host
from railweave.fabric.model import Fabric
from railweave.fabric.policy import AddressFamily
from railweave.hosts.render import nccl_settings
from railweave.hosts.values import marking, node_of, roce_mtu_bytes

FIRST_PORT = 18515
"""The TCP port of the first server of a node, perftest's default; each further server of a round has the next one."""

Argv = Mapping[str, tuple[str, ...]]
"""The command of each node, as words."""


class PairCommands:
    """The commands of the pairs of one round; servers of a node listen on different ports."""

    def __init__(
        self, fabric: Fabric, policy: AcceptancePolicy, seconds: int, queue_pairs: int, *, latency: bool = False
    ) -> None:
        """Choose the program: for bandwidth it runs ``seconds``, for latency the iterations of ``policy``."""
        self.queue_pairs = queue_pairs
        self._seconds = str(seconds)
        if latency:
            self.message_bytes = policy.latency_bytes
            self._program = "ib_write_lat"
            # In duration mode there are no percentiles.
            options = ["-n", str(policy.latency_iterations)]
        else:
            self.message_bytes = policy.message_bytes
            self._program = "ib_write_bw"
            options = ["-D", self._seconds, "-q", str(queue_pairs), "--report_gbits"]
        mtu_bytes = roce_mtu_bytes(fabric.policies.mtu.hosts_bytes)
        # -F ignores the governor of the processor's clock, which does not matter at these rates.
        options += ["-s", str(self.message_bytes), "-m", str(mtu_bytes), "-F"]
        if fabric.policies.hosts.rdma_family is AddressFamily.IPV6:
            options.append("--ipv6")
        if policy.gid_index is not None:
            options += ["-x", str(policy.gid_index)]
        rdma_marking = marking(fabric.policies.classes)
        if rdma_marking is not None:
            options.append(f"--tclass={rdma_marking.tos}")
        self._perftest_options = tuple(options)
        # The servers that each node has so far.
        self._servers: dict[str, int] = {}
        # By device and port: nodes have the same few.
        self._words: dict[tuple[str, int], tuple[str, ...]] = {}

    def of(self, pair: Pair, tool: Tool) -> Argv:
        """Return the commands of the client, which sends, and of the server, by node.

        The server takes the next free TCP port of its node.
        """
        sender, receiver = pair
        server_node = receiver.nic_port.node
        servers = self._servers.get(server_node, 0)
        self._servers[server_node] = servers + 1
        port = FIRST_PORT + servers
        if tool is Tool.IPERF3:
            return self._iperf3(sender, receiver, str(port))
        client = (*self._perftest_words(sender.rdma, port), receiver.address)
        return {sender.nic_port.node: client, server_node: self._perftest_words(receiver.rdma, port)}

    def _perftest_words(self, rdma: str, port: int) -> tuple[str, ...]:
        words = self._words.get((rdma, port))
        if words is None:
            words = (self._program, "-d", rdma, "-p", str(port), *self._perftest_options)
            self._words[rdma, port] = words
        return words

    def _iperf3(self, sender: Endpoint, receiver: Endpoint, port: str) -> Argv:
        # iperf3 sends from the client to the server, over as many connections as perftest has queue pairs.
        to_server = ("-c", receiver.address, "-B", sender.address, "-p", port)
        options = ("-t", self._seconds, "-P", str(self.queue_pairs), "-J")
        return {
            sender.nic_port.node: ("iperf3", *to_server, *options),
            receiver.nic_port.node: ("iperf3", "-s", "-1", "-B", receiver.address, "-p", port, "-J"),
        }


# Sizes of a collective: each is 16 times the one before, from a 4,096th of the largest.
_SIZE_STEP = 16
_SIZE_STEPS = 3


def collective_command(
    fabric: Fabric, hosts: Sequence[Host], gpus: int, collective: Collective, algorithm: Algorithm, message_bytes: int
) -> Argv:
    """Return the command of a collective among all GPUs of ``hosts``, by the name of the node that runs it.

    The first node starts all others by mpirun. ``gpus`` is the number of GPUs of a node, ``message_bytes`` the largest
    size.
    """
    launcher = hosts[0]
    slots = ",".join(f"{host.name}:{gpus}" for host in hosts)
    words = ["mpirun", "-np", str(gpus * len(hosts)), "-H", slots]
    settings = {**nccl_settings(fabric, node_of(fabric, launcher)), "NCCL_ALGO": algorithm.value}
    for name, value in settings.items():
        words += ["-x", f"{name}={value}"]
    # Several sizes, so that the judge can separate the time of the steps; the largest is the planned one.
    smallest = message_bytes
    if message_bytes % _SIZE_STEP**_SIZE_STEPS == 0:
        smallest = message_bytes // _SIZE_STEP**_SIZE_STEPS
    words += [f"{collective.value}_perf", "-b", str(smallest), "-e", str(message_bytes), "-f", str(_SIZE_STEP)]
    words += ["-g", "1", "-n", "20", "-w", "5", "-c", "1"]
    return {launcher.name: tuple(words)}
