"""Where the driver keeps its files on a switch, and how it names its commits."""

import secrets
import time

PROGRAM = "/usr/local/bin/railweave-switch"
SESSION_LOCK_FILE = "/var/lock/railweave.session"
STARTUP_CONFIG_DB = "/etc/sonic/config_db.json"
STARTUP_FRR = "/etc/sonic/frr/frr.conf"


def new_id() -> str:
    """Return a name for a commit that sorts by time: ``20261121-101500-3fa2``."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(2)}"
