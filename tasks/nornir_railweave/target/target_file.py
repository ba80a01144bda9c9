"""``inventory/TARGET.yml`` and its diagnostics with their places."""

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ArgsKwargs

from nornir_railweave.target.model import Address, JumpLogin, Login, SecretSource, Site, Target, Timeouts
from nornir_railweave.target.rollout import Floor, Rollout, Unavailable
from railweave.diagnostics import Diagnostic, Where, error
from railweave.errors import RefusedError
from railweave.intent.paths import path_text
from railweave.intent.positions import Document, decode, read_document
from railweave_hosts.access import Batches, HostAccess, NodeAddress, NodeLogin, SecretName
from railweave_hosts.hooks import Hooks

_COMPARE = "compare with inventory/production.example.yml"
_SECRETS = {"password", "become_password", "passphrase", "secret", "token"}
_TARGET = TypeAdapter(Target)


def load_target(path: Path) -> Target:
    """Return the target in ``path``; its name is that of the file, without its suffix.

    Raises RefusedError with every fault of the file.
    """
    try:
        data = path.read_bytes()
    except OSError as fault:
        raise RefusedError(
            [error("RW601", f"{path} cannot be read: {fault.strerror}", fix="name a file of inventory/")]
        ) from None
    return parse_target(decode(data, str(path)), str(path), path.stem)


def parse_target(text: str, file: str, name: str) -> Target:
    """Return the target ``name`` that ``text`` of ``file`` describes.

    Raises RefusedError with every fault.
    """
    if not text.strip():
        raise RefusedError([error("RW601", "the target file is empty", Where(file, 1, 1), fix=_COMPARE)])
    document = read_document(text, file, "target file", "source: addresses")
    diagnostics = list(document.diagnostics)
    try:
        target = _TARGET.validate_python(ArgsKwargs((name,), document.value))
    except ValidationError as fault:
        errors = fault.errors(include_url=False, include_input=False)
        refused = dict.fromkeys(_diagnostic(document, file, each) for each in errors)
        raise RefusedError([*diagnostics, *refused]) from None
    if diagnostics:
        raise RefusedError(diagnostics)
    return _placed(target, document.places)


def _diagnostic(document: Document, file: str, fault: Any) -> Diagnostic:
    """Return the diagnostic of ``fault``, one of pydantic's errors, at the nearest place that the file states."""
    parts = tuple(fault["loc"])
    where = _where(document.places, file, parts)
    key = str(parts[-1]) if parts else ""
    if fault["type"] in ("unexpected_keyword_argument", "multiple_argument_values"):
        return _unknown_key(key, parts, _where(document.keys, file, parts))
    if fault["type"] == "missing":
        return error("RW601", f"`{key}` is missing", where, fix=f"add `{key}:`")
    if key in _SECRETS and fault["type"] == "dataclass_type":
        return _secret_in_file(key, where)
    if fault["type"] == "dataclass_type":
        # pydantic's own text names a class of this program.
        fix = f"known here: {', '.join(_keys_at(parts))}"
        return error("RW601", f"{where.path}: Input should be a mapping of keys", where, fix=fix)
    message = str(fault["msg"]).removeprefix("Value error, ")
    return error("RW601", f"{where.path or 'the target'}: {message}", where, fix=_COMPARE)


def _unknown_key(key: str, parts: tuple[Any, ...], where: Where) -> Diagnostic:
    if key in _SECRETS:
        return _secret_in_file(key, where)
    keys = _keys_at(parts[:-1])
    similar = get_close_matches(key, keys, 1)
    fix = f"did you mean `{similar[0]}`?" if similar else f"known here: {', '.join(keys)}"
    return error("RW601", f"unknown key `{key}`", where, fix=fix)


def _secret_in_file(key: str, where: Where) -> Diagnostic:
    return error(
        "RW603",
        f"`{key}` would put a secret into a file",
        where,
        fix=f"name an environment variable: `{key}_env: RAILWEAVE_{key.upper()}`, or use an SSH agent",
    )


# The model of each mapping, by its path in the file.
_MODELS: dict[tuple[Any, ...], type] = {
    (): Target,
    ("ssh",): Login,
    ("ssh", "password"): SecretName,
    ("ssh", "passphrase"): SecretName,
    ("ssh", "jump"): JumpLogin,
    ("ssh", "jump", "password"): SecretName,
    ("ssh", "jump", "passphrase"): SecretName,
    ("timeouts",): Timeouts,
    ("devices",): Address,
    ("options",): SecretName,
    ("secrets",): SecretSource,
    ("sites",): Site,
    ("broker",): SecretName,
    ("hosts",): HostAccess,
    ("hosts", "ssh"): NodeLogin,
    ("hosts", "ssh", "password"): SecretName,
    ("hosts", "ssh", "become_password"): SecretName,
    ("hosts", "nodes"): NodeAddress,
    ("hosts", "batches"): Batches,
    ("hosts", "hooks"): Hooks,
    ("rollout",): Rollout,
    ("rollout", "max_unavailable"): Unavailable,
    ("rollout", "floor"): Floor,
}


def _keys_at(parts: tuple[Any, ...]) -> list[str]:
    """Return the known keys of the mapping at ``parts``, or of the nearest one around it."""
    while parts not in _MODELS:
        parts = parts[:-1]
    return _keys_of(_MODELS[parts])


@cache
def _keys_of(mapping: type) -> list[str]:
    """Return the keys of a mapping, required ones first."""
    schema = TypeAdapter(mapping).json_schema()
    return list(dict.fromkeys([*schema.get("required", ()), *schema["properties"]]))


def _where(places: Mapping[str, Where], file: str, parts: tuple[Any, ...]) -> Where:
    """Return the place of the innermost key on the path ``parts`` that the file states, else the file's beginning."""
    for end in range(len(parts), 0, -1):
        path = path_text(parts[:end])
        if path in places:
            return places[path]
    return Where(file, 1, 1)


def _placed(target: Target, places: Mapping[str, Where]) -> Target:
    """Return ``target`` with the ``places`` of its keys, and its rollout with those of the keys below ``rollout``.

    The rollout's workers are at most the channels of the jump host.
    """
    rollout_places = {"": places.get("rollout") or Where(places["source"].file)}
    for path, where in places.items():
        if path.startswith("rollout."):
            rollout_places[path.removeprefix("rollout.")] = where
    workers = target.rollout.workers
    if target.login.jump is not None:
        # A worker that waited for a channel would look like a switch that does not answer.
        workers = min(workers, target.login.jump.channels)
    rollout = replace(target.rollout, workers=workers, places=rollout_places)
    return replace(target, rollout=rollout, places=places)
