"""Programs and shell of a simulated switch beyond the recorded scenarios."""

import json
from collections.abc import Callable

import pytest

from sonic_sim.buffermgr import groups
from sonic_sim.device import Device, Fabric
from sonic_sim.yang.reload_rule import ReloadRule

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("line", "status", "out"),
    [
        ("echo a b", 0, "a b\n"),
        ("echo 'a  b' \"c d\"", 0, "a  b c d\n"),
        ("false || echo no", 0, "no\n"),
        ("true && echo yes; echo $?", 0, "yes\n0\n"),
        ("false; echo $?", 0, "1\n"),
        ("echo one | cat | grep -c one", 0, "1\n"),
        ("echo x > /tmp/f && echo y >> /tmp/f && cat /tmp/f", 0, "x\ny\n"),
        ("nosuch 2>/dev/null; echo $?", 0, "127\n"),
        ("cat /nosuch 2>&1", 1, "cat: /nosuch: No such file or directory\n"),
        ("printf 'a\\nb\\n' | head -n 1", 0, "a\n"),
        ("A=5; echo $A ${A}", 0, "5 5\n"),
        ("echo \\$A", 0, "$A\n"),
        ("cd /etc/sonic && pwd", 0, "/etc/sonic\n"),
        ("test -f /etc/sonic/config_db.json && echo there", 0, "there\n"),
        ("sh -c 'echo inner; exit' ", 127, "inner\n"),
        ("timeout 5 echo quick", 0, "quick\n"),
        ("cat < /etc/hostname", 1, ""),
        ("for name in a b; do echo $name; done | grep b", 0, "b\n"),
        ("if false; then echo no; else echo yes; fi", 0, "yes\n"),
        ('x=$(echo two words); echo $x "in $(echo quotes)"', 0, "two words in quotes\n"),
        ("(cd /tmp && pwd); pwd", 0, "/tmp\n/root\n"),
        ("false | true; echo ${PIPESTATUS[0]}", 0, "1\n"),
        (
            "(flock -x 9; sleep 5) 9>/tmp/l & sleep 1; flock -n /tmp/l echo in; echo $?; wait; flock -n /tmp/l echo in",
            0,
            "1\nin\n",
        ),
        (
            "exec 9>/tmp/l; flock 9; flock 9; flock -n -E 7 /tmp/l true; echo $?; flock -u 9; flock -n /tmp/l echo in",
            0,
            "7\nin\n",
        ),
        ("flock -n 8 8</etc/sonic/init_cfg.json && flock -n /etc/sonic/init_cfg.json echo closed", 0, "closed\n"),
        ("flock 9; flock /tmp/l; echo $?", 0, "64\n"),
        ("true 9</nosuch; echo $?", 0, "1\n"),
        ("ls /etc/sonic/*.json", 0, "/etc/sonic/config_db.json\n/etc/sonic/init_cfg.json\n"),
    ],
)
def test_the_shell_runs_a_line(run: Run, switch: Device, line: str, status: int, out: str) -> None:
    assert run(switch, line)[:2] == (status, out)


@pytest.mark.parametrize(
    "line", ["echo 'open", "| cat", "true &&", "echo >", "for a in b; do echo", "if true; fi", "echo $(ls"]
)
def test_the_shell_refuses_what_is_no_command(run: Run, switch: Device, line: str) -> None:
    status, _, err = run(switch, line)
    assert status == 2
    assert err.startswith("bash: ")


def test_a_user_needs_sudo_for_what_is_roots(run: Run, switch: Device) -> None:
    assert run(switch, "config save -y", user="admin")[0] == 1
    assert run(switch, "sudo -n config save -y", user="admin")[0] == 0
    assert run(switch, "cp /etc/hostname /etc/x", user="admin")[0] == 1
    assert run(switch, "sudo mkdir -p -m 700 /var/lib/railweave; ls /var/lib/railweave", user="admin")[0] == 2
    assert run(switch, "vtysh -c 'show version'", user="admin")[0] == 1
    assert run(switch, "sudo docker exec -i bgp vtysh -c 'show version'", user="admin")[0] == 0


