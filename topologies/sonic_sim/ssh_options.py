"""What all SSH servers of a simulated fabric have in common: a key to log in, and the algorithms of today."""

from typing import Any

SSH_OPTIONS: dict[str, Any] = {
    "password_auth": False,
    "kbdint_auth": False,
    "gss_host": None,
    "allow_scp": False,
    "agent_forwarding": False,
    # Without those that need liboqs or nettle, for which `sonic_sim.ssh` keeps asyncssh from searching.
    "kex_algs": ("curve25519-sha256", "curve25519-sha256@libssh.org", "ecdh-sha2-nistp256"),
    "encryption_algs": (
        "aes128-gcm@openssh.com",
        "aes256-gcm@openssh.com",
        "aes128-ctr",
        "aes256-ctr",
        "chacha20-poly1305@openssh.com",
    ),
    "mac_algs": ("hmac-sha2-256-etm@openssh.com", "hmac-sha2-256", "hmac-sha2-512"),
    "compression_algs": None,
    "backlog": 64,
    "reuse_address": True,
    "login_timeout": 60,
    "server_version": "OpenSSH_9.2p1 Debian-2+deb12u3",
}
