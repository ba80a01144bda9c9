"""From a target to what a connection needs for every device: address, port, user, key and the driver's options."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nornir_railweave.target.endpoints import ENDPOINTS, Endpoints, read_endpoints
from nornir_railweave.target.model import Address, JumpLogin, Login, Source, Target
from nornir_railweave.target.secret_store import SecretStore
from railweave.codec import CodecError
from railweave.diagnostics import Where, error
from railweave.errors import RefusedError
from railweave.fabric.devices import Switch
from railweave.fabric.model import Fabric
from railweave.masking import SHORTEST, mask_from_now_on
from railweave.secrets import HIDDEN
from railweave.wording import command_line
from railweave_hosts.access import SecretName

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Reach:
    """How one device is reached."""

    host: str
    port: int
    username: str
    # Secrets never show in a representation: Nornir logs arguments.
    password: str = field(repr=False)
    timeout_s: float
    # The driver's optional arguments, among them a passphrase.
    options: Mapping[str, Any] = field(repr=False)


def resolve(
    fabric: Fabric,
    target: Target,
    state_dir: Path,
    environ: Mapping[str, str] | None = None,
    *,
    partial: bool = False,
) -> dict[str, Reach]:
    """Return how each switch of ``fabric`` is reached, by name; with ``partial`` those without an address are left out.

    ``state_dir`` is the project's folder of generated state, with ``sim/FABRIC`` and ``lab/FABRIC``. Raises
    RefusedError if devices have no address, naming all of them, or if a secret cannot be resolved.
    """
    if environ is None:
        environ = os.environ
    login = target.login
    started_options: Mapping[str, Any] = {}
    if target.source is not Source.ADDRESSES:
        endpoints = started_endpoints(fabric.name, target, state_dir)
        addresses = _started_addresses(endpoints, fabric)
        login = _started_login(endpoints, target)
        started_options = endpoints.options
    else:
        addresses = _addresses(target, fabric)
    # Also with `partial` a target without any address is a mistake.
    if not partial or not any(addresses.values()):
        _refuse_missing(addresses, target)
    store = SecretStore(target, environ)
    password = _secret(login.password, login.password_env, store, "ssh.password")
    options = {**_options(target, login, store), **started_options}
    # Also for a simulator or lab: it may run on another machine.
    if target.login.jump is not None:
        options["jump"] = _jump(target.login.jump, login, store)
    reached = {name: address for name, address in addresses.items() if address is not None}
    return {name: _reach(address, login, password, target, options) for name, address in reached.items()}


def _reach(address: Address, login: Login, password: str, target: Target, options: Mapping[str, Any]) -> Reach:
    """Return how one switch is reached; its own port, if it has one, takes precedence over the login's."""
    port = address.port or login.port
    return Reach(
        host=address.host,
        port=port,
        username=login.username,
        password=password,
        timeout_s=target.timeouts.command_s,
        options={**options, "port": port},
    )


def _addresses(target: Target, fabric: Fabric) -> dict[str, Address | None]:
    """Return the address of each switch according to the target's file, None if the file has none for it."""
    return {switch.name: _address(target, switch) for switch in fabric.switches}


def _address(target: Target, switch: Switch) -> Address | None:
    if switch.name in target.devices:
        return target.devices[switch.name]
    if target.address is None:
        return None
    return Address(target.address.format(name=switch.name, role=switch.tier.name, number=switch.number + 1))


def _refuse_missing(addresses: Mapping[str, Address | None], target: Target) -> None:
    """Raise RefusedError if a switch has no address."""
    missing = tuple(name for name, address in addresses.items() if address is None)
    if not missing:
        return
    more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    listed = ", ".join(missing[:_SHOWN]) + more
    code = "RW604"
    if target.source is Source.SIM:
        message = f"the simulator does not know {listed}"
        without = command_line("plan", "--skip-unreachable")
        fix = f"bring it up to date: `{command_line('sim', 'up')}`; for a review, `{without}` plans without them"
    elif target.source is Source.LAB:
        message = f"the lab runs without {listed}"
        fix = f"add them to the running lab: `{command_line('lab', 'up')}`"
    else:
        code = "RW602"
        message = f"target {target.name} has no address for {listed}"
        fix = f"add them under `devices:` of inventory/{target.name}.yml, or give an `address:` pattern"
    raise RefusedError([error(code, message, devices=missing, fix=fix)])


