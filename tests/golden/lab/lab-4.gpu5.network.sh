#!/bin/sh
set -e
ip link set dev rail0 mtu 9000 up
ip addr add 10.32.0.129/31 dev rail0
ip route add 10.32.0.0/11 via 10.32.0.128 table 100
ip route add 10.255.0.0/16 via 10.32.0.128 table 100
ip rule add from 10.32.0.129 table 100
ip route add 10.32.0.0/26 via 10.32.0.128 src 10.32.0.129
ip route add 10.32.0.128/26 via 10.32.0.128 src 10.32.0.129
ip link set dev rail1 mtu 9000 up
ip addr add 10.32.0.193/31 dev rail1
ip route add 10.32.0.0/11 via 10.32.0.192 table 101
ip route add 10.255.0.0/16 via 10.32.0.192 table 101
ip rule add from 10.32.0.193 table 101
ip route add 10.32.0.64/26 via 10.32.0.192 src 10.32.0.193
ip route add 10.32.0.192/26 via 10.32.0.192 src 10.32.0.193
ip route add 10.255.0.0/16 via 10.32.0.128 src 10.32.0.129
