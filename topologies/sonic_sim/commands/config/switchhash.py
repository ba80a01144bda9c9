"""``config switch-hash`` (sonic-utilities config/plugins/sonic-hash.py)."""

from collections import Counter
from collections.abc import Sequence

import click

from sonic_sim.commands.click7 import Choice, Run, argument
from sonic_sim.commands.config.root import config
from sonic_sim.configdb import Hash
from sonic_sim.databases import STATE, rows_of_database
from sonic_sim.switchhash import ALGORITHMS, CAPABILITY, FIELDS, NATIVE, ROW


def _capability(run: Run) -> Hash:
    return rows_of_database(run.device, STATE, CAPABILITY).get(CAPABILITY, {})


def _refuse(reason: str) -> None:
    raise click.UsageError(reason, click.get_current_context())


def _require_choice(name: str, choices: Sequence[str]) -> None:
    """Refuse a name that is not one of the choices, with click's message."""
    context = click.get_current_context()
    Choice(choices).convert(name, context.command.params[0], context)


def _set_fields(run: Run, kind: str, fields: tuple[str, ...]) -> None:
    """Set the fields that the hash of a kind, ``ecmp`` or ``lag``, covers. The checks are in the command's order."""
    for name in fields:
        _require_choice(name, FIELDS)
    argument_name = f'"{kind.upper()}_HASH..."'
    repeated = [name for name, count in Counter(fields).items() if count > 1]
    if repeated:
        reason = f"{', '.join(fields)} has a duplicate hash field(s) {', '.join(repeated)}"
        _refuse(f"Invalid value for {argument_name}: {reason}")
    capability = _capability(run)
    if capability.get(f"{kind.upper()}_HASH_CAPABLE", "false") == "false":
        _refuse(f"Failed to configure {argument_name}: operation is not supported")
    supported = capability.get(NATIVE, "N/A")
    # N/A: the ASIC does not list its fields, so the command refuses none.
    if supported != "N/A":
        for name in fields:
            _require_choice(name, supported.split(","))
    run.db.set_fields(ROW, {f"{kind}_hash@": ",".join(fields)})


def _set_algorithm(run: Run, kind: str, algorithm: str) -> None:
    """Set the algorithm of the hash of a kind, ``ecmp`` or ``lag``."""
    _require_choice(algorithm, ALGORITHMS)
    supported = _capability(run).get(f"{kind.upper()}_HASH_ALGORITHM", "")
    _require_choice(algorithm, supported.split(","))
    run.db.set_fields(ROW, {f"{kind}_hash_algorithm": algorithm})


hash_group = config.branch("switch-hash", "Configure switch hash feature")
global_group = hash_group.branch("global", "Configure switch hash global")


@global_group.leaf(
    "ecmp-hash",
    "Hash fields for hashing packets going through ECMP",
    argument("ecmp_hash", nargs=-1, required=True),
)
def ecmp_hash(run: Run, ecmp_hash: tuple[str, ...]) -> None:
    _set_fields(run, "ecmp", ecmp_hash)


@global_group.leaf(
    "lag-hash",
    "Hash fields for hashing packets going through LAG",
    argument("lag_hash", nargs=-1, required=True),
)
def lag_hash(run: Run, lag_hash: tuple[str, ...]) -> None:
    _set_fields(run, "lag", lag_hash)


@global_group.leaf(
    "ecmp-hash-algorithm",
    "Hash algorithm for hashing packets going through ECMP",
    argument("ecmp_hash_algorithm"),
)
def ecmp_hash_algorithm(run: Run, ecmp_hash_algorithm: str) -> None:
    _set_algorithm(run, "ecmp", ecmp_hash_algorithm)


@global_group.leaf(
    "lag-hash-algorithm",
    "Hash algorithm for hashing packets going through LAG",
    argument("lag_hash_algorithm"),
)
def lag_hash_algorithm(run: Run, lag_hash_algorithm: str) -> None:
    _set_algorithm(run, "lag", lag_hash_algorithm)
