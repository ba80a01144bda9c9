"""What keeps the login of a target from being tried at all: looked for before the first connection.

A key file that is missing or closed, or an agent without a key, would otherwise be reported by every switch in words of
the SSH library. What only a switch can judge, such as its user, is reported by the switch.
"""

import base64
import binascii
import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from nornir.core import Nornir
from nornir.core.inventory import Host

from napalm_sonic.login_key import with_key
from napalm_sonic.options import DOCKER
from nornir_railweave.target.inventory import CONNECTION
from nornir_railweave.target.model import Source, Target
from railweave.diagnostics import Diagnostic, Where, error
from railweave.wording import command_line

_CODE = "RW607"
_AGENT_ANSWERS_S = 5.0
# SSH_AGENTC_REQUEST_IDENTITIES and SSH_AGENT_IDENTITIES_ANSWER (RFC draft-miller-ssh-agent, 3).
_REQUEST_IDENTITIES = b"\0\0\0\1\x0b"
_IDENTITIES_ANSWER = 12
_ANSWER_HEADER_BYTES = 9
# The form of OpenSSH: this mark, then the cipher's name as a string with its length before it.
_OPENSSH_HEADER = b"-----BEGIN OPENSSH " + b"PRIVATE KEY-----"
_OPENSSH_MARK = b"openssh-key-v1\0"
# More than any private key: a file that is larger is none.
_MOST_KEY_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class _Login:
    """A login with the values that the driver gets; ``section`` is the section of the target file that states it."""

    section: str
    key_file: str
    passphrase: str
    password: str
    agent: bool


