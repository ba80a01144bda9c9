"""Spellings of FRR's commands: for each family of lines several ways to write it, in the contexts where FRR takes it.

``tests/conformance/record_frr_spellings.py`` asks a real FRR what it runs after each, and the recordings are held
against what ``parse_frr`` makes of the spelling. A case is a text for ``vtysh -f``.
"""

from collections.abc import Iterator

_PEERS = ("neighbor PG peer-group", "neighbor 10.0.0.1 remote-as 65002", "neighbor fd00::1 remote-as 65003")

TOP = """
ip route 10.98.0.0/16 blackhole
ip route 10.98.7.1/16 blackhole
ip route 10.98.0.0 255.255.0.0 blackhole
ip route 10.98.0.0/16 Null0
ip route 10.98.0.0/16 null0
ip route 10.98.0.0/16 reject
ip route 10.98.0.0/16 blackhole 250 tag 220
ip route 10.98.0.0/16 blackhole tag 220 250
ip route 10.98.0.0/16 tag 220 blackhole
ip route 10.98.0.0/16 Null0 250
ip route 10.98.0.0/16 blackhole 1
ip route 10.98.0.0/16 blackhole tag 0
ip route 10.98.0.0/16 10.0.0.1
ip route 10.98.0.0/16 10.0.0.1 1
ip route 10.98.0.0/16 10.0.0.1 250
ip route 10.98.0.0/16 10.0.0.1 0250
ip route 10.98.0.0/16 10.0.0.1 250 tag 5
ip route 10.98.0.0/16 10.0.0.1 tag 5 250
ip route 10.98.0.0/16 10.0.0.1 Ethernet0
ip route 10.98.0.0/16 10.0.0.1 Ethernet0 250 tag 5
ip route 10.98.0.0/16 10.0.0.1 Ethernet0 tag 5 250
ip route 10.98.0.0/16 10.0.0.1 Ethernet0 onlink
ip route 10.98.0.0/16 10.0.0.1 Ethernet0 onlink 250
ip route 10.98.0.0/16 Ethernet0 250
ip route 10.98.0.0/16 10.0.0.1 vrf default
ip route 10.98.0.0/16 10.0.0.1 nexthop-vrf default
ip route 10.98.0.0/16 10.0.0.1 nexthop-vrf Vrf1
ip route 10.98.0.0/16 10.0.0.1 vrf Vrf1
ip route 10.98.0.0/16 blackhole 250 vrf Vrf1
ip route 10.98.0.0/16 10.0.0.1 bfd
ip route 0.0.0.0/0 10.0.0.1
ip route 0.0.0.0 0.0.0.0 10.0.0.1
ipv6 route 2001:db8::/32 blackhole
ipv6 route 2001:DB8:0:0::1/32 blackhole
ipv6 route 2001:0db8::/32 Null0 200 tag 7
ipv6 route 2001:db8::/32 blackhole tag 7 200
ipv6 route 2001:db8::/32 FE80::1 Ethernet0
ipv6 route 2001:db8::/32 2001:db8:0::1 1
vrf Vrf1 / ip route 10.98.7.1/16 10.0.0.1 250 tag 4
vrf Vrf1 / ip route 10.98.0.0/16 Null0
vrf Vrf1 / ipv6 route 2001:DB8::1/64 blackhole 200
ip prefix-list P seq 5 permit any
ip prefix-list P seq 5 permit 0.0.0.0/0 le 32
ip prefix-list P seq 5 permit 0.0.0.0/0
ip prefix-list P seq 05 permit 10.0.0.0/8
ip prefix-list P seq 5 permit 10.1.2.3/8
ip prefix-list P seq 5 permit 10.0.0.0/8 le 32 ge 9
ip prefix-list P seq 5 permit 10.0.0.0/8 ge 9 le 32
ip prefix-list P seq 5 permit 10.0.0.0/8 ge 16
ip prefix-list P seq 5 permit 10.0.0.0/8 ge 8
ip prefix-list P seq 5 permit 10.0.0.0/8 le 8
ip prefix-list P seq 5 permit 10.0.0.0/8 ge 8 le 24
ip prefix-list P seq 5 permit 10.0.0.0/8 ge 24 le 24
ip prefix-list P seq 5 permit 10.0.0.0/8 le 32
ip prefix-list P permit 10.0.0.0/8
ip prefix-list P deny any
ip prefix-list P description  two  words
ipv6 prefix-list P seq 5 permit any
ipv6 prefix-list P seq 5 permit ::/0 le 128
ipv6 prefix-list P seq 5 permit 2001:DB8::1/32 le 64
ipv6 prefix-list P seq 5 permit 2001:db8:0::/48 le 64 ge 52
access-list A seq 5 permit any
access-list A permit 10.1.2.3/8
access-list A permit 10.1.2.3/8 exact-match
access-list 10 permit 10.0.0.0 0.255.255.255
access-list 10 permit host 10.0.0.1
access-list 10 permit 10.0.0.1
ipv6 access-list A seq 5 permit 2001:DB8::1/32
bgp community-list standard C seq 5 permit 1:2 1:1
bgp community-list standard C permit 1:1
bgp community-list C permit 1:1
bgp community-list 10 permit 1:1
bgp community-list standard C seq 5 permit 65535:666
bgp community-list standard C seq 5 permit blackhole
bgp community-list standard C seq 5 permit 65535:65281 1:1
bgp community-list standard C seq 5 permit no-export no-advertise
bgp community-list standard C seq 5 permit 01:02
bgp community-list standard C seq 5 permit internet
bgp community-list standard C seq 5 permit 1:1 1:1
bgp community-list standard C seq 5 permit 4294967041
bgp community-list standard C seq 5 permit 65537
bgp community-list expanded C seq 5 permit 1:.*
bgp large-community-list standard L seq 5 permit 1:2:4 1:2:3
bgp large-community-list L permit 1:2:3
bgp large-community-list standard L permit 01:2:3
bgp extcommunity-list standard E seq 5 permit rt 1:2
bgp extcommunity-list standard E permit soo 1:2 rt 1:1
bgp as-path access-list AP seq 5 permit ^65000_
bgp as-path access-list AP permit ^65000_
ip protocol bgp route-map RM
ipv6 protocol bgp route-map RM
ip nht resolve-via-default
no ip nht resolve-via-default
ip router-id 10.0.0.9
router bgp 65001
router bgp 1.10
router bgp 65546
router bgp 1.10 as-notation dot
router bgp 65546 as-notation dot
router bgp 65546 as-notation dot+
router bgp 65001 vrf default
router bgp 65001 vrf Vrf1
route-map RM permit 010
route-map RM permit 10
"""