def test_install_sets_mode_and_owner(run: Run, switch: Device) -> None:
    run(switch, "echo '#!' > /tmp/x; sudo install -m 755 /tmp/x /usr/local/bin/x", user="admin")
    assert run(switch, "stat -c '%a %U' /usr/local/bin/x")[1] == "755 root\n"


def test_vtysh_reads_only_files_that_its_container_sees(run: Run, switch: Device) -> None:
    run(switch, "echo 'ip prefix-list A seq 5 permit 10.0.0.0/8' > /tmp/a")
    assert run(switch, "vtysh -f /tmp/a")[0] == 1
    assert run(switch, "cp /tmp/a /etc/sonic/frr/a && vtysh -f /etc/frr/a")[0] == 0
    assert "prefix-list A" in run(switch, "vtysh -c 'show running-config'")[1]


def test_write_memory_writes_the_file_that_split_unified_boots(run: Run, switch: Device) -> None:
    switch.db.set_fields("DEVICE_METADATA|localhost", {"docker_routing_config_mode": "split-unified"})
    note, saved = "Note: this version of vtysh never writes vtysh.conf\n", "Configuration saved to /etc/frr/{}.conf\n"
    apart = "".join(saved.format(name) for name in ("zebra", "bgpd", "staticd"))
    assert run(switch, "vtysh -c 'write memory'")[:2] == (0, f"{note}Building Configuration...\n{apart}")
    switch.start_frr()  # writes vtysh.conf by the mode
    shown = run(switch, "vtysh -c 'write memory'")[1]
    assert shown.startswith(f"{note}\nWarning: attempting direct configuration write without watchfrr.\n")
    assert shown.endswith("\nIntegrated configuration saved to /etc/frr/frr.conf\n[OK]\n")
    assert run(switch, "sudo cat /etc/sonic/frr/frr.conf", user="admin")[1] == switch.frr.text()


def test_dump_and_state_of_the_databases_agree(run: Run, switch: Device) -> None:
    names = json.loads(run(switch, "sonic-db-dump -n COUNTERS_DB -y -k 'COUNTERS_PORT_NAME_MAP'")[1])
    number = names["COUNTERS_PORT_NAME_MAP"]["value"]["Ethernet0"]
    dump = json.loads(run(switch, "sonic-db-dump -n COUNTERS_DB -y -k 'COUNTERS:oid:0x1????????????'")[1])
    assert f"COUNTERS:{number}" in dump
    assert json.loads(run(switch, "sonic-db-dump -n APPL_DB -y -k 'NOSUCH*'")[1]) == {}
    assert run(switch, "redis-cli -n 6 hget 'PORT_TABLE|Ethernet0' state")[1] == "ok\n"


def test_lossless_rows_appear_with_pfc_speed_and_cable(run: Run, switch: Device) -> None:
    document = {
        "BUFFER_POOL": {"ingress_lossless_pool": {"mode": "dynamic", "type": "ingress", "size": "1000000"}},
        "CABLE_LENGTH": {"AZURE": {"Ethernet0": "5m", "Ethernet4": "0m"}},
        "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4"}, "Ethernet4": {"pfc_enable": "3"}},
    }
    switch.files.write("/tmp/qos.json", json.dumps(document).encode())
    assert run(switch, "config load -y /tmp/qos.json")[0] == 0
    assert switch.db.get("BUFFER_PG|Ethernet0|3-4") == {"profile": "pg_lossless_100000_5m_profile"}
    assert switch.db.get("BUFFER_PROFILE|pg_lossless_100000_5m_profile")["pool"] == "ingress_lossless_pool"
    assert not switch.db.get("BUFFER_PG|Ethernet4|3")


def test_neighboring_priorities_share_a_row() -> None:
    assert groups("3,4") == ["3-4"]
    assert groups("4,2,3,6") == ["2-4", "6"]
    assert groups("3") == ["3"]


