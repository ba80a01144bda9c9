"""Target files: read strictly, with every fault at its place, and no secret in them."""

import gc
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from nornir_railweave.target.connect import build
from nornir_railweave.target.inventory import FabricInventory, build_inventory
from nornir_railweave.target.model import Address, Site, Target
from nornir_railweave.target.reach import resolve
from nornir_railweave.target.target_file import load_target, parse_target
from railweave.api.targets.sites import PAYS_FROM, processes_for, sites_of, start_command
from railweave.errors import RefusedError
from railweave.fabric.model import Fabric
from railweave_hosts.access import SecretName

ROOT = Path(__file__).resolve().parents[3]


def faults(text: str) -> list[tuple[str, str, str]]:
    with pytest.raises(RefusedError) as refused:
        parse_target(text, "t.yml", "t")
    return [(str(one.where), one.code, one.message) for one in refused.value.diagnostics]


@pytest.mark.parametrize("name", ["sim.yml", "production.example.yml"])
def test_the_shipped_targets_are_good(name: str) -> None:
    target = load_target(ROOT / "inventory" / name)
    assert target.login.strict
    assert target.rollout.revert_in_s > target.rollout.verify_timeout_s


def test_an_address_may_stand_alone_or_with_a_port() -> None:
    target = parse_target("source: addresses\ndevices: {a: 192.0.2.1, b: {address: b.example, port: 2222}}", "t", "t")
    assert target.devices == {"a": Address("192.0.2.1"), "b": Address("b.example", 2222)}


def test_numbers_of_options_are_numbers() -> None:
    target = parse_target("source: sim\noptions: {reload_poll: 0.5, apply_timeout: 60, sudo: false}", "t", "t")
    assert target.options == {"reload_poll": 0.5, "apply_timeout": 60, "sudo": False}


def test_checks_are_skipped_with_a_reason_or_not_at_all() -> None:
    assert parse_target("source: lab\nskip_checks: {lldp: no lldpd}", "t", "t").skip_checks == {"lldp": "no lldpd"}
    for wrong in ("{lldp: ''}", "{bgp: no time}"):
        ((place, code, _),) = faults(f"source: lab\nskip_checks: {wrong}")
        assert (place.partition(":")[0], code) == ("t.yml", "RW601")


def test_every_fault_is_told_at_its_place() -> None:
    found = faults("source: addresses\nworkers: 3\nssh:\n  usrname: x\n  port: 70000\naddress: 'x{nam}'\n")
    assert [place for place, _, _ in found] == ["t.yml:2:1", "t.yml:4:3", "t.yml:5:9", "t.yml:6:10"]
    assert {code for _, code, _ in found} == {"RW601"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("source: nowhere", "source"),
        ("source: addresses", "needs `address`"),
        ("source: sim\naddress: '{name}'", "running simulator"),
        ("source: sim\nrollout: {revert_in: 10}", "would go back before"),
        ("source: addresses\naddress: same-for-all", "differs for every device"),
        ("source: addresses\ndevices: {a: {adress: x}}", "unknown key `adress`"),
        ("source: sim\nsource: sim", "source"),
        ("", "empty"),
        ("- 1", "mapping"),
    ],
)
def test_a_wrong_target_is_refused(text: str, words: str) -> None:
    assert any(words in message for _, _, message in faults(text))


@pytest.mark.parametrize(
    "text", ["options: {secret_key: %s}", "ssh: {passphrase: %s}", "ssh: {jump: {host: j, password: %s}}"]
)
def test_an_unknown_key_of_a_secrets_name_says_which_one_is_meant(text: str) -> None:
    with pytest.raises(RefusedError) as refused:
        parse_target(f"source: sim\n{text}" % "{secrt: NAME}", "t.yml", "t")
    told = [(one.message, one.fix) for one in refused.value.diagnostics]
    assert ("unknown key `secrt`", "did you mean `secret`?") in told


