"""The node image's own code: from rows to kernel commands, from kernel and lldpd to state rows."""

import json
import os
import select
import socket
import socketserver
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xmlrpc.client import Fault
from xmlrpc.server import SimpleXMLRPCDispatcher, SimpleXMLRPCRequestHandler

import pytest
import yaml

from lab_node import frr, lldp, supervisor
from lab_node.device import COMMANDS_RELEASE
from lab_node.kernel import changes, has_addresses, port_commands, wanted_addresses
from lab_node.news import NeighborNews
from lab_node.redis import difference
from lab_node.state import age_s, counter_rows, counters, link_rows, lldp_rows, port_rows
from railweave.fabric.releases import DEFAULT_RELEASE, running_release
from sonic_sim.image import Image


def interface(
    name: str, *, up: bool = True, mtu: int = 9100, addresses: Sequence[str] = (), state: str = "UP"
) -> dict[str, Any]:
    return {
        "ifname": name,
        "flags": ["BROADCAST", *(["UP"] if up else [])],
        "mtu": mtu,
        "operstate": state,
        "addr_info": [
            {"local": one.split("/")[0], "prefixlen": int(one.split("/")[1]), "scope": "global"} for one in addresses
        ],
    }


ROWS = {
    "PORT|Ethernet0": {"admin_status": "up", "mtu": "9100"},
    "PORT|Ethernet4": {"admin_status": "down", "mtu": "9100"},
    "INTERFACE|Ethernet0": {"NULL": "NULL"},
    "INTERFACE|Ethernet0|10.0.0.1/31": {"NULL": "NULL"},
    "LOOPBACK_INTERFACE|Loopback0": {"NULL": "NULL"},
    "LOOPBACK_INTERFACE|Loopback0|10.255.0.1/32": {"NULL": "NULL"},
}
SETTLED = [
    interface("Ethernet0", addresses=["10.0.0.1/31"]),
    interface("Ethernet4", up=False),
    interface("Loopback0", mtu=1500, addresses=["10.255.0.1/32"]),
    interface("Loopback0-far", mtu=1500),
]


def test_a_cabled_port_takes_its_name_and_one_without_a_cable_is_a_tap() -> None:
    present = [interface("lo"), interface("eth0"), interface("eth1")]
    assert port_commands({"Ethernet0": "eth1", "Ethernet4": "eth2"}, present) == [
        "link set dev eth1 down",
        "link set dev eth1 name Ethernet0",
        "tuntap add dev Ethernet4 mode tap",
    ]
    assert port_commands({"Ethernet0": "eth1"}, [interface("Ethernet0")]) == [], "a second boot makes nothing anew"


def test_a_cable_that_comes_while_the_switch_runs_takes_the_place_of_the_tap() -> None:
    ports = {"Ethernet0": "eth1", "Ethernet4": "eth2"}
    running = [interface("Ethernet0"), interface("Ethernet4", up=False)]
    assert port_commands(ports, [*running, interface("eth2", up=False)]) == [], "Containerlab is not done with it"
    assert port_commands(ports, [*running, interface("eth2")]) == [
        "link del dev Ethernet4",
        "link set dev eth2 down",
        "link set dev eth2 name Ethernet4",
    ]
    assert port_commands(ports, running[:1]) == ["tuntap add dev Ethernet4 mode tap"], "and a tap that of one that went"


def test_nothing_is_done_to_a_kernel_that_is_as_wanted() -> None:
    assert changes(ROWS, SETTLED) == []


def test_mtu_state_and_addresses_follow_the_rows() -> None:
    before = [
        interface("Ethernet0", up=False, mtu=1500, addresses=["10.0.0.9/31"]),
        interface("Ethernet4"),
        *SETTLED[2:],
    ]
    assert changes(ROWS, before) == [
        "addr del 10.0.0.9/31 dev Ethernet0",
        "link set dev Ethernet0 mtu 9100",
        "link set dev Ethernet0 up",
        "link set dev Ethernet4 down",
        "addr add 10.0.0.1/31 dev Ethernet0",
    ]


def test_a_loopback_is_made_before_it_gets_its_address() -> None:
    commands = changes(ROWS, SETTLED[:2])
    assert commands[0].startswith("link add Loopback0 type veth")
    assert commands[-1] == "addr add 10.255.0.1/32 dev Loopback0"


def test_management_is_never_touched() -> None:
    assert not [
        one for one in changes(ROWS, [*SETTLED, interface("eth0", addresses=["172.20.0.2/24"])]) if "eth0" in one
    ]