ROUTER = """
bgp router-id 10.0.0.9
bgp router-id 10.0.0.009
bgp log-neighbor-changes
timers bgp 3 9
timers bgp 60 180
timers bgp 03 09
bgp default local-preference 100
bgp default local-preference 200
bgp ebgp-requires-policy
no bgp ebgp-requires-policy
bgp bestpath as-path multipath-relax
bgp bestpath as-path multipath-relax no-as-set
bgp bestpath as-path multipath-relax as-set
bgp bestpath med confed missing-as-worst
bgp bestpath med missing-as-worst confed
bgp bestpath med confed
bgp bestpath bandwidth ignore
bgp graceful-restart
bgp graceful-restart restart-time 120
bgp graceful-restart restart-time 240
bgp graceful-restart stalepath-time 360
bgp graceful-restart select-defer-time 360
bgp graceful-restart rib-stale-time 500
bgp graceful-restart preserve-fw-state
bgp listen limit 100
bgp listen limit 200
bgp listen range 10.5.0.1/24 peer-group PG
bgp listen range 2001:DB8::1/64 peer-group PG
bgp cluster-id 10.0.0.9
bgp cluster-id 167772169
bgp max-med on-startup 5
bgp max-med on-startup 5 4294967294
bgp max-med administrative
bgp max-med administrative 4294967294
coalesce-time 1000
coalesce-time 2000
bgp deterministic-med
bgp always-compare-med
bgp fast-external-failover
bgp network import-check
bgp suppress-duplicates
bgp suppress-fib-pending
bgp confederation identifier 65100
bgp confederation peers 65102 65101
bgp confederation peers 1.1
bgp session-dscp 48
bgp session-dscp 0x30
bgp session-dscp cs6
bgp route-map delay-timer 5
bgp dampening
bgp dampening 15 750 2000 60
network 10.99.0.0/24
network 10.99.0.1/24
network 10.99.0.0 mask 255.255.255.0
network 10.0.0.0
redistribute connected
maximum-paths 64
maximum-paths 1
distance bgp 20 200 200
distance bgp 30 200 200
neighbor 10.0.0.1 activate
neighbor PG activate
neighbor 10.0.0.1 route-map RM in
neighbor 10.0.0.1 soft-reconfiguration inbound
neighbor 10.0.0.1 next-hop-self
neighbor 10.0.0.1 allowas-in 1
neighbor 10.0.0.1 maximum-prefix 100
neighbor PG remote-as external
neighbor PG remote-as 65002
neighbor PG remote-as 1.10
neighbor 10.0.0.9 remote-as 1.10
neighbor 10.0.0.9 remote-as external
neighbor FD00:0::9 remote-as 65003
neighbor FD00::1 description x
neighbor Ethernet0 interface remote-as 1.10
neighbor Ethernet0 interface v6only remote-as external
neighbor Ethernet0 interface
neighbor Ethernet0 interface peer-group PG
neighbor 10.0.0.1 peer-group PG
neighbor 10.0.0.1 local-as 1.10
neighbor 10.0.0.1 local-as 65005 no-prepend
neighbor 10.0.0.1 local-as 65005 no-prepend replace-as
neighbor 10.0.0.1 timers 3 9
neighbor 10.0.0.1 timers 60 180
neighbor 10.0.0.1 timers 03 09
neighbor 10.0.0.1 timers connect 120
neighbor 10.0.0.1 timers connect 10
neighbor 10.0.0.1 timers delayopen 0
neighbor 10.0.0.1 advertisement-interval 0
neighbor 10.0.0.1 advertisement-interval 5
neighbor 10.0.0.1 ebgp-multihop
neighbor 10.0.0.1 ebgp-multihop 255
neighbor 10.0.0.1 ebgp-multihop 1
neighbor 10.0.0.1 ebgp-multihop 2
neighbor 10.0.0.1 ttl-security hops 1
neighbor 10.0.0.1 bfd
neighbor 10.0.0.1 bfd 3 300 300
neighbor 10.0.0.1 bfd 4 100 100
neighbor 10.0.0.1 bfd profile fast
neighbor 10.0.0.1 bfd check-control-plane-failure
neighbor 10.0.0.1 bfd check-control-plane-failure profile fast
neighbor 10.0.0.1 bfd strict
neighbor 10.0.0.1 description two  words
neighbor 10.0.0.1 description
neighbor 10.0.0.1 port 179
neighbor 10.0.0.1 port 1790
neighbor 10.0.0.1 passive
neighbor 10.0.0.1 shutdown
neighbor 10.0.0.1 shutdown message two words
neighbor 10.0.0.1 shutdown rtt 10
neighbor 10.0.0.1 shutdown rtt 10 count 1
neighbor 10.0.0.1 update-source 10.0.0.2
neighbor 10.0.0.1 update-source Loopback0
neighbor 10.0.0.1 update-source FD00:0::5
neighbor 10.0.0.1 enforce-first-as
neighbor 10.0.0.1 disable-connected-check
neighbor 10.0.0.1 capability extended-nexthop
neighbor Ethernet0 capability extended-nexthop
neighbor 10.0.0.1 capability dynamic
neighbor 10.0.0.1 strict-capability-match
neighbor 10.0.0.1 override-capability
neighbor 10.0.0.1 dont-capability-negotiate
neighbor 10.0.0.1 graceful-restart
neighbor 10.0.0.1 graceful-restart-helper
neighbor 10.0.0.1 graceful-restart-disable
neighbor 10.0.0.1 graceful-shutdown
neighbor 10.0.0.1 password secret
neighbor 10.0.0.1 sender-as-path-loop-detection
neighbor 10.0.0.1 solo
neighbor 10.0.0.1 interface Ethernet0
neighbor 10.0.0.1 tcp-mss 1400
neighbor PG timers 3 9
"""

