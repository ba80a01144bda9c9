"""How nodes are reached: the target's `hosts:`, and the variables that Ansible gets."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from nornir_railweave.target.target_file import parse_target
from railweave.api.hosts import reach_nodes
from railweave.api.operator import Operator
from railweave.api.project import Project
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave_hosts.access import Connection, HostAccess, NodeLogin, inventory_of, login_passwords

Pod = Callable[..., Fabric]
ROOT = Path(__file__).resolve().parents[3]
TARGET = """
source: addresses
address: "{name}.oob"
hosts:
  address: "{name}.nodes.example.net"
  nodes:
    gpu2: 192.0.2.2
    gpu3: {address: 192.0.2.3, port: 2222, python: /opt/python3}
  ssh: {username: ops, key_file: /keys/ops, known_hosts: /etc/known, become_password_env: SUDO}
  batches: {size: 10, canary: 2, max_failures: 1, forks: 5, timeout: 60}
"""


def access_of(text: str) -> HostAccess:
    access = parse_target(text, "t.yml", "t").hosts
    assert access is not None
    return access


def faults(text: str) -> list[tuple[str, str]]:
    with pytest.raises(RefusedError) as refused:
        parse_target(text, "t.yml", "t")
    return [(one.code, one.message) for one in refused.value.diagnostics]


def test_addresses_come_from_the_pattern_and_from_the_list(pod: Pod) -> None:
    inventory = inventory_of(access_of(TARGET), pod().hosts[:3])
    assert [one["ansible_host"] for one in inventory.values()] == ["gpu1.nodes.example.net", "192.0.2.2", "192.0.2.3"]
    assert [one["ansible_port"] for one in inventory.values()] == [22, 22, 2222]
    assert inventory["gpu3"]["ansible_python_interpreter"] == "/opt/python3"
    assert inventory["gpu1"]["ansible_ssh_private_key_file"] == "/keys/ops"


def test_host_keys_are_checked_against_the_named_file(pod: Pod) -> None:
    words = inventory_of(access_of(TARGET), pod().hosts[:1])["gpu1"]["ansible_ssh_common_args"]
    assert "StrictHostKeyChecking=yes" in words
    assert "UserKnownHostsFile=/etc/known" in words


def test_no_secret_stands_in_the_inventory(pod: Pod, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO", "hunter2-hunter2")
    assert "hunter2" not in repr(inventory_of(access_of(TARGET), pod().hosts))


def test_every_node_without_an_address_is_named(pod: Pod) -> None:
    with pytest.raises(RefusedError) as refused:
        inventory_of(HostAccess(), pod().hosts[:2])
    (found,) = refused.value.diagnostics
    assert (found.code, found.devices) == ("RW602", ("gpu1", "gpu2"))


def test_a_local_node_needs_no_address(pod: Pod) -> None:
    inventory = inventory_of(HostAccess(connection=Connection.LOCAL, root="/tree"), pod().hosts[:1])
    assert inventory["gpu1"]["ansible_connection"] == "local"
    assert inventory["gpu1"]["railweave_root"] == "/tree"


def test_a_container_is_named_by_its_fabric_and_node(pod: Pod) -> None:
    access = HostAccess(connection=Connection.CONTAINER, address="clab-{fabric}-{name}")
    assert inventory_of(access, pod().hosts[:1], "pod")["gpu1"]["railweave_container"] == "clab-pod-gpu1"


def test_a_password_comes_from_the_environment_and_a_missing_one_is_named() -> None:
    access = HostAccess(login=NodeLogin(password_env="NODE", become_password_env="SUDO"))
    found = login_passwords(access, {"NODE": "one-secret", "SUDO": "another-secret"})
    assert [one.option for one in found] == ["--ask-pass", "--ask-become-pass"]
    assert "secret" not in repr(found)
    with pytest.raises(RefusedError) as refused:
        login_passwords(access, {"NODE": "one-secret"})
    assert [(one.code, one.message) for one in refused.value.diagnostics] == [
        ("RW603", "the environment variable SUDO is not set")
    ]


BY_NAME = """
source: addresses
address: "{name}.oob"
hosts:
  address: "{name}.nodes"
  ssh: {username: ops, password: {secret: NODE}, become_password: {secret: SUDO}}
