"""``config apply-patch``, ``replace``, ``checkpoint``, ``rollback`` and their lists (generic_config_updater)."""

import json
from datetime import UTC, datetime
from functools import partial
from typing import Any, NoReturn

import click

from sonic_sim.commands.click7 import Choice, Run, argument, flag, option
from sonic_sim.commands.config.reload import error_text
from sonic_sim.commands.config.root import config
from sonic_sim.configdb import to_json
from sonic_sim.faults import FaultKind
from sonic_sim.gcu.apply import Applier, ApplyError
from sonic_sim.gcu.patch import PatchError, difference, read_patch

# sonic-utilities generic_config_updater/generic_updater.py: one file a checkpoint.
_FOLDER = "/etc/sonic/checkpoints"
_NOT_REFLECTED = "localhost: after applying patch to config, there are still some parts not updated"
_SECONDS = 0.35
_CYAN = 36
_RED = 31

# What Python raises of a document that is JSON and no configuration; the commands print it, whatever it says.
_OF_MALFORMED = (ValueError, AttributeError, TypeError)

_dry_run = flag("-d", "--dry-run", help="test out the command without affecting config state")
_verbose = flag("-v", "--verbose", help="print additional details of what the operation is doing")
_ignore_tables = flag("-n", "--ignore-non-yang-tables", hidden=True)
_ignore_path = option("-i", "--ignore-path", multiple=True, hidden=True)
_parallel = flag("-p", "--parallel", help="applying the change to all ASICs parallelly")


def _refuse_yang_form(context: click.Context, param: click.Parameter, value: str) -> str:
    """Return the format; SONICYANG ends the run, because it is not simulated."""
    if value == "SONICYANG":
        context.find_root().obj.leave(f"{context.command_path} --format {value}: this format is not simulated")
    return value


def _format(document: str) -> click.Option:
    """Return the option for the format of a document, which ``document`` names in the help."""
    return option(
        "-f",
        "--format",
        type=Choice(["CONFIGDB", "SONICYANG"], case_sensitive=False),
        callback=_refuse_yang_form,
        default="CONFIGDB",
        show_default=True,
        help=f"format of {document} is either ConfigDb(ABNF) or SonicYang",
    )


def _succeed(run: Run, text: str, seconds: float = _SECONDS) -> None:
    """Print the last line of a command that succeeded, and set how long it takes."""
    run.say(_painted(run, text, _CYAN))
    run.seconds = seconds


def _fail(run: Run, text: str, reason: str, libyang: str = "") -> NoReturn:
    """End the run as these commands do when they fail: with a line of their own, then with click's."""
    run.err.append(libyang)
    run.complain(_painted(run, text, _RED))
    run.fail(reason)


def _painted(run: Run, text: str, color: int) -> str:
    """Return a line in a color if the output is a terminal."""
    if not run.call.terminal:
        return text
    # click.secho: the color, underlined; off a terminal click strips both.
    return f"\x1b[{color}m\x1b[4m{text}\x1b[0m"


def _applier(
    run: Run, dry_run: bool, ignore_non_yang_tables: bool, ignore_path: tuple[str, ...], verbose: bool
) -> Applier:
    """Return what applies patches for a run, by the options that the commands share."""
    if dry_run:
        run.say("** DRY RUN EXECUTION **")
    if ignore_path:
        run.leave("--ignore-path: the model without some paths is not simulated")
    applier = Applier(
        run.device,
        run.say,
        run.complain,
        dry=dry_run,
        ignore_without_model=ignore_non_yang_tables,
        verbose=verbose,
    )
    run.ends.append(applier.end)
    return applier


@config.leaf(
    "apply-patch",
    """Apply given patch of updates to Config. A patch is a JsonPatch which follows rfc6902.
This command can be used do partial updates to the config with minimum disruption to running processes.
It allows addition as well as deletion of configs. The patch file represents a diff of ConfigDb(ABNF)
format or SonicYang format.

<patch-file-path>: Path to the patch file on the file-system.
""",
    argument("patch-file-path"),
    _format("config of the patch"),
    _dry_run,
    _parallel,
    _ignore_tables,
    _ignore_path,
    _verbose,
)
def apply_patch(
    run: Run,
    patch_file_path: str,
    dry_run: bool,
    ignore_non_yang_tables: bool,
    ignore_path: tuple[str, ...],
    verbose: bool,
    **others: Any,
) -> None:
    applier = _applier(run, dry_run, ignore_non_yang_tables, ignore_path, verbose)
    try:
        patch = read_patch(_text(run, patch_file_path))
        if run.device.faults.strike(FaultKind.REFUSE_COMMIT, "config apply-patch"):
            raise ApplyError(_NOT_REFLECTED)
        applier.precheck(patch)
        applier.run(patch)
    except PatchError as error:
        _fail(run, f"Failed to apply patch due to: {error}", str(error))
    except ApplyError as error:
        reason = error.reason
        if not error.early:
            reason = f"Failed to apply patch on the following scopes:\n- localhost: {reason}"
        run.say(error.printed, end="")
        _fail(run, f"Failed to apply patch due to: {reason}", reason, error.libyang)
    _succeed(run, "Patch applied successfully.", applier.seconds)