@pytest.mark.parametrize(
    ("text", "key", "place"),
    [("name: other", "name", "t.yml:2:1"), ("rollout: {places: {floor: 1}}", "places", "t.yml:2:11")],
)
def test_what_no_file_states_is_an_unknown_key_there(text: str, key: str, place: str) -> None:
    assert faults(f"source: sim\n{text}") == [(place, "RW601", f"unknown key `{key}`")]
    with pytest.raises(RefusedError) as refused:
        parse_target(f"source: sim\n{text}", "t.yml", "t")
    assert key not in refused.value.diagnostics[0].fix.removeprefix("known here: ").split(", ")


@pytest.mark.parametrize(
    ("text", "place", "known"),
    [
        ("rollout: [1]", "rollout", "max_unavailable, floor, wave_size, "),
        ("rollout: {floor: 3}", "rollout.floor", "uplinks, paths"),
        ("hosts: {nodes: {gpu1: 4}}", "hosts.nodes.gpu1", "address, "),
    ],
)
def test_what_is_no_mapping_is_told_the_keys_that_belong_there(text: str, place: str, known: str) -> None:
    with pytest.raises(RefusedError) as refused:
        parse_target(f"source: sim\n{text}", "t.yml", "t")
    (found,) = refused.value.diagnostics
    assert found.message == f"{place}: Input should be a mapping of keys"
    assert found.fix.startswith(f"known here: {known}")


@pytest.mark.parametrize(("text", "said"), [("# nothing yet", "empty"), ("[1]", "a list, not a mapping of keys")])
def test_a_file_without_keys_is_called_a_target_file(text: str, said: str) -> None:
    with pytest.raises(RefusedError) as refused:
        parse_target(text, "t.yml", "t")
    (found,) = refused.value.diagnostics
    assert (found.message, found.fix) == (f"the target file is {said}", "begin with `source: addresses`")


@pytest.mark.parametrize("key", ["password", "passphrase"])
def test_a_secret_in_the_file_is_refused_with_the_way_out(key: str) -> None:
    with pytest.raises(RefusedError) as refused:
        parse_target(f"source: sim\nssh: {{{key}: hunter2}}", "t.yml", "t")
    (found,) = refused.value.diagnostics
    assert found.code == "RW603"
    assert f"{key}_env" in found.fix
    assert "hunter2" not in found.message


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="cannot be read"):
        load_target(tmp_path / "none.yml")


def addresses(text: str) -> Target:
    return parse_target(f"source: addresses\n{text}", "inventory/t.yml", "t")


def test_a_pattern_gives_every_device_an_address_and_a_list_goes_before_it(lab: Fabric, tmp_path: Path) -> None:
    target = addresses("address: '{role}-{number}.oob'\ndevices: {lab-leaf2: {address: 192.0.2.7, port: 2022}}")
    reached = resolve(lab, target, tmp_path, {})
    assert reached["lab-leaf1"].host == "leaf-1.oob"
    assert reached["lab-spine2"].host == "spine-2.oob"
    assert (reached["lab-leaf2"].host, reached["lab-leaf2"].port) == ("192.0.2.7", 2022)
    assert reached["lab-leaf2"].options["port"] == 2022


def test_devices_without_an_address_are_all_named(lab: Fabric, tmp_path: Path) -> None:
    with pytest.raises(RefusedError) as refused:
        resolve(lab, addresses("devices: {lab-leaf1: 192.0.2.1}"), tmp_path, {})
    (found,) = refused.value.diagnostics
    assert found.code == "RW602"
    assert set(found.devices) == {"lab-leaf2", "lab-spine1", "lab-spine2"}


def test_secrets_come_from_the_environment_and_show_in_no_text(lab: Fabric, tmp_path: Path) -> None:
    target = addresses("address: '{name}'\nssh: {password_env: PASSWORD, passphrase_env: PHRASE, key_file: k}")
    reached = resolve(lab, target, tmp_path, {"PASSWORD": "hunter2", "PHRASE": "hunter3"})["lab-leaf1"]
    assert reached.password == "hunter2"
    assert reached.options["passphrase"] == "hunter3"
    assert "hunter" not in repr(reached)