secrets:
  NODE: {file: FOLDER/node}
  SUDO: {command: [printf, another-secret]}
"""


def test_passwords_by_name_come_from_where_the_target_says(
    pod: Pod, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[HostAccess] = []
    monkeypatch.setattr("railweave.api.hosts.HostRollout", lambda *given: made.append(given[2]))
    target = parse_target(BY_NAME.replace("FOLDER", str(tmp_path)), "t.yml", "t")
    project, designed = Project(Path("fabric.yml"), Operator()), SimpleNamespace(fabric=pod())
    access = target.hosts
    assert access is not None
    assert "BatchMode" not in inventory_of(access, pod().hosts[:1])["gpu1"]["ansible_ssh_common_args"]
    with pytest.raises(RefusedError) as refused:
        reach_nodes(project, designed, pod().hosts, target, access)  # type: ignore[arg-type]
    assert [(one.code, "secret NODE" in one.message) for one in refused.value.diagnostics] == [("RW603", True)]
    (tmp_path / "node").write_text("one-secret\n", encoding="utf-8")
    reach_nodes(project, designed, pod().hosts, target, access)  # type: ignore[arg-type]
    assert [(one.option, one.secret) for one in login_passwords(made[0], {})] == [
        ("--ask-pass", "one-secret"),
        ("--ask-become-pass", "another-secret"),
    ]
    assert "one-secret" not in repr(made)


def test_batches_are_read() -> None:
    batches = access_of(TARGET).batches
    assert (batches.size, batches.canary, batches.max_failures, batches.forks, batches.timeout_s) == (10, 2, 1, 5, 60)


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ("{adress: x}", ("RW601", "unknown key `adress`")),
        ("{ssh: {usrname: x}}", ("RW601", "unknown key `usrname`")),
        ("{ssh: {password: x}}", ("RW603", "`password` would put a secret into a file")),
        ("{ssh: {become_password: x}}", ("RW603", "`become_password` would put a secret into a file")),
        (
            '{address: "{rack}"}',
            (
                "RW601",
                "hosts.address: a pattern over {name}, {kind}, {number}, {fabric} that differs for every node",
            ),
        ),
        ("{batches: {size: 0}}", ("RW601", "hosts.batches.size: Input should be greater than or equal to 1")),
    ],
)
def test_a_wrong_key_is_told_with_its_place(keys: str, wanted: tuple[str, str]) -> None:
    assert faults(f'source: addresses\naddress: "{{name}}.oob"\nhosts: {keys}\n') == [wanted]


def test_the_example_of_a_target_reaches_nodes() -> None:
    text = (ROOT / "inventory/production.example.yml").read_text(encoding="utf-8")
    assert access_of(text).login.strict


def test_values_of_secrets_are_no_key_of_a_file() -> None:
    with pytest.raises(RefusedError) as refused:
        access_of('source: addresses\naddress: "{name}.oob"\nhosts:\n  secrets: {SUDO: hunter2}\n')
    (found,) = refused.value.diagnostics
    assert (found.code, str(found.where), found.message) == ("RW601", "t.yml:4:3", "unknown key `secrets`")
    known = "connection, address, nodes, python, root, nic_settings, ssh, batches, hooks, before"
    assert found.fix == f"known here: {known}"


def test_a_root_of_nodes_may_end_in_a_slash(pod: Pod) -> None:
    text = "source: sim\nhosts:\n  connection: local\n  root: %s\n"
    reached = [inventory_of(access_of(text % root), pod().hosts[:1])["gpu1"] for root in ("/a/", "")]
    assert [one["railweave_root"] for one in reached] == ["/a", ""]
