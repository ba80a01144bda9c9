"""FRR's configuration: what lines replace and remove, in which order they are shown, and what is refused."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonic_sim.device import Device
from sonic_sim.frr.running import Frr
from sonic_sim.frr.show import Build


def frr(text: str = "") -> Frr:
    one = Frr()
    one.start(text, "leaf1")
    return one


BASE = """\
router bgp 65001
 no bgp default ipv4-unicast
 neighbor PEERS peer-group
 neighbor 10.0.0.0 remote-as 65100
 neighbor 10.0.0.0 peer-group PEERS
 address-family ipv4 unicast
  network 10.255.0.1/32
  neighbor PEERS activate
  neighbor PEERS route-map IN in
 exit-address-family
exit
ip prefix-list P permit 10.0.0.0/8 le 32
route-map IN permit 10
 match ip address prefix-list P
exit
"""


def test_the_configuration_is_shown_in_frrs_order_and_form() -> None:
    assert (
        frr("route-map IN permit 10\nexit\nip route 10.1.0.0/16 blackhole 250\n" + BASE).text()
        == """\
frr version 10.3
frr defaults traditional
hostname leaf1
!
ip prefix-list P seq 5 permit 10.0.0.0/8 le 32
!
route-map IN permit 10
 match ip address prefix-list P
exit
!
ip route 10.1.0.0/16 blackhole 250
!
router bgp 65001
 no bgp default ipv4-unicast
 neighbor PEERS peer-group
 neighbor 10.0.0.0 remote-as 65100
 neighbor 10.0.0.0 peer-group PEERS
 !
 address-family ipv4 unicast
  network 10.255.0.1/32
  neighbor PEERS activate
  neighbor PEERS route-map IN in
 exit-address-family
