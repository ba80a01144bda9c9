#!/bin/sh
# A GPU node of the lab: addresses and routes of its rails, and LLDP with its name and port names.
set -e
ip route del default 2>/dev/null || true
sh /lab/network.sh
mkdir -p /run/lldpd
lldpd -c -I 'rail*,!eth0'
# lldpd takes a while to answer where many nodes start at once
for _ in $(seq 100); do lldpcli configure lldp tx-interval 5 >/dev/null 2>&1 && break; sleep 0.2; done
# a port is called by its name, not by its MAC address
lldpcli configure lldp portidsubtype ifname >/dev/null
lldpcli update >/dev/null