def test_an_option_of_a_driver_may_be_a_secret_by_name(lab: Fabric, tmp_path: Path) -> None:
    text = "address: '{name}'\noptions: {secret: {secret: ENABLE}, retries: 3}\nsecrets: {ENABLE: {env: ENABLE}}"
    target = addresses(text)
    options = resolve(lab, target, tmp_path, {"ENABLE": "hunter2"})["lab-leaf1"].options
    assert (options["secret"], options["retries"]) == ("hunter2", 3)
    with pytest.raises(RefusedError, match="secret ENABLE cannot be resolved"):
        resolve(lab, target, tmp_path, {})


def test_a_secret_that_is_not_set_is_refused(lab: Fabric, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="PASSWORD is not set"):
        resolve(lab, addresses("address: '{name}'\nssh: {password_env: PASSWORD}"), tmp_path, {})


def test_host_keys_are_strict_and_a_named_file_stands_alone(lab: Fabric, tmp_path: Path) -> None:
    options = resolve(lab, addresses("address: '{name}'"), tmp_path, {})["lab-leaf1"].options
    assert options["ssh_strict"]
    assert options["system_host_keys"]
    named = resolve(lab, addresses("address: '{name}'\nssh: {known_hosts: kh}"), tmp_path, {})["lab-leaf1"].options
    assert (named["alt_key_file"], named["system_host_keys"]) == ("kh", False)


def simulator(tmp_path: Path, names: Iterable[str]) -> None:
    folder = tmp_path / "sim" / "lab"
    folder.mkdir(parents=True)
    endpoints = {
        "devices": {name: {"address": "127.0.0.9", "port": 2200 + index} for index, name in enumerate(names)},
        "username": "admin",
        "key_file": "/keys/id",
        "known_hosts": "/keys/known",
        "pid": 1,
    }
    (folder / "endpoints.json").write_text(json.dumps(endpoints), encoding="utf-8")


def test_the_simulator_says_where_its_devices_are(lab: Fabric, tmp_path: Path) -> None:
    simulator(tmp_path, lab.switch_of)
    reached = resolve(lab, parse_target("source: sim", "t", "t"), tmp_path, {})
    first = next(iter(lab.switch_of))
    assert (reached[first].host, reached[first].port) == ("127.0.0.9", 2200)
    assert reached[first].options["key_file"] == "/keys/id"
    assert not reached[first].options["allow_agent"]


def test_a_simulator_that_does_not_run_is_told(lab: Fabric, tmp_path: Path) -> None:
    with pytest.raises(RefusedError) as refused:
        resolve(lab, parse_target("source: sim", "t", "t"), tmp_path, {})
    (found,) = refused.value.diagnostics
    assert (found.code, "sim up" in found.fix) == ("RW604", True)


def test_a_simulator_that_lacks_devices_is_told(lab: Fabric, tmp_path: Path) -> None:
    simulator(tmp_path, ["lab-leaf1"])
    with pytest.raises(RefusedError, match="does not know lab-leaf2"):
        resolve(lab, parse_target("source: sim", "t", "t"), tmp_path, {})


def test_hosts_carry_their_connection_options_in_full(lab: Fabric, tmp_path: Path) -> None:
    target = addresses("address: '{name}.oob'\ntimeouts: {command: 77}\noptions: {apply_timeout: 900}")
    inventory = build_inventory(lab, target, tmp_path, {})
    host = inventory.hosts["lab-leaf1"]
    options = host.get_connection_parameters("napalm")
    assert options.extras is not None
    assert (options.hostname, options.platform, options.extras["timeout"]) == ("lab-leaf1.oob", "sonic", 77)
    assert options.extras["optional_args"]["apply_timeout"] == 900
    assert host["role"] == "leaf"
    assert [group.name for group in host.groups] == ["leaf"]
    first, second = (inventory.hosts[name].connection_options["napalm"].extras for name in ("lab-leaf1", "lab-leaf2"))
    assert first is not None
    assert second is not None
    assert first["optional_args"] is not second["optional_args"]