exit
!
ip nht resolve-via-default
!
ipv6 nht resolve-via-default
!
end
"""
    )


NHT = ("ip nht resolve-via-default", "ipv6 nht resolve-via-default")


def test_the_build_of_sonic_prints_two_defaults_also_in_each_vrf() -> None:
    one = frr("vrf Vrf1\n ip route 0.0.0.0/0 10.0.0.1\n no ipv6 nht resolve-via-default\nexit-vrf\n")
    one.vrfs = lambda: ("mgmt", "Vrf1")
    own, mgmt = one.text().split("vrf Vrf1\n")[1].split("vrf mgmt\n")
    assert sorted(own.splitlines()) == [
        " ip nht resolve-via-default",
        " ip route 0.0.0.0/0 10.0.0.1",
        " no ipv6 nht resolve-via-default",
        "!",
        "exit-vrf",
    ]
    assert mgmt.splitlines()[:3] == [*(f" {line}" for line in NHT), "exit-vrf"]
    one.apply("no ip nht resolve-via-default")
    assert f"\nno {NHT[0]}\n" in one.text()
    assert f"\n{NHT[0]}\n" not in one.text()


def test_frr_before_9_1_prints_them_where_they_are_configured() -> None:
    one = frr()
    one.build = Build("8.5.4")
    assert "nht" not in one.text()
    one.apply(NHT[0])
    assert f"\n{NHT[0]}\n" in one.text()
    one.apply(f"no {NHT[0]}")
    assert "nht" not in one.text()


def test_the_management_vrf_of_config_db_is_one_of_frrs(
    switch: Device, run: Callable[..., tuple[int, str, str]]
) -> None:
    assert "vrf mgmt" not in run(switch, "vtysh -c 'show running-config'")[1]
    switch.db.put("MGMT_VRF_CONFIG|vrf_global", {"mgmtVrfEnabled": "true"})
    assert "vrf mgmt\n ip nht resolve-via-default\n" in run(switch, "vtysh -c 'show running-config'")[1]


@pytest.mark.parametrize(
    ("lines", "there", "gone"),
    [
        ("router bgp 65001\n neighbor 10.0.0.0 remote-as 65200", "remote-as 65200", "remote-as 65100"),
        ("router bgp 65001\n no neighbor 10.0.0.0", "neighbor PEERS", "neighbor 10.0.0.0"),
        ("router bgp 65001\n no neighbor PEERS peer-group", "router bgp 65001", "PEERS"),
        (
            "router bgp 65001\n address-family ipv4 unicast\n no neighbor PEERS route-map IN in",
            "activate",
            "route-map IN in",
        ),
        (
            "router bgp 65001\n address-family ipv4 unicast\n neighbor PEERS route-map NEW in",
            "route-map NEW in",
            "map IN in",
        ),
        ("router bgp 65001\n address-family ipv4 unicast\n no network 10.255.0.1/32", "activate", "network"),
        ("no route-map IN permit 10", "router bgp", "route-map IN permit"),
        ("no route-map IN", "router bgp", "route-map IN permit"),
        ("no ip prefix-list P", "router bgp", "prefix-list P seq"),
        ("no ip prefix-list P seq 5 permit 10.0.0.0/8 le 32", "router bgp", "prefix-list P seq"),
        ("no router bgp 65001", "route-map", "router bgp"),
        ("route-map IN permit 10\n match ip address prefix-list Q", "prefix-list Q", "address prefix-list P"),
        (
            "route-map IN permit 10\n set community 65535:0 additive",
            "set community graceful-shutdown additive",
            "65535:0",
        ),
        ("route-map IN deny 10", "route-map IN deny 10", "route-map IN permit 10"),
        ("ip route 10.1.2.3/16 blackhole 250", "ip route 10.1.0.0/16 blackhole 250", "10.1.2.3"),
        (
            "router bgp 65001\n address-family ipv4 unicast\n no neighbor PEERS activate",
            "neighbor PEERS route-map IN in",
            "activate",
        ),
    ],
)
def test_a_line_takes_its_place_or_goes(lines: str, there: str, gone: str) -> None:
    one = frr(BASE)
    assert one.apply(lines).status == 0
    assert there in one.text()
    assert gone not in one.text()


@pytest.mark.parametrize(
    ("context", "switch"),
    [("", "ip forwarding"), ("", "fpm use-next-hop-groups"), ("router bgp 65001\n", "bgp ebgp-requires-policy")],
)
def test_what_is_on_by_default_is_shown_only_when_it_is_off(context: str, switch: str) -> None:
    one = frr(BASE)
    assert switch not in one.text()
    one.apply(f"{context}no {switch}")
    assert f"no {switch}\n" in one.text()
    one.apply(context + switch)
    assert switch not in one.text()


def test_where_neighbors_are_active_by_default_only_the_others_are_shown() -> None:
    one = frr(BASE)
    one.apply("router bgp 65001\n bgp default ipv4-unicast")
    assert "activate" not in one.text()
    one.apply("router bgp 65001\n address-family ipv4 unicast\n no neighbor PEERS activate")
    assert "  no neighbor PEERS activate\n" in one.text()
    one.apply("router bgp 65001\n address-family ipv4 unicast\n neighbor PEERS activate")
    assert "activate" not in one.text()


def test_the_timers_of_a_group_go_apart() -> None:
    one = frr(BASE + "router bgp 65001\n neighbor PEERS timers 3 9\n neighbor PEERS timers connect 10\n")
    one.apply("router bgp 65001\n no neighbor PEERS timers")
    assert "timers 3 9" not in one.text()
    assert "neighbor PEERS timers connect 10" in one.text()


def test_a_route_map_may_be_named_before_it_is_there() -> None:
    applied = frr(BASE).apply("router bgp 65001\n address-family ipv4 unicast\n neighbor PEERS route-map LATER out")
    assert applied.status == 0
    assert "[108|bgpd] sending configuration\nThe route-map 'LATER' does not exist.\n" in applied.out
    assert applied.err.splitlines() == ["[101|mgmtd] done", "[102|zebra] done", "[108|bgpd] done", "[118|staticd] done"]


def test_a_line_that_bgpd_refuses_fails_in_its_process_alone_and_before_9_0_there_is_one() -> None:
    wrong = "router bgp 65001\n neighbor 10.7.7.7 description x\n nonsense"
    unknown = "line 3: % Unknown command[25]:  nonsense\n"
    refused = "line 2: Failure to communicate[13] to bgpd, line:  neighbor 10.7.7.7 description x\n\n"
    failed = "Configuration file[/etc/frr/frr.conf] processing failure: 2\n"
    applied = frr(BASE).apply(wrong)
    assert applied.err == "".join(
        f"{refused if name == 'bgpd' else ''}{unknown}[{number}|{name}] {failed}"
        for number, name in ((101, "mgmtd"), (102, "zebra"), (108, "bgpd"), (118, "staticd"))
    )
    assert (applied.status, frr(BASE).apply(wrong, dry=True).err) == (2, f"{refused}{unknown}{failed}")
    old = frr(BASE)
    old.build = Build("8.5.4")
    assert old.apply(wrong).err == refused + unknown


def test_prefix_list_entries_without_number_continue_in_fives() -> None:
    one = frr(
        "ip prefix-list A permit 10.1.0.0/16\nip prefix-list A permit 10.2.0.0/16\nip prefix-list A permit 10.1.0.0/16"
    )
    assert [line for line in one.text().splitlines() if "prefix-list" in line] == [
        "ip prefix-list A seq 5 permit 10.1.0.0/16",
        "ip prefix-list A seq 10 permit 10.2.0.0/16",
    ]


@pytest.mark.parametrize(
    ("lines", "status", "err"),
    [
        ("nonsense here", 2, "line 1: % Unknown command[4]: nonsense here\n"),
        (
            "router bgp 65001\n neighbor 10.0.0.0 update-source",
            4,
            "line 2: % Command incomplete[25]:  neighbor 10.0.0.0 update-source\n\n",
        ),
        ("router bgp 65002", 13, "line 1: Failure to communicate[13] to bgpd, line: router bgp 65002"),
        ("router bgp 65001\n neighbor 10.9.9.9 description x", 13, "line 2: Failure to communicate[13] to bgpd"),
        ("router bgp 65001\n neighbor 10.9.9.9 peer-group NONE", 13, "Failure to communicate[13]"),
        ("no router bgp 65002", 13, "Failure to communicate[13]"),
        ("router bgp 65001\n no neighbor 10.9.9.9 description x", 13, "line 2: Failure to communicate[13] to bgpd"),
        ("router bgp 65001\n no neighbor NONE peer-group", 13, "line 2: Failure to communicate[13] to bgpd"),
        ("router bgp 65001\n no neighbor 10.9.9.9", 0, ""),
    ],
)
def test_a_refused_line_has_frrs_words_and_does_not_stop_the_others(lines: str, status: int, err: str) -> None:
    one = frr(BASE)
    applied = one.apply(lines + "\nip prefix-list LAST seq 5 permit 10.0.0.0/8\n")
    assert applied.status == status
    assert err in applied.err
    assert "prefix-list LAST" in one.text()


def test_a_dry_run_changes_nothing() -> None:
    one = frr(BASE)
    before = one.text()
    assert one.apply("no router bgp 65001", dry=True).status == 0
    assert one.text() == before


def test_a_line_of_an_outer_context_leaves_the_inner_one() -> None:
    one = frr(
        "router bgp 65001\n address-family ipv4 unicast\n"
        "ip prefix-list A seq 5 permit 10.0.0.0/8\n bgp router-id 1.1.1.1"
    )
    assert "ip prefix-list A seq 5" in one.text()
    assert "bgp router-id" not in one.text()


MORE_LINES = (
    "router bgp 65001", "no neighbor 10.0.0.0", " bgp router-id 1.1.1.1", "exit", "no ip prefix-list P",
    "route-map IN permit 20", " match as-path A", "interface Ethernet0",
)  # fmt: skip
LINES = st.sampled_from([*BASE.splitlines(), *MORE_LINES])


@given(st.lists(LINES, max_size=30))
def test_what_is_shown_loads_to_the_same_configuration(lines: list[str]) -> None:
    one = frr("\n".join(lines))
    assert frr(one.text()).text() == one.text()


def test_a_filter_goes_by_its_direction_whatever_name_is_given() -> None:
    one = frr(BASE)
    one.apply("router bgp 65001\n address-family ipv4 unicast\n no neighbor PEERS route-map OTHER in")
    assert "route-map IN in" not in one.text()


def test_filters_are_shown_daemon_by_daemon(run: Callable[..., tuple[int, str, str]], switch: Device) -> None:
    lines = ("ip prefix-list B seq 10 deny any", "ip prefix-list B seq 5 permit 10.0.0.0/8 ge 24 le 32",
             "ip prefix-list A seq 5 permit 10.1.0.0/16", "ip protocol bgp route-map SRC")  # fmt: skip
    words = " ".join(f"-c '{line}'" for line in lines)
    assert run(switch, f"vtysh -c 'configure terminal' {words}")[0] == 0
    text = "{0}: ip prefix-list B: 2 entries\n   seq 5 permit 10.0.0.0/8 ge 24 le 32\n   seq 10 deny any\n"
    shown = run(switch, "show ip prefix-list B")
    assert shown[:2] == (0, text.format("ZEBRA") + text.format("BGP"))
    assert run(switch, "vtysh -c 'show ip prefix-list'")[1].startswith("ZEBRA: ip prefix-list A: 1 entries\n")
    assert run(switch, "vtysh -c 'show ipv6 prefix-list'")[:2] == (0, "")
    assert run(switch, "show ip prefix-list C")[0] == 1
    protocols = run(switch, "show ip protocol")[1].splitlines()
    assert protocols[0] == "VRF: default"
    assert "bgp                       : SRC       " in protocols
    assert protocols[-2:] == ["table-direct              : none", "any                       : none"]
    assert "local                     : none" in run(switch, "show ipv6 protocol")[1]
    assert run(switch, "show route-map")[0] == 1  # of route-maps FRR counts what no simulation knows
    for name in [one for one in switch.frr.root.children if one.startswith("route-map")]:
        del switch.frr.root.children[name]
    assert run(switch, "show route-map")[:2] == (0, "ZEBRA:\nBGP:\n")


def test_a_file_reaches_frr_only_once_it_is_copied_into_its_container(
    run: Callable[..., tuple[int, str, str]], switch: Device
) -> None:
    switch.files.write("/tmp/lines", b"ip prefix-list COPIED seq 5 permit 10.2.0.0/24\n")
    missing = "% Can't open configuration file /tmp/lines due to 'No such file or directory'.\n"
    assert run(switch, "vtysh -f /tmp/lines") == (1, "", missing)
    assert run(switch, "docker cp /tmp/lines bgp:/tmp/lines && vtysh -f /tmp/lines")[0] == 0
    assert "ip prefix-list COPIED" in run(switch, "vtysh -c 'show running-config'")[1]
    assert run(switch, "docker cp bgp:/tmp/lines /root/back && cat /root/back")[1].startswith("ip prefix-list COPIED")


def test_docker_refuses_what_it_cannot_do(run: Callable[..., tuple[int, str, str]], switch: Device) -> None:
    assert run(switch, "docker cp /tmp/none bgp:/tmp/x") == (1, "", "lstat /tmp/none: no such file or directory\n")
    assert run(switch, "docker cp bgp:/tmp/none /root/x")[2] == (
        "Error response from daemon: Could not find the file /tmp/none in container bgp\n"
    )
    assert (
        run(switch, "docker cp /root/x nobody:/tmp/x")[2] == "Error response from daemon: No such container: nobody\n"
    )
    assert run(switch, "docker restart bgp") == (1, "", "docker restart: this command is not simulated\n")
