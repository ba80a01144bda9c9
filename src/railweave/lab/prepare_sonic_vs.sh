#!/bin/sh
# Bring a container of docker-sonic-vs to where SONiC's commands manage it. Run by `railweave lab up`, as root. The image
# is SONiC's switch software without its host: no systemd, monit and, before 2026, no sudo and no lldpd.
set -e

stand_in() { # NAME, its text on stdin
  cat >"/usr/local/sbin/$1"
  chmod 755 "/usr/local/sbin/$1"
}

command -v sudo >/dev/null || stand_in sudo <<'END'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
exec "$@"
END

command -v systemctl >/dev/null || stand_in systemctl <<'END'
#!/bin/sh
case "$*" in
  *ActiveState*) echo active ;;
  *TimestampMonotonic*) echo 0 ;;
  *is-system-running*) echo running ;;
esac
END

# `config reload` asks systemd for its services and ends with `monit reload`, and FLUSHDB tells no daemon what goes. So
# SONiC checks and loads the file, and the image boots from it. Everything else is SONiC's own `config`.
stand_in config <<'END'
#!/bin/sh
set -e
own=$(PATH=/usr/local/bin:/usr/bin command -v config)
[ "$1" = reload ] || exec "$own" "$@"
"$own" "$@" -n
sonic-cfggen -d --print-data >/run/railweave-boot.json
exec railweave-boot /run/railweave-boot.json
END

stand_in railweave-boot <<'END'
#!/bin/sh
# Start the programs of the image afresh by its own start script, from FILE; what the next start boots stays as it is.
set -e
startup=/etc/sonic/config_db.json
rm -f "$startup.kept"
[ ! -e "$startup" ] || cp -p "$startup" "$startup.kept"
cp "$1" "$startup"
supervisorctl stop all >/dev/null
# With this file FRR's daemons read no file of their own; in every other mode SONiC removes it.
grep -q '"docker_routing_config_mode": *"split-unified"' "$startup" || rm -f /etc/frr/frr.conf
supervisorctl start start.sh >/dev/null || { echo 'start.sh cannot be started' >&2; exit 1; }
await() { # SECONDS, WHAT, a command
  seconds=$1 what=$2; shift 2
  until "$@" >/dev/null 2>&1; do
    [ "$seconds" -gt 0 ] || { echo "$what" >&2; exit 1; }
    seconds=$((seconds - 1)); sleep 1
  done
}
booted() { ! pgrep -x start.sh; }
answers() { vtysh -d "$daemon" -c 'show version'; }
connected() { vtysh -c 'show zebra client summary' | grep -q '^bgp '; }
await 300 'start.sh does not end' booted
[ "$(redis-cli -n 4 get CONFIG_DB_INITIALIZED)" = 1 ] || { echo 'start.sh failed: CONFIG_DB is not filled' >&2; exit 1; }
# Neither the start script nor supervisord starts it, and Containerlab asks for it before there is a supervisord.
supervisorctl start bgpd >/dev/null 2>&1 || true
for daemon in zebra staticd bgpd; do await 60 "$daemon does not answer" answers; done
# With `bgp suppress-fib-pending` loaded before, bgpd would never hear that a route is in the kernel, and announce none.
await 60 'bgpd does not reach zebra' connected
[ ! -e /etc/frr/frr.conf ] || vtysh -b >/dev/null
[ ! -e "$startup.kept" ] || mv "$startup.kept" "$startup"
END

# A host shares FRR's folder with its bgp container under this name.
[ -e /etc/sonic/frr ] || ln -s /etc/frr /etc/sonic/frr

# The value is none that SONiC's models allow: its updater would refuse every patch.
sed -i '/"switch_type"/d' /usr/share/sonic/templates/init_cfg.json.j2

sysctl -q -w net.ipv4.ip_forward=1 net.ipv4.fib_multipath_hash_policy=1 \
  net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.disable_ipv6=0
for interface in $(python3 -c 'import json; print(*json.load(open("/lab/node.json"))["ports"].values())'); do
  # The start script passes over ports without an ethN, and orchagent fails on rows of such ports.
  if [ ! -e "/sys/class/net/$interface" ]; then
    ip tuntap add dev "$interface" mode tap
    ip link set dev "$interface" mtu 9500
  fi
  # EthernetN stands behind ethN and answers for the port's addresses; ethN would answer too, with another MAC address.
  sysctl -q -w "net.ipv6.conf.$interface.disable_ipv6=1"
  ip link set dev "$interface" arp off up
done

# The first boot is under way, of a factory configuration that is not the lab's.
until [ "$(redis-cli -n 4 get CONFIG_DB_INITIALIZED 2>/dev/null)" = 1 ] && ! pgrep -x start.sh >/dev/null; do sleep 1; done
railweave-boot /lab/config_db.json
config save -y