FAMILY = """
network 10.99.0.0/24
network 10.99.0.1/24
network 10.99.0.0 mask 255.255.255.0
network 10.0.0.0
network 10.99.0.1/24 route-map RM
network 10.99.0.0/24 label-index 3
network 10.99.0.0/24 label-index 3 route-map RM
network 10.99.0.0/24 backdoor
aggregate-address 10.0.0.1/8
aggregate-address 10.0.0.0 255.0.0.0
aggregate-address 10.0.0.0/8 summary-only as-set
aggregate-address 10.0.0.0/8 as-set summary-only
aggregate-address 10.0.0.0/8 matching-MED-only as-set
aggregate-address 10.0.0.0/8 route-map RM summary-only
aggregate-address 10.0.0.0/8 origin igp
aggregate-address 10.0.0.0/8 origin incomplete summary-only
redistribute connected
redistribute connected route-map RM metric 5
redistribute connected metric 5 route-map RM
redistribute connected metric 05
redistribute static
maximum-paths 64
maximum-paths 064
maximum-paths 1
maximum-paths ibgp 4
maximum-paths ibgp 4 equal-cluster-length
distance bgp 20 200 200
distance bgp 30 200 200
table-map RM
neighbor 10.0.0.1 activate
neighbor PG activate
neighbor fd00::1 activate
no neighbor 10.0.0.1 activate
neighbor 10.0.0.1 allowas-in
neighbor 10.0.0.1 allowas-in 3
neighbor 10.0.0.1 allowas-in 03
neighbor 10.0.0.1 allowas-in 1
neighbor 10.0.0.1 allowas-in origin
neighbor 10.0.0.1 maximum-prefix 100
neighbor 10.0.0.1 maximum-prefix 100 75
neighbor 10.0.0.1 maximum-prefix 100 80
neighbor 10.0.0.1 maximum-prefix 100 75 restart 5
neighbor 10.0.0.1 maximum-prefix 100 80 restart 5
neighbor 10.0.0.1 maximum-prefix 100 restart 5
neighbor 10.0.0.1 maximum-prefix 100 warning-only
neighbor 10.0.0.1 maximum-prefix 100 75 warning-only
neighbor 10.0.0.1 maximum-prefix 100 force
neighbor 10.0.0.1 maximum-prefix-out 100
neighbor 10.0.0.1 send-community
neighbor 10.0.0.1 send-community both
neighbor 10.0.0.1 send-community all
neighbor 10.0.0.1 send-community standard
neighbor 10.0.0.1 send-community extended
neighbor 10.0.0.1 send-community large
no neighbor 10.0.0.1 send-community
no neighbor 10.0.0.1 send-community both
no neighbor 10.0.0.1 send-community all
no neighbor 10.0.0.1 send-community standard
no neighbor 10.0.0.1 send-community extended
no neighbor 10.0.0.1 send-community large
neighbor 10.0.0.1 next-hop-self
neighbor 10.0.0.1 next-hop-self force
neighbor 10.0.0.1 next-hop-self all
neighbor 10.0.0.1 next-hop-unchanged
neighbor 10.0.0.1 as-override
neighbor 10.0.0.1 default-originate
neighbor 10.0.0.1 default-originate route-map RM
neighbor 10.0.0.1 remove-private-AS
neighbor 10.0.0.1 remove-private-AS all
neighbor 10.0.0.1 remove-private-AS replace-AS
neighbor 10.0.0.1 remove-private-AS all replace-AS
neighbor 10.0.0.1 capability orf prefix-list both
neighbor 10.0.0.1 attribute-unchanged
neighbor 10.0.0.1 attribute-unchanged as-path next-hop med
neighbor 10.0.0.1 attribute-unchanged med as-path
neighbor 10.0.0.1 weight 0
neighbor 10.0.0.1 weight 10
neighbor 10.0.0.1 soft-reconfiguration inbound
neighbor 10.0.0.1 route-map RM in
neighbor 10.0.0.1 prefix-list P out
neighbor 10.0.0.1 filter-list AP in
neighbor 10.0.0.1 distribute-list A in
neighbor 10.0.0.1 unsuppress-map RM
neighbor 10.0.0.1 addpath-tx-all-paths
neighbor 10.0.0.1 addpath-tx-bestpath-per-AS
neighbor 10.0.0.1 route-reflector-client
neighbor 10.0.0.1 route-server-client
neighbor 10.0.0.1 accept-own
neighbor 10.0.0.1 disable-addpath-rx
"""

