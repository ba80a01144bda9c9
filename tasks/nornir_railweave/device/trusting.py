"""Host keys as devices show them now, against those that were recorded; nothing is logged in to, nothing is written."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from napalm.base.exceptions import NapalmException

from napalm_sonic.host_keys import known_name
from napalm_sonic.jump import Jump, dial, parse_jump
from napalm_sonic.login import connect
from nornir_railweave.device.session import error_text
from nornir_railweave.target.known_hosts import recorded_keys
from nornir_railweave.target.reach import Reach

if TYPE_CHECKING:
    import paramiko

# Signature algorithms of a key type where they are not named like it (RFC 8332).
_ALGORITHMS = {"ssh-rsa": ("rsa-sha2-512", "rsa-sha2-256")}


class Trust(StrEnum):
    """How the key that a device shows compares with the recorded ones."""

    KNOWN = "known"
    NEW = "new"
    CHANGED = "changed"
    REVOKED = "revoked"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class ShownKey:
    """The key of one device. ``name`` is its name in known_hosts, ``key`` its type and base64 as a line holds them.

    ``error`` says why there is none.
    """

    device: str
    name: str
    trust: Trust
    key: str = ""
    fingerprint: str = ""
    error: str = ""

    @property
    def algorithm(self) -> str:
        """Return the key's type."""
        return self.key.partition(" ")[0]


def jump_of(reaches: Mapping[str, Reach]) -> Jump | None:
    """Return the jump host through which the devices are reached, None without one. A target has one at most."""
    for reach in reaches.values():
        if reach.options.get("jump"):
            return parse_jump(reach.options["jump"])
    return None


def look_at_jump(jump: Jump, timeout_s: float) -> ShownKey:
    """Return the key that the jump host shows."""

    def open_socket() -> Any:
        return connect(jump.host, jump.port, timeout_s)

    return _shown_key("jump host", str(jump), jump.known_hosts_file, open_socket, timeout_s)


def look(reaches: Mapping[str, Reach], known_hosts: Path, workers: int) -> tuple[ShownKey, ...]:
    """Return the key that each device shows, in the order of ``reaches``; at most ``workers`` are asked at once."""
    jump = jump_of(reaches)

    def look_at(device: str) -> ShownKey:
        reach = reaches[device]
        timeout_s = float(reach.options.get("conn_timeout", reach.timeout_s))

        def open_socket() -> Any:
            if jump is not None:
                return dial(jump, reach.host, reach.port, timeout_s)
            return connect(reach.host, reach.port, timeout_s)

        return _shown_key(device, known_name(reach.host, reach.port), known_hosts, open_socket, timeout_s)

    with ThreadPoolExecutor(workers, thread_name_prefix="railweave-trust") as pool:
        return tuple(pool.map(look_at, reaches))


def devices_by_key(
    keys: Iterable[ShownKey], reaches: Mapping[str, Reach], known_hosts: Path
) -> Mapping[str, tuple[str, ...]]:
    """Return the devices that share a key, by the key's fingerprint; keys of a single device are left out.

    A device has the key that it showed, or the ones recorded for it if it showed none.
    """
    shown = {key.device: key for key in keys if key.key}
    fingerprints = {key.key: key.fingerprint for key in shown.values()}
    shared = {}
    for key, devices in _devices_of_keys(shown, reaches, known_hosts).items():
        # A key that is only recorded has no fingerprint here, and no device showed it now.
        if len(devices) > 1 and key in fingerprints:
            shared[fingerprints[key]] = tuple(devices)
    return shared


def _devices_of_keys(
    shown: Mapping[str, ShownKey], reaches: Mapping[str, Reach], known_hosts: Path
) -> dict[str, list[str]]:
    """Return the devices that have each key (``type base64``): the key that a device showed, else its recorded ones."""
    devices_of: defaultdict[str, list[str]] = defaultdict(list)
    for device, reach in reaches.items():
        if device in shown:
            keys = [shown[device].key]
        else:
            keys = [" ".join(key) for key in recorded_keys(known_hosts, known_name(reach.host, reach.port))]
        for key in keys:
            devices_of[key].append(device)
    return devices_of


def _shown_key(device: str, name: str, known_hosts: Path, open_socket: Callable[[], Any], timeout_s: float) -> ShownKey:
    """Return the key that a device shows over a new connection, compared with those recorded under ``name``.

    A device that cannot be reached has an error instead of a key.
    """
    import paramiko

    recorded = recorded_keys(known_hosts, name)
    try:
        shown = _fetch(open_socket(), [key_type for key_type, _ in recorded], timeout_s)
    except (NapalmException, paramiko.SSHException, OSError, EOFError) as fault:
        return ShownKey(device, name, Trust.UNREACHABLE, error=error_text(fault))
    key = (shown.get_name(), shown.get_base64())
    if key in recorded_keys(known_hosts, name, "@revoked"):
        trust = Trust.REVOKED
    elif not recorded:
        trust = Trust.NEW
    elif key in recorded:
        trust = Trust.KNOWN
    else:
        trust = Trust.CHANGED
    return ShownKey(device, name, trust, " ".join(key), str(shown.fingerprint))


def _fetch(sock: Any, recorded_types: list[str], timeout_s: float) -> "paramiko.PKey":
    """Return the host key of the far end of ``sock``.

    A far end with several keys is asked for one of ``recorded_types``, so that it can be compared.
    """
    import paramiko

    transport = paramiko.Transport(sock)
    try:
        options = transport.get_security_options()
        preferred: list[str] = []
        for key_type in recorded_types:
            preferred += _ALGORITHMS.get(key_type, (key_type,))
        # paramiko refuses a name that it does not know.
        supported = [name for name in preferred if name in options.key_types]
        options.key_types = [*dict.fromkeys((*supported, *options.key_types))]
        transport.start_client(timeout=timeout_s)
        return transport.get_remote_server_key()
    finally:
        transport.close()