def check_access(target: Target, nornir: Nornir, environ: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Return what prevents logging in to the switches that are worked on from this machine.

    The login's files and agent are looked at; nothing is connected.
    """
    # The simulator writes its own key. Other drivers have options of their own for logging in.
    if target.source is Source.SIM or target.driver != "sonic":
        return ()
    host = _host_from_here(target, nornir)
    if host is None:
        return ()
    extras = host.connection_options[CONNECTION].extras or {}
    options = extras.get("optional_args", {})
    if options.get("transport") == DOCKER:
        # `docker exec` logs in nowhere.
        return ()
    return tuple(_faults(target, options, host.password or "", environ))


def _host_from_here(target: Target, nornir: Nornir) -> Host | None:
    """Return one of the switches that are worked on from this machine; None if all of them belong to sites."""
    patterns = [pattern for site in target.sites.values() for pattern in site.devices]
    for host in nornir.inventory.hosts.values():
        if not any(fnmatchcase(host.name, pattern) for pattern in patterns):
            return host
    return None


def _faults(
    target: Target, options: Mapping[str, Any], password: str, environ: Mapping[str, str]
) -> Iterator[Diagnostic]:
    """Yield what is wrong with the logins and the host keys, in the order in which a connection needs them."""
    jump = options.get("jump")
    if jump is not None:
        login = _Login("ssh.jump", jump["key_file"], jump["passphrase"], jump["password"], jump["allow_agent"])
        yield from _login_faults(target, login, environ)
    login = _Login(
        "ssh",
        str(options.get("key_file", "")),
        str(options.get("passphrase", "")),
        password,
        bool(options.get("allow_agent")),
    )
    yield from _login_faults(target, login, environ)
    yield from _known_hosts_fault(target, options)


def _known_hosts_fault(target: Target, options: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """Yield an error if the file of host keys does not exist, so that no switch's key is known."""
    file = options.get("alt_key_file")
    if not file or not options.get("ssh_strict"):
        return
    path = Path(file).expanduser()
    if path.is_file():
        return
    state = "is a folder" if path.is_dir() else "does not exist"
    yield error(
        "RW605",
        f"the file of host keys {file} {state}, so no switch would be trusted",
        _where(target, "ssh.known_hosts", "ssh"),
        fix=f"record the keys of the switches: `{command_line('trust')}`",
    )


def _login_faults(target: Target, login: _Login, environ: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Yield an error if a login must fail: because of its key file, or, without key file and password, its agent."""
    if login.key_file:
        yield from _key_faults(target, login, environ)
        return
    if login.password:
        return
    # A jump host without key file and password is also tried with the keys in ~/.ssh.
    if login.section != "ssh" and login.agent:
        return
    where = _where(target, f"{login.section}.agent", login.section)
    name_key = f"name a key, `{_written(login.section, 'key_file: ~/.ssh/id_ed25519')}`"
    if not login.agent:
        message = f"target {target.name} names no key, no password and no agent to log in with"
        yield error(_CODE, message, where, fix=name_key)
        return
    fault = agent_fault(environ)
    if fault:
        yield error(
            _CODE,
            f"target {target.name} logs in by an SSH agent, but {fault}",
            where,
            fix=f'start one and add a key, `eval "$(ssh-agent)" && ssh-add ~/.ssh/id_ed25519`; or {name_key}',
        )


def _key_faults(target: Target, login: _Login, environ: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Yield an error if the key file of a login cannot be used."""
    where = _where(target, f"{login.section}.key_file", login.section)
    path = Path(login.key_file).expanduser()
    name = f"the key file {login.key_file}"
    another = "name the file of a private key that exists, or leave `key_file` out and use an SSH agent"
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_KEY_BYTES)
    except FileNotFoundError:
        yield error(_CODE, f"{name} does not exist", where, fix=another)
        return
    except IsADirectoryError:
        yield error(_CODE, f"{name} is a folder", where, fix="name the private key in it")
        return
    except OSError as fault:
        fix = f"let the user who runs railweave read it, and nobody else: `chmod 600 {path}` by its owner"
        yield error(_CODE, f"{name} cannot be read: {fault.strerror}", where, fix=fix)
        return
    if content.startswith((b"ssh-", b"ecdsa-", b"sk-")):
        yield error(_CODE, f"{name} is a public key", where, fix=f"name the private key: {path.with_suffix('')}")
    elif b"PRIVATE KEY" not in content:
        yield error(_CODE, f"{name} holds no private key", where, fix=another)
    elif b"-----END" not in content:
        yield error(_CODE, f"{name} is cut off: the line that ends a key is missing", where, fix="copy it again, whole")
    elif is_encrypted(content):
        yield from _passphrase_fault(target, login, where, environ)


def _passphrase_fault(target: Target, login: _Login, where: Where, environ: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Yield an error if an encrypted key file cannot be used.

    The passphrase of the target must open it. Without a passphrase, an agent or a password may be used instead.
    """
    name = f"the key file {login.key_file}"
    if login.passphrase:
        path = str(Path(login.key_file).expanduser())
        options = with_key({"key_filename": path, "passphrase": login.passphrase})
        # A key that could be read replaces the name of its file.
        if options["key_filename"] is not None:
            fix = "provide its own passphrase: see `passphrase` or `passphrase_env` of the target"
            yield error(_CODE, f"{name} does not open with the passphrase", where, fix=fix)
        return
    no_agent = f"target {target.name} does not use an agent"
    if login.agent:
        no_agent = agent_fault(environ)
    if no_agent and not login.password:
        yield error(
            _CODE,
            f"{name} has a passphrase, but {no_agent}",
            where,
            fix=f"add it to an agent, `ssh-add {login.key_file}`; or name an environment variable that holds the"
            f" passphrase, `{_written(login.section, 'passphrase_env: RAILWEAVE_PASSPHRASE')}`",
        )


def agent_fault(environ: Mapping[str, str]) -> str:
    """Return why no key of an SSH agent can be used, as the end of a sentence; empty if the agent holds a key."""
    path = environ.get("SSH_AUTH_SOCK", "")
    if not path:
        return "no agent runs (SSH_AUTH_SOCK is not set)"
    try:
        header = _identities_header(path)
    except OSError as fault:
        return f"the agent of SSH_AUTH_SOCK does not answer ({path}: {fault.strerror or 'timeout'})"
    if len(header) < _ANSWER_HEADER_BYTES:
        return f"the agent of SSH_AUTH_SOCK does not list its keys ({path})"
    # The length of the message, its type, and the number of keys.
    _, message_type, key_count = struct.unpack(">IBI", header)
    if message_type != _IDENTITIES_ANSWER:
        return f"the agent of SSH_AUTH_SOCK does not list its keys ({path})"
    if key_count == 0:
        return "the agent holds no key"
    return ""


def _identities_header(path: str) -> bytes:
    """Return the first 9 bytes of an agent's answer to a request for its keys, fewer if it ends before that.

    Raises OSError if the agent does not answer.
    """
    header = b""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as agent:
        agent.settimeout(_AGENT_ANSWERS_S)
        agent.connect(path)
        agent.sendall(_REQUEST_IDENTITIES)
        while len(header) < _ANSWER_HEADER_BYTES:
            part = agent.recv(_ANSWER_HEADER_BYTES - len(header))
            if not part:
                break
            header += part
    return header


def is_encrypted(content: bytes) -> bool:
    """Tell whether the private key in a file needs a passphrase."""
    if b"ENCRYPTED" in content:
        return True
    _, header, rest = content.partition(_OPENSSH_HEADER)
    if not header:
        return False
    try:
        decoded = base64.b64decode(rest.partition(b"-----END")[0])
    except binascii.Error:
        return False
    before_mark, _, fields = decoded.partition(_OPENSSH_MARK)
    if before_mark or len(fields) < 4:
        return False
    # The first field is the name of the cipher, after its length.
    length = struct.unpack(">I", fields[:4])[0]
    return fields[4 : 4 + length] != b"none"


def _where(target: Target, *keys: str) -> Where:
    """Return the place of the first of ``keys`` that the target file states, or else the file with the first key."""
    for key in keys:
        if key in target.places:
            return target.places[key]
    file = f"inventory/{target.name}.yml"
    if target.places:
        file = target.places["source"].file
    return Where(file, path=keys[0])


def _written(section: str, setting: str) -> str:
    """Return a setting as it is written in the target file: ``ssh: {jump: {SETTING}}``."""
    for key in reversed(section.split(".")):
        setting = f"{key}: {{{setting}}}"
    return setting