def test_a_patch_flaps_a_port_once_for_all_its_queues(run: Run, switch: Device) -> None:
    document = {"SCHEDULER": {"a": {"type": "DWRR", "weight": "10"}}}
    switch.files.write("/tmp/s.json", json.dumps(document).encode())
    run(switch, "config load -y /tmp/s.json")
    rows = {"Ethernet0|1": {"scheduler": "a"}, "Ethernet0|2": {"scheduler": "a"}}
    patch = [{"op": "add", "path": "/QUEUE", "value": rows}]
    assert run(switch, "config apply-patch /dev/stdin", stdin=json.dumps(patch))[0] == 0
    more = [{"op": "add", "path": f"/QUEUE/Ethernet0|{number}", "value": {"scheduler": "a"}} for number in (4, 5)]
    status, out, _ = run(switch, "config apply-patch /dev/stdin", stdin=json.dumps(more))
    assert status == 0
    assert out.count('"path": "/PORT/Ethernet0/admin_status"') == 2
    assert "converted into 4 changes" in out


def test_a_click_program_takes_beginnings_of_words(run: Run, switch: Device) -> None:
    assert run(switch, "config int shut Ethernet0")[0] == 0
    assert switch.db.get("PORT|Ethernet0")["admin_status"] == "down"
    status, _, err = run(switch, "config int Ethernet0 x")
    assert status == 2
    assert 'No such command "Ethernet0"' in err
    assert "Too many matches: interface, interface_naming_mode, ipv6" in run(switch, "config i")[2]


def test_the_prompt_may_become_root(run: Run, switch: Device) -> None:
    assert run(switch, "sudo -i; whoami", user="admin")[1] == "root\n"


@pytest.mark.parametrize(
    ("rows", "dangles"),
    [
        ({"BGP_PEER_GROUP_AF": {"Vrf1|G|ipv4_unicast": {}}}, False),
        ({"BGP_PEER_GROUP_AF": {"default|G|ipv4_unicast": {}}}, True),
        ({"BGP_NEIGHBOR": {"Vrf1|10.0.0.1": {"peer_group_name": "G", "asn": "5"}}}, False),
        ({"BGP_NEIGHBOR": {"default|10.0.0.1": {"peer_group_name": "G", "asn": "5"}}}, True),
        ({"BGP_GLOBALS_LISTEN_PREFIX": {"default|10.0.0.0/24": {"peer_group": "G"}}}, True),
    ],
)
def test_a_reference_with_a_predicate_names_rows_of_its_own_vrf_alone(
    rows: dict[str, dict[str, dict[str, str]]], dangles: bool
) -> None:
    globals_of = {"default": {"local_asn": "1"}, "Vrf1": {"local_asn": "1"}}
    others = {"VRF": {"Vrf1": {}}, "BGP_GLOBALS": globals_of, "BGP_PEER_GROUP": {"Vrf1|G": {"asn": "5"}}}
    violation = ReloadRule().violation({**others, **rows})
    assert (violation is not None) == dangles
    assert violation is None or 'of value "G" points to a non-existing leaf' in violation.message