def _text(run: Run, path: str) -> str:
    """Return the text of a file, or of standard input. Raises PatchError if it cannot be read."""
    if path in ("/dev/stdin", "-"):
        return run.call.stdin
    try:
        return run.call.read(path)
    except OSError as error:
        raise PatchError(error_text(error, path)) from error


@config.leaf(
    "replace",
    """Replace the whole config with the specified config. The config is replaced with minimum disruption e.g.
if ACL config is different between current and target config only ACL config is updated, and other config/services
such as DHCP will not be affected.

**WARNING** The target config file should be the whole config, not just the part intended to be updated.

<target-file-path>: Path to the target file on the file-system.
""",
    argument("target-file-path"),
    _format("target config"),
    _dry_run,
    _ignore_tables,
    _ignore_path,
    _verbose,
)
def replace(
    run: Run,
    target_file_path: str,
    dry_run: bool,
    ignore_non_yang_tables: bool,
    ignore_path: tuple[str, ...],
    verbose: bool,
    **others: Any,
) -> None:
    applier = _applier(run, dry_run, ignore_non_yang_tables, ignore_path, verbose)
    try:
        _replace(applier, json.loads(_text(run, target_file_path)))
    except (PatchError, ApplyError, *_OF_MALFORMED) as error:
        _fail(run, "Failed to replace config", str(error))
    _succeed(run, "Config replaced successfully.", applier.seconds)


def _replace(applier: Applier, target: Any) -> None:
    """Replace the configuration by ``target``, with the messages of the config replacer. Raises ApplyError."""
    device = applier.device
    say = applier.say
    say("Config Replacer: Config replacement starting.")
    say(f"Config Replacer: Target config length: {len(json.dumps(target))}.")
    say("Config Replacer: Getting current config db.")
    say("Config Replacer: Generating patch between target config and current config db.")
    patch = difference(device.db.document(), target)
    applier.detail(f"Config Replacer: Generated patch: {json.dumps(patch)}.")
    say("Config Replacer: Applying patch using 'Patch Applier'.")
    if device.faults.strike(FaultKind.REFUSE_COMMIT, "config replace"):
        raise ApplyError(_NOT_REFLECTED)
    applier.run(patch)
    say("Config Replacer: Verifying config replacement is reflected on ConfigDB.")
    if not applier.dry and json.loads(json.dumps(device.db.document())) != target:
        raise ApplyError("After replacing config, there is still some parts not updated")
    say("Config Replacer: Config replacement completed.")


def _say_as_rollbacker(run: Run, *lines: str) -> None:
    """Print lines as the config rollbacker does."""
    for line in lines:
        run.say(f"Config Rollbacker: {line}")


@config.leaf(
    "checkpoint",
    """Take a checkpoint of the whole current config with the specified checkpoint name.

<checkpoint-name>: The checkpoint name, use `config list-checkpoints` command to see available checkpoints.
""",
    argument("checkpoint-name"),
    _verbose,
)
def checkpoint(run: Run, checkpoint_name: str, verbose: bool) -> None:
    files = run.device.files
    path = _checkpoint_path(checkpoint_name)
    _say_as_rollbacker(run, "Config checkpoint starting.", f"Checkpoint name: {checkpoint_name}.")
    _say_as_rollbacker(run, "Getting current config db.", "Getting checkpoint full-path.")
    _say_as_rollbacker(run, "Ensuring checkpoint directory exist.")
    if not files.exists(_FOLDER):
        files.make_directory(_FOLDER)
    _say_as_rollbacker(run, f"Saving config db content to {path}.")
    try:
        files.write(path, json.dumps(run.db.document()).encode(), now=run.device.clock.now())
    except OSError as error:
        _fail(run, "Failed to create a config checkpoint", error_text(error, path))
    _say_as_rollbacker(run, "Config checkpoint completed.")
    _succeed(run, "Checkpoint created successfully.")


