#!/bin/sh
# Start one daemon of FRR. Containerlab asks for bgpd before anything else runs: the others wait for zebra's socket, as
# SONiC's zsocket.sh does. A file DAEMON.late with a number of seconds makes the next start late, for tests.
set -e
daemon=$1; shift
late=/run/frr/$daemon.late
if [ -e "$late" ]; then
  seconds=$(cat "$late")
  rm "$late"
  sleep "$seconds"
fi
if [ "$daemon" != zebra ]; then
  while ! [ -S /run/frr/zserv.api ]; do sleep 0.1; done
fi
exec "/usr/lib/frr/$daemon" -u frr -g frr "$@"