@pytest.mark.parametrize(
    "line",
    [
        "config interface ip loopback-action Ethernet0 drop",
        "config interface mpls add Ethernet0",
        "config interface startup Ethernet0.10",
        "config interface tpid Ethernet0 0x9100",
        "config ipv6 enable link-local",
        "config subinterface add Ethernet0.10",
        "config warm_restart enable",
        "crm show summary",
        "portconfig -p Ethernet0 -tp 0x9100",
        "show interfaces status --verbose",
        "show reboot-cause",
        "show runningconfiguration ntp",
        "sonic-cfggen --preset t1",
        "export SONIC_CLI_IFACE_MODE=alias; show interfaces status",
    ],
)
def test_a_command_that_no_gpu_fabric_needs_says_so_and_changes_nothing(run: Run, switch: Device, line: str) -> None:
    before = json.dumps(switch.db.rows)
    status, out, complaint = run(switch, line)
    assert (status, out) == (1, "")
    assert complaint.endswith("not simulated\n")
    assert json.dumps(switch.db.rows) == before


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        ("config interface ipv6 enable use-link-local-only Vlan7", 2, "Interface name Vlan7 is invalid"),
        ("config interface vrf bind 10.0.0.1 Vrf1", 1, "TypeError: in method 'ConfigDBConnector_Native_get_entry'"),
        ("config route add prefix 10.1.0.0/16 nexthop dev", 1, "IndexError: tuple index out of range"),
        ("config watermark telemetry interval abc", 2, "invalid int value: 'abc'"),
        ("config apply-patch -i /PORT /etc/sonic/config_db.json", 1, "--ignore-path: the model without some paths"),
    ],
)
def test_an_argument_that_sonic_refuses_changes_nothing(
    run: Run, switch: Device, command: str, status: int, said: str
) -> None:
    """By sonic-utilities 202505, run side by side."""
    run(switch, "config vlan add 7; config vrf add Vrf1")
    before = dict(switch.db.rows)
    answer = run(switch, command)
    assert (answer[0], dict(switch.db.rows)) == (status, before)
    assert said in answer[2]


def test_a_mandatory_leaf_is_missed_only_where_its_condition_holds() -> None:
    def violation(field: str) -> bool:
        return ReloadRule().violation({"PBH_HASH_FIELD": {"f": {"hash_field": field, "sequence_id": "1"}}}) is not None

    assert (violation("INNER_DST_IPV4"), violation("INNER_L4_DST_PORT")) == (True, False)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ({"BUFFER_PG": {"Ethernet0|3": {}}}, "Failed to validate data tree\n[priority,] message string"),
        ({"BUFFER_QUEUE": {"Ethernet0|3": {}}}, "Failed to validate data tree\n[priority,] message string"),
        ({"PBH_HASH": {"h": {}}}, 'Data Loading Failed\nToo few "hash_field_list" elements.'),
        ({"RADIUS_SERVER": {"192.0.2.1": {"retransmit": " 1 "}}}, ""),
        ({"SYSLOG_CONFIG": {"GLOBAL": {"rate_limit_interval": "1 "}}}, ""),
        ({"VRF": {"Vrf1": {}, "Vrf1 ": {}}}, 'Data Loading Failed\nDuplicated instance of "VRF_LIST" list.'),
        (
            {"RADIUS_SERVER": {"192.0.2.1": {"retransmit": " 11 "}}},
            "Data Loading Failed\nRADIUS retransmit must be 0..10",
        ),
    ],
)
def test_defaults_lengths_and_numbers_are_judged_as_by_sonic_yang(
    rows: dict[str, dict[str, dict[str, str]]], reason: str
) -> None:
    """By sonic_yang of 202505 on libyang 1.0, run side by side."""
    ports = {"PORT": {"Ethernet0": {"lanes": "1", "speed": "100000"}}}
    said, _ = ReloadRule().failure({**ports, **rows})
    assert said.startswith(reason)
    assert bool(said) == bool(reason)


def test_a_patch_that_takes_a_buffer_profile_ends_in_an_exception_of_the_generator(run: Run, switch: Device) -> None:
    run(switch, 'echo \'[{"op": "add", "path": "/BUFFER_PG", "value": {"Ethernet0|3": {}}}]\' > /root/p.json')
    status, out, err = run(switch, "config apply-patch /root/p.json")
    assert status == 2
    assert "sonic_yang(3):Failed to validate data tree\n{\n" in out
    assert err.endswith("failed due to:'SonicYangCfgDbGenerator' object has no attribute 'yang_data_file'\n")


