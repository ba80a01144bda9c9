"""Further spellings that FRR prints otherwise, each with what FRR 10.3 (Debian 13) runs after it."""

import pytest

from railweave.sonic.frr import frr_delta, frr_difference, parse_frr

ROUTE_MAP = {
    "set src FD00:0::1": "set src fd00::1",
    "on-match goto 030": "on-match goto 30",
    "match local-preference 0100": "match local-preference 100",
    "match ip address prefix-len 024": "match ip address prefix-len 24",
    "match ipv6 next-hop FD00:0::1": "match ipv6 next-hop address fd00::1",
    "match ipv6 next-hop address FD00:0::1": "match ipv6 next-hop address fd00::1",
    "set as-path prepend last-as 03": "set as-path prepend last-as 3",
    "set extcommunity bandwidth 0100": "set extcommunity bandwidth 100",
    "set label-index 05": "set label-index 5",
    "set metric +010": "set metric +10",
}
FAMILY = {
    "network 10.99.0.0/24 backdoor route-map RM": "network 10.99.0.0/24 route-map RM backdoor",
    "network 10.99.0.0 mask 255.255.255.0 backdoor route-map RM": "network 10.99.0.0/24 route-map RM backdoor",
    "network 10.99.0.0/24 label-index 03": "network 10.99.0.0/24 label-index 3",
    "redistribute table 010 metric 5": "redistribute table 10 metric 5",
    "distance 30 10.0.0.1/8 A": "distance 30 10.0.0.0/8 A",
    "bgp dampening 15": "bgp dampening",
    "bgp dampening 10 750 2000 40": "bgp dampening 10",
    "neighbor 10.0.0.1 maximum-prefix-out 0100": "neighbor 10.0.0.1 maximum-prefix-out 100",
    "neighbor 10.0.0.1 addpath-tx-best-selected 03": "neighbor 10.0.0.1 addpath-tx-best-selected 3",
}
ROUTER = {
    "bgp tcp-keepalive 010 05 03": "bgp tcp-keepalive 10 5 3",
    "bgp client-to-client reflection": "",
}
TOP = {
    "bgp as-path access-list AP seq 010 permit _65000$": "bgp as-path access-list AP seq 10 permit _65000$",
    "bgp extcommunity-list standard E permit rt 1.10:5": "bgp extcommunity-list standard E seq 5 permit rt 65546:5",
    "bgp large-community-list 5 permit 1:2:3": "bgp large-community-list 5 seq 5 permit 1:2:3",
}
PROFILE = {
    "transmit-interval 300": "",
    "receive-interval 0300": "",
    "detect-multiplier 3": "",
    "minimum-ttl 254": "",
    "no echo-mode": "",
    "no shutdown": "",
    "echo transmit-interval 50": "",
    "echo receive-interval 50": "",
    "echo-interval 100": "echo transmit-interval 100\n  echo receive-interval 100",
}
FORMS = {
    "{}\n": TOP,
    "router bgp 65001\n {}\nexit\n": ROUTER,
    "router bgp 65001\n neighbor 10.0.0.1 remote-as 65002\n address-family ipv4 unicast\n  {}\n"
    " exit-address-family\nexit\n": FAMILY,
    "route-map RM permit 10\n {}\nexit\n": ROUTE_MAP,
    "bfd\n profile fast\n  {}\n exit\nexit\n": PROFILE,
}
CASES = [(form, given, runs) for form, cases in FORMS.items() for given, runs in cases.items()]


@pytest.mark.parametrize(("form", "given", "runs"), CASES, ids=[given for _, given, _ in CASES])
def test_a_line_is_compared_as_frr_prints_it(form: str, given: str, runs: str) -> None:
    running = parse_frr("frr version 10.3\n" + form.format(runs))
    assert frr_difference(running, parse_frr(form.format(given))) == ((), ())


@pytest.mark.parametrize(("form", "given", "runs"), CASES, ids=[given for _, given, _ in CASES])
def test_a_line_that_is_not_there_still_differs(form: str, given: str, runs: str) -> None:
    without = parse_frr("frr version 10.3\n" + form.format(""))
    differs = frr_difference(without, parse_frr(form.format(given))) != ((), ())
    assert differs is bool(runs)


def test_a_timer_of_bfd_that_goes_becomes_the_default() -> None:
    form = "bfd\n profile fast\n  {}\n exit\nexit\n"
    delta = frr_delta(parse_frr(form.format("transmit-interval 100")), parse_frr(form.format("transmit-interval 300")))
    assert delta == "bfd\n profile fast\n  transmit-interval 300\n exit\nexit\n"
