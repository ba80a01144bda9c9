"""``config apply-patch``, ``replace``, ``checkpoint``, ``rollback`` and their lists (sonic-facts §3.2)."""

import json
from datetime import UTC, datetime
from typing import Any

from sonic_sim.commands.clicklike import Argument, Option, Parsed, leaf
from sonic_sim.configdb import to_json
from sonic_sim.gcu.apply import Applier, ApplyError
from sonic_sim.gcu.patch import PatchError, difference, read_patch
from sonic_sim.refusals import refused
from sonic_sim.shell.programs import Result

_FOLDER = "/etc/sonic/checkpoints"
_FORMATS = ("CONFIGDB", "SONICYANG")
_OPTIONS = (
    Option(("-f", "--format"), value=True), Option(("-d", "--dry-run")), Option(("-p", "--parallel")),
    Option(("-n", "--ignore-non-yang-tables")), Option(("-i", "--ignore-path"), value=True, many=True),
    Option(("-v", "--verbose")),
)  # fmt: skip
_VERBOSE = (Option(("-v", "--verbose")),)
_NOT_REFLECTED = "localhost: after applying patch to config, there are still some parts not updated"


def _painted(text: str, terminal: bool, color: int) -> str:
    return f"\x1b[{color}m\x1b[4m{text}\x1b[0m" if terminal else text


def _success(parsed: Parsed, out: str, text: str, seconds: float = 0.35) -> Result:
    return Result(out=f"{out}{_painted(text, parsed.call.terminal, 36)}\n", seconds=seconds)


def _failure(parsed: Parsed, out: str, text: str, reason: str, libyang: str = "") -> Result:
    """Return the failure of a click command that prints its own first line."""
    usage = parsed.fail(reason)
    return Result(2, out=out, err=f"{libyang}{_painted(text, parsed.call.terminal, 31)}\n{usage.err}")


@leaf("config apply-patch", "[OPTIONS] PATCH_FILE_PATH", options=_OPTIONS, arguments=(Argument("PATCH_FILE_PATH"),))
def apply_patch_command(parsed: Parsed) -> Result:
    """Apply a JSON patch to the running configuration."""
    chosen = parsed.values.get("format", "CONFIGDB").upper()
    if chosen not in _FORMATS:
        given = parsed.values["format"]
        return parsed.fail(
            f'Invalid value for "-f" / "--format": invalid choice: {given}. (choose from CONFIGDB, SONICYANG)'
        )
    dry = "dry-run" in parsed.flags
    applier = Applier(parsed.call.device, dry=dry, ignore_without_model="ignore-non-yang-tables" in parsed.flags)
    if dry:
        applier.say("** DRY RUN EXECUTION **")
    try:
        patch = _read(parsed, parsed.values["PATCH_FILE_PATH"])
        if refused(parsed.call.device, "config apply-patch"):
            raise ApplyError(_NOT_REFLECTED)
        applier.precheck(patch)
        applier.run(patch)
    except PatchError as error:
        return _failure(parsed, "", f"Failed to apply patch due to: {error}", str(error))
    except ApplyError as error:
        reason = error.reason
        if not error.early:
            reason = f"Failed to apply patch on the following scopes:\n- localhost: {reason}"
        return _failure(
            parsed, applier.out + error.printed, f"Failed to apply patch due to: {reason}", reason, error.libyang
        )
    return _success(parsed, applier.out, "Patch applied successfully.", applier.seconds)


def _read(parsed: Parsed, path: str) -> list[dict[str, Any]]:
    if path in ("/dev/stdin", "-"):
        return read_patch(parsed.call.stdin)
    return read_patch(_text(parsed, path))


def _text(parsed: Parsed, path: str) -> str:
    try:
        return parsed.call.device.files.read(parsed.call.path(path)).decode()
    except FileNotFoundError as error:
        raise PatchError(f"[Errno 2] No such file or directory: '{path}'") from error


@leaf("config replace", "[OPTIONS] TARGET_FILE_PATH", options=_OPTIONS, arguments=(Argument("TARGET_FILE_PATH"),))
def replace(parsed: Parsed) -> Result:
    """Replace the running configuration by a whole one, by the smallest patch."""
    applier = _applier(parsed)
    try:
        target = json.loads(_text(parsed, parsed.values["TARGET_FILE_PATH"]))
        _replace(applier, target)
    except (PatchError, json.JSONDecodeError) as error:
        return _failure(parsed, applier.out, "Failed to replace config", str(error))
    except ApplyError as error:
        return _failure(parsed, applier.out, "Failed to replace config", error.reason)
    return _success(parsed, applier.out, "Config replaced successfully.", applier.seconds)


def _applier(parsed: Parsed) -> Applier:
    ignore = "ignore-non-yang-tables" in parsed.flags
    applier = Applier(parsed.call.device, dry="dry-run" in parsed.flags, ignore_without_model=ignore)
    if applier.dry:
        applier.say("** DRY RUN EXECUTION **")
    return applier


