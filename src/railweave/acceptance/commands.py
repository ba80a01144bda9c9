"""The commands of tests: perftest between NICs with RDMA, iperf3 between others, nccl-tests among GPUs.

perftest exchanges addresses over TCP, so a queue pair has its traffic class from ``--tclass`` (``--tos`` is for
connections of RDMA-CM alone). Results are the tables that the programs print: its JSON is not JSON before 24.01.
"""

from collections.abc import Iterable, Mapping, Sequence

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
        """Choose the programs: of bandwidth for ``seconds``, or of latency by iterations."""
        marked = marking(fabric.policies.classes)
        self.queue_pairs = queue_pairs
        self.message_bytes = policy.message_bytes
        self._seconds = str(seconds)
        self._program = "ib_write_bw"
        self._measured: tuple[str, ...] = ("-D", self._seconds, "-q", str(self.queue_pairs), "--report_gbits")
        if latency:
            self.message_bytes = policy.latency_bytes
            self._program = "ib_write_lat"
            # In duration mode there are no percentiles.
            self._measured = ("-n", str(policy.latency_iterations))
        mtu_bytes = roce_mtu_bytes(fabric.policies.mtu.hosts_bytes)
        # -F: the governor of the processor's clock does not matter at these rates.
        self._measured += ("-s", str(self.message_bytes), "-m", str(mtu_bytes), "-F")
        if fabric.policies.hosts.rdma_family is AddressFamily.IPV6:
            self._measured += ("--ipv6",)
        if policy.gid_index is not None:
            self._measured += ("-x", str(policy.gid_index))
        if marked is not None:
            self._measured += (f"--tclass={marked.tos}",)
        self._servers: dict[str, int] = {}
        # By device and port: nodes have the same few.
        self._words: dict[tuple[str, int], tuple[str, ...]] = {}

    def of(self, pair: Pair, tool: Tool) -> Argv:
        """Return the commands of the client, which sends, and of the server."""
        sender, receiver = pair
        node = receiver.nic_port.node
        port = FIRST_PORT + self._servers.get(node, 0)
        self._servers[node] = port + 1 - FIRST_PORT
        if tool is Tool.IPERF3:
            return self._iperf3(sender, receiver, str(port))
        client = (*self._perftest_words(sender.rdma, port), receiver.address)
        return {sender.nic_port.node: client, node: self._perftest_words(receiver.rdma, port)}

    def _perftest_words(self, rdma: str, port: int) -> tuple[str, ...]:
        words = self._words.get((rdma, port))
        if words is None:
            words = (self._program, "-d", rdma, "-p", str(port), *self._measured)
            self._words[rdma, port] = words
        return words

    def _iperf3(self, sender: Endpoint, receiver: Endpoint, port: str) -> Argv:
        # iperf3 sends from the client to the server, over as many connections as perftest has queue pairs.
        to_server = ("-c", receiver.address, "-B", sender.address, "-p", port)
        measured = ("-t", self._seconds, "-P", str(self.queue_pairs), "-J")
        return {
            sender.nic_port.node: ("iperf3", *to_server, *measured),
            receiver.nic_port.node: ("iperf3", "-s", "-1", "-B", receiver.address, "-p", port, "-J"),
        }


# Sizes of a collective: each is 16 times the one before, from a 4,096th of the largest.
_SIZE_STEP = 16
_SIZE_STEPS = 3


def collective_command(
    fabric: Fabric, hosts: Sequence[Host], gpus: int, collective: Collective, algorithm: Algorithm, message_bytes: int
) -> Argv:
    """Return the command of a collective among all GPUs of ``hosts``, which the first of them starts by mpirun."""
    first = hosts[0]
    settings = {**nccl_settings(fabric, node_of(fabric, first)), "NCCL_ALGO": algorithm.value}
    words = ["mpirun", "-np", str(gpus * len(hosts)), "-H", ",".join(f"{host.name}:{gpus}" for host in hosts)]
    words += _exported(settings)
    # Several sizes, because the judge sets the time of the steps apart; the largest is the planned one.
    smallest = message_bytes
    if message_bytes % _SIZE_STEP**_SIZE_STEPS == 0:
        smallest = message_bytes // _SIZE_STEP**_SIZE_STEPS
    words += [f"{collective.value}_perf", "-b", str(smallest), "-e", str(message_bytes), "-f", str(_SIZE_STEP)]
    words += ["-g", "1", "-n", "20", "-w", "5", "-c", "1"]
    return {first.name: tuple(words)}


def _exported(settings: Mapping[str, str]) -> Iterable[str]:
    for name, value in settings.items():
        yield "-x"
        yield f"{name}={value}"