def test_addresses_stand_by_interface() -> None:
    assert wanted_addresses(ROWS) == {"Ethernet0": ["10.0.0.1/31"], "Loopback0": ["10.255.0.1/32"]}


def test_routing_waits_for_every_address() -> None:
    port = interface("Ethernet0", addresses=["10.0.0.1/31"])
    assert not has_addresses(ROWS, [port])
    assert not has_addresses(ROWS, [port, interface("Loopback0")])
    assert has_addresses(ROWS, [port, interface("Loopback0", addresses=["10.255.0.1/32"])])


def test_only_what_differs_is_written_to_redis() -> None:
    old = {"A|1": {"x": "1", "y": "2"}, "B|1": {"x": "1"}, "C|1": {"x": "1"}}
    new = {"A|1": {"x": "1", "z": "3"}, "C|1": {"x": "1"}, "D|1": {"NULL": "NULL"}}
    assert difference(old, new) == [
        ("DEL", "B|1"),
        ("HDEL", "A|1", "y"),
        ("HSET", "A|1", "z", "3"),
        ("HSET", "D|1", "NULL", "NULL"),
    ]
    assert difference(old, old) == []


def test_port_state_is_the_kernels() -> None:
    rows = port_rows(
        ROWS, [interface("Ethernet0", mtu=1500, state="DOWN"), interface("Ethernet4", up=False, state="DOWN")]
    )
    assert rows["PORT_TABLE:Ethernet0"] == {"admin_status": "up", "oper_status": "down", "mtu": "1500"}
    assert rows["PORT_TABLE:Ethernet4"]["admin_status"] == "down"


def neighbor(system: str, port: str, age: str) -> dict[str, Any]:
    return {
        "name": "Ethernet0",
        "rid": "1",
        "age": age,
        "chassis": [{"id": [{"type": "mac", "value": "02:00"}], "name": [{"value": system}]}],
        "port": [{"id": [{"type": "local", "value": port}], "descr": [{"value": "Ethernet112"}]}],
    }


def test_the_younger_of_two_neighbors_is_there() -> None:
    told = {
        "lldp": [
            {"interface": [neighbor("new", "etp1", "0 day, 00:00:03"), neighbor("old", "etp2", "0 day, 00:01:00")]}
        ]
    }
    (row,) = lldp_rows(told).values()
    assert (row["lldp_rem_sys_name"], row["lldp_rem_port_id"]) == ("new", "etp1")
    assert row["lldp_rem_port_id_subtype"] == "7"
    assert row["lldp_rem_port_desc"] == "Ethernet112"
    assert age_s("2 days, 01:00:01") == 2 * 86400 + 3601


def test_a_port_without_a_neighbor_has_no_row() -> None:
    assert lldp_rows({"lldp": [{}]}) == {}
    assert lldp_rows({"lldp": []}) == {}


class Lldpd:
    """A stand-in for lldpd behind lldpcli: it accepts settings for any port and applies those of known ports."""

    def __init__(self, **ports: str) -> None:
        self.ports, self.configured = ports, 0

    def __call__(self, *words: str) -> str | None:
        if words == ("-f", "json0", "show", "interfaces"):
            known = [{"name": name, "port": [{"id": [{"value": port_id}]}]} for name, port_id in self.ports.items()]
            return json.dumps({"lldp": [{"interface": known}]})
        assert words[:2] == ("configure", "ports")
        self.configured += 1
        if words[2] in self.ports:
            self.ports[words[2]] = words[words.index("local") + 1]
        return ""


ALIASES = {"PORT|Ethernet0": {"alias": "etp1"}, "PORT|Ethernet4": {"alias": "etp2"}, "PORT|Ethernet8": {}}


def test_a_port_that_lldpd_forgot_gets_its_alias_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lldpd = Lldpd(Ethernet0="02:00:00:00:00:01", Ethernet8="02:00:00:00:00:03", eth0="02:00:00:00:00:04")
    monkeypatch.setattr(lldp, "lldpcli", lldpd)
    assert lldp.name_ports(ALIASES)
    assert lldpd.ports == {"Ethernet0": "etp1", "Ethernet8": "Ethernet8", "eth0": "02:00:00:00:00:04"}
    lldpd.ports |= {"Ethernet0": "02:00:00:00:00:05", "Ethernet4": "02:00:00:00:00:02"}  # cables replaced the taps
    assert lldp.name_ports(ALIASES)
    assert (lldpd.ports["Ethernet0"], lldpd.ports["Ethernet4"]) == ("etp1", "etp2")
    configured = lldpd.configured
    assert lldp.name_ports(ALIASES)
    assert lldpd.configured == configured == 4, "ports that have their alias are left alone"


