"""What ``docker-sonic-vs`` lacks to be managed like a switch, as a shell script that runs in it once it is up.

The image is SONiC's switch software without its host: no systemd and, up to 202511, no sudo, which SONiC's own
``config`` calls (sonic-facts §4). The stand-ins make ``config reload`` what it can be there: the database is emptied
and written anew, and orchagent and its managers, which go on running, follow.
"""

PREPARE = r"""#!/bin/sh
set -e

# Up when the configuration stands in the database and FRR answers; who calls bounds the wait.
until [ "$(redis-cli -n 4 get CONFIG_DB_INITIALIZED 2>/dev/null)" = 1 ] && vtysh -c 'show version' >/dev/null 2>&1; do
  sleep 0.5
done

stand_in() { # NAME, its text on stdin
  if command -v "$1" >/dev/null; then cat >/dev/null; else cat >"/usr/local/bin/$1"; chmod 755 "/usr/local/bin/$1"; fi
}

stand_in sudo <<'END'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
exec "$@"
END

stand_in systemctl <<'END'
#!/bin/sh
case "$*" in
  *ActiveState*) echo active ;;
  *TimestampMonotonic*) echo 0 ;;
  *is-system-running*) echo running ;;
esac
END

# A host shares FRR's folder with its bgp container under this name.
[ -e /etc/sonic/frr ] || ln -s /etc/frr /etc/sonic/frr
mkdir -p /var/lock

sysctl -q -w net.ipv4.fib_multipath_hash_policy=1 net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.disable_ipv6=0

# The image's own value is none that SONiC's models allow: its updater would refuse every patch.
redis-cli -n 4 hdel 'DEVICE_METADATA|localhost' switch_type >/dev/null
config load -y /lab/config_db.json
config save -y
"""
