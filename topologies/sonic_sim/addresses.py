"""Where each simulated switch listens: an own loopback address a device, one port for the whole fabric."""

import hashlib
import socket

_FIRST_NET = 64
_NETS = 160
_HOSTS_A_NET = 250


def device_address(fabric: str, index: int) -> str:
    """Return the loopback address of device number ``index`` (from 0): 127.x.y.z, x from the fabric's name.

    Raises ValueError above 62,500 devices.
    """
    third, fourth = divmod(index, _HOSTS_A_NET)
    if third >= _HOSTS_A_NET:
        raise ValueError(f"device number {index} has no loopback address")
    net = _FIRST_NET + int.from_bytes(hashlib.sha256(fabric.encode()).digest()[:4], "big") % _NETS
    return f"127.{net}.{third + 1}.{fourth + 1}"


def free_port(address: str) -> int:
    """Return a TCP port that nobody uses on ``address`` now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def is_free(address: str, port: int) -> bool:
    """Tell whether nobody listens there."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True