@pytest.mark.parametrize("answer", [None, "", "{}", '{"lldp": [{}]}'])
def test_an_lldpd_without_ports_is_asked_again(answer: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lldp, "lldpcli", lambda *words: answer)
    assert not lldp.name_ports(ALIASES)


def test_counters_stand_under_the_ports_object() -> None:
    seen = interface("Ethernet4") | {
        "stats64": {"rx": {"bytes": 10, "packets": 1, "dropped": 0, "errors": 0, "multicast": 0},
                    "tx": {"bytes": 20, "packets": 2, "dropped": 0, "errors": 0}}
    }  # fmt: skip
    rows = counter_rows(ROWS, [seen])
    oid = rows["COUNTERS_PORT_NAME_MAP"]["Ethernet4"]
    assert oid.startswith("oid:0x1")
    assert rows[f"COUNTERS:{oid}"]["SAI_PORT_STAT_IF_OUT_OCTETS"] == "20"


def test_counters_are_those_of_the_kernels_list() -> None:
    text = (
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier\n"
        "Ethernet4: 10 1 2 3 0 0 0 4 20 5 6 7 0 0 0 0\n"
        "Ethernet12:30 1 0 0 0 0 0 0 40 2 0 0 0 0 0 0\n"
    )
    first, second = counters(text)
    assert (first["ifname"], second["ifname"]) == ("Ethernet4", "Ethernet12")
    rows = counter_rows(ROWS, [first])
    row = rows[f"COUNTERS:{rows['COUNTERS_PORT_NAME_MAP']['Ethernet4']}"]
    values = {name.removeprefix("SAI_PORT_STAT_IF_"): value for name, value in row.items() if value != "0"}
    assert values == {
        "IN_OCTETS": "10", "IN_UCAST_PKTS": "1", "IN_ERRORS": "2", "IN_DISCARDS": "3", "IN_MULTICAST_PKTS": "4",
        "OUT_OCTETS": "20", "OUT_UCAST_PKTS": "5", "OUT_ERRORS": "6", "OUT_DISCARDS": "7",
    }  # fmt: skip


def test_news_of_neighbors_end_with_lldpd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lldpcli = tmp_path / "lldpcli"
    lldpcli.write_text("#!/bin/sh\necho lldp-added.Ethernet0.via=LLDP\nread told <$(dirname $0)/fifo\n")
    lldpcli.chmod(0o755)
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    news = NeighborNews()
    assert select.select([news], [], [], 10)[0]
    assert news.drain(0.01)
    (tmp_path / "fifo").write_text("end\n")
    assert select.select([news], [], [], 10)[0]
    assert not news.drain(10)


def test_a_container_without_supervisord_starts_no_routing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*words: str) -> None:
        raise AssertionError(f"{words} was run")

    monkeypatch.setattr(supervisor, "SOCKET", tmp_path / "supervisor.sock")
    monkeypatch.setattr(frr, "_SOCKETS", tmp_path)
    monkeypatch.setattr(supervisor, "_ask", run)
    monkeypatch.setattr(frr, "_vtysh", run)
    frr.start("frr defaults datacenter\n")
    assert not list(tmp_path.iterdir())


class Container:
    """FRR's programs, as supervisord and vtysh meet them: each listens as soon as it is started, but for ``late`` ones.

    ``events`` are what happened, in order.
    """

    def __init__(self, folder: Path, late: Sequence[str]) -> None:
        self.folder, self.late, self.events = folder, late, list[str]()
        self.open: dict[str, socket.socket] = {}

    def start(self, *names: str) -> None:
        for name in names:
            waits = name != "zebra" and "zserv.api" not in self.open
            self.events.append(f"{name} waits for zebra" if waits else name)
            if name not in self.late:
                self._listen(f"{name}.vty")
        if "zebra" in names:
            self._listen("zserv.api")

    def _listen(self, name: str) -> None:
        self.open[name] = socket.socket(socket.AF_UNIX)
        self.open[name].bind(str(self.folder / name))
        self.open[name].listen()

    def vtysh(self, *words: str) -> subprocess.CompletedProcess[str]:
        if "-f" in words:
            self.events.append(f"load {Path(words[-1]).read_text().strip()}")
        clients = {"staticd.vty": "static", "bgpd.vty": "bgp"}
        shown = "".join(f"{clients[name]}    0\n" for name in self.open if name in clients)
        return subprocess.CompletedProcess(words, 0, shown, "")


