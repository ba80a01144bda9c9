#!/bin/sh
# A GPU node of the lab: addresses and routes of its rails, and LLDP with its name and port names.
set -e
ip route del default 2>/dev/null || true
sh /lab/network.sh
# a port is called by its name, not by its MAC address; lldpd reads this itself when it starts
echo 'configure lldp portidsubtype ifname' >>/etc/lldpd.d/lab.conf
mkdir -p /run/lldpd
lldpd -c -I '*,!eth0'
