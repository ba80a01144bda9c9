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
    """Return the target in ``path``; its name is the file's.

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
    """Return the diagnostic of one of pydantic's errors, at the nearest place that stands in the file."""
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
    near = get_close_matches(key, keys, 1)
    fix = f"did you mean `{near[0]}`?" if near else f"known here: {', '.join(keys)}"
    return error("RW601", f"unknown key `{key}`", where, fix=fix)


def _secret_in_file(key: str, where: Where) -> Diagnostic:
    return error(
        "RW603",
        f"`{key}` would put a secret into a file",
        where,
        fix=f"name an environment variable: `{key}_env: RAILWEAVE_{key.upper()}`, or use an SSH agent",
    )


def _keys_at(parts: tuple[Any, ...]) -> list[str]:
    """Return the keys known in the mapping at ``parts``, or in the nearest one around it."""
    models: dict[tuple[Any, ...], type] = {
        (): Target,
        ("ssh",): Login,
        ("ssh", "jump"): JumpLogin,
        ("timeouts",): Timeouts,
        ("rollout",): Rollout,
        ("devices",): Address,
        ("options",): SecretName,
        **{(*place, key): SecretName for place in (("ssh",), ("ssh", "jump")) for key in ("password", "passphrase")},
        **{("hosts", "ssh", key): SecretName for key in ("password", "become_password")},
        ("secrets",): SecretSource,
        ("sites",): Site,
        ("broker",): SecretName,
        ("hosts",): HostAccess,
        ("hosts", "ssh"): NodeLogin,
        ("hosts", "nodes"): NodeAddress,
        ("hosts", "batches"): Batches,
        ("hosts", "hooks"): Hooks,
        ("rollout", "max_unavailable"): Unavailable,
        ("rollout", "floor"): Floor,
    }
    nearest = next(parts[:depth] for depth in range(len(parts), -1, -1) if parts[:depth] in models)
    return _keys_of(models[nearest])


@cache
def _keys_of(mapping: type) -> list[str]:
    """Return the keys of a mapping, those that it needs first."""
    schema = TypeAdapter(mapping).json_schema()
    return list(dict.fromkeys([*schema.get("required", ()), *schema["properties"]]))


def _where(places: Mapping[str, Where], file: str, parts: tuple[Any, ...]) -> Where:
    """Return where the innermost of ``parts`` stands; what is missing stands nowhere, its parent does."""
    for end in range(len(parts), 0, -1):
        path = path_text(parts[:end])
        if path in places:
            return places[path]
    return Where(file, 1, 1)


def _placed(target: Target, places: Mapping[str, Where]) -> Target:
    """Return ``target`` with a rollout that knows where the file states it, so that what cannot be met is found there,
    and that reaches no more switches at once than a jump host carries."""
    stated = {path.removeprefix("rollout."): where for path, where in places.items() if path.startswith("rollout.")}
    whole = places.get("rollout") or Where(places["source"].file)
    # A worker that waits for a channel would look like a switch that does not answer.
    most = target.login.jump.channels if target.login.jump is not None else target.rollout.workers
    rollout = replace(target.rollout, workers=min(target.rollout.workers, most), places={"": whole, **stated})
    return replace(target, rollout=rollout, places=places)