FAMILY6 = """
network 2001:DB8::1/64
network 2001:db8:0::/48 route-map RM
aggregate-address 2001:DB8::1/32 summary-only
neighbor FD00:0::1 activate
neighbor fd00::1 route-map RM in
neighbor fd00::1 nexthop-local unchanged
redistribute connected
maximum-paths 64
"""

ROUTE_MAP = """
match ip address prefix-list P
match ip address A
match ip address prefix-len 24
match ipv6 address prefix-list P
match ip next-hop prefix-list P
match ip next-hop 10.0.0.1
match ip next-hop address 10.0.0.1
match community C
match community C exact-match
match community C D
match as-path AP
match interface Ethernet0
match tag 5
match tag 05
match metric 10
match metric 010
match local-preference 100
match peer 10.0.0.1
match peer FD00:0::1
match peer Ethernet0
match peer local
match source-protocol bgp
match origin egp
match large-community L
match evpn route-type 5
match evpn route-type prefix
match probability 50
set community 1:2 1:1
set community 1:1 1:2
set community 1:2 1:1 additive
set community additive 1:1
set community 65535:666
set community 65535:65281 1:1
set community no-export 1:1 additive
set community local-AS
set community 65535:65283
set community 1:1 1:1
set community 01:02
set community 65537
set community internet
set community none
set community graceful-shutdown
set community 65535:0
set community llgr-stale
set community accept-own-nexthop
set large-community 1:2:4 1:2:3
set large-community 1:2:3 additive
set extcommunity rt 1:1 1:2
set extcommunity rt 1.1:5
set extcommunity soo 1:1
set extcommunity bandwidth 100
set comm-list C delete
set as-path prepend 65000 65001
set as-path prepend 1.10 65001
set as-path prepend last-as 3
set as-path exclude 65000
set as-path exclude 1.10
set local-preference 0100
set local-preference 100
set local-preference +100
set metric 10
set metric +10
set metric 010
set metric rtt
set weight 010
set tag 5
set tag 05
set origin igp
set src 10.0.0.9
set ip next-hop 10.0.0.9
set ip next-hop peer-address
set ip next-hop unchanged
set ipv6 next-hop global 2001:DB8:0::1
set ipv6 next-hop prefer-global
set distance 10
set table 10
set aggregator as 1.10 10.0.0.1
on-match next
on-match goto 20
continue
continue 20
call RM2
description two  words
"""

