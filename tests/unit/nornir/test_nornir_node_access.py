"""Where GPU nodes are reached: a target's own list, or what its running simulator wrote."""

import json
import os
from pathlib import Path

from nornir_railweave.target.model import Source, Target
from nornir_railweave.target.node_access import node_access, pace_of_tests
from railweave_hosts.access import Connection, HostAccess


def write(folder: Path, **members: object) -> None:
    file = folder / "sim/pod/endpoints.json"
    file.parent.mkdir(parents=True)
    login = {"username": "admin", "key_file": "/k", "known_hosts": "/h", "pid": os.getpid()}
    file.write_text(json.dumps({"devices": {}, **login, **members}))


def test_nodes_of_a_running_simulator_are_reached_as_root_with_its_key(tmp_path: Path) -> None:
    write(tmp_path, nodes={"gpu1": {"address": "127.8.0.1", "port": 2200}}, pace=0.1)
    target = Target("sim", Source.SIM)
    access = node_access("pod", target, tmp_path)
    assert access is not None
    assert (access.connection, access.nodes["gpu1"].host, access.nodes["gpu1"].port) == (
        Connection.SSH,
        "127.8.0.1",
        2200,
    )
    login = access.login
    assert (login.username, login.become, str(login.key_file), str(login.known_hosts)) == ("root", False, "/k", "/h")
    assert pace_of_tests("pod", target, tmp_path) == 0.1


def test_without_simulated_nodes_the_target_says_how(tmp_path: Path) -> None:
    own = HostAccess()
    for target in (Target("sim", Source.SIM), Target("sim", Source.SIM, hosts=own)):
        assert node_access("pod", target, tmp_path) is target.hosts
    write(tmp_path)
    assert node_access("pod", Target("sim", Source.SIM, hosts=own), tmp_path) is own
    assert pace_of_tests("pod", Target("sim", Source.SIM), tmp_path) == 1.0
    elsewhere = Target("production", Source.ADDRESSES, address="{name}", hosts=own)
    assert node_access("pod", elsewhere, tmp_path) is own