@pytest.mark.parametrize(
    ("command", "status", "field", "said"),
    [
        ("config mmu -p pg -a 2", 0, "2", ""),
        ("config mmu -p pg -a -3", 0, "-3", ""),
        ("config mmu -p pg -a 0", 0, "1", ""),  # watched on 202505: 0 counts as not given
        ("config mmu -p pg -a 9", 2, "1", '"-a": 9 is not in the valid range of -8 to 8.'),
        ("config mmu -p pg -s 100", 1, "1", "pg not using static threshold"),
        ("config mmu -p pg -s -1", 2, "1", '"-s": -1 is smaller than the minimum valid value 0.'),
        ("mmuconfig", 1, "1", "  -a, --alpha INTEGER RANGE     set n for dyanmic threshold alpha 2^(n)"),
    ],
)
def test_mmuconfig_sets_the_threshold_that_a_profile_has(
    run: Run, switch: Device, command: str, status: int, field: str, said: str
) -> None:
    """By sonic-utilities 202505, run side by side."""
    switch.db.put("BUFFER_PROFILE|pg", {"dynamic_th": "1", "pool": "ingress_lossless_pool", "size": "0"})
    answer = run(switch, command)
    assert (answer[0], switch.db.get("BUFFER_PROFILE|pg")["dynamic_th"]) == (status, field)
    assert said in answer[1] + answer[2]


@pytest.mark.parametrize(
    ("document", "said", "raised"),
    [
        ("[]", "", "AttributeError: 'list' object has no attribute 'get'"),
        ("{}", "Could not get the HWSKU from config file,  Exiting!!!\n", "'DEVICE_METADATA' is undefined"),
        ('{"DEVICE_METADATA": {}}', "Could not get the HWSKU", "'dict object' has no attribute 'localhost'"),
    ],
)
def test_a_reload_of_a_file_without_metadata_ends_with_stopped_services(
    run: Run, switch: Device, document: str, said: str, raised: str
) -> None:
    before = dict(switch.db.rows)
    status, out, err = run(switch, f"echo '{document}' > /root/c.json; config reload -y -f /root/c.json")
    assert (status, dict(switch.db.rows)) == (1, before)
    assert f"Stopping SONiC target ...\n{said}" in out
    assert raised in err


def test_cfggen_reads_yaml(run: Run, switch: Device) -> None:
    run(switch, "echo 'asic_type: vs' > /root/v.yml; echo 'a: [' > /root/bad.yml")
    assert run(switch, "sonic-cfggen -y /root/v.yml -v asic_type") == (0, "vs\n", "")
    status, _, err = run(switch, "sonic-cfggen -y /root/bad.yml -v a")
    assert (status, "yaml.parser.ParserError: while parsing a flow node" in err) == (1, True)


@pytest.fixture
def dynamic(switch: Device) -> Device:
    """A switch with the dynamic buffer model."""
    switch.db.set_fields("DEVICE_METADATA|localhost", {"buffer_model": "dynamic"})
    switch.db.put("BUFFER_POOL|ingress_lossless_pool", {"type": "ingress", "mode": "dynamic"})
    switch.db.put("BUFFER_POOL|egress_lossy_pool", {"type": "egress", "mode": "dynamic", "size": "100"})
    switch.db.put("BUFFER_PROFILE|lossy", {"pool": "egress_lossy_pool", "size": "0", "dynamic_th": "3"})
    switch.db.put("DEFAULT_LOSSLESS_BUFFER_PARAMETER|AZURE", {"default_dynamic_th": "0"})
    most = {"max_priority_groups": "8", "max_queues": "16"}
    switch.other[6] = {"BUFFER_MAX_PARAM_TABLE|Ethernet0": most, "BUFFER_MAX_PARAM_TABLE|global": {"mmu_size": "1000"}}
    return switch


