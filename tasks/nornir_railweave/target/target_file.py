"""The schema of ``inventory/TARGET.yml`` and its diagnostics with their places."""

import re
import string
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, field_validator, model_validator

from nornir_railweave.target.model import (
    Address,
    JumpLogin,
    Login,
    Option,
    Rollout,
    Seconds,
    SecretSource,
    Site,
    Source,
    Target,
    Timeouts,
)
from nornir_railweave.target.rollout_keys import ROLLOUT_MODELS, RolloutKeys, rollout_policy
from railweave.diagnostics import Diagnostic, Where, error
from railweave.errors import RefusedError
from railweave.intent.paths import path_text
from railweave.intent.positions import Document, decode, read_document
from railweave.secrets import reference, references
from railweave_hosts.access import (
    MAY_STAND_ALONE,
    STRICT,
    Batches,
    File,
    HostAccess,
    NodeAddress,
    NodeLogin,
    SecretName,
    Text,
)
from railweave_hosts.hooks import Hooks

_CONSENT_MARGIN_S = 30
_COMPARE = "compare with inventory/production.example.yml"
_PATTERN_FIELDS = {"name", "role", "number"}
_DECIMAL = re.compile(r"[0-9]+\.[0-9]+")
_SECRETS = {"password", "become_password", "passphrase", "secret", "token"}


SiteName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]


class _Rollout(RolloutKeys):
    workers: Annotated[int, Field(ge=1, le=1000)] = 50
    max_failures: Annotated[int, Field(ge=1)] = 1
    revert_in: Annotated[int, Field(ge=1, le=86400)] = 900
    verify_timeout: Seconds = 180
    verify_interval: Seconds = 2
    processes: Literal["auto"] | Annotated[int, Field(ge=1, le=64)] = 1

    @model_validator(mode="after")
    def _timer_outlives_what_it_covers(self) -> Self:
        for what, seconds in (("a verification", self.verify_timeout), ("draining", self.drain_timeout)):
            if self.revert_in < seconds + _CONSENT_MARGIN_S:
                raise ValueError(
                    f"revert_in is {self.revert_in} s: the switch would go back before {what} of "
                    f"{seconds:g} s can end; set at least {seconds + _CONSENT_MARGIN_S:g}"
                )
        return self


class _Target(BaseModel):
    model_config = STRICT

    source: Source
    driver: Text = "sonic"
    ssh: Login = Login()
    address: Text | None = None
    devices: dict[str, Annotated[Address, MAY_STAND_ALONE]] = {}
    options: dict[str, Option | SecretName] = {}
    timeouts: Timeouts = Timeouts()
    rollout: _Rollout = _Rollout()
    skip_checks: dict[Literal["lldp", "applied", "bfd"], Text] = {}
    hosts: HostAccess | None = None
    secrets: dict[str, SecretSource] = {}
    allowed_signers: File | None = None
    sites: dict[SiteName, Site] = {}
    broker: SecretName | None = None

    @field_validator("secrets")
    @classmethod
    def _secrets_come_from_one_place(cls, value: dict[str, SecretSource]) -> dict[str, SecretSource]:
        for name, one in value.items():
            if references(reference(name)) != (name,):
                raise ValueError(f"{name!r} is no name of a secret: letters, digits, `_`, `.` and `-`")
            if sum(place is not None for place in (one.env, one.file, one.command)) != 1:
                raise ValueError(f"{name} comes from one place: write `env:`, `file:` or `command:`")
        return value

    @field_validator("options", mode="after")
    @classmethod
    def _numbers_are_numbers(cls, value: dict[str, Option | SecretName]) -> dict[str, Option | SecretName]:
        # The reader of YAML leaves every number that is not whole as text.
        return {
            name: float(one) if isinstance(one, str) and _DECIMAL.fullmatch(one) else one for name, one in value.items()
        }

    @field_validator("address")
    @classmethod
    def _pattern_can_be_filled(cls, value: str | None) -> str | None:
        if value is None:
            return None
        fields = {name for _, name, _, _ in string.Formatter().parse(value) if name is not None}
        unknown = fields - _PATTERN_FIELDS
        if unknown or not fields & {"name", "number"}:
            raise ValueError("a pattern over {name}, {role} and {number} that differs for every device")
        return value

    @model_validator(mode="after")
    def _addresses_come_from_somewhere(self) -> Self:
        if self.source is Source.ADDRESSES and self.address is None and not self.devices:
            raise ValueError("source `addresses` needs `address` (a pattern) or `devices` (a list)")
        if self.source is not Source.ADDRESSES and (self.address is not None or self.devices):
            what = "simulator" if self.source is Source.SIM else "lab"
            raise ValueError(
                f"source `{self.source}` takes its addresses from the running {what}; leave out address and devices"
            )
        return self

    @model_validator(mode="after")
    def _sites_are_reached_somehow(self) -> Self:
        queued = [name for name, site in self.sites.items() if site.command is None]
        if queued and self.broker is None:
            raise ValueError(
                f"site {queued[0]} has no `command`, so its workers need a task queue: name the secret that holds the "
                "broker's URL, `broker: {secret: BROKER}`"
            )
        return self

    @model_validator(mode="after")
    def _a_jump_host_needs_our_driver(self) -> Self:
        if self.ssh.jump is not None and self.driver != "sonic":
            raise ValueError("a jump host needs the driver `sonic`; give another driver its own options instead")
        return self


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
    document = read_document(text, file)
    diagnostics = list(document.diagnostics)
    try:
        parsed = _Target.model_validate(document.value)
    except ValidationError as fault:
        found = [_diagnostic(document, file, each) for each in fault.errors(include_url=False, include_input=False)]
        raise RefusedError([*diagnostics, *dict.fromkeys(found)]) from None
    if diagnostics:
        raise RefusedError(diagnostics)
    return _target(parsed, name, document.places)


