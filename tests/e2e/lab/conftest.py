"""Labs on Containerlab: each is started once for all its tests, and taken down after the last of them, however it ends.

They have different fabric names, so that two may run at once (``pytest -n 2``): a fabric as it is and what happens to
it, a fabric that grows, one that grows beyond its reserve, one without addresses between switches that is reached over
``docker exec``, one of three tiers, two that share nodes, one of rails that are apart, one of tenants, one of
containers that behave as docker-sonic-vs does, one of containers that boot as virtual machines do, one that prints
FRR's text as SONiC's builds do, one whose cables are slow, one for the examples of the API, those that pages of the
documentation start, and a single container for recorded commands. The tests of a lab run one after the other, in the
order of ``FILES``; each begins and ends with the fabric as its intent says.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_rig import ROOT, CommandRig

from nornir_railweave.lab.laboratory import ensure_image
from railweave.api.lab import chosen_image, image_sources, rendered
from railweave.lab.topology import node_files

FILES = (
    "bare",
    "drain",
    "counters",
    "faults",
    "sim_agrees",
    "unnumbered",
    "hosts",
    "phases",
    "growth",
    "added",
    "ipv6",
    "pods",
    "fabrics",
    "rails",
    "tenants",
    "acceptance",
    "sonic_vs",
    "frr",
    "sonic_vm",
    "documentation",
    "api",
    "recorded",
)
"""Test files in the order in which they run: those of one lab are together, labs that take longest come first."""

OTHER_LABS = {
    "growth": "growing",
    "added": "added",
    "ipv6": "dual",
    "unnumbered": "unnumbered",
    "hosts": "unnumbered",
    "phases": "unnumbered",
    "pods": "pods",
    "fabrics": "fabrics",
    "rails": "rails",
    "tenants": "tenants",
    "acceptance": "acceptance",
    "sonic_vs": "sonic_vs",
    "sonic_vm": "sonic_vm",
    "frr": "frr",
    "api": "api",
    "documentation": "documentation",
    "recorded": "recorded",
}
"""The lab of a file where it is not that of the fabric as it is."""

_PROVEN = "proven on the lab"


_UP = contextlib.ExitStack()
"""What takes the lab of the running tests down."""


def _file(path: str) -> str:
    return Path(path).stem.removeprefix("test_e2e_lab_")


def _lab(path: str) -> str:
    """Return the lab of a test file."""
    return OTHER_LABS.get(_file(path), "as it is")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Take a lab down after its last test: the next one of this process needs the machine."""
    try:
        yield
    finally:
        if nextitem is None or _lab(str(nextitem.path)) != _lab(str(item.path)):
            _UP.close()


