"""``show version``, ``show platform`` and the like."""

import json
import time

from sonic_sim.commands.clicklike import Argument, Option, Parsed, leaf
from sonic_sim.commands.table import simple_table
from sonic_sim.device import Device
from sonic_sim.shell.programs import Result


@leaf("show version", options=(Option(("--verbose",)),))
def version(parsed: Parsed) -> Result:
    """Print the versions of the image and what hardware it runs on."""
    device = parsed.call.device
    image = device.image()
    metadata = device.db.get("DEVICE_METADATA|localhost")
    now = time.gmtime(device.clock.now())
    lines = [
        "", f"SONiC Software Version: {image.version}", "SONiC OS Version: 12", f"Distribution: {image.distribution}",
        f"Kernel: {image.kernel}", f"Build commit: {image.commit}", f"Build date: {image.date}",
        f"Built by: {image.built_by}", "", f"Platform: {metadata.get('platform', device.platform)}",
        f"HwSKU: {metadata.get('hwsku', device.spec.hwsku)}", f"ASIC: {device.spec.asic}", "ASIC Count: 1",
        f"Serial Number: {device.spec.serial}", "Model Number: N/A", "Hardware Revision: N/A",
        f"Uptime: {time.strftime('%H:%M:%S', now)} up {_uptime(device)},  1 user,  load average: 0.26, 0.36, 0.59",
        f"Date: {time.strftime('%a %d %b %Y %H:%M:%S', now)}", "", "Docker images:",
        "REPOSITORY          TAG       IMAGE ID       SIZE", "", "",
    ]  # fmt: skip
    return Result(out="\n".join(lines))


def _uptime(device: Device) -> str:
    minutes = int(device.clock.now() - device.times.booted) // 60
    days, rest = divmod(minutes, 1440)
    clock = f"{rest // 60}:{rest % 60:02d}" if rest >= 60 else f"{rest} min"
    return f"{days} day{'s' if days > 1 else ''}, {clock}" if days else f" {clock}"


@leaf("show platform summary", options=(Option(("--json",)),))
def platform_summary(parsed: Parsed) -> Result:
    """Print the platform, as text or JSON."""
    device = parsed.call.device
    metadata = device.db.get("DEVICE_METADATA|localhost")
    values = {
        "platform": metadata.get("platform", device.platform),
        "hwsku": metadata.get("hwsku", device.spec.hwsku),
        "asic_type": device.spec.asic,
        "asic_count": 1,
        "serial": device.spec.serial,
        "model": "N/A",
        "revision": "N/A",
    }
    if "json" in parsed.flags:
        return Result(out=json.dumps(values) + "\n")
    names = ("Platform", "HwSKU", "ASIC", "ASIC Count", "Serial Number", "Model Number", "Hardware Revision")
    return Result(out="".join(f"{name}: {value}\n" for name, value in zip(names, values.values(), strict=True)))


@leaf("show uptime", options=(Option(("--verbose",)),))
def uptime(parsed: Parsed) -> Result:
    """Print how long the switch is up."""
    return Result(out=f"up {_uptime(parsed.call.device).strip()}\n")


_FEATURE = (Argument("FEATURE_NAME", required=False),)


@leaf("show feature status", "[OPTIONS] [FEATURE_NAME]", arguments=_FEATURE)
def feature_status(parsed: Parsed) -> Result:
    """Print the FEATURE table."""
    rows = parsed.call.device.db.table("FEATURE")
    names = [name for name in sorted(rows) if parsed.values.get("FEATURE_NAME") in (None, name)]
    body = [[name, rows[name].get("state", ""), rows[name].get("auto_restart", "")] for name in names]
    return Result(out=simple_table(["Feature", "State", "AutoRestart"], body) + "\n")


@leaf("show feature config", "[OPTIONS] [FEATURE_NAME]", arguments=_FEATURE)
def feature_config(parsed: Parsed) -> Result:
    """Print the configuration of features."""
    return feature_status(parsed)