@pytest.mark.parametrize(
    ("command", "said", "key", "row"),
    [
        ("interface buf prio loss add Ethernet0 3-4", "", "BUFFER_PG|Ethernet0|3-4", {"profile": "NULL"}),
        ("interface buf prio loss add Ethernet0 3-4", "", "PORT_QOS_MAP|Ethernet0", {"pfc_enable": "3,4"}),
        ("interface buf prio loss add Ethernet0 0", "group 0 is not valid", "BUFFER_PG|Ethernet0|0", {}),
        ("interface buf prio loss add Ethernet0 3 lossy", "Type of pool", "BUFFER_PG|Ethernet0|3", {}),
        ("interface buf prio loss add Ethernet8 3", "Unable to fetch max", "BUFFER_PG|Ethernet8|3", {}),
        ("interface buffer queue add Ethernet0 5 lossy", "", "BUFFER_QUEUE|Ethernet0|5", {"profile": "lossy"}),
        ("interface buffer queue set Ethernet0 5 lossy", "queue 5 doesn't exist", "BUFFER_QUEUE|Ethernet0|5", {}),
        ("interface buffer queue remove Ethernet0", "No queue found on port", "BUFFER_QUEUE|Ethernet0|5", {}),
        ("buffer profile add p --xon 100 --size 300", "", "BUFFER_PROFILE|p",
         {"pool": "ingress_lossless_pool", "xon": "100", "size": "300", "xoff": "200", "dynamic_th": "0"}),
        ("buffer profile add p --xon 300 --size 100", "greater than 0 while we got -200", "BUFFER_PROFILE|p", {}),
        ("buffer profile add p --dynamic_th 3", "", "BUFFER_PROFILE|p",
         {"pool": "ingress_lossless_pool", "headroom_type": "dynamic", "dynamic_th": "3"}),
        ("buffer profile remove nosuch", "Profile nosuch doesn't exist", "BUFFER_PROFILE|nosuch", {}),
        ("buffer shared-headroom-pool size 2000", "less than mmu size (1000)", "BUFFER_POOL|ingress_lossless_pool",
         {"type": "ingress", "mode": "dynamic"}),
        ("buffer shared-headroom-pool size 500", "", "BUFFER_POOL|ingress_lossless_pool",
         {"type": "ingress", "mode": "dynamic", "xoff": "500"}),
        ("buffer shared-headroom-pool over-subscribe-ratio 2", "", "DEFAULT_LOSSLESS_BUFFER_PARAMETER|AZURE",
         {"default_dynamic_th": "0", "over_subscribe_ratio": "2"}),
    ],
)  # fmt: skip
def test_buffers_of_the_dynamic_model_are_set_as_by_sonic(
    run: Run, dynamic: Device, command: str, said: str, key: str, row: dict[str, str]
) -> None:
    """By sonic-utilities 202505, run side by side."""
    status, _, err = run(dynamic, f"config {command}")
    assert (status, dynamic.db.get(key)) == (2 if said else 0, row)
    assert said in err


@pytest.mark.parametrize(
    ("command", "status", "out", "err"),
    [
        ("CONFIG_DB HSET 'PORT|Ethernet0' index -1", 255, "usage", "Unknown option without value: basic_string"),
        ("CONFIG_DB -x HGETALL 'PORT|Ethernet0'", 255, "usage", "Command Line Error: Unknown argument:HGETALL\n"),
        ("CONFIG_DB KEYS * -n", 255, "usage", "Command Line Error: namespace value is missing.\n"),
        ("CONFIG_DB FLUSHDB -s", 0, "usage", ""),
        ("NO_DB", 0, "usage", ""),
        ("--unix CONFIG_DB HEXISTS 'PORT|Ethernet0' lanes", 0, "True\n", ""),
        ("CONFIG_DB HEXISTS 'PORT|Ethernet0' none", 0, "False\n", ""),
        ("CONFIG_DB SELECT 4", 0, "True\n", ""),
        ("CONFIG_DB PING me", 0, "False\n", ""),
        ("CONFIG_DB HGETALL 'PORT|Ethernet0' lanes", 1, "", "ERR wrong number of arguments for 'hgetall' command"),
        ("CONFIG_DB HSTRLEN 'PORT|Ethernet0' lanes x", 1, "", "ERR wrong number of arguments for 'hstrlen' command"),
        ("CONFIG_DB SELECT 24", 1, "", "ERR DB index is out of range"),
        ("CONFIG_DB SELECT four", 1, "", "ERR invalid DB index"),
        ("CONFIG_DB INCRBY none 9223372036854775808", 1, "", "ERR value is not an integer or out of range"),
        ("CONFIG_DB HINCRBY 'PORT|Ethernet0' lanes +1", 1, "", "ERR value is not an integer or out of range"),
        ("-n asic0 PING", 1, "", "An exception of type Key :asic0 is not a valid key name in config file occurred."),
        (r"CONFIG_DB KEYS 'PORT|Ethernet[^4-9]'", 0, "PORT|Ethernet0\n", ""),
        (r"CONFIG_DB KEYS 'PORT\|Ethernet[!0]'", 0, "PORT|Ethernet0\n", ""),
        (r"CONFIG_DB KEYS 'PORT|Ethernet[]'", 0, "\n", ""),
    ],
)
def test_sonic_db_cli_ends_as_the_real_program_does(
    run: Run, switch: Device, command: str, status: int, out: str, err: str
) -> None:
    """Compared with swss-common's own program on Redis 7.0."""
    before = {key: dict(row) for key, row in switch.db.rows.items()}
    told = run(switch, f"sonic-db-cli {command}")
    assert told[0] == status
    assert told[1].startswith("usage: sonic-db-cli [-h]") if out == "usage" else told[1] == out
    assert err in told[2]
    assert switch.db.rows == before


