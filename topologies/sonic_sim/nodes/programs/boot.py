#!/usr/bin/python3 -IS
"""What a simulated node does when it starts, of all that systemd does: sysctls, then the units of multi-user.target."""

import contextlib
import shlex
import subprocess
from pathlib import Path

UNIT_TIMEOUT_S = 120


def main() -> None:
    """Apply /etc/sysctl.d, and run each enabled unit to its end."""
    for path in sorted(Path("/etc/sysctl.d").glob("*.conf")):
        apply_settings(path.read_text(encoding="utf-8"))
    for unit in sorted(Path("/etc/systemd/system/multi-user.target.wants").glob("*.service")):
        for line in unit.read_text(encoding="utf-8").splitlines():
            if line.startswith("ExecStart="):
                run(shlex.split(line.removeprefix("ExecStart=")), unit.name)


def apply_settings(text: str) -> None:
    """Write the kernel settings of a file of sysctl.d."""
    for line in text.splitlines():
        key, equals_sign, value = line.partition("=")
        is_comment = key.lstrip().startswith(("#", ";"))
        if equals_sign and not is_comment:
            # A setting that the kernel lacks is skipped, as by systemd-sysctl.
            with contextlib.suppress(OSError):
                Path("/proc/sys", key.strip().replace(".", "/")).write_text(value.strip(), encoding="utf-8")


def run(command: list[str], unit: str) -> None:
    """Run a command of a unit; its output goes to the node's log."""
    with open("/var/log/boot.log", "a", encoding="utf-8") as log:
        log.write(f"{unit}: {shlex.join(command)}\n")
        log.flush()
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(command, stdout=log, stderr=log, timeout=UNIT_TIMEOUT_S, check=False)


if __name__ == "__main__":
    main()
