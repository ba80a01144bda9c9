"""FRR's text: what the normalizer makes the same, and what stays a difference."""

import pytest

from railweave.sonic.frr import FrrEntry, apply_delta, frr_delta, frr_difference, parse_frr, render_frr
from railweave.sonic.frr.document import never_compared
from railweave_switch.frr import JOIN, lines_of

BGP = "router bgp 65001\n no bgp default ipv4-unicast\n"


def lines(text: str) -> list[tuple[str, str]]:
    return [(entry.context, entry.line) for entry in parse_frr(text).entries]


FRR_8_4 = """Building configuration...

Current configuration:
!
frr version 8.4.4
frr defaults traditional
hostname leaf1
log syslog informational
no ip forwarding
no ipv6 forwarding
no zebra nexthop kernel enable
service integrated-vtysh-config
!
router bgp 65001
 no bgp default ipv4-unicast
 neighbor SPINES peer-group
 neighbor SPINES timers connect 10
 !
 address-family ipv4 unicast
  neighbor SPINES activate
 exit-address-family
exit
!
end
"""
FRR_10 = """frr version 10.3
frr defaults traditional
hostname other
log syslog informational
log facility local4
zebra nexthop kernel enable
no fpm use-next-hop-groups
fpm address 127.0.0.1
agentx
!
router bgp 65001
 no bgp default ipv4-unicast
 neighbor SPINES peer-group
 neighbor SPINES timers connect 10
 !
 address-family ipv4 unicast
  neighbor SPINES activate
 exit-address-family
exit
!
end
"""
FLAT = """router bgp 65001
no bgp default ipv4-unicast
neighbor SPINES peer-group
neighbor SPINES timers connect 10
address-family ipv4 unicast
neighbor SPINES activate
"""


@pytest.mark.parametrize("text", [FRR_10, FLAT], ids=["FRR 10", "no indentation"])
def test_versions_and_layouts_of_one_configuration_are_the_same(text: str) -> None:
    assert parse_frr(text).entries == parse_frr(FRR_8_4).entries
    assert len(parse_frr(text).entries) == 5


SAME = [
    ("ip prefix-list A permit 10.0.0.0/8", "ip prefix-list A seq 5 permit 10.0.0.0/8"),
    ("ip prefix-list A seq 5 permit 0.0.0.0/0 le 32", "ip prefix-list A seq 5 permit any"),
    ("ip route 10.0.0.0/24 Null0 250", "ip route 10.0.0.0/24 blackhole 250"),
    (
        "route-map A permit 10\n set community 65535:0 1:2",
        "route-map A permit 10\n set community 1:2 graceful-shutdown",
    ),
    (
        "bgp community-list standard L seq 5 permit 65535:0",
        "bgp community-list standard L seq 5 permit graceful-shutdown",
    ),
    (BGP + " bgp ebgp-requires-policy", BGP),
    (BGP + " neighbor 10.0.0.1 send-community both", BGP),
    (BGP + " address-family ipv4\n  network 10.0.0.0/8", BGP + " address-family ipv4 unicast\n  network 10.0.0.0/8"),
    ("router bgp 1\n address-family ipv4 unicast\n  neighbor 10.0.0.1 activate", "router bgp 1"),
    (
        BGP + " neighbor Ethernet0 interface peer-group A\n no neighbor Ethernet0 capability link-local",
        BGP + " neighbor Ethernet0 interface peer-group A",
    ),
    ("interface Ethernet0\nexit", ""),
    ("password zebra\nenable password zebra\nlog file x\ndebug bgp updates\nline vty\n exec-timeout 0 0", ""),
    ("ip route  10.0.0.0/24   blackhole", "ip route 10.0.0.0/24 blackhole"),
]


@pytest.mark.parametrize(("written", "printed"), SAME, ids=[written.splitlines()[-1] for written, _ in SAME])
def test_a_form_that_frr_prints_differently_is_the_same(written: str, printed: str) -> None:
    assert lines(written) == lines(printed)


DIFFERENT = [
    (BGP + " no bgp ebgp-requires-policy", BGP),
    (BGP + " address-family ipv4 unicast\n  neighbor 10.0.0.1 activate", BGP),
    (BGP + " neighbor A timers connect 10", BGP),
    ("ip prefix-list A seq 10 permit 10.0.0.0/8", "ip prefix-list A seq 5 permit 10.0.0.0/8"),
    ("route-map A permit 10", ""),
    ("ip nht resolve-via-default", ""),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=[one.splitlines()[-1] for one, _ in DIFFERENT])
def test_a_real_difference_stays_one(one: str, other: str) -> None:
    assert lines(one) != lines(other)


NHT = "ip nht resolve-via-default\nipv6 nht resolve-via-default\n"
VRF_NHT = "vrf mgmt\n ip nht resolve-via-default\n ipv6 nht resolve-via-default\nexit-vrf\n"