def started_endpoints(fabric: str, target: Target, state_dir: Path) -> Endpoints:
    """Return what the simulator or lab of ``fabric`` wrote when it started. Raises RefusedError if none runs."""
    path = state_dir / target.source / fabric / ENDPOINTS
    try:
        endpoints = read_endpoints(path)
    except (OSError, CodecError):
        what = "lab"
        start = command_line("lab", "up")
        if target.source is Source.SIM:
            what = "simulator"
            start = command_line("sim", "up")
        message = f"no {what} of {fabric} runs: {path} cannot be read"
        raise RefusedError([error("RW604", message, fix=f"start it: `{start}`")]) from None
    # Behind a jump host it runs on another machine, where the process id means nothing here.
    is_local = target.source is Source.SIM and target.login.jump is None
    if is_local and _has_ended(endpoints.pid):
        message = f"the simulator of {fabric} has ended: its process {endpoints.pid} is gone"
        raise RefusedError([error("RW604", message, fix=f"start it again, as it was: `{command_line('sim', 'up')}`")])
    return endpoints


def _started_addresses(endpoints: Endpoints, fabric: Fabric) -> dict[str, Address | None]:
    """Return the address of each switch in a running simulator or lab, None if it does not run the switch."""
    return {switch.name: _started_address(endpoints, switch) for switch in fabric.switches}


def _started_address(endpoints: Endpoints, switch: Switch) -> Address | None:
    endpoint = endpoints.devices.get(switch.name)
    if endpoint is None:
        return None
    return Address(endpoint.address, endpoint.port)


def _started_login(endpoints: Endpoints, target: Target) -> Login:
    """Return the login at a running simulator or lab."""
    # A lab of somebody's own images has no key of ours, so the target's login applies.
    if not endpoints.key_file:
        return target.login
    return Login(
        username=endpoints.username,
        key_file=Path(endpoints.key_file),
        agent=False,
        strict=True,
        known_hosts=Path(endpoints.known_hosts),
    )


def _has_ended(pid: int) -> bool:
    """Tell whether a process of this machine has ended; False for 0, an unknown process."""
    if not pid:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        # A process of another user may not be signalled, but runs.
        return False
    return False


def _secret(named: SecretName | None, variable: str | None, store: SecretStore, key: str) -> str:
    """Return the value of the secret ``named``, or else of the environment ``variable``; empty without both.

    The target names them under ``key`` and ``key_env``. Raises RefusedError if the value is missing.
    """
    if named is not None:
        return store.required(named.secret)
    if variable is None:
        return ""
    if not store.environ.get(variable):
        target = store.target
        where = target.places.get(f"{key}_env") or Where(f"inventory/{target.name}.yml", path=f"{key}_env")
        state = "is empty" if variable in store.environ else "is not set"
        message = f"the environment variable {variable} {state}"
        raise RefusedError([error("RW603", message, where, fix=f"export {variable}, or use a key")])
    value = store.environ[variable]
    if len(value) >= SHORTEST:
        mask_from_now_on(value, HIDDEN)
    return value


def _jump(jump: JumpLogin, login: Login, store: SecretStore) -> dict[str, Any]:
    """Return the driver's option ``jump``."""
    known_hosts = jump.known_hosts or login.known_hosts
    return {
        "host": jump.host,
        "port": jump.port,
        "username": jump.username,
        "password": _secret(jump.password, jump.password_env, store, "ssh.jump.password"),
        "key_file": str(jump.key_file or ""),
        "passphrase": _secret(jump.passphrase, jump.passphrase_env, store, "ssh.jump.passphrase"),
        "allow_agent": jump.agent,
        "known_hosts": str(known_hosts or ""),
        "channels": jump.channels,
    }


def _options(target: Target, login: Login, store: SecretStore) -> dict[str, Any]:
    """Return the optional arguments of the driver that are the same for every device (netmiko's names)."""
    options: dict[str, Any] = {
        "ssh_strict": login.strict,
        "allow_agent": login.agent,
        # netmiko refuses True without a key file; keys of an agent do not need it.
        "use_keys": login.key_file is not None,
        "conn_timeout": target.timeouts.connect_s,
        "auth_timeout": target.timeouts.connect_s,
        "banner_timeout": target.timeouts.connect_s,
    }
    for name, option in target.options.items():
        options[name] = store.required(option.secret) if isinstance(option, SecretName) else option
    if login.key_file is not None:
        options["key_file"] = str(login.key_file)
    passphrase = _secret(login.passphrase, login.passphrase_env, store, "ssh.passphrase")
    if passphrase:
        options["passphrase"] = passphrase
    if login.known_hosts is not None:
        # Only the named file counts: the user's own may have keys of another fabric under the same addresses.
        options |= {"alt_host_keys": True, "alt_key_file": str(login.known_hosts), "system_host_keys": False}
    else:
        options["system_host_keys"] = login.strict
    return options
