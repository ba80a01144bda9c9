"""Where the driver keeps its files on a switch, and how it names its commits."""

import secrets
import time

STATE_DIRECTORY = "/var/lib/railweave"
STATE_FILE = f"{STATE_DIRECTORY}/state.json"
HOLDER_FILE = f"{STATE_DIRECTORY}/holder"
RELOAD_FILE = f"{STATE_DIRECTORY}/reload.json"
RELOAD_LOG = f"{STATE_DIRECTORY}/reload.log"
LOCK_FILE = "/var/lock/railweave.lock"
CONFIRM_PROGRAM = "/usr/local/bin/railweave-confirm"
FRR_FILE_ON_HOST = "/etc/sonic/frr/railweave.conf"
FRR_FILE_IN_CONTAINER = "/etc/frr/railweave.conf"
"""``vtysh`` runs in the bgp container, where the host's ``/etc/sonic/frr`` is mounted as ``/etc/frr``."""
STARTUP_CONFIG_DB = "/etc/sonic/config_db.json"
STARTUP_FRR = "/etc/sonic/frr/frr.conf"


def staged(suffix: str) -> str:
    """Return a fresh path in ``/tmp`` for an upload; the name cannot be guessed."""
    return f"/tmp/railweave-{secrets.token_hex(8)}.{suffix}"  # noqa: S108


def rollback_file(commit_id: str) -> str:
    """Return the path of a commit's rollback file."""
    return f"{STATE_DIRECTORY}/{commit_id}.rollback.json"


def new_id() -> str:
    """Return a name for a commit that sorts by time: ``20261121-101500-3fa2``."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(2)}"