def _checkpoint_path(name: str) -> str:
    return f"{_FOLDER}/{name}.cp.json"


def _must_exist(run: Run, name: str, failed: str) -> None:
    """Fail with the line ``failed`` if there is no such checkpoint."""
    if not run.device.files.exists(_checkpoint_path(name)):
        _fail(run, failed, f"Checkpoint '{name}' does not exist")


@config.leaf(
    "delete-checkpoint",
    """Delete a checkpoint with the specified checkpoint name.

<checkpoint-name>: The checkpoint name, use `config list-checkpoints` command to see available checkpoints.
""",
    argument("checkpoint-name"),
    _verbose,
)
def delete_checkpoint(run: Run, checkpoint_name: str, verbose: bool) -> None:
    _say_as_rollbacker(run, "Deleting checkpoint starting.", f"Checkpoint name: {checkpoint_name}.")
    _say_as_rollbacker(run, "Checking checkpoint exists.")
    _must_exist(run, checkpoint_name, "Failed to delete config checkpoint")
    run.device.files.remove(_checkpoint_path(checkpoint_name))
    _say_as_rollbacker(run, "Deleting checkpoint.", "Deleting checkpoint completed.")
    _succeed(run, "Checkpoint deleted successfully.")


@config.leaf(
    "list-checkpoints",
    "List the config checkpoints available.",
    flag("-t", "--time", help="Add extra last modified time information for each checkpoint"),
    _verbose,
)
def list_checkpoints(run: Run, time: bool, verbose: bool) -> None:
    files = run.device.files
    detail = partial(_say_as_rollbacker, run) if verbose else _say_nothing
    detail("Listing checkpoints starting.", f"Verifying checkpoints directory '{_FOLDER}' exists.")
    if not files.is_directory(_FOLDER):
        detail("Checkpoints directory is empty, returning empty checkpoints list.")
        run.say(to_json([]))
        return
    detail("Getting checkpoints in checkpoints directory.")
    names = [name.removesuffix(".cp.json") for name in files.listing(_FOLDER) if name.endswith(".cp.json")]
    plural = "" if len(names) == 1 else "s"
    end = ":" if names else "."
    detail(f"Found {len(names)} checkpoint{plural}{end}")
    document: list[Any] = list(names)
    lines = [f"  * {name}" for name in names]
    if time:
        times = {name: files.files[_checkpoint_path(name)].mtime for name in names}
        document = []
        lines = []
        for name in sorted(names, key=lambda name: times[name], reverse=True):
            modified = datetime.fromtimestamp(times[name], UTC).isoformat()
            document.append({"name": name, "time": modified})
            lines.append(f"  * {name} (Last Modified: {modified})")
    detail(*lines)
    detail("Listing checkpoints completed.")
    run.say(to_json(document))


def _say_nothing(*lines: str) -> None:
    """Drop lines that are printed only with ``--verbose``."""


@config.leaf(
    "rollback",
    """Rollback the whole config to the specified checkpoint. The config is rolled back with minimum disruption e.g.
if ACL config is different between current and checkpoint config only ACL config is updated, and other
config/services such as DHCP will not be affected.

<checkpoint-name>: The checkpoint name, use `config list-checkpoints` command to see available checkpoints.
""",
    argument("checkpoint-name"),
    _dry_run,
    _ignore_tables,
    _ignore_path,
    _verbose,
)
def rollback(
    run: Run,
    checkpoint_name: str,
    dry_run: bool,
    ignore_non_yang_tables: bool,
    ignore_path: tuple[str, ...],
    verbose: bool,
    **others: Any,
) -> None:
    applier = _applier(run, dry_run, ignore_non_yang_tables, ignore_path, verbose)
    _say_as_rollbacker(run, "Config rollbacking starting.", f"Checkpoint name: {checkpoint_name}.")
    _say_as_rollbacker(run, f"Verifying '{checkpoint_name}' exists.")
    _must_exist(run, checkpoint_name, "Failed to rollback config")
    _say_as_rollbacker(run, "Loading checkpoint into memory.")
    try:
        content = json.loads(run.device.files.read(_checkpoint_path(checkpoint_name)).decode())
        _say_as_rollbacker(run, "Replacing config using 'Config Replacer'.")
        _replace(applier, content)
    except (ApplyError, PatchError, *_OF_MALFORMED) as error:
        _fail(run, "Failed to rollback config", str(error))
    _say_as_rollbacker(run, "Config rollbacking completed.")
    _succeed(run, "Config rolled back successfully.", applier.seconds)
