"""Simulated nodes without namespaces: what their NICs hold, which GIDs follow, and what they may not reach."""

import asyncio
import json
import os
import subprocess
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable
from ipaddress import ip_interface
from pathlib import Path
from typing import Any

import pytest
from node_stand_in import load

from sonic_sim.nodes import cluster
from sonic_sim.nodes.kernel_files import PROGRAMS, gid_files, kernel_files
from sonic_sim.nodes.netlink import Link
from sonic_sim.nodes.nic import NodeNic
from sonic_sim.nodes.node_files import NodeFiles
from sonic_sim.nodes.tools import ToolRequest, ToolSocket
from sonic_sim.spec import SimNic

PCI = "0000:0a:00.0"
CARD_PORT = "-p 04908130-0aa0-4242-4242-000011010000"
CALLS = {
    "nvidia": [
        "mlnx_qos -i rail0 --trust dscp",
        "mlnx_qos -i rail0 --dscp2prio set,26,3",
        "mlnx_qos -i rail0 --pfc 0,0,0,1,0,0,0,0",
    ],
    "broadcom": ["bnxt_setupcc.sh -d rdma0 -i rail0 -m 3 -r 3 -s 26 -c 6 -p 48 -b 90 -u 4"],
    "intel": [
        "ethtool --set-priv-flags rail0 fw-lldp-agent off",
        "dcb app add dev rail0 dscp-prio 26:3",
        "dcb pfc set dev rail0 prio-pfc 3:on",
    ],
    "amd": [
        "nicctl update qos --classification-type dscp",
        f"nicctl update port {CARD_PORT} --pause-type pfc --rx-pause enable --tx-pause enable",
        f"nicctl update qos dscp-to-priority {CARD_PORT} --dscp 26 --priority 3",
        f"nicctl update qos pfc {CARD_PORT} --priority 3 --no-drop enable",
        "nicctl update dcqcn -r rdma0 -i 1 --cnp-dscp 48",
    ],
}
"""What sets DSCP 26 to priority 3 with PFC, by vendor."""


@pytest.mark.parametrize("vendor", CALLS)
def test_what_the_tools_of_a_vendor_set_is_in_force(
    vendor: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = SimNic("rail0", "", "rdma0", PCI, vendor)
    for path, text in kernel_files(spec).items():
        place = tmp_path / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    (tmp_path / "sys/class/net/rail0").mkdir(parents=True, exist_ok=True)
    tools: Any = load(PROGRAMS / "nic_tools.py", "nic_tools")
    monkeypatch.setattr(tools, "HOME", tmp_path)
    monkeypatch.setattr(tools, "HELD", tmp_path)
    monkeypatch.setattr(tools, "STATE", tmp_path / "state.json")
    nic = NodeNic(spec)
    nic.take_settings({}, lambda path: "")
    assert (nic.trusts_dscp, nic.pfc) == (False, frozenset())

    for call in CALLS[vendor]:
        monkeypatch.setattr(sys, "argv", call.split())
        tools.main()
    if vendor == "nvidia":
        (tmp_path / "sys/class/net/rail0/ecn/roce_np/cnp_dscp").write_text("48\n")
        (tmp_path / "sys/class/infiniband/rdma0/tc/1/traffic_class").write_text("106\n")
    state = json.loads((tmp_path / "state.json").read_text())
    nic.take_settings(state, lambda path: (tmp_path / path.lstrip("/")).read_text())
    assert (nic.trusts_dscp, nic.priority_of[26], nic.pfc, nic.cnp_dscp) == (True, 3, frozenset({3}), 48)
    assert nic.traffic_class == (106 if vendor == "nvidia" else None)


def test_gids_follow_addresses_the_link_local_ones_first() -> None:
    nic = NodeNic(SimNic("rail0", "", "mlx5_0", PCI))
    nic.take_link(Link("rail0", True, 9000, ["10.32.0.1/31", "fe80::1/64"]))
    files = gid_files(nic)
    assert files["gids/3"] == "0000:0000:0000:0000:0000:ffff:0a20:0001\n"
    assert [files[f"gid_attrs/types/{index}"] for index in range(4)] == ["IB/RoCE v1\n", "RoCE v2\n"] * 2
    assert ip_interface(files["gids/0"].strip()).ip.is_link_local
    assert len(files) == 12


def test_a_restart_takes_what_a_nic_holds() -> None:
    nic = NodeNic(SimNic("rail0", "", "mlx5_0", PCI))
    nic.take_link(Link("rail0", True, 9000, ["10.32.0.1/31"]))
    nic.counters["tx_bytes_phy"] = 7
    nic.power_off()
    assert (nic.up, nic.mtu, nic.addresses, nic.counters) == (False, 1500, (), {})


def test_a_link_of_a_node_is_never_followed_from_outside(tmp_path: Path) -> None:
    (tmp_path / "of-the-machine").write_text("secret")
    (tmp_path / "file").symlink_to(tmp_path / "of-the-machine")
    (tmp_path / "folder").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    files = NodeFiles(os.getpid())
    try:
        assert files.text(str(tmp_path / "of-the-machine")) == "secret"
        for name in ("file", "folder/of-the-machine", "pipe", "missing"):
            assert files.text(str(tmp_path / name)) == ""
    finally:
        files.close()


def test_a_user_who_cannot_make_namespaces_is_told_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert cluster.why_not() == "they are Linux namespaces, which only root can make"


def test_a_tool_without_its_fabric_says_so(tmp_path: Path) -> None:
    (tmp_path / "ib_write_bw").symlink_to(PROGRAMS / "tool.py")
    words = [sys.executable, str(tmp_path / "ib_write_bw"), "-d", "mlx5_0"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "ib_write_bw: the simulated fabric does not answer: [Errno 2] No such file or directory\n"


def test_a_tool_prints_what_its_fabric_answers_and_ends_with_its_status(tmp_path: Path) -> None:
    asked = []

    async def answer(request: ToolRequest, write: Callable[[str, str], None]) -> int:
        asked.append(request)
        write("stdout", "  two\\n\nlines ")
        write("stderr", "an error\n")
        return 7

    async def run() -> tuple[int | None, bytes, bytes]:
        tools = ToolSocket(tmp_path, answer, "gpu1")
        await tools.open()
        # The path is that of a node, which this machine is not.
        program = (PROGRAMS / "tool.py").read_text().replace("/run/railweave-sim/tools.sock", f"{tmp_path}/tools.sock")
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", program, "-q", ""), stdout=PIPE, stderr=PIPE, env={"LC_ALL": "C.UTF-8", "EMPTY": ""}
        )
        out, err = await child.communicate()
        tools.close()
        return child.returncode, out, err

    assert asyncio.run(run()) == (7, b"  two\\n\nlines ", b"an error\n")
    assert asked == [ToolRequest("gpu1", ("-c", "-q", ""), {"LC_ALL": "C.UTF-8", "EMPTY": ""})]