INHERITED = (
    ("neighbor PG timers 3 9", "neighbor 10.0.0.1 timers 3 9"),
    ("neighbor PG timers 3 9", "neighbor 10.0.0.1 timers 60 180"),
    ("neighbor PG timers connect 10", "neighbor 10.0.0.1 timers connect 10"),
    ("neighbor PG timers connect 10", "neighbor 10.0.0.1 timers connect 120"),
    ("neighbor PG description x", "neighbor 10.0.0.1 description x"),
    ("neighbor PG bfd", "neighbor 10.0.0.1 bfd"),
    ("neighbor PG passive", "neighbor 10.0.0.1 passive"),
    ("neighbor PG update-source Loopback0", "neighbor 10.0.0.1 update-source Loopback0"),
    ("neighbor PG advertisement-interval 5", "neighbor 10.0.0.1 advertisement-interval 5"),
    ("neighbor PG ebgp-multihop 2", "neighbor 10.0.0.1 ebgp-multihop 2"),
    ("neighbor PG password secret", "neighbor 10.0.0.1 password secret"),
    ("neighbor PG capability extended-nexthop", "neighbor 10.0.0.1 capability extended-nexthop"),
    ("neighbor PG shutdown", "neighbor 10.0.0.1 shutdown"),
    ("neighbor PG local-as 65005", "neighbor 10.0.0.1 local-as 65005"),
    ("neighbor PG disable-connected-check", "neighbor 10.0.0.1 disable-connected-check"),
)
INHERITED_FAMILY = (
    ("neighbor PG activate", "neighbor 10.0.0.1 activate"),
    ("neighbor PG activate", "no neighbor 10.0.0.1 activate"),
    ("neighbor PG route-map RM in", "neighbor 10.0.0.1 route-map RM in"),
    ("neighbor PG route-map RM out", "neighbor 10.0.0.1 route-map RM out"),
    ("neighbor PG allowas-in 1", "neighbor 10.0.0.1 allowas-in 1"),
    ("neighbor PG maximum-prefix 100", "neighbor 10.0.0.1 maximum-prefix 100"),
    ("neighbor PG soft-reconfiguration inbound", "neighbor 10.0.0.1 soft-reconfiguration inbound"),
    ("neighbor PG next-hop-self", "neighbor 10.0.0.1 next-hop-self"),
    ("neighbor PG prefix-list P in", "neighbor 10.0.0.1 prefix-list P in"),
    ("neighbor PG send-community", "neighbor 10.0.0.1 send-community"),
    ("neighbor PG weight 10", "neighbor 10.0.0.1 weight 10"),
    ("neighbor PG default-originate", "neighbor 10.0.0.1 default-originate"),
    ("neighbor PG as-override", "neighbor 10.0.0.1 as-override"),
)

