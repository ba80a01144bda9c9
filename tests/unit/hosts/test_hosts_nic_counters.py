"""Counters of NICs for node_exporter: names of the alert rules, samples of a driver's files, and absent is not 0."""

import errno
import json
import os
import re
import resource
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from node_stand_in import load

from railweave.acceptance.counter_names import CounterMeaning, counter_name
from railweave.catalog.load import load_catalog
from railweave.fabric.model import Fabric
from railweave.hosts.render import HostRenderer
from railweave.telemetry import metrics
from railweave.telemetry.rules.devices import ACK_TIMEOUTS, OUT_OF_SEQUENCE
from railweave.templates import find_templates

Pod = Callable[..., Fabric]
PROGRAM = Path(__file__).resolve().parents[3] / "templates" / "hosts" / "railweave_nic_counters.py"
KEY = "telemetry: {{nic_counters: {{directory: /srv/prom{rest}}}}}"
NICS = {"nvidia": "connectx-7", "broadcom": "broadcom-thor2", "amd": "amd-pollara-400"}
# As the drivers name them: mlx5/counters.c, bnxt_re/hw_counters.c, AMD's node-scraper for ionic.
FILES = {
    "nvidia": ("out_of_sequence", "local_ack_timeout_err"),
    "broadcom": ("oos_drop_count", "to_retransmits"),
    "amd": ("resp_rx_outouf_seq", "tx_rdma_ack_timeout"),
}
COUNTERS = ("railweave_nic_out_of_sequence_total", "railweave_nic_ack_timeouts_total")


def asked(rest: str = "") -> str:
    return KEY.format(rest=rest)


def document_of(fabric: Fabric) -> dict[str, Any]:
    files = HostRenderer(fabric, find_templates()).files(fabric.hosts[0])
    return dict(json.loads(files["rails.json"]))


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    module: ModuleType = load(PROGRAM, "railweave_nic_counters")
    return module


class Tree:
    """The /sys of a node and the folder of node_exporter, below a folder of the test."""

    def __init__(self, root: Path, document: dict[str, Any]) -> None:
        self.root, self.document = root, document
        self.textfile = root / "srv/prom/railweave_nics.prom"
        self.textfile.parent.mkdir(parents=True)
        self.path = root / "rails.json"
        self.path.write_text(json.dumps(document))
        self.port: dict[str, Path] = {}
        for number, interface in enumerate(document["interfaces"]):
            # The kernel counts the devices of a driver, so a rail's number says nothing about the device's.
            self.add(interface["name"], f"dev_{9 - number}")

    def add(self, name: str, device: str, port: int = 1) -> None:
        (self.root / f"sys/class/net/{name}/device/infiniband/{device}").mkdir(parents=True)
        self.port[name] = self.root / f"sys/class/infiniband/{device}/ports/{port}"
        (self.port[name] / "hw_counters").mkdir(parents=True)

    def count(self, name: str, file: str, text: str) -> Path:
        place = self.port[name] / "hw_counters" / file
        place.write_text(text)
        return place


@pytest.fixture
def tree(pod: Pod, tmp_path: Path) -> Callable[..., Tree]:
    def make(nic: str = "connectx-7", rest: str = "") -> Tree:
        return Tree(tmp_path / "node", document_of(pod(nic=nic, rest=asked(rest))))

    return make


def samples(text: str) -> dict[str, str]:
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


def test_nodes_are_as_before_where_nobody_asks(pod: Pod) -> None:
    for rest in ("", "telemetry: {scrape_s: 30}"):
        fabric = pod(rest=rest)
        files = HostRenderer(fabric, find_templates()).files(fabric.hosts[0])
        assert not [name for name in files if "nic-counters" in name]
        assert b"nic_counters" not in files["rails.json"]


