#!/usr/bin/python3 -Es
"""Boots the stand-in in the order of vrnetlab's sonic/docker/launch.py and of the machine that it starts.

The machine's sshd answers with SONiC's first password. Then the launch logs in, sets the password and the host name,
loads the start-up configuration (backup.sh), and only then calls the container healthy (common/vrnetlab.py).
"""

import argparse
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

_STARTUP = Path("/config/config_db.json")
_LOGIN_PROMPT_S = 3.0
"""Between sshd and the login prompt on the console, for which the launch waits."""


def main() -> None:
    """Boot, then stay."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    parser = argparse.ArgumentParser()
    for option in ("hostname", "username", "password", "connection-mode"):
        parser.add_argument(f"--{option}")
    parser.add_argument("--trace", action="store_true")
    options = parser.parse_args()
    logging.basicConfig(format="%(asctime)s: %(module)-10s %(levelname)-8s %(message)s", level=logging.DEBUG)
    _health(1, "starting")
    if os.environ["STUCK"]:
        logging.error("no login prompt")
        _health(1, "VM failed - restarting")
    else:
        _boot()
        _bootstrap(options)
        _health(0, "running")
    while True:
        signal.pause()


def _health(status: int, words: str) -> None:
    Path("/health").write_text(f"{status} {words}")


def _boot() -> None:
    """Start the switch once its interfaces are there, as Containerlab adds them."""
    while sum(name.startswith("eth") for name in os.listdir("/sys/class/net")) <= int(os.environ["CLAB_INTFS"]):
        time.sleep(0.1)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/lab/ssh_host_ed25519_key"], check=True)
    subprocess.run(["supervisord", "-c", "/etc/supervisor/supervisord.conf"], check=True, stdout=subprocess.DEVNULL)
    while not _greets():
        time.sleep(0.1)


def _greets() -> bool:
    try:
        with socket.create_connection(("127.0.0.1", 22), 1) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def _bootstrap(options: argparse.Namespace) -> None:
    """Do what the launch does at the console."""
    logging.info("sshd answers as %s, with the first password", socket.gethostname())
    time.sleep(_LOGIN_PROMPT_S)
    subprocess.run(["chpasswd"], input=f"{options.username}:{options.password}", text=True, check=True)
    time.sleep(1)
    subprocess.run(["hostname", options.hostname], check=True)
    time.sleep(1)
    logging.info("completed bootstrap configuration")
    if _STARTUP.exists():
        for words in (["load", "-y", str(_STARTUP)], ["save", "-y"]):
            subprocess.run(["config", *words], check=True)


main()