def _replace(applier: Applier, target: dict[str, Any]) -> None:
    """Run the config replacer. Raises ApplyError."""
    device = applier.device
    applier.say("Config Replacer: Config replacement starting.")
    applier.say(f"Config Replacer: Target config length: {len(json.dumps(target))}.")
    applier.say("Config Replacer: Getting current config db.")
    applier.say("Config Replacer: Generating patch between target config and current config db.")
    patch = [move.operation() for move in difference(device.db.document(), target)]
    applier.say("Config Replacer: Applying patch using 'Patch Applier'.")
    if refused(device, "config replace"):
        raise ApplyError(_NOT_REFLECTED)
    applier.run(patch)
    applier.say("Config Replacer: Verifying config replacement is reflected on ConfigDB.")
    if not applier.dry and json.loads(json.dumps(device.db.document())) != target:
        raise ApplyError("After replacing config, there is still some parts not updated")
    applier.say("Config Replacer: Config replacement completed.")


def _name_argument(verb: str) -> tuple[Argument, ...]:
    return (Argument("CHECKPOINT_NAME"),)


def _path(name: str) -> str:
    return f"{_FOLDER}/{name}.cp.json"


@leaf("config checkpoint", "[OPTIONS] CHECKPOINT_NAME", options=_VERBOSE, arguments=_name_argument("checkpoint"))
def checkpoint(parsed: Parsed) -> Result:
    """Save CONFIG_DB under a name."""
    device, name = parsed.call.device, parsed.values["CHECKPOINT_NAME"]
    if not device.files.exists(_FOLDER):
        device.files.make_directory(_FOLDER)
    text = json.dumps(device.db.document())
    device.files.write(_path(name), text.encode(), now=device.clock.now())
    lines = (
        "Config checkpoint starting.", f"Checkpoint name: {name}.", "Getting current config db.",
        "Getting checkpoint full-path.", "Ensuring checkpoint directory exist.",
        f"Saving config db content to {_path(name)}.", "Config checkpoint completed.",
    )  # fmt: skip
    return _success(parsed, _rollbacker(*lines), "Checkpoint created successfully.")


def _rollbacker(*lines: str) -> str:
    return "".join(f"Config Rollbacker: {line}\n" for line in lines)


@leaf("config delete-checkpoint", "[OPTIONS] CHECKPOINT_NAME", options=_VERBOSE, arguments=_name_argument("delete"))
def delete_checkpoint(parsed: Parsed) -> Result:
    """Remove a checkpoint."""
    device, name = parsed.call.device, parsed.values["CHECKPOINT_NAME"]
    out = _rollbacker("Deleting checkpoint starting.", f"Checkpoint name: {name}.", "Checking checkpoint exists.")
    if not device.files.exists(_path(name)):
        return _failure(parsed, out, "Failed to delete config checkpoint", f"Checkpoint '{name}' does not exist")
    device.files.remove(_path(name))
    out += _rollbacker("Deleting checkpoint.", "Deleting checkpoint completed.")
    return _success(parsed, out, "Checkpoint deleted successfully.")


@leaf("config list-checkpoints", options=(Option(("-t", "--time")), *_VERBOSE))
def list_checkpoints(parsed: Parsed) -> Result:
    """List the checkpoints, with ``-t`` and their times, newest first."""
    files = parsed.call.device.files
    names = files.listing(_FOLDER) if files.is_directory(_FOLDER) else []
    names = [name.removesuffix(".cp.json") for name in names if name.endswith(".cp.json")]
    if "time" not in parsed.flags:
        return Result(out=to_json(names) + "\n")
    times = {name: files.files[_path(name)].mtime for name in names}
    newest = sorted(names, key=lambda name: times[name], reverse=True)
    listed = [{"name": name, "time": datetime.fromtimestamp(times[name], UTC).isoformat()} for name in newest]
    return Result(out=to_json(listed) + "\n")


@leaf("config rollback", "[OPTIONS] CHECKPOINT_NAME", options=_OPTIONS, arguments=_name_argument("rollback"))
def rollback(parsed: Parsed) -> Result:
    """Replace the running configuration by a checkpoint."""
    device, name = parsed.call.device, parsed.values["CHECKPOINT_NAME"]
    applier = _applier(parsed)
    for line in ("Config rollbacking starting.", f"Checkpoint name: {name}.", f"Verifying '{name}' exists."):
        applier.say(f"Config Rollbacker: {line}")
    if not device.files.exists(_path(name)):
        return _failure(parsed, applier.out, "Failed to rollback config", f"Checkpoint '{name}' does not exist")
    applier.say("Config Rollbacker: Loading checkpoint into memory.")
    applier.say("Config Rollbacker: Replacing config using 'Config Replacer'.")
    try:
        _replace(applier, json.loads(device.files.read(_path(name))))
    except (ApplyError, PatchError) as error:
        reason = error.reason if isinstance(error, ApplyError) else str(error)
        return _failure(parsed, applier.out, "Failed to rollback config", reason)
    applier.say("Config Rollbacker: Config rollbacking completed.")
    return _success(parsed, applier.out, "Config rolled back successfully.", applier.seconds)