@pytest.mark.parametrize("printed", ["", NHT, NHT + VRF_NHT], ids=["upstream", "SONiC", "SONiC with a VRF"])
@pytest.mark.parametrize("wanted", ["", "ip nht resolve-via-default\n", NHT + VRF_NHT])
@pytest.mark.parametrize("version", ["9.1", "10.0.1", "10.3"])
def test_what_a_version_does_anyway_is_no_difference_whether_it_is_printed_or_not(
    version: str, printed: str, wanted: str
) -> None:
    running = parse_frr(f"frr version {version}\n{printed}")
    assert frr_difference(running, parse_frr(wanted)) == ((), ())
    # The way back compares the same documents the other way round.
    assert frr_difference(parse_frr(wanted), running) == ((), ())


SHOWN = """Building configuration...

Current configuration:
!
frr version 10.3
frr defaults traditional
hostname leaf1
log syslog informational
no zebra nexthop kernel enable
password s3cret
service integrated-vtysh-config
!
vrf mgmt
 ip nht resolve-via-default
 ip route 0.0.0.0/0 192.0.2.1
 ipv6 nht resolve-via-default
exit-vrf
!
router bgp 65001
 bgp router-id 10.0.0.1
 neighbor 10.0.0.1 remote-as 65000
 neighbor Ethernet0 interface remote-as 65000
 no neighbor Ethernet0 capability link-local
 !
 address-family ipv6 unicast
  neighbor 10.0.0.1 activate
 exit-address-family
exit
!
ip prefix-list A seq 5 permit any
ip nht resolve-via-default
ipv6 nht resolve-via-default
!
line vty
 exec-timeout 0 0
exit
!
end
"""


@pytest.mark.parametrize("version", ["10.3", "8.5.4"])
def test_the_program_on_the_switch_compares_the_lines_that_the_client_does(version: str) -> None:
    text = SHOWN.replace("10.3", version)
    compared = {FrrEntry(JOIN.join(line[:-1]), line[-1]) for line in lines_of(text, never_compared(parse_frr(text)))}
    assert compared == set(parse_frr(text).entries)
    assert any("nht" in entry.line for entry in compared) == (version == "8.5.4")


@pytest.mark.parametrize("version", ["frr version 8.5.4\n", ""])
def test_a_line_that_became_a_default_is_configured_where_the_version_needs_it(version: str) -> None:
    assert delta(version, "ip nht resolve-via-default\n") == ["ip nht resolve-via-default"]
    assert delta(version + NHT, "ip nht resolve-via-default\n") == ["no ipv6 nht resolve-via-default"]


@pytest.mark.parametrize("wanted", ["", "ip nht resolve-via-default\n"])
def test_a_default_that_was_switched_off_is_switched_on_and_off_again_by_the_way_back(wanted: str) -> None:
    printed = "frr version 10.3\nno ip nht resolve-via-default\nipv6 nht resolve-via-default\n"
    assert delta(printed, wanted) == ["ip nht resolve-via-default"]
    running = parse_frr(printed)
    after = apply_delta("ip nht resolve-via-default\n", running)
    assert after.entries == ()
    assert frr_delta(after, running).splitlines() == ["no ip nht resolve-via-default"]


def delta(running: str, wanted: str) -> list[str]:
    return frr_delta(parse_frr(running), parse_frr(wanted)).splitlines()


def test_a_written_file_keeps_the_version_that_its_defaults_mean() -> None:
    assert render_frr(parse_frr(FRR_10)).startswith("frr version 10.3\nfrr defaults traditional\n")
    assert "frr version" not in render_frr(parse_frr(FLAT))


def test_a_line_after_a_block_without_exit_is_at_the_top_again() -> None:
    text = (
        "router bgp 1\n neighbor A peer-group\n"
        + "bgp community-list standard L seq 5 permit 1:1\nip nht resolve-via-default\n"
    )
    assert lines(text)[2:] == [
        ("", "bgp community-list standard L seq 5 permit 1:1"),
        ("", "ip nht resolve-via-default"),
    ]


def test_prefix_list_lines_without_a_number_are_numbered_as_frr_does() -> None:
    text = "ip prefix-list A seq 7 deny any\nip prefix-list A permit 10.0.0.0/8\nip prefix-list B permit 10.0.0.0/8"
    assert [line for _, line in lines(text)] == [
        "ip prefix-list A seq 7 deny any",
        "ip prefix-list A seq 10 permit 10.0.0.0/8",
        "ip prefix-list B seq 5 permit 10.0.0.0/8",
    ]


