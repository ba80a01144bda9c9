#!/bin/bash -e
# The boot, in the order of docker-sonic-vs: files, Redis, CONFIG_DB, ports, managers, FRR without bgpd.
sleep 1.5 # as long as the image's own takes at least: supervisord starts again what ends within a second
python3 -Es -m sonic_vs files
supervisorctl start redis-server
until redis-cli ping >/dev/null 2>&1; do sleep 0.1; done
python3 -Es -m sonic_vs load
supervisorctl start syncd orchagent intfmgrd zebra staticd
