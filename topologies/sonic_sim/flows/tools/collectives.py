"""nccl-tests 2.13 among the GPUs of nodes, started by mpirun or srun: rings of nodes, one on each NIC.

Bus bandwidth is that of the slowest pair of each ring, summed over the NICs of a node. A ring takes its steps without
data, too: t = steps x step + factor x bytes / bus bandwidth (NVIDIA/nccl-tests, doc/PERFORMANCE.md).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sonic_sim.faults import FaultKind
from sonic_sim.flows.flow import Flow, FlowKind
from sonic_sim.flows.model import Transfer
from sonic_sim.flows.nics import Place
from sonic_sim.flows.tools.run import Options, Run, ToolError

PROGRAMS = frozenset(f"{name}_perf" for name in (
    "all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv", "broadcast", "reduce",
))  # fmt: skip
_TESTS_VALUED = ("-b", "--minbytes", "-e", "--maxbytes", "-f", "--stepfactor", "-i", "--stepbytes", "-g", "--ngpus",
                 "-t", "--nthreads", "-n", "--iters", "-w", "--warmup_iters", "-c", "--check", "-m", "-p", "-z", "-o",
                 "-d", "-r", "-a", "-G", "-C", "-R", "-J", "-T")  # fmt: skip
# Of mpirun and srun, the options that have a value.
_LAUNCHER_VALUED = frozenset((
    "-np", "-n", "-N", "-H", "--host", "--hostfile", "-hostfile", "-x", "--mca", "-w", "--nodelist", "--ntasks",
    "--nodes", "--ntasks-per-node", "--gpus-per-node", "--gres", "--map-by", "--bind-to", "-p", "--partition", "-t",
    "--time", "-J", "--job-name", "--mpi", "--export", "--jobid", "--npernode", "-npernode", "--prefix", "-G", "-c",
))  # fmt: skip
_TWO_VALUES = frozenset(("--mca", "-mca"))
# Queue pairs of a ring between two NICs: channels, each with its own.
_QUEUE_PAIRS = 4
_SUFFIXES = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "": 1}
_DEFAULT_GPUS = 8
# Collectives that add up numbers.
_SUMMING = frozenset(("all_reduce_perf", "reduce_scatter_perf", "reduce_perf"))
_SHELL = frozenset(("bash", "sh", "env"))


class JobHost(NamedTuple):
    """A node of a collective, and how many of its GPUs take part."""

    name: str
    gpus: int


@dataclass(frozen=True, slots=True)
class Job:
    """A collective: its program and words, its nodes, and the environment of its ranks."""

    program: str
    words: tuple[str, ...]
    hosts: tuple[JobHost, ...]
    environment: Mapping[str, str]

    @property
    def ranks(self) -> int:
        """GPUs of all nodes."""
        return sum(host.gpus for host in self.hosts)


async def run(tool: Run) -> int:
    """Run a collective and print its table; return the exit status.

    Raises ToolError if the command is not valid, or packets between its nodes do not arrive.
    """
    job = _job(tool)
    options = Options(job.words, _TESTS_VALUED, ("-h", "--help"), "{option}: invalid option\n")
    rings = _rings(tool, job)
    flows: list[Flow] = []
    for ring in rings:
        for step in ring:
            flows += step
    for flow in flows:
        if flow.is_stuck:
            raise _unreachable(job, flow)
    sizes = _sizes(options)
    iterations = options.number("-n", "--iters", default=20.0) + options.number("-w", "--warmup_iters", default=5.0)
    tool.say(_head(job, options, sizes))
    # Measured once, as soon as the flows have their shares.
    bus_gbytes = 0.0

    def measure() -> float:
        nonlocal bus_gbytes
        bus_gbytes = _bus_gbytes(tool, job, rings)
        # Each size runs out of place and in place.
        return sum(2 * iterations * _micros(tool, job, size, bus_gbytes) for size in sizes) / 1e6

    await tool.send(Transfer(flows), measure)
    rows = [_row(tool, job, size, bus_gbytes) for size in sizes]
    mean = sum(row.bus_gbytes for row in rows) / len(rows)
    tool.say("".join(row.text for row in rows))
    tool.say(f"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {mean:g} \n#\n")
    return 0


def _job(tool: Run) -> Job:
    """Return the collective of a command line. Raises ToolError if it runs no program of nccl-tests."""
    environment = dict(tool.environment)
    if tool.name in PROGRAMS:
        # Without a launcher it runs in one process with all of its GPUs.
        options = Options(tool.words, _TESTS_VALUED, (), "{option}: invalid option\n")
        host = JobHost(tool.node, int(options.number("-g", "--ngpus", default=1)))
        return Job(tool.name, tuple(tool.words), (host,), environment)
    launch = Launch(tool, environment)
    words = list(tool.words)
    while words:
        word = words.pop(0)
        program = word.rpartition("/")[2]
        if program in PROGRAMS:
            return Job(program, tuple(words), launch.job_hosts(), environment)
        if word.startswith("-"):
            launch.take(word, words)
        elif program not in _SHELL:
            break
    raise ToolError(f"{tool.name} was unable to find the specified executable file.\n")


class Launch:
    """The options of mpirun or srun."""

    def __init__(self, tool: Run, environment: dict[str, str]) -> None:
        self.tool = tool
        self.environment = environment
        self.hosts = environment.get("SLURM_JOB_NODELIST", tool.node)
        self.ranks = 0

    def take(self, word: str, words: list[str]) -> None:
        """Take the option ``word``; its values are removed from ``words``, which follow it."""
        name, equals_sign, value = word.partition("=")
        if name in _TWO_VALUES:
            del words[:2]
            return
        if name in _LAUNCHER_VALUED and not equals_sign and words:
            value = words.pop(0)
        if name == "-x":
            _export(self.environment, [value])
        elif name == "--export":
            _export(self.environment, value.split(","))
        elif name in ("-H", "--host", "-w", "--nodelist"):
            self.hosts = value
        elif name in ("-np", "--ntasks", "-n") and value.isdecimal():
            self.ranks = int(value)

    def job_hosts(self) -> tuple[JobHost, ...]:
        """Return the hosts with their numbers of GPUs. Raises ToolError if one cannot be reached."""
        return _with_gpus(self.tool, _expanded(_split(self.hosts)), self.ranks)


def _export(environment: dict[str, str], assignments: Sequence[str]) -> None:
    """Set variables of the form ``NAME=VALUE`` in ``environment``; one that is named alone keeps its value."""
    for assignment in assignments:
        name, equals_sign, value = assignment.partition("=")
        if equals_sign:
            environment[name] = value


def _split(text: str) -> list[str]:
    """Split a list of hosts at its commas outside of brackets."""
    return re.findall(r"[^,\[]+(?:\[[^\]]*\][^,\[]*)?", text)


def _expanded(hosts: Sequence[str]) -> list[str]:
    """Return the host names of Slurm's ranges: ``gpu[1-3,5]``."""
    names = []
    for host in hosts:
        head, bracket, rest = host.partition("[")
        if not bracket:
            names.append(host)
            continue
        ranges, _, tail = rest.partition("]")
        for number_range in ranges.split(","):
            first, _, last = number_range.partition("-")
            # Numbers have as many digits as the first one.
            digits = len(first)
            numbers = range(int(first), int(last or first) + 1)
            names += [f"{head}{number:0{digits}d}{tail}" for number in numbers]
    return names