def test_a_written_file_reads_back_the_same_and_refers_only_to_what_stands_above() -> None:
    text = (
        "router bgp 1\n address-family ipv4 unicast\n  neighbor S activate\n  neighbor S route-map M in\n"
        " exit-address-family\n neighbor 10.0.0.1 peer-group S\n neighbor S peer-group\n no bgp default ipv4-unicast\n"
        "exit\nroute-map M permit 10\n match ip address prefix-list A\nexit\nip prefix-list A permit 10.0.0.0/8\n"
    )
    written = render_frr(parse_frr(text))
    assert set(parse_frr(written).entries) == set(parse_frr(text).entries)
    order = [
        "ip prefix-list A seq 5",
        "route-map M permit 10",
        "neighbor S peer-group",
        "neighbor 10.0.0.1 peer-group S",
        "neighbor S route-map M in",
        "neighbor S activate",
    ]
    assert sorted(order, key=written.index) == order


def test_a_written_file_keeps_the_system_s_lines_but_not_the_old_host_name() -> None:
    written = render_frr(parse_frr(FRR_8_4))
    assert "log syslog informational" in written
    assert "hostname" not in written
    assert "forwarding" not in written


def test_a_secret_is_never_shown() -> None:
    entry = FrrEntry("router bgp 1", "neighbor 10.0.0.1 password s3cret with spaces")
    assert entry.shown == "neighbor 10.0.0.1 password (hidden)"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("router-id 10.0.0.1", "ip router-id 10.0.0.1"),
        ("ip mroute 10.1.2.3/16 10.0.0.1 1", "ip mroute 10.1.0.0/16 10.0.0.1"),
        (
            "ip route 10.1.0.0/16 10.0.0.1 bfd profile p 20 tag 7",
            "ip route 10.1.0.0/16 10.0.0.1 tag 7 20 bfd profile p",
        ),
        (
            "ip route 10.1.0.0/16 10.0.0.1 bfd source 10.0.0.2 profile p multi-hop",
            "ip route 10.1.0.0/16 10.0.0.1 bfd multi-hop source 10.0.0.2 profile p",
        ),
        (
            "vrf RED\n ip route 10.1.0.0/16 10.0.0.1 nexthop-vrf RED table 5",
            "vrf RED\n ip route 10.1.0.0/16 10.0.0.1 table 5",
        ),
        ("ip route 10.1.0.0/16 10.0.0.1 vrf RED nexthop-vrf RED", "vrf RED\n ip route 10.1.0.0/16 10.0.0.1"),
        (
            "bfd\n peer 10.0.0.1 interface Ethernet0 local-address 10.0.0.0 vrf default",
            "bfd\n peer 10.0.0.1 local-address 10.0.0.0 interface Ethernet0",
        ),
        ("zebra nexthop-group keep 180", ""),
        ("zebra route-map delay-timer 5", ""),
        ("interface Ethernet0\n link-detect\n ipv6 nd ra-interval 600", ""),
        ("router bgp 65001\n coalesce-time 1000\n read-quanta 10\n write-quanta 064", "router bgp 65001"),
        (
            "router bgp 65001\n neighbor 10.0.0.1 ttl-security hops 01",
            "router bgp 65001\n neighbor 10.0.0.1 ttl-security hops 1",
        ),
        (
            "router bgp 65001\n neighbor G peer-group\n neighbor G ttl-security hops 1\n neighbor G solo\n"
            " neighbor 10.0.0.1 peer-group G\n neighbor 10.0.0.1 ttl-security hops 1\n neighbor 10.0.0.1 solo",
            "router bgp 65001\n neighbor G peer-group\n neighbor G ttl-security hops 1\n neighbor G solo\n"
            " neighbor 10.0.0.1 peer-group G",
        ),
    ],
)
def test_other_spellings_are_what_frr_prints(written: str, shown: str) -> None:
    """Run on FRR 8.4.4 and 10.3."""
    assert set(parse_frr(written).entries) == set(parse_frr(shown).entries)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("interface\n neighbor Ethernet0 remote-as external", "interface remote-as external"),
        ("interface v6only\n neighbor Ethernet0 peer-group G", "interface v6only peer-group G"),
        (
            "interface remote-as external\n neighbor Ethernet0 capability extended-nexthop",
            "interface remote-as external",
        ),
        (
            "interface remote-as external\n neighbor Ethernet0 peer-group G",
            "interface peer-group G\n neighbor Ethernet0 remote-as external",
        ),
        (
            "interface\n neighbor Ethernet0 peer-group G\n neighbor Ethernet0 remote-as external",
            "interface peer-group G\n neighbor Ethernet0 remote-as external",
        ),
    ],
)
def test_an_unnumbered_neighbor_is_defined_in_one_line(written: str, shown: str) -> None:
    """In two lines it was removed and added again by every deployment (run on FRR 8.4.4 and 10.3)."""
    router = "router bgp 65001\n neighbor G peer-group\n neighbor Ethernet0 {}\n"
    assert set(parse_frr(router.format(written)).entries) == set(parse_frr(router.format(shown)).entries)
