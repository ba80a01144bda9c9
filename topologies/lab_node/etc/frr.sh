#!/bin/sh
# Start one daemon of FRR. Containerlab asks for bgpd before anything else runs: the others wait for zebra's socket.
set -e
daemon=$1; shift
if [ "$daemon" = zebra ]; then
  rm -f /run/frr/zserv.api
else
  while ! [ -S /run/frr/zserv.api ]; do sleep 0.1; done
fi
exec "/usr/lib/frr/$daemon" -u frr -g frr "$@"
