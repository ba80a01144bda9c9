"""Host keys as devices show them now, against those that were recorded; nothing is logged in to, nothing is written."""

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
    """How the key that a device shows stands to the recorded ones."""

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
    """Return the jump host through which the devices are reached; one target has one at most."""
    given = next((reach.options["jump"] for reach in reaches.values() if reach.options.get("jump")), None)
    if given is None:
        return None
    return parse_jump(given)


def look_at_jump(jump: Jump, timeout_s: float) -> ShownKey:
    """Return the key that the jump host shows."""
    return _look(
        "jump host", str(jump), jump.known_hosts_file, lambda: connect(jump.host, jump.port, timeout_s), timeout_s
    )


def look(reaches: Mapping[str, Reach], known_hosts: Path, workers: int) -> tuple[ShownKey, ...]:
    """Return the key that each device shows, in the order of ``reaches``; at most ``workers`` are asked at once."""
    jump = jump_of(reaches)

    def look_at(device: str) -> ShownKey:
        reach = reaches[device]
        timeout_s = float(reach.options.get("conn_timeout", reach.timeout_s))

        def reached() -> Any:
            if jump is not None:
                return dial(jump, reach.host, reach.port, timeout_s)
            return connect(reach.host, reach.port, timeout_s)

        return _look(device, known_name(reach.host, reach.port), known_hosts, reached, timeout_s)

    with ThreadPoolExecutor(workers, thread_name_prefix="railweave-trust") as pool:
        return tuple(pool.map(look_at, reaches))


def devices_by_key(
    keys: Iterable[ShownKey], reaches: Mapping[str, Reach], known_hosts: Path
) -> Mapping[str, tuple[str, ...]]:
    """Return the devices that have the same key, by its fingerprint: those that showed it, and others whose recorded
    key it is."""
    shown = {key.device: key for key in keys if key.key}
    # Only of a key that was shown now the fingerprint is known.
    fingerprints = {key.key: key.fingerprint for key in shown.values()}
    shared = {}
    for key, devices in _devices_of_keys(shown, reaches, known_hosts).items():
        if len(devices) > 1 and key in fingerprints:
            shared[fingerprints[key]] = tuple(devices)
    return shared


def _devices_of_keys(
    shown: Mapping[str, ShownKey], reaches: Mapping[str, Reach], known_hosts: Path
) -> dict[str, list[str]]:
    """Return the devices of each key (``type base64``): a device has the key that it showed, else its recorded ones."""
    devices_of: dict[str, list[str]] = {}
    for device, reach in reaches.items():
        if device in shown:
            devices_of.setdefault(shown[device].key, []).append(device)
            continue
        for key in recorded_keys(known_hosts, known_name(reach.host, reach.port)):
            devices_of.setdefault(" ".join(key), []).append(device)
    return devices_of


def _look(device: str, name: str, known_hosts: Path, reached: Callable[[], Any], timeout_s: float) -> ShownKey:
    import paramiko

    recorded = recorded_keys(known_hosts, name)
    try:
        shown = _fetch(reached(), [kind for kind, _ in recorded], timeout_s)
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


def _fetch(sock: Any, kinds: list[str], timeout_s: float) -> "paramiko.PKey":
    """Return the key that the far end proves to have; of several the one whose kind is recorded."""
    import paramiko

    transport = paramiko.Transport(sock)
    try:
        options = transport.get_security_options()
        preferred: list[str] = []
        for kind in kinds:
            preferred += (name for name in _ALGORITHMS.get(kind, (kind,)) if name in options.key_types)
        options.key_types = [*dict.fromkeys((*preferred, *options.key_types))]
        transport.start_client(timeout=timeout_s)
        return transport.get_remote_server_key()
    finally:
        transport.close()