@pytest.mark.parametrize("late", [(), ("bgpd",)])
def test_daemons_start_as_in_sonics_container(
    late: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    container = Container(tmp_path, late)
    monkeypatch.setattr(frr, "_SOCKETS", tmp_path)
    monkeypatch.setattr(frr, "_vtysh", container.vtysh)
    monkeypatch.setattr(supervisor, "runs", lambda: True)
    monkeypatch.setattr(supervisor, "start", container.start)
    monkeypatch.setattr(supervisor, "stop", lambda *names: container.events.append(f"stop {' '.join(names)}"))
    for name in late:
        (tmp_path / f"{name}.late").write_text("5")
    (tmp_path / "zserv.api").touch()  # of a zebra that ended
    try:
        frr.start("frr defaults datacenter\n")
    finally:
        for one in container.open.values():
            one.close()
    order = ["stop bfdd bgpd staticd zebra", "zebra", "staticd", "bgpd", "load frr defaults datacenter"]
    assert container.events == order


class Supervisord(socketserver.UnixStreamServer):
    """Answers on a socket as supervisord does; of its programs bgpd runs and crashed cannot be started."""

    def __init__(self, path: Path) -> None:
        self.running, self.asked = {"bgpd"}, list[str]()
        self.dispatcher = SimpleXMLRPCDispatcher()
        self.dispatcher.register_function(self.start_process, "supervisor.startProcess")
        self.dispatcher.register_function(self.stop_process, "supervisor.stopProcess")

        class Handler(SimpleXMLRPCRequestHandler):
            _dispatch = self.dispatcher._dispatch
            disable_nagle_algorithm = False
            log_request = address_string = lambda *_: ""  # type: ignore[assignment]

        self.logRequests = False
        super().__init__(str(path), Handler)

    def _marshaled_dispatch(self, *arguments: Any) -> Any:
        return self.dispatcher._marshaled_dispatch(*arguments)

    def start_process(self, name: Any) -> bool:
        self.asked.append(f"start {name}")
        if name == "crashed":
            raise Fault(50, "SPAWN_ERROR: crashed")
        if name in self.running:
            raise Fault(60, f"ALREADY_STARTED: {name}")
        self.running.add(name)
        return True

    def stop_process(self, name: Any) -> bool:
        self.asked.append(f"stop {name}")
        if name not in self.running:
            raise Fault(70, f"NOT_RUNNING: {name}")
        self.running.remove(name)
        return True


def test_supervisord_is_asked_for_each_program_and_errors_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(supervisor, "SOCKET", tmp_path / "supervisor.sock")
    with Supervisord(supervisor.SOCKET) as server:
        answering = threading.Thread(target=server.serve_forever)
        answering.start()
        supervisor.start("crashed", "bgpd", "zebra")
        supervisor.stop("bfdd", "bgpd")
        server.shutdown()
        answering.join()
    assert server.asked == ["start crashed", "start bgpd", "start zebra", "stop bfdd", "stop bgpd"]
    assert server.running == {"zebra"}
    assert capsys.readouterr().err == "supervisord: crashed: SPAWN_ERROR: crashed\n"


def test_a_container_without_supervisord_has_no_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(supervisor, "SOCKET", tmp_path / "supervisor.sock")
    supervisor.start("bgpd")
    frr.stop()
    assert capsys.readouterr() == ("", "")


def test_a_supervisord_that_does_not_answer_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(supervisor, "SOCKET", tmp_path / "supervisor.sock")
    with socket.socket(socket.AF_UNIX) as ended:
        ended.bind(str(supervisor.SOCKET))
    supervisor.start("bgpd")
    assert capsys.readouterr().err == "supervisord: bgpd: [Errno 111] Connection refused\n"


def test_ports_of_a_lab_run_with_what_is_configured() -> None:
    config = {"PORT|Ethernet0": {"speed": "400000", "fec": "rs"}, "PORT|Ethernet8": {"speed": "100000"}}
    assert link_rows(config) == {
        "PORT_TABLE|Ethernet0": {"speed": "400000", "fec": "rs"},
        "PORT_TABLE|Ethernet8": {"speed": "100000", "fec": "N/A"},
    }


def test_a_node_states_a_release_that_is_known() -> None:
    image = Image(version="railweave lab node, FRR 8.4.4, Debian 12.11", release=COMMANDS_RELEASE)
    stated = yaml.safe_load(image.version_file("vs"))
    assert (running_release(stated), stated["build_version"]) == (DEFAULT_RELEASE, image.version)