@pytest.mark.parametrize("vendor", NICS)
def test_the_metrics_are_those_of_the_rules_and_the_files_those_of_the_driver(pod: Pod, vendor: str) -> None:
    counters = document_of(pod(nic=NICS[vendor], rest=asked()))["nic_counters"]
    entries = {entry["name"]: entry for entry in counters["metrics"]}
    assert {name: entry["labels"] for name, entry in entries.items()} == {
        metric.name: [*metric.labels] for metric in metrics.OF_NODES
    }
    assert tuple(entries[name]["file"] for name in COUNTERS) == FILES[vendor]
    for rule, name in zip((OUT_OF_SEQUENCE, ACK_TIMEOUTS), COUNTERS, strict=True):
        assert re.search(rf"\b{name}\b", rule.promql(15))
        assert re.search(r"\brailweave_nic_info \* on \(device, rdma_device\)", rule.promql(15))
    # The acceptance test judges the same counters by meanings of its own list.
    meanings = [counter_name(entries[name]["file"]) for name in COUNTERS]
    assert [meaning and meaning.meaning for meaning in meanings] == [
        CounterMeaning.OUT_OF_SEQUENCE,
        CounterMeaning.RETRANSMISSIONS,
    ]


def test_what_node_exporter_reads_itself_is_left_out(pod: Pod) -> None:
    own = ", infiniband_hw_counters: true"
    for vendor, expected in (("nvidia", ["railweave_nic_info"]), ("broadcom", ["railweave_nic_info", *COUNTERS])):
        counters = document_of(pod(nic=NICS[vendor], rest=asked(own)))["nic_counters"]
        assert [entry["name"] for entry in counters["metrics"]] == expected


def test_a_pack_names_metrics_of_nodes_alone_and_one_without_counters_installs_nothing(pod: Pod) -> None:
    for vendor in load_catalog().vendor_ids():
        assert set(load_catalog().vendor_pack(vendor).counters) in (set(COUNTERS), set())
    assert "nic_counters" not in document_of(pod(rest="hosts: {vendor: intel}\n" + asked()))


def test_the_timer_follows_the_scrapes(pod: Pod) -> None:
    rest = "telemetry: {scrape_s: 40, nic_counters: {directory: /srv/prom}}"
    fabric = pod(rest=rest)
    files = HostRenderer(fabric, find_templates()).files(fabric.hosts[0])
    assert b"\nOnUnitActiveSec=40s\n" in files["railweave-nic-counters.timer"]
    assert b"\nReadWritePaths=/srv/prom\n" in files["railweave-nic-counters.service"]
    assert b"\nExecStart=/usr/local/sbin/railweave-nic-counters\n" in files["railweave-nic-counters.service"]


@pytest.mark.parametrize("vendor", NICS)
def test_a_counter_is_written_by_interface_and_one_that_is_absent_has_no_sample(
    writer: ModuleType, tree: Callable[..., Tree], vendor: str
) -> None:
    node = tree(NICS[vendor])
    sequence, timeouts = FILES[vendor]
    node.count("rail0", sequence, "4294967290\n")
    node.count("rail0", timeouts, "0\n")
    node.count("rail1", sequence, "7\n")
    # Drivers and firmware say in many ways that they do not count.
    for rail, text in (("rail1", f"{2**64 - 1}\n"), ("rail2", "N/A (no PMA)\n"), ("rail3", "-1\n")):
        node.count(rail, timeouts, text)
    # Reading it fails only after it was opened, as where a driver answers EINVAL.
    (node.port["rail2"] / "hw_counters" / sequence).symlink_to("/proc/self/mem")
    node.count("rail3", sequence, "")
    assert writer.main(["--document", str(node.path), "--root", str(node.root)]) == 0
    text = node.textfile.read_text()
    assert samples(text) == {
        **{f'railweave_nic_info{{port="rail{at}",rdma_device="dev_{9 - at}"}}': "1" for at in range(4)},
        'railweave_nic_out_of_sequence_total{port="rail0"}': "4294967290",
        'railweave_nic_out_of_sequence_total{port="rail1"}': "7",
        'railweave_nic_ack_timeouts_total{port="rail0"}': "0",
    }
    for metric in metrics.OF_NODES:
        assert text.count(f"# TYPE {metric} {metric.kind}\n") == 1
        assert text.count(f"# HELP {metric} {metric.help}\n") == 1
    assert node.textfile.stat().st_mode & 0o777 == 0o644

    # 32 bits of mlx5 wrap: the file says what the driver says, and Prometheus takes a fall for a restart.
    node.count("rail0", sequence, "4\n")
    assert writer.main(["--document", str(node.path), "--root", str(node.root)]) == 0
    assert samples(node.textfile.read_text())['railweave_nic_out_of_sequence_total{port="rail0"}'] == "4"