def pytest_sessionfinish() -> None:
    """Do the same where the tests were interrupted."""
    _UP.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if item.path.parent == Path(__file__).parent]
    items[:] = [item for item in items if item not in here]
    items += sorted(here, key=lambda item: FILES.index(_file(item.path.name)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> Any:
    """Give each lab's tests to one worker, where there are several; each page of the documentation has a lab."""
    from xdist.scheduler import LoadScopeScheduling

    config.option.loadscopereorder = False  # in the order of FILES, not the lab of most tests first

    class ByLab(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            lab = _lab(nodeid.partition("::")[0])
            return nodeid if lab == "documentation" else lab

    return ByLab(config, log)


class LabRig(CommandRig):
    """A project, the lab of its intent, and the commands of engineers at the nodes."""

    command_seconds = 420
    in_process = True
    """A process reads its templates once: a test that changes them deploys by `deploy_apart`."""

    def __init__(self, folder: Path, intent: str | Callable[[Path], str], **environ: str) -> None:
        """Use ``intent/INTENT`` as every scenario does; ``environ`` chooses how the lab is started."""
        super().__init__(folder, intent)
        self.environ |= environ
        # A switch that is gone is to be noticed soon.
        target = self.folder / "inventory" / "lab.yml"
        target.write_text(target.read_text().replace("connect: 30", "connect: 10"))

    @property
    def name(self) -> str:
        """The fabric's name, which is the lab's."""
        file, _, part = str(self.intent).partition("#")
        found = re.search(r"^fabric: (\S+)", Path(file).read_text(), re.MULTILINE)
        assert found is not None
        return f"{found[1]}-{part}" if part else found[1]

    def plan(self, *words: str, status: int | None = 0) -> Any:
        return self.json("plan", "--target", "lab", *words, status=status)

    def deploy(self, *words: str, status: int | None = 0) -> Any:
        return self.json("deploy", "--target", "lab", "--yes", "--provision", *words, status=status)

    def deploy_apart(self, status: int | None = 0) -> Any:
        """Deploy by a process of its own."""
        words = ("deploy", "--target", "lab", "--yes", "--provision", "--json")
        return json.loads(self.apart(*words, status=status).stdout)

    def verify(self, *words: str, status: int | None = 0) -> Any:
        return self.json("verify", "--target", "lab", *words, status=status)

    def as_intended(self) -> None:
        """The fabric is what the intent says, whatever the test before did."""
        assert self.verify("--wait", "60")["ok"] is True
        assert self.plan()["changes"] == []

    def mend(self) -> None:
        """Deploy what a test may have taken, and see that the fabric is as intended."""
        if self.plan()["changes"]:
            assert self.deploy()["result"] == "done"
        assert self.verify("--wait", "60")["ok"] is True

    def on(self, node: str, command: str, status: int | None = 0) -> str:
        """Run a shell line as root inside a node and return what it prints."""
        done = subprocess.run(
            ["docker", "exec", f"clab-{self.name}-{node}", "sh", "-c", command],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert status is None or done.returncode == status, f"{node}: {command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def driver(self, switch: str) -> Any:
        """Return the NAPALM driver on a switch, logging in as the lab's inventory does."""
        from napalm import get_network_driver

        told = json.loads((self.folder / ".railweave" / "lab" / self.name / "endpoints.json").read_text())
        there = told["devices"][switch]
        keys = {"use_keys": True, "key_file": told["key_file"], "allow_agent": False}
        hosts = {"ssh_strict": True, "alt_host_keys": True, "alt_key_file": told["known_hosts"]}
        options = {"port": there["port"], "system_host_keys": False, **keys, **hosts}
        return get_network_driver("sonic")(there["address"], told["username"], "", optional_args=options)

    def docker(self, *words: str) -> None:
        done = subprocess.run(["docker", *words], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr

    @contextlib.contextmanager
    def frozen(self, switch: str) -> Iterator[None]:
        """Stop all processes of a switch for a ``with`` block.

        A process that is made meanwhile keeps the kernel's freezer (cgroups of version 1) from it: then once more.
        """
        container = ["docker", "pause", f"clab-{self.name}-{switch}"]
        said = ""
        for _ in range(10):
            done = subprocess.run(container, capture_output=True, text=True, timeout=60, check=False)
            if done.returncode == 0:
                break
            said = done.stderr
            time.sleep(0.5)
        else:
            raise AssertionError(said)
        try:
            yield
        finally:
            self.docker("unpause", container[-1])

    def started(self) -> dict[str, str]:
        """Return when each container of the lab was started."""
        told = subprocess.run(["docker", "ps", "--format", "{{.Names}}"], capture_output=True, text=True, check=True)
        mine = [name for name in told.stdout.split() if name.startswith(f"clab-{self.name}-")]
        asked = ["docker", "inspect", "--format", "{{.Name}} {{.State.StartedAt}}", *mine]
        lines = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()
        return dict(line.removeprefix("/").split() for line in lines)

    def bgp(self, switch: str) -> dict[str, Any]:
        """Return FRR's own neighbors of a switch."""
        told = json.loads(self.on(switch, "vtysh -c 'show bgp ipv4 unicast summary json'"))
        return dict(told.get("peers", {}))

    def pings(self, source: str, line: str) -> bool:
        """Tell whether a ping is answered within 5 s: the first may be lost while ARP asks on a busy machine."""
        return "1 received" in self.on(source, f"ping -c1 -w5 {line}", status=None)

    def running(self, switch: str) -> Any:
        return json.loads(self.on(switch, "show runningconfiguration all"))

    def edit(self, *replacements: tuple[str, str]) -> None:
        text = self.intent.read_text(encoding="utf-8")
        for old, new in replacements:
            assert old in text, f"{old!r} is not in {self.intent.name}"
            text = text.replace(old, new)
        self.intent.write_text(text, encoding="utf-8")

    def set_rollout(self, **settings: float) -> None:
        target = self.folder / "inventory" / "lab.yml"
        text = re.sub(r"^rollout:\n(?:  .*\n)+", f"rollout: {json.dumps(settings)}\n", target.read_text(), flags=re.M)
        target.write_text(text)

    def switches(self) -> list[str]:
        """Return the names of the running switches."""
        endpoints = self.folder / ".railweave" / "lab" / self.name / "endpoints.json"
        return sorted(json.loads(endpoints.read_text())["devices"])

    def leaf_of(self, node: str, interface: str) -> tuple[str, str]:
        """Return the switch and port at the far end of a node's cable."""
        for cable in self.fabric()["links"]:
            if (cable["a"]["device"], cable["a"]["port"]) == (node, interface):
                return cable["b"]["device"], cable["b"]["port"]
        raise AssertionError(f"{node} has no cable {interface}")

    def rendered(self) -> Path:
        out = self.folder / "rendered"
        shutil.rmtree(out, ignore_errors=True)
        self.run("render", "--out", str(out))
        return out

    def fabric(self) -> Any:
        return json.loads((self.rendered() / "fabric.json").read_text(encoding="utf-8"))

    def wait_until(self, condition: Callable[[], Any], seconds: float, what: str | Callable[[], str]) -> float:
        """Poll ``condition`` until it returns something true; return the seconds that it took.

        ``what`` says it for the message of a failure; a function looks then.
        """
        begun = time.monotonic()
        while not condition():
            late = time.monotonic() - begun >= seconds
            assert not late, f"not within {seconds} s: {what if isinstance(what, str) else what()}"
            time.sleep(0.2)
        return time.monotonic() - begun


class PingStream:
    """Pings from one host to another, 20 packets a second, until it is asked how many were lost."""

    def __init__(self, rig: LabRig, source: str, line: str) -> None:
        self.process = subprocess.Popen(
            ["docker", "exec", f"clab-{rig.name}-{source}", "ping", "-i", "0.05", "-D", "-O", *line.split()],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.rig, self.source, self.line = rig, source, line

    def stop(self) -> tuple[int, int]:
        """End the stream; return packets sent and packets lost. A second time it only sees to it that it ended."""
        if self.process.returncode is not None:
            return 0, 0
        # the ping inside the container is another process than the one that asked for it
        self.rig.on(self.source, "pkill -INT -x -f '.*ping -i 0.05 -D -O " + self.line + "'", status=None)
        said, _ = self.process.communicate(timeout=20)
        found = re.search(r"(\d+) packets transmitted, (\d+) received", said)
        assert found, said[-500:]
        return int(found[1]), int(found[1]) - int(found[2])


@pytest.fixture
def streams() -> Iterator[Callable[..., list[PingStream]]]:
    """Return what starts pings from GPU nodes to addresses; all end with the test, also where one of them failed."""
    with contextlib.ExitStack() as started:

        def start(rig: LabRig, *lines: tuple[str, str]) -> list[PingStream]:
            new = [PingStream(rig, source, line) for source, line in lines]
            for stream in new:
                started.callback(stream.stop)
            return new

        yield start


@pytest.fixture(scope="session")
def start_lab(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., LabRig]:
    """Return what starts the lab of an intent, a file's name or what writes one and names it."""

    def start(intent: str | Callable[[Path], str], **environ: str) -> LabRig:
        rig = LabRig(tmp_path_factory.mktemp("lab") / "project", intent, **environ)
        _UP.callback(rig.run, "lab", "down", "--all", status=None)
        rig.run("lab", "up")
        return rig

    return start


TWO_NODES = (("count: 4\n", "count: 2\n"), ("{leaves: 4, spines: 4}", "{leaves: 2, spines: 3}"))
"""Changes of lab-4.yml: fewer nodes, and room for a spine."""


def small_intent(name: str, *changes: tuple[str, str], more: str = "") -> Callable[[Path], str]:
    """Return what writes lab-4.yml as the intent of a fabric of another name, with changes and more lines."""

    def write(folder: Path) -> str:
        text = (folder / "intent" / "lab-4.yml").read_text()
        for old, new in (("fabric: lab\n", f"fabric: {name}\n"), *changes):
            assert old in text, old
            text = text.replace(old, new)
        (folder / "intent" / f"{name}.yml").write_text(text + more)
        return f"{name}.yml"

    return write


@pytest.fixture(scope="session")
def rails_apart(start_lab: Callable[..., LabRig]) -> LabRig:
    """Start a lab of two rails that are apart, each with two leaves and a spine, bare."""
    return start_lab(
        small_intent(
            "rails",
            ("shape: rail-optimized", "shape: rail-only\n  tiers: 2"),
            ("count: 4\n", "count: 2\n"),
            ("stripe: 4 ", "stripe: 1 "),
            ("sonic-vs, count: 2, down", "sonic-vs, down"),
            ("{leaves: 4, spines: 4}", "{leaves: 4, spines: 2}"),
        )
    )


TEAMS = """
sonic: {acl_rules: 512}
tenants:
  - {name: a, nodes: [gpu1, gpu4], reaches: [store]}
  - {name: b, nodes: [gpu2, gpu5], reaches: [store]}
  - {name: c, nodes: [gpu3]}
  - {name: store, nodes: [gpu6]}
"""


@pytest.fixture(scope="session")
def teams(start_lab: Callable[..., LabRig]) -> LabRig:
    """Start a lab of four leaves that three tenants share, two of them with a storage node, and deploy its intent."""
    rig = start_lab(
        small_intent(
            "teams",
            ("count: 4\n", "count: 6\n"),
            ("stripe: 4 ", "stripe: 3 "),
            ("sonic-vs, count: 2, down", "sonic-vs, down"),
            ("{leaves: 4, spines: 4}", "{leaves: 6, spines: 4}"),
            more=TEAMS,
        )
    )
    assert rig.deploy()["result"] == "done"
    return rig


SLOW_CABLES = """
hosts: {manage: true}
mtu: {hosts: 1500}
traffic_classes: [{name: sockets, role: bulk, dscp: default, priority: 0, share: 100}]
acceptance: {queue_pairs: 1, seconds: 4, collectives: none, fail: 0.0007, warn: 0.0007, covered_share: 0.00005}
telemetry: {counters: {queue: 2000, pg_drop: 2000, wred_queue: 2000}}
"""
"""A round waits for what is polled. No class carries RDMA, so tests are of iperf3, whose limits are those of cables
that are a 1,000th as fast."""


@pytest.fixture(scope="session")
def slow_cables(start_lab: Callable[..., LabRig]) -> LabRig:
    """Start a lab of four nodes that an acceptance tests, deploy its intent and set the nodes up."""
    no_reserve = ("{leaves: 4, spines: 4}", "{leaves: 2, spines: 2}")
    rig = start_lab(small_intent("accept", no_reserve, more=SLOW_CABLES))
    write_down_systemd(rig, "gpu1", "gpu2", "gpu3", "gpu4")
    assert rig.deploy()["result"] == "done"
    assert rig.json("hosts", "apply", "--target", "lab", "--yes")["result"] == "done"
    return rig


@pytest.fixture(scope="session")
def rig(start_lab: Callable[..., LabRig]) -> LabRig:
    """Start the lab of lab-4.yml, bare."""
    return start_lab("lab-4.yml")


@pytest.fixture(scope="session")
def deployed(rig: LabRig) -> LabRig:
    """Return the lab with its intent deployed."""
    assert rig.deploy()["result"] in {"done", "unchanged"}
    return rig


@pytest.fixture(scope="session")
def grown(start_lab: Callable[..., LabRig]) -> LabRig:
    """Start a lab whose intent grows, and deploy the fabric as it is at first."""
    rig = start_lab(small_intent("grow"))
    assert rig.deploy()["result"] == "done"
    return rig


@pytest.fixture(scope="session")
def laid_out(start_lab: Callable[..., LabRig]) -> LabRig:
    """Start a lab without a reserve, and deploy its intent."""
    rig = start_lab(small_intent("added", ("{leaves: 4, spines: 4}", "{leaves: 2, spines: 2}")))
    assert rig.deploy()["result"] == "done"
    return rig


@pytest.fixture(scope="session")
def bare_unnumbered(start_lab: Callable[..., LabRig]) -> LabRig:
    """Start a lab without addresses between switches, bare; its two nodes are managed."""
    more = "addressing: {underlay: unnumbered}\nhosts: {manage: true}\n"
    rig = start_lab(small_intent("bare", *TWO_NODES, more=more), SONIC_TRANSPORT="docker")
    write_down_systemd(rig, "gpu1", "gpu2")
    return rig


def write_down_systemd(rig: LabRig, *nodes: str) -> None:
    """Let nodes, which have no systemd, write down what would be told to it."""
    for node in nodes:
        rig.on(node, "mkdir -p /run/systemd/system")
        for tool in ("systemctl", "networkctl"):
            script = f"#!/bin/sh\\necho {tool} \\$@ >> /tmp/calls\\n"
            rig.on(node, f'printf "{script}" > /usr/local/bin/{tool} && chmod 755 /usr/local/bin/{tool}')


@pytest.fixture(scope="session")
def unnumbered(bare_unnumbered: LabRig) -> LabRig:
    """Return the lab without addresses between switches with its intent deployed."""
    assert bare_unnumbered.deploy()["result"] in {"done", "unchanged"}
    return bare_unnumbered


@pytest.fixture(scope="session")
def dual(start_lab: Callable[..., LabRig]) -> LabRig:
    """Start a lab whose two nodes have IPv6 addresses beside those of IPv4, bare."""
    more = "addressing: {underlay: unnumbered, hosts_ipv6: fd00:10::/44}\n"
    return start_lab(small_intent("dual", *TWO_NODES, more=more))


@pytest.fixture(scope="session")
def managed(unnumbered: LabRig) -> LabRig:
    """Return the same with its two nodes set up."""
    assert unnumbered.json("hosts", "apply", "--target", "lab", "--yes")["result"] in {"done", "unchanged"}
    return unnumbered


@pytest.fixture(scope="session")
def sonic_vs(start_lab: Callable[..., LabRig]) -> LabRig:
    """Start a lab of docker-sonic-vs, or of its stand-in where SONIC_IMAGE names none, factory-fresh."""
    image = os.environ.get("SONIC_IMAGE") or stand_in_image(Path(__file__).parent / "sonic_vs_image", "lab-vs")
    rig = start_lab(small_intent("vs", *TWO_NODES), SONIC_IMAGE=image, SONIC_KIND="sonic-vs")
    target = rig.folder / "inventory" / "lab.yml"
    target.write_text(f"{target.read_text()}\nskip_checks: {{lldp: {NO_LLDPD}}}\n")
    return rig


@pytest.fixture(scope="session")
def printing(start_lab: Callable[..., LabRig]) -> LabRig:
    """Start a lab whose nodes print FRR's text as SONiC 202505 does."""
    return start_lab(small_intent("frr", *TWO_NODES), SONIC_FRR="202505")


NO_LLDPD = "docker-sonic-vs has no lldpd before 2026"


@pytest.fixture(scope="session")
def sonic_vm(start_lab: Callable[..., LabRig], tmp_path_factory: pytest.TempPathFactory) -> LabRig:
    """Start a lab of virtual machines of SONIC_VM_IMAGE, else of containers that boot as they do."""
    environ = {"SONIC_KIND": "sonic-vm", "SONIC_IMAGE": os.environ.get("SONIC_VM_IMAGE") or machine_image()}
    folder = tmp_path_factory.mktemp("programs")
    rig = start_lab(small_intent("vm", *TWO_NODES), **environ, **with_virtualization(folder), LAB_PASSWORD="admin")
    target = rig.folder / "inventory" / "lab.yml"
    login = "ssh: {username: admin, password_env: LAB_PASSWORD, strict: false}"
    target.write_text(f"{target.read_text()}\n{login}\n")
    return rig


@pytest.fixture
def small_project(tmp_path: Path) -> Iterator[CommandRig]:
    """Return a project whose intent/lab-4.yml is a small fabric; its lab goes down with the test."""
    rig = CommandRig(tmp_path / "project", small_intent("lab-4", *TWO_NODES))
    yield rig
    rig.run("lab", "down", "--all", status=None)


@pytest.fixture
def stuck_machine(tmp_path: Path) -> Iterator[CommandRig]:
    """Return a project whose lab is of machines that do not boot."""
    rig = CommandRig(tmp_path / "project", small_intent("stuck", *TWO_NODES))
    rig.environ |= {
        "SONIC_KIND": "sonic-vm",
        "SONIC_IMAGE": machine_image(STUCK="yes"),
        **with_virtualization(tmp_path),
    }
    yield rig
    rig.run("lab", "down", "--all", status=None)


def machine_image(**arguments: str) -> str:
    """Build the image that behaves as vrnetlab's sonic-vm does; return its name."""
    folder = Path(__file__).parent / "sonic_vm_image"
    made = rendered(ROOT / "intent" / "lab-4.yml", chosen_image({})).lab
    switch = made.switches[0]
    # What a virtual machine boots of itself: nobody's addresses, logins and filters.
    boot = {table: switch.boot[table] for table in ("DEVICE_METADATA", "PORT", "MGMT_PORT", "FEATURE", "CRM")}
    facts = node_files(made)[f"nodes/{switch.switch.name}/node.json"]
    with tempfile.TemporaryDirectory() as context:
        shutil.copytree(folder, context, dirs_exist_ok=True)
        Path(context, "config_db.json").write_text(json.dumps(boot))
        Path(context, "node.json").write_text(facts)
        return stand_in_image(Path(context), "lab-vm", **arguments)


def with_virtualization(folder: Path) -> dict[str, str]:
    """Return the environment in which Containerlab finds a processor with virtualization, which a stand-in needs not.

    Containerlab reads the processor's flags. Where they lack it, it sees others, in a mount namespace of its own.
    """
    told = Path("/proc/cpuinfo").read_text()
    if re.search(r"\b(vmx|svm)\b", told):
        return {}
    (folder / "cpuinfo").write_text(f"{told}flags : vmx\n")
    program = folder / "containerlab"
    bind = f"mount --bind {folder}/cpuinfo /proc/cpuinfo"
    program.write_text(
        f'#!/bin/sh\nexec unshare -m sh -c \'{bind} && exec {shutil.which("containerlab")} "$@"\' sh "$@"\n'
    )
    program.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def stand_in_image(folder: Path, kind: str, **arguments: str) -> str:
    """Build the image that behaves as docker-sonic-vs or vrnetlab's does, on top of the node image; return its name."""
    node = ensure_image(image_sources())
    name = "-".join((node.replace("lab-node", kind), *map(str.lower, arguments)))
    given = [word for one, value in {"NODE": node, **arguments}.items() for word in ("--build-arg", f"{one}={value}")]
    subprocess.run(["docker", "build", "-q", *given, "-t", name, str(folder)], capture_output=True, check=True)
    return name


@pytest.fixture
def proves(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Note what a test proved, for the table at the end of the run; it travels with the test's report."""

    def note(what: str) -> None:
        request.node.user_properties.append((_PROVEN, what))
        print(f"proven: {what}")

    return note


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove what is left of labs whose worker was killed: an interrupted run gives it little time to end."""
    if not hasattr(config, "workerinput") and shutil.which("docker") is not None:
        remove_labs_under(config._tmp_path_factory.getbasetemp())  # type: ignore[attr-defined]


def remove_labs_under(folder: Path) -> None:
    """Take down the labs whose topology lies in ``folder``."""
    form = '{{.Label "clab-topo-file"}}'
    told = subprocess.run(["docker", "ps", "-a", "--format", form], capture_output=True, text=True, check=False).stdout
    for topology in sorted({line for line in told.splitlines() if line.startswith(f"{folder}/")}):
        subprocess.run(["containerlab", "destroy", "-t", topology, "--cleanup"], capture_output=True, check=False)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [one for kind in ("passed", "failed") for one in terminalreporter.stats.get(kind, ())]
    proven = [
        (report.nodeid.partition("::")[2], what)
        for report in reports
        if report.when == "call"
        for name, what in report.user_properties
        if name == _PROVEN
    ]
    if proven:
        terminalreporter.section("what the lab proved")
        width = max(len(test) for test, _ in proven)
        for test, what in proven:
            terminalreporter.write_line(f"{test:<{width}}  {what}")