def test_the_plug_in_reads_an_intent_and_a_target(tmp_path: Path, lab: Fabric) -> None:
    simulator(tmp_path, lab.switch_of)
    loaded = FabricInventory(str(ROOT / "intent/lab-4.yml"), str(ROOT / "inventory/sim.yml"), str(tmp_path)).load()
    assert list(loaded.hosts) == list(lab.switch_of)


@pytest.mark.parametrize(
    ("text", "words"),
    [("driver: nonesuch", "nonesuch"), ("options: {aply_timeout: 3}", "did you mean 'apply_timeout'")],
)
def test_an_unknown_driver_or_option_is_refused_before_any_device_is_tried(
    lab: Fabric, tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(RefusedError, match=words):
        build(lab, addresses(f"address: '{{name}}'\n{text}"), tmp_path, {})


@pytest.mark.parametrize(
    ("held", "then"),
    [((200_000, 20, 100), (20_000, 5, 5)), ((700, 10, 10), (700, 10, 10)), ((0, 10, 10), (0, 10, 10))],
)
def test_sessions_that_were_closed_are_found_as_garbage_soon(
    lab: Fabric, tmp_path: Path, held: tuple[int, int, int], then: tuple[int, int, int]
) -> None:
    before = gc.get_threshold()
    simulator(tmp_path, lab.switch_of)
    try:
        gc.set_threshold(*held)
        build(lab, load_target(ROOT / "inventory/sim.yml"), tmp_path, {})
        assert gc.get_threshold() == then
    finally:
        gc.set_threshold(*before)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("source: sim\nsites: {west: {devices: [a*]}}", "site west has no `command`, so its workers need a task queue"),
        ("source: sim\nsites: {west: {devices: []}}", "sites.west.devices: "),
        ("source: sim\nsites: {west: {devices: [a*], comand: [ssh]}}", "unknown key `comand`"),
        ("source: sim\nbroker: redis://:secret@broker/0", "broker: "),
        ("source: sim\nrollout: {processes: 0}", "rollout.processes"),
    ],
)
def test_sites_and_processes_are_read_strictly(text: str, words: str) -> None:
    found = faults(text)
    assert any(words in message for _, code, message in found if code == "RW601"), found
    assert not any("secret@" in message for _, _, message in found)


def test_sites_have_patterns_and_a_way_to_their_workers() -> None:
    text = (
        "source: sim\nbroker: {secret: BROKER}\nsecrets: {BROKER: {env: B}}\nrollout: {processes: 3}\n"
        "sites: {west: {devices: ['leaf[12]']}, east: {devices: [leaf3], command: [ssh, east]}}\n"
    )
    target = parse_target(text, "t", "t")
    assert target.sites == {"west": Site(("leaf[12]",)), "east": Site(("leaf3",), ("ssh", "east"))}
    assert (target.broker, target.rollout.processes) == (SecretName("BROKER"), 3)
    assert sites_of(target, ["leaf1", "leaf2", "leaf3", "leaf4"]) == {"leaf1": "west", "leaf2": "west", "leaf3": "east"}
    assert [processes_for(target, count) for count in (0, 2, 900)] == [1, 2, 3]
    assert (start_command(target, "west"), start_command(target, "east")) == (
        "railweave worker --site west --target t",
        "ssh east",
    )


def test_processes_are_as_many_as_pay_where_the_target_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2})
    target = parse_target("source: sim\nrollout: {processes: auto}", "t", "t")
    assert [processes_for(target, count) for count in (PAYS_FROM - 1, PAYS_FROM)] == [1, 3]
    assert processes_for(parse_target("source: sim", "t", "t"), 5000) == 1


def test_a_switch_of_two_sites_is_refused() -> None:
    command = "command: [ssh]"
    text = f"source: sim\nsites: {{west: {{devices: ['leaf*'], {command}}}, east: {{devices: [leaf2], {command}}}}}"
    with pytest.raises(RefusedError) as refused:
        sites_of(parse_target(text, "t", "t"), ["leaf1", "leaf2"])
    (found,) = refused.value.diagnostics
    assert (found.code, found.message, found.devices) == ("RW606", "leaf2 is of the sites west and east", ("leaf2",))