def test_flushall_empties_every_database(run: Run, switch: Device) -> None:
    switch.other[6] = {"PORT_TABLE|Ethernet0": {"state": "ok"}}
    assert run(switch, "sonic-db-cli FLUSHALL") == (0, "OK\n", "")
    assert (switch.db.rows, switch.other[6]) == ({}, {})


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("-j /tmp --print-data", "IsADirectoryError: [Errno 21] Is a directory: '/tmp'"),
        ("-d -n host --print-data", "ValueError: Unknown asic namespace name host"),
        ("-d -n asic0 --print-data", "RuntimeError: Key :asic0 is not a valid key name in config file"),
        ("-j /tmp/rows.json -n asic0 -w", "RuntimeError: Key :asic0 is not a valid key name in config file"),
        ("-t /tmp/t.j2,a,b", "ValueError: too many values to unpack (expected 2)"),
        ("-t /tmp/t.j2,", "FileNotFoundError: [Errno 2] No such file or directory: ''"),
        ("-t /tmp/t.j2,/none/out", "FileNotFoundError: [Errno 2] No such file or directory: '/none/out'"),
        ("-j /tmp/unnamed.json -w", "IndexError: string index out of range"),
    ],
)
def test_cfggen_fails_where_the_real_program_does(run: Run, switch: Device, words: str, error: str) -> None:
    """Compared with sonic-config-engine of 202505."""
    before = {key: dict(row) for key, row in switch.db.rows.items()}
    files = {"t.j2": b"x", "rows.json": b'{"PORT": {"Ethernet0": {"mtu": "1"}}}', "unnamed.json": b'{"": {}}'}
    for name, text in files.items():
        switch.files.write(f"/tmp/{name}", text)
    assert run(switch, f"sonic-cfggen {words}") == (1, "", f"Traceback (most recent call last):\n  ...\n{error}\n")
    assert switch.db.rows == before


def test_tables_are_written_in_capitals_and_only_those_that_begin_with_one(run: Run, switch: Device) -> None:
    document = {name: {"here": {"a": "1"}} for name in ("Port", "1PORT", "_PORT", "port")}
    switch.files.write("/tmp/rows.json", json.dumps(document).encode())
    before = set(switch.db.rows)
    assert run(switch, "sonic-cfggen -j /tmp/rows.json --write-to-db") == (0, "", "")
    assert set(switch.db.rows) - before == {"PORT|here"}


def test_keys_of_yaml_are_taken_apart_as_those_of_json(run: Run, switch: Device) -> None:
    switch.files.write("/tmp/keys.yml", b"INTERFACE:\n  Ethernet0|10.0.0.4/31: {}\n")
    told = run(switch, "sonic-cfggen -y /tmp/keys.yml -v 'INTERFACE.keys()|list'")
    assert told == (0, "[('Ethernet0', '10.0.0.4/31')]\n", "")