def test_the_ports_of_one_rdma_device_are_told_apart_by_their_gids(
    writer: ModuleType, tree: Callable[..., Tree]
) -> None:
    node = tree()
    node.add("rail8", "dev_0", port=1)
    node.add("rail9", "dev_0", port=2)
    node.document["interfaces"] = [{"name": "rail9"}, {"name": "rail8"}]
    for name in ("rail8", "rail9"):
        table = node.port[name] / "gid_attrs/ndevs"
        table.mkdir(parents=True)
        # An entry that is not in use cannot be read.
        (table / "0").symlink_to("/proc/self/mem")
        (table / "1").write_text(f"{name}\n")
        node.count(name, "out_of_sequence", name[-1])
    assert {
        key: value for key, value in samples(writer.page(node.document, str(node.root))).items() if "seq" in key
    } == {
        'railweave_nic_out_of_sequence_total{port="rail8"}': "8",
        'railweave_nic_out_of_sequence_total{port="rail9"}': "9",
    }


def test_without_a_driver_the_file_has_no_sample(writer: ModuleType, tree: Callable[..., Tree]) -> None:
    node = tree()
    assert samples(writer.page(node.document, str(node.root / "srv"))) == {}


def test_what_cannot_be_written_is_said_and_leaves_the_old_file(
    writer: ModuleType, tree: Callable[..., Tree], capsys: pytest.CaptureFixture[str]
) -> None:
    node = tree()
    words = ["--document", str(node.path), "--root", str(node.root)]
    assert writer.main(words) == 0
    old = node.textfile.read_text()
    node.count("rail0", "out_of_sequence", "9")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The kernel refuses every byte, as on a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        status = writer.main(words)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert status == 1
    assert os.strerror(errno.EFBIG) in capsys.readouterr().err
    assert [path.name for path in node.textfile.parent.iterdir()] == [node.textfile.name]
    assert node.textfile.read_text() == old

    node.textfile.unlink()
    node.textfile.parent.rmdir()
    assert writer.main(words) == 1
    assert f"{node.textfile.parent}: {os.strerror(errno.ENOENT)}" in capsys.readouterr().err


def test_a_link_in_the_folder_leads_no_writer_elsewhere(writer: ModuleType, tree: Callable[..., Tree]) -> None:
    node = tree()
    other = node.root / "shadow"
    other.write_text("kept")
    for name in ("railweave_nics.prom", "railweave_nics.prom.new"):
        (node.textfile.parent / name).symlink_to(other)
    assert writer.main(["--document", str(node.path), "--root", str(node.root)]) == 0
    assert other.read_text() == "kept"
    assert not node.textfile.is_symlink()


@pytest.mark.parametrize("text", ["{}", "[]", "5", '{"interfaces": [], "nic_counters": {}}', "no JSON"])
def test_a_document_of_another_form_is_said(
    writer: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (tmp_path / "rails.json").write_text(text)
    assert writer.main(["--document", str(tmp_path / "rails.json"), "--print"]) == 1
    assert "is of another form" in capsys.readouterr().err