QUIET = " no bgp default ipv4-unicast\n"


def _lines(text: str) -> list[str]:
    return text.strip().splitlines()


def _router(inner: str, quiet: str = "") -> str:
    return f"router bgp 65001\n{quiet}" + "".join(f" {one}\n" for one in _PEERS) + inner + "exit\n"


def _family(lines: tuple[str, ...], name: str = "ipv4 unicast", quiet: str = "", before: str = "") -> str:
    inner = "".join(f"  {one}\n" for one in lines)
    return _router(f"{before} address-family {name}\n{inner} exit-address-family\n", quiet)


def cases() -> Iterator[str]:
    """Yield the texts."""
    for line in _lines(TOP):
        *path, last = line.split(" / ")
        yield "".join(f"{' ' * depth}{one}\n" for depth, one in enumerate([*path, last])) + ("exit\n" if path else "")
    for line in _lines(ROUTER):
        yield _router(f" {line}\n", QUIET)
    for line in ("neighbor 10.0.0.1 activate", "neighbor PG activate", "network 10.99.0.1/24"):
        yield _router(f" {line}\n")
    for line in _lines(FAMILY):
        yield _family((line,), quiet=QUIET)
    for line in ("neighbor 10.0.0.1 activate", "no neighbor 10.0.0.1 activate", "neighbor PG activate"):
        yield _family((line,))
    for line in _lines(FAMILY6):
        yield _family((line,), "ipv6 unicast", QUIET)
    yield _family(("network 10.99.0.1/24",), "ipv4", QUIET)
    yield _family(("network 10.99.0.1/24",), "ipv4 multicast", QUIET)
    for line in _lines(ROUTE_MAP):
        yield f"route-map RM permit 10\n {line}\nexit\n"
    for pair in INHERITED:
        yield _router("".join(f" {one}\n" for one in (pair[0], "neighbor 10.0.0.1 peer-group PG", pair[1])), QUIET)
    for pair in INHERITED_FAMILY:
        yield _family(pair, quiet=QUIET, before=" neighbor 10.0.0.1 peer-group PG\n")