def test_cfggen_finds_a_key_of_several_parts_by_each_but_not_by_the_whole(run: Run, switch: Device) -> None:
    switch.db.put("INTERFACE|Ethernet8|10.9.9.0/31", {"NULL": "NULL"})
    for key, found in (("10.9.9.0/31", True), ("Ethernet8|10.9.9.0/31", False)):
        out = run(switch, f"sonic-cfggen -d --var-json INTERFACE -K '{key}'")[1]
        assert (json.loads(out) == {"Ethernet8|10.9.9.0/31": {}}) is found


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("pfc counters Ethernet0", "Got unexpected extra argument (Ethernet0)"),
        ("pfc priority -n asic0", 'Invalid value for "--namespace" / "-n"'),
        ("interfaces neighbor expected -n asic0", 'Invalid value for "--namespace" / "-n"'),
        ("pfcwd stats -e", "no such option: -e"),
        ("buffer information --verbose", "no such option: --verbose"),
        ("ipv6 interfaces --verbose", "no such option: --verbose"),
        ("watermark telemetry interval -n x", "no such option: -n"),
    ],
)
def test_show_takes_the_options_that_sonics_own_takes(run: Run, switch: Device, words: str, error: str) -> None:
    status, out, err = run(switch, f"show {words}")
    assert (status, out) == (2, "")
    assert error in err
    assert run(switch, "show mmu -vv")[0] == run(switch, "show buffer configuration --verbose")[0] == 0


def test_sed_writes_a_file_in_place_and_prints_nothing(run: Run, switch: Device) -> None:
    told = run(switch, "echo release: 202505 > /tmp/v; sed -i s/202505/202511/ /tmp/v; cat /tmp/v")
    assert told == (0, "release: 202511\n", "")


def test_the_platform_as_json_is_what_utilities_print(run: Run, switch: Device) -> None:
    status, out, _ = run(switch, "show platform summary --json")
    assert status == 0
    shown = json.loads(out)
    assert out == json.dumps(shown, sort_keys=True, indent=2) + "\n", (
        "sonic-utilities utilities_common/cli.py json_dump"
    )
    assert list(shown) == ["asic_count", "asic_type", "hwsku", "model", "platform", "revision", "serial"]
    run(switch, "sonic-db-cli CONFIG_DB HSET 'DEVICE_METADATA|localhost' switch_type npu")
    assert json.loads(run(switch, "show platform summary --json")[1])["switch_type"] == "npu"
    assert run(switch, "show platform summary")[1].endswith("Switch Type: npu\n")


def test_a_ping_follows_the_acls_at_ports_as_traffic_does(run: Run, fabric: Fabric) -> None:
    leaf, spine = fabric.devices["leaf1"], fabric.devices["spine1"]
    assert run(leaf, "ping -c 1 10.255.0.2")[0] == 0
    spine.db.put("ACL_TABLE|FILTER", {"type": "L3", "stage": "ingress", "ports@": "Ethernet0"})
    spine.db.put("ACL_RULE|FILTER|deny", {"PRIORITY": "1", "IP_TYPE": "IP", "PACKET_ACTION": "DROP"})
    status, out, _ = run(leaf, "ping -c 1 10.255.0.2")
    assert (status, "1 packets transmitted, 0 received, 100% packet loss" in out) == (1, True)
    spine.db.put("ACL_RULE|FILTER|allow", {"PRIORITY": "2", "SRC_IP": "10.255.0.1/32", "PACKET_ACTION": "FORWARD"})
    assert run(leaf, "ping -c 1 10.255.0.2")[0] == 1, "from the address of its port"
    assert run(leaf, "ping -c 1 -I 10.255.0.1 10.255.0.2")[0] == 0
    # The answer comes in at the leaf.
    leaf.db.put("ACL_TABLE|OWN", {"type": "L3", "stage": "ingress", "ports@": "Ethernet0"})
    leaf.db.put("ACL_RULE|OWN|deny", {"PRIORITY": "1", "DST_IP": "10.255.0.1/32", "PACKET_ACTION": "DROP"})
    assert run(leaf, "ping -c 1 -I 10.255.0.1 10.255.0.2")[0] == 1
