"""``show version``, ``uptime``, ``platform`` and ``feature``."""

import json
import time

from sonic_sim.commands.click7 import Run, argument, flag
from sonic_sim.commands.config.root import not_simulated
from sonic_sim.commands.show.root import VERBOSE, show
from sonic_sim.commands.tables import table
from sonic_sim.configdb import natural_key
from sonic_sim.device import Device


@show.leaf("version", "Show version information", VERBOSE)
def version(run: Run, verbose: bool) -> None:
    device = run.device
    image = device.image()
    metadata = device.db.get("DEVICE_METADATA|localhost")
    now = time.gmtime(device.clock.now())
    clock = time.strftime("%H:%M:%S", now)
    lines = [
        "", f"SONiC Software Version: {image.version}", "SONiC OS Version: 12", f"Distribution: {image.distribution}",
        f"Kernel: {image.kernel}", f"Build commit: {image.commit}", f"Build date: {image.date}",
        f"Built by: {image.built_by}", "", f"Platform: {metadata.get('platform', device.platform)}",
        f"HwSKU: {metadata.get('hwsku', device.spec.hwsku)}", f"ASIC: {device.spec.asic}", "ASIC Count: 1",
        f"Serial Number: {device.spec.serial}", "Model Number: N/A", "Hardware Revision: N/A",
        f"Uptime: {clock} up {_uptime(device)},  1 user,  load average: 0.26, 0.36, 0.59",
        f"Date: {time.strftime('%a %d %b %Y %H:%M:%S', now)}", "", "Docker images:",
        "REPOSITORY          TAG       IMAGE ID       SIZE", "", "",
    ]  # fmt: skip
    run.say("\n".join(lines), end="")


def _uptime(device: Device) -> str:
    """Return the time since the boot as uptime(1) prints it."""
    hours, minutes = divmod(_minutes_up(device), 60)
    days, hours = divmod(hours, 24)
    clock = f"{hours}:{minutes:02d}" if hours else f"{minutes} min"
    if not days:
        return f" {clock}"
    plural = "s" if days > 1 else ""
    return f"{days} day{plural}, {clock}"


def _minutes_up(device: Device) -> int:
    return int(device.clock.now() - device.times.booted) // 60


@show.leaf("uptime", "Show system uptime", VERBOSE)
def uptime(run: Run, verbose: bool) -> None:
    hours, minutes = divmod(_minutes_up(run.device), 60)
    days, hours = divmod(hours, 24)
    parts = []
    for count, unit in ((days, "day"), (hours, "hour"), (minutes, "minute")):
        plural = "" if count == 1 else "s"
        if count:
            parts.append(f"{count} {unit}{plural}")
    run.say(f"up {', '.join(parts) or '0 minutes'}")


platform = show.branch("platform", "Show platform-specific hardware info")


not_simulated(
    platform,
    """
    current      Show device current information
    fan          Show fan status information
    firmware     Show firmware information
    pcieinfo     Show Device PCIe Info
    psustatus    Show PSU status information
    ssdhealth    Show SSD Health information
    syseeprom    Show system EEPROM information
    temperature  Show device temperature information
    voltage      Show device voltage information
""",
)


@platform.leaf(
    "summary", "Show hardware platform information", flag("--json", "json_format", help="Output in JSON format")
)
def summary(run: Run, json_format: bool) -> None:
    device = run.device
    metadata = device.db.get("DEVICE_METADATA|localhost")
    values = {
        "platform": metadata.get("platform", device.platform), "hwsku": metadata.get("hwsku", device.spec.hwsku),
        "asic_type": device.spec.asic, "asic_count": 1, "serial": device.spec.serial, "model": "N/A", "revision": "N/A",
    }  # fmt: skip
    titles = ["Platform", "HwSKU", "ASIC", "ASIC Count", "Serial Number", "Model Number", "Hardware Revision"]
    switch_type = metadata.get("switch_type")
    if switch_type:
        values["switch_type"] = switch_type
        titles.append("Switch Type")
    if json_format:
        run.say(json.dumps(values, sort_keys=True, indent=2, ensure_ascii=False))
        return
    for title, value in zip(titles, values.values(), strict=True):
        run.say(f"{title}: {value}")


feature = show.branch("feature", "Show feature status")


_CONFIG = {"state": "State", "auto_restart": "AutoRestart", "set_owner": "Owner", "no_fallback_to_local": "fallback"}


def _add_feature_command(name: str, text: str, fields: dict[str, str], *, optional: bool = False) -> None:
    """Add a command that shows fields of FEATURE, with their titles.

    With ``optional`` a column is left out if no row has the field.
    """

    @feature.leaf(name, text, argument("feature_name", required=False))
    def command(run: Run, feature_name: str | None) -> None:
        rows = run.db.table("FEATURE")
        if feature_name is not None and feature_name not in rows:
            run.stop(f"Can not find feature {feature_name}")
        names = [feature_name] if feature_name else sorted(rows, key=natural_key)
        columns = list(fields)
        if optional:
            columns = [field for field in fields if any(field in rows[name] for name in names)]
        body = [[name, *(rows[name].get(field, "") for field in columns)] for name in names]
        titles = [fields[field] for field in columns]
        run.say(table(["Feature", *titles], body))


_add_feature_command("status", "Show feature state", {
    "state": "State", "auto_restart": "AutoRestart", "system_state": "SystemState", "update_time": "UpdateTime",
    "container_id": "ContainerId", "container_version": "Version", "set_owner": "SetOwner",
    "current_owner": "CurrentOwner", "remote_state": "RemoteState"}, optional=True)  # fmt: skip
_add_feature_command("config", "Show feature config", _CONFIG, optional=True)
_add_feature_command("autorestart", "Show auto-restart state for a feature", {"auto_restart": "AutoRestart"})
