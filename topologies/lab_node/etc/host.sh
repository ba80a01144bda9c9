#!/bin/sh
# A GPU node of the lab: addresses and routes of its rails, and LLDP with its name and port names.
set -e
ip route del default 2>/dev/null || true
sh /lab/network.sh
# They survive a flap of a NIC, as on a node whose network a daemon keeps.
setsid python3 -Es -m lab_node.rails >/var/log/rails.log 2>&1 </dev/null &
# a port is called by its name, not by its MAC address; lldpd reads this itself when it starts
echo 'configure lldp portidsubtype ifname' >>/etc/lldpd.d/lab.conf
mkdir -p /run/lldpd
lldpd -c -I '*,!eth0'