def _with_gpus(tool: Run, hosts: Sequence[str], ranks: int) -> tuple[JobHost, ...]:
    """Return the hosts with their numbers of GPUs.

    A host of the form ``HOST:GPUS`` states its number. Others have an equal share of the ``ranks``, or 8 GPUs without
    ranks. Raises ToolError if a host cannot be reached.
    """
    job_hosts: list[JobHost] = []
    for host in hosts:
        name, _, slots = host.partition(":")
        if not tool.model.nics.of_node(name):
            rule = "-" * 74
            raise ToolError(
                f"ssh: connect to host {name} port 22: No route to host\n"
                f"{rule}\nORTE was unable to reliably start one or more daemons.\n{rule}\n"
            )
        gpus = _DEFAULT_GPUS
        if slots.isdecimal():
            gpus = int(slots)
        elif ranks:
            gpus = max(1, ranks // len(hosts))
        job_hosts.append(JobHost(name, gpus))
    return tuple(job_hosts)


Ring = list[list[Flow]]
"""The flows from each node to the next one, on one NIC of each."""


def _rings(tool: Run, job: Job) -> list[Ring]:
    """Return a ring for each NIC that NCCL uses; none within one node. Raises ToolError if a node lacks a NIC."""
    names = [host.name for host in job.hosts]
    if len(names) < 2:
        return []
    rings: list[Ring] = []
    kind = FlowKind(tos=int(job.environment.get("NCCL_IB_TC", "0") or 0))
    for device in _devices(tool, job):
        nics: list[Place] = []
        for name in names:
            nic = tool.model.nics.by_device(name, device)
            if nic is None or not nic.nic.up:
                raise ToolError(f"{name}: NCCL WARN NET/IB : No device found: {device}\n{_FAILED}", status=3)
            nics.append(nic)
        ring: Ring = []
        for index, sender in enumerate(nics):
            # The last node sends to the first one.
            receiver = nics[(index + 1) % len(nics)]
            ring.append(tool.model.flows(sender, receiver, kind, _QUEUE_PAIRS))
        rings.append(ring)
    return rings


_FAILED = "Test NCCL failure common.cu:1005 'remote process exited or there was a network error'\n"


def _unreachable(job: Job, flow: Flow) -> ToolError:
    """Return the error of NCCL for a flow whose packets do not arrive."""
    sender = flow.sender
    return ToolError(
        f"{sender.node}:41000:41100 [0] ibvwrap.c:120 NCCL WARN NET/IB : Got completion from peer {flow.receiver.node}"
        f" with status=12 opcode=0 len=0 vendor err 129 (Send) hca {sender.nic.rdma}\n{job.hosts[0].name}: {_FAILED}",
        status=3,
    )


def _devices(tool: Run, job: Job) -> list[str]:
    """Return the RDMA devices that NCCL uses on each node, by the variable ``NCCL_IB_HCA``; all devices without it.

    The variable lists beginnings of device names, or after ``=`` whole names. After ``^`` they are those not to use.
    """
    every = [nic.rdma for nic in tool.model.nics.of_node(job.hosts[0].name) if nic.rdma]
    variable = job.environment.get("NCCL_IB_HCA", "")
    # A name may have the port of the device after a colon.
    listed = [part.partition(":")[0] for part in variable.lstrip("^=").split(",") if part]
    if not listed:
        return every
    if "=" in variable:
        matching = [name for name in every if name in listed]
    else:
        matching = [name for name in every if name.startswith(tuple(listed))]
    if variable.startswith("^"):
        return [name for name in every if name not in matching]
    return matching


def _sizes(options: Options) -> list[int]:
    """Return the sizes of messages in bytes, from the least to the most by a factor or else by steps."""
    least = _bytes(options.text("-b", "--minbytes", default="32M"))
    most = _bytes(options.text("-e", "--maxbytes", default="32M"))
    factor = int(options.number("-f", "--stepfactor", default=1.0))
    step = _bytes(options.text("-i", "--stepbytes", default="1M"))
    sizes = [least]
    while sizes[-1] < most:
        next_size = sizes[-1] + step
        if factor > 1:
            next_size = sizes[-1] * factor
        sizes.append(next_size)
    return [size for size in sizes if size <= most] or [least]


def _bytes(text: str) -> int:
    """Return the bytes of a size such as ``32M``. Raises ToolError if it is not valid."""
    match = re.fullmatch(r"(\d+)([KMGT]?)B?", text.strip().upper())
    if match is None:
        raise ToolError(f"invalid size {text}\n")
    return int(match[1]) * _SUFFIXES[match[2]]


def _bus_gbytes(tool: Run, job: Job, rings: Sequence[Ring]) -> float:
    """Return the bus bandwidth of large messages, in GB/s."""
    constants = tool.model.constants
    gpus = max(host.gpus for host in job.hosts)
    bus = constants.nvlink_gbytes
    if rings:
        node_gbytes = sum(_slowest_step_gbps(ring) for ring in rings) / 8
        bus = min(bus, node_gbytes)
        if job.program == "sendrecv_perf":
            bus = node_gbytes / len(rings)
        elif job.program == "alltoall_perf":
            # What stays in a node does not cross its NICs.
            bus = node_gbytes / gpus * (job.ranks - 1) / (job.ranks - gpus)
    for host in job.hosts:
        faults = tool.model.net.host_faults.get(host.name)
        if faults is not None and faults.has(FaultKind.SLOW_GPU):
            return bus * constants.slow_gpu_share
    return bus


def _slowest_step_gbps(ring: Ring) -> float:
    """Return what the slowest pair of nodes of a ring measures, in Gb/s: the others wait for it."""
    return min(sum(flow.goodput * flow.measured_share for flow in step) for step in ring)


def _factor(job: Job) -> float:
    """Return the bus bandwidth divided by the algorithm's bandwidth (nccl-tests doc/PERFORMANCE.md)."""
    ranks = job.ranks
    if job.program == "all_reduce_perf":
        return 2 * (ranks - 1) / ranks
    if job.program in ("all_gather_perf", "reduce_scatter_perf", "alltoall_perf"):
        return (ranks - 1) / ranks
    return 1.0


def _micros(tool: Run, job: Job, size: int, bus_gbytes: float) -> float:
    """Return the time of a collective of ``size`` bytes, in microseconds."""
    ranks = job.ranks
    steps = {"all_reduce_perf": 2 * (ranks - 1), "sendrecv_perf": 1}.get(job.program, ranks - 1)
    return steps * tool.model.constants.collective_step_us + _factor(job) * size / bus_gbytes / 1e3


class _ResultRow(NamedTuple):
    """A row of the table, and the mean of its two bus bandwidths."""

    text: str
    bus_gbytes: float


def _row(tool: Run, job: Job, size: int, bus_gbytes: float) -> _ResultRow:
    """Return the table's row of a size, which is measured out of place and in place; both are about the same."""
    cells = ""
    mean = 0.0
    for _ in range(2):
        micros = _micros(tool, job, size, bus_gbytes) * tool.model.random.uniform(1.0, 1.004)
        algorithm_gbytes = size / micros / 1e3
        measured_bus_gbytes = algorithm_gbytes * _factor(job)
        mean += measured_bus_gbytes / 2
        cells += f"  {_time(micros):>7s}  {algorithm_gbytes:6.2f}  {measured_bus_gbytes:6.2f}      0"
    operation = "sum" if job.program in _SUMMING else "none"
    return _ResultRow(f"{size:12d}  {size // 4:12d}     float  {operation:>6s}      -1{cells}\n", mean)


def _time(micros: float) -> str:
    """Return a time with as many decimals as nccl-tests prints."""
    decimals = 2
    if micros >= 10000:
        decimals = 0
    elif micros >= 100:
        decimals = 1
    return f"{micros:.{decimals}f}"


def _head(job: Job, options: Options, sizes: Sequence[int]) -> str:
    """Return what is printed before the table: the options, the devices, and the heading of columns."""
    factor = int(options.number("-f", "--stepfactor", default=1.0))
    step = f"step: {factor}(factor)" if factor > 1 else f"step: {_bytes(options.text('-i', default='1M'))}(bytes)"
    lines = [
        f"# nThread 1 nGpus 1 minBytes {sizes[0]} maxBytes {_bytes(options.text('-e', '--maxbytes', default='32M'))}"
        f" {step} warmup iters: {options.text('-w', '--warmup_iters', default='5')}"
        f" iters: {options.text('-n', '--iters', default='20')} agg iters: 1 validation: 1 graph: 0",
        "#",
        "# Using devices",
    ]
    rank = 0
    for host in job.hosts:
        for gpu in range(host.gpus):
            lines.append(
                f"#  Rank {rank:2d} Group  0 Pid {41000 + rank:6d} on {host.name:>10s} device {gpu:2d}"
                f" [0x{0x18 + gpu:02x}] NVIDIA H200"
            )
            rank += 1
    columns = "    time   algbw   busbw #wrong"
    lines += [
        "#",
        "#" + " " * 62 + "out-of-place" + " " * 23 + "in-place          ",
        f"#       size         count      type   redop    root {columns} {columns}",
        "#        (B)    (elements)                            " + 2 * "   (us)  (GB/s)  (GB/s)       ",
        "",
    ]
    return "\n".join(lines)
