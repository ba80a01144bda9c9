"""Counters of NICs for node_exporter: read by a real one and by promtool, and kept on simulated nodes by `hosts`."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from alert_rig import free_port
from debian_packages import unpacked
from reference_intents import ROOT
from simulated_nodes import SimulatedNodes

from railweave.api.design.intent import design_text
from railweave.hosts.render import HostRenderer
from railweave.telemetry import metrics
from railweave.templates import find_templates

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

CANNOT = os.geteuid() != 0 or shutil.which("ip") is None
FOLDER = "/var/lib/prometheus/node-exporter"
TEXTFILE = f"{FOLDER}/railweave_nics.prom"
KEY = f"telemetry: {{nic_counters: {{directory: {FOLDER}}}}}\n"
# As each driver names its files.
FILES = {
    "nvidia": ("mlx5_0", "out_of_sequence", "local_ack_timeout_err"),
    "broadcom": ("bnxt_re0", "oos_drop_count", "to_retransmits"),
    "amd": ("ionic_0", "resp_rx_outouf_seq", "tx_rdma_ack_timeout"),
}
MODELS = {"nvidia": "connectx-7", "broadcom": "broadcom-thor2", "amd": "amd-pollara-400"}
# What collector/infiniband_linux.go wants of a device and its port, beside counters.
_DEVICE = {"fw_ver": "1.0", "board_id": "B0", "hca_type": "H0"}
_PORT = {"link_layer": "Ethernet", "state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)"}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prometheus")
    return unpacked(folder, ("prometheus", "prometheus-node-exporter")) / "usr" / "bin"


def make_node(root: Path, vendor: str) -> Path:
    """Make the /sys of a node with a NIC of a vendor and the files that `hosts` installs; return the writer."""
    text = (ROOT / "tests/golden/hosts/intents/nic-counters.yml").read_text(encoding="utf-8")
    fabric = design_text(text.replace("broadcom-thor2", MODELS[vendor]), "counted.yml").fabric
    renderer = HostRenderer(fabric, find_templates())
    for file in renderer.places.installed(renderer.files(fabric.hosts[0]), fabric.policies.hosts.network):
        place = root / file.path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.content)
    device, *files = FILES[vendor]
    (root / f"sys/class/net/rail0/device/infiniband/{device}").mkdir(parents=True)
    port = root / f"sys/class/infiniband/{device}/ports/1"
    (port / "counters").mkdir(parents=True)
    (port / "hw_counters").mkdir()
    texts = {port / name: text for name, text in _PORT.items()}
    texts |= {port.parents[1] / name: text for name, text in _DEVICE.items()}
    texts[port / "counters" / "port_xmit_wait"] = "5"
    texts |= {port / "hw_counters" / name: str(number) for number, name in enumerate(files, 1001)}
    for path, content in texts.items():
        path.write_text(f"{content}\n")
    (root / FOLDER.lstrip("/")).mkdir(parents=True)
    return root / "usr/local/sbin/railweave-nic-counters"


@contextmanager
def scraped(programs: Path, root: Path) -> Iterator[str]:
    """Run a node_exporter on the files of a node, and yield what it answers."""
    port = free_port()
    words = [
        str(programs / "prometheus-node-exporter"),
        *("--collector.disable-defaults", "--collector.textfile", "--collector.infiniband"),
        f"--collector.textfile.directory={root}{FOLDER}",
        f"--path.sysfs={root}/sys",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield answer_of(port)
    finally:
        process.kill()
        process.wait()


def answer_of(port: int) -> str:
    deadline = time.monotonic() + 60
    while True:
        try:
            with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                return str(answer.read().decode())
        except URLError:
            assert time.monotonic() < deadline, "node_exporter does not answer"
            time.sleep(0.2)


@pytest.mark.parametrize("vendor", FILES)
def test_promtool_and_node_exporter_read_what_it_lacks(vendor: str, programs: Path, tmp_path: Path) -> None:
    writer = make_node(tmp_path, vendor)
    document = tmp_path / "etc/railweave/rails.json"
    subprocess.run(
        [sys.executable, str(writer), "--document", str(document), "--root", str(tmp_path)], check=True, timeout=60
    )
    text = (tmp_path / TEXTFILE.lstrip("/")).read_bytes()
    words = [str(programs / "promtool"), "check", "metrics"]
    checked = subprocess.run(words, input=text, capture_output=True, check=False, timeout=60)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")
    with scraped(programs, tmp_path) as page:
        lines = page.splitlines()
    assert "node_textfile_scrape_error 0" in lines
    assert f'railweave_nic_info{{port="rail0",rdma_device="{FILES[vendor][0]}"}} 1' in lines
    assert 'railweave_nic_out_of_sequence_total{port="rail0"} 1001' in lines
    assert 'railweave_nic_ack_timeouts_total{port="rail0"} 1002' in lines
    for metric in metrics.OF_NODES:
        assert f"# TYPE {metric} {metric.kind}" in lines
    # This node_exporter is older than 1.11: of the RDMA device it has `counters` alone.
    own = [line for line in lines if line.startswith("node_infiniband_")]
    assert f'node_infiniband_port_transmit_wait_total{{device="{FILES[vendor][0]}",port="1"}} 5' in own
    assert not [line for line in own if line.endswith((" 1001", " 1002"))]


@pytest.fixture
def nodes(new_project: Any) -> Iterator[SimulatedNodes]:
    project = new_project("lab-4.yml")
    with project.intent.open("a") as intent:
        intent.write(f"hosts: {{manage: true, frontend: eno1}}\n{KEY}")
    yield SimulatedNodes(project)
    project.run("sim", "down")


@pytest.mark.skipif(CANNOT, reason="namespaces need root and ip")
def test_the_file_comes_drifts_and_goes_with_its_key(nodes: SimulatedNodes) -> None:
    limit = ("--limit", "gpu1")
    planned = nodes.hosts("plan", *limit)
    assert TEXTFILE in {change["subject"] for change in planned["hosts"]["gpu1"]["changes"]}
    assert nodes.ssh("gpu1", f"cat {TEXTFILE}", status=1)
    nodes.hosts("apply", *limit)
    text = nodes.ssh("gpu1", f"cat {TEXTFILE}")
    assert 'railweave_nic_info{port="rail0",rdma_device="mlx5_0"} 1\n' in text
    assert 'railweave_nic_out_of_sequence_total{port="rail0"} 0\n' in text
    assert nodes.hosts("plan", *limit)["summary"]["unchanged"] == 1

    nodes.ssh("gpu1", f"rm {TEXTFILE}; echo >> /etc/systemd/system/railweave-nic-counters.timer")
    drift = nodes.hosts("plan", "--exit-code", *limit, status=2)["hosts"]["gpu1"]["changes"]
    assert {change["subject"] for change in drift} == {
        TEXTFILE,
        "/etc/systemd/system/railweave-nic-counters.timer",
    }
    nodes.hosts("apply", *limit)
    assert nodes.ssh("gpu1", f"cat {TEXTFILE}") == text

    # A file system of the node that is full: the old file stays, and the program says why.
    of_run = f"sed 's#{FOLDER}#/run#' /etc/railweave/rails.json > /run/rails.json"
    write = "railweave-nic-counters --document /run/rails.json"
    nodes.ssh("gpu1", f"{of_run}; PATH=/usr/local/sbin:$PATH; {write}; head -c 32m /dev/zero > /run/full", status=1)
    said = nodes.ssh("gpu1", f"PATH=/usr/local/sbin:$PATH; {write}", status=1)
    assert "No space left on device" in said
    assert nodes.ssh("gpu1", "cat /run/railweave_nics.prom; ls /run/*.new 2>/dev/null; rm /run/full") == text

    # What keeps the file from being written fails the node.
    nodes.ssh("gpu1", f"mv {TEXTFILE} /root/; mkdir {TEXTFILE}.new")
    failed = nodes.hosts("apply", *limit, status=1)["hosts"]["gpu1"]
    assert failed["state"] == "failed"
    assert "Is a directory" in json.dumps(failed)
    nodes.ssh("gpu1", f"rmdir {TEXTFILE}.new")
    nodes.hosts("apply", *limit)

    nodes.project.edit((KEY, ""))
    planned = nodes.hosts("plan", *limit)["hosts"]["gpu1"]["changes"]
    assert (TEXTFILE, "present", "absent") in {
        (change["subject"], change["before"], change["after"]) for change in planned
    }
    nodes.hosts("apply", *limit)
    gone = f"{TEXTFILE} /usr/local/sbin/railweave-nic-counters /etc/systemd/system/railweave-nic-counters.*"
    assert nodes.ssh("gpu1", f"ls -d {gone} 2>/dev/null", status=2) == ""
    assert nodes.hosts("plan", *limit)["summary"]["unchanged"] == 1
