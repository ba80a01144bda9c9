"""``config reload``: lock, readiness, YANG check, stop, flush, load, migrate, restart (sonic-facts §3.1)."""

import json
from dataclasses import dataclass

from sonic_sim.commands.clicklike import Argument, Option, Parsed, leaf
from sonic_sim.commands.config_save import CFGGEN, YES
from sonic_sim.commands.prompting import ask
from sonic_sim.device import CONFIG_FILE, INIT_FILE, SWSS_READY_S, Device, Effect
from sonic_sim.merge import ProgramError, read_document
from sonic_sim.refusals import refused
from sonic_sim.shell.programs import Result, Wait
from sonic_sim.yang.check import YangError, check_document

LOCK = "/etc/sonic/reload.lock"
_SECONDS = 30.0
_OPTIONS = (
    YES, Option(("-f", "--force")), Option(("-n", "--no_service_restart")), Option(("-l", "--load-sysinfo")),
    Option(("-b", "--bypass-lock")), Option(("-t", "--file_format"), value=True),
)  # fmt: skip


@leaf("config reload", "[OPTIONS] [FILENAME]", options=_OPTIONS, arguments=(Argument("FILENAME", required=False),))
def reload(parsed: Parsed) -> Result:
    """Replace the running configuration by a file and restart everything."""
    device = parsed.call.device
    if "bypass-lock" in parsed.flags:
        return _inside(parsed, f"Bypass lock on {LOCK}\n", "")
    holder = device.locks.take(LOCK)
    if holder is None:
        return Result(1, out=f"Failed to acquire lock on {LOCK}\n")
    try:
        return _inside(parsed, f"Acquired lock on {LOCK}\n", f"Released lock on {LOCK}\n")
    finally:
        device.locks.release(holder)


def _inside(parsed: Parsed, before: str, after: str) -> Result:
    device = parsed.call.device
    skip_checks = bool({"force", "no-service-restart"} & parsed.flags)
    not_ready = "" if skip_checks else _not_ready(device)
    if not_ready:
        return Result(1, out=before + not_ready + after)
    path = parsed.values.get("FILENAME")
    if "yes" not in parsed.flags:
        asked = ask(_question(path), parsed.call.stdin)
        if isinstance(asked, Result):
            return Result(asked.exit, out=before + asked.out + after, err=asked.err)
        before += asked
    if path is not None:
        bad = _bad_file(device, parsed.call.path(path), path)
        if bad is not None:
            return Result(1, out=before + bad.out + after, err=bad.err)
    if refused(device, "config reload"):
        text = "SwSS container is not ready. Retry later or use -f to avoid system checks\n"
        return Result(1, out=before + text + after)
    done = _Reload(device, parsed.call.path(path or CONFIG_FILE), path or CONFIG_FILE)
    result = done.run(restart="no-service-restart" not in parsed.flags)
    return Result(result.exit, out=before + result.out + after, err=result.err, seconds=result.seconds)


def _question(path: str | None) -> str:
    if path is None:
        return "Clear current config and reload config in config_db format from the default config file(s) ?"
    return f"Clear current config and reload config in config_db from the file(s) {path} ?"


def _not_ready(device: Device) -> str:
    if device.times.frr_up > device.clock.now():
        return "System is not up. Retry later or use -f to avoid system checks\n"
    if device.clock.now() < device.times.swss_up + device.clock.real_s(SWSS_READY_S):
        return "SwSS container is not ready. Retry later or use -f to avoid system checks\n"
    return ""


def _bad_file(device: Device, path: str, typed: str) -> Result | None:
    """Return why the file is refused before anything is stopped."""
    try:
        document = read_document(device.files.read(path).decode())
        check_document(document)
    except FileNotFoundError:
        error = ProgramError(f"FileNotFoundError: [Errno 2] No such file or directory: '{typed}'")
        return Result(1, err=error.traceback())
    except ProgramError as error:
        return Result(1, err=error.traceback())
    except YangError as error:
        text = f"sonic_yang(3):Data Loading Failed:{error.message}\n"
        text += f"{typed} fails YANG validation! Error: Data Loading Failed\n{error.message}\n"
        return Result(1, out=text, err=f"{error.libyang}Aborted!\n")
    return None


@dataclass(slots=True)
class _Reload:
    """The part of a reload that changes the switch."""

    device: Device
    path: str
    typed: str

    def run(self, *, restart: bool) -> Result:
        """Flush, load, migrate and restart."""
        device = self.device
        out = "Disabling container and routeCheck monitoring ...\nStopping SONiC target ...\n" if restart else ""
        document = json.loads(device.files.read(self.path))
        metadata = document.get("DEVICE_METADATA", {}).get("localhost", {})
        load_system = not (metadata.get("mac") and metadata.get("platform"))
        if restart:
            device.frr.stop()
        if load_system:
            sku = metadata.get("hwsku", "")
            out += f"Running command: {CFGGEN} -H -k {sku} --write-to-db\n"
            if not sku:
                # the database is flushed already, and sonic-cfggen waits for a key that nobody sets (recorded)
                device.db.clear()
                device.initialized = False
                return Result(1, out=out, seconds=Wait.FOR_EVER)
        device.load_files(self.path)
        if load_system:
            known = device.db.get("DEVICE_METADATA|localhost")
            hardware = {"mac": device.spec.mac, "platform": device.platform}
            device.db.set_fields("DEVICE_METADATA|localhost", {**hardware, **known})
        out += f"Running command: {CFGGEN} -j {INIT_FILE} -j {self.typed} --write-to-db\n"
        out += "Running command: /usr/local/bin/db_migrator.py -o migrate\n"
        if not restart:
            return Result(out=out, seconds=1.0)
        out += "Restarting SONiC target ...\nEnabling container and routeCheck monitoring ...\n"
        out += "Reloading Monit configuration ...\n"
        self._overwritten_mode()
        device.start_services()
        device.emit(Effect.DROP_SESSIONS)
        return Result(out=out, seconds=_SECONDS)

    def _overwritten_mode(self) -> None:
        """Let a minigraph or golden file decide the routing mode, as the migration does (sonic-facts §1.4)."""
        files, db = self.device.files, self.device.db
        golden = "/etc/sonic/golden_config_db.json"
        if files.exists("/etc/sonic/minigraph.xml"):
            db.set_fields("DEVICE_METADATA|localhost", {"docker_routing_config_mode": "separated"})
        elif files.exists(golden):
            rows = json.loads(files.read(golden)).get("DEVICE_METADATA", {}).get("localhost", {})
            mode = rows.get("docker_routing_config_mode")
            if mode:
                db.set_fields("DEVICE_METADATA|localhost", {"docker_routing_config_mode": mode})
            else:
                db.delete_fields("DEVICE_METADATA|localhost", ["docker_routing_config_mode"])