def _diagnostic(document: Document, file: str, fault: Any) -> Diagnostic:
    """Return the diagnostic of one of pydantic's errors, at the nearest place that stands in the file."""
    parts = tuple(fault["loc"])
    where = _where(document.places, file, parts)
    key = str(parts[-1]) if parts else ""
    if fault["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return _unknown_key(key, parts, _where(document.keys, file, parts))
    if fault["type"] == "missing":
        return error("RW601", f"`{key}` is missing", where, fix=f"add `{key}:`")
    if key in _SECRETS and fault["type"] == "dataclass_type":
        return _secret_in_file(key, where)
    message = str(fault["msg"]).removeprefix("Value error, ")
    return error("RW601", f"{where.path or 'the target'}: {message}", where, fix=_COMPARE)


def _unknown_key(key: str, parts: tuple[Any, ...], where: Where) -> Diagnostic:
    if key in _SECRETS:
        return _secret_in_file(key, where)
    known = _keys_at(parts[:-1])
    near = get_close_matches(key, known, 1)
    fix = f"did you mean `{near[0]}`?" if near else f"known here: {', '.join(known)}"
    return error("RW601", f"unknown key `{key}`", where, fix=fix)


def _secret_in_file(key: str, where: Where) -> Diagnostic:
    return error(
        "RW603",
        f"`{key}` would put a secret into a file",
        where,
        fix=f"name an environment variable: `{key}_env: RAILWEAVE_{key.upper()}`, or use an SSH agent",
    )


def _keys_at(parts: tuple[Any, ...]) -> list[str]:
    """Return the keys known in the mapping at ``parts``, or in the nearest one around it, those that it needs first."""
    models: dict[tuple[Any, ...], type] = {
        (): _Target,
        ("ssh",): Login,
        ("ssh", "jump"): JumpLogin,
        ("timeouts",): Timeouts,
        ("rollout",): _Rollout,
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
        **ROLLOUT_MODELS,
    }
    known = next(models[parts[:depth]] for depth in range(len(parts), -1, -1) if parts[:depth] in models)
    if issubclass(known, BaseModel):
        return list(known.model_fields)
    schema = TypeAdapter(known).json_schema()
    return list(dict.fromkeys([*schema.get("required", ()), *schema["properties"]]))


def _where(places: Mapping[str, Where], file: str, parts: tuple[Any, ...]) -> Where:
    """Return where the innermost of ``parts`` stands; what is missing stands nowhere, its parent does."""
    for end in range(len(parts), 0, -1):
        path = path_text(parts[:end])
        if path in places:
            return places[path]
    return Where(file, 1, 1)


def _target(parsed: _Target, name: str, places: Mapping[str, Where]) -> Target:
    ssh, rollout = parsed.ssh, parsed.rollout
    return Target(
        name=name,
        source=parsed.source,
        driver=parsed.driver,
        login=ssh,
        address=parsed.address,
        devices=parsed.devices,
        options=dict(parsed.options),
        timeouts=parsed.timeouts,
        rollout=Rollout(
            # A worker that waits for a channel would look like a switch that does not answer.
            workers=min(rollout.workers, ssh.jump.channels) if ssh.jump is not None else rollout.workers,
            processes=0 if rollout.processes == "auto" else rollout.processes,
            max_failures=rollout.max_failures,
            revert_in_s=rollout.revert_in,
            verify_timeout_s=rollout.verify_timeout,
            verify_interval_s=rollout.verify_interval,
            soak_s=rollout.soak,
            drain_timeout_s=rollout.drain_timeout,
            quiet_packets_per_s=rollout.quiet,
            policy=rollout_policy(rollout, places),
            # On a rehearsal nobody's traffic is at stake; on devices that somebody owns it takes a word.
            single_step=parsed.source is not Source.ADDRESSES if rollout.single_step is None else rollout.single_step,
        ),
        skip_checks={str(kind): why for kind, why in parsed.skip_checks.items()},
        hosts=parsed.hosts,
        secrets=parsed.secrets,
        allowed_signers=parsed.allowed_signers,
        sites=parsed.sites,
        broker=parsed.broker,
    )
