"""The program as it is started on a switch."""

from __future__ import annotations

import contextlib
import os
import signal
import sys

from railweave_switch import main, models_check
from railweave_switch.guard import Guard
from railweave_switch.machine import Machine
from railweave_switch.reader import DeniedError, allowed_command


def start(words: list[str]) -> int:
    """Run one verb, the guard, the check by YANG models, or the reader's command; return the exit status."""
    # A unit of systemd starts without SONiC's /usr/local/bin.
    os.environ["PATH"] = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    os.umask(0o077)
    host = Machine(os.environ.get("RAILWEAVE_ROOT", ""))
    if words[:1] == ["_guard"] and len(words) == 2:
        return guard(host, words[1])
    if words[:1] == ["_check"] and len(words) == 2:
        ends_s = host.now_s() + float(words[1])
        sys.stdout.write(models_check.check(sys.stdin.read(), lambda: host.now_s() < ends_s))
        return main.EXIT_OK
    if words == ["reader"]:
        return read_only(os.environ.get("SSH_ORIGINAL_COMMAND", ""))
    status, text = main.run(host, words, lambda: sys.stdin.buffer.read(main.LONGEST_TRANSACTION))
    stream = sys.stderr if status == main.EXIT_USAGE else sys.stdout
    stream.write(text)
    return status


def read_only(asked: str) -> int:
    """Replace this process by the command that the reader's client asked for; return only if it is refused."""
    try:
        command = allowed_command(asked, main.PROGRAM)
        os.execvp(command[0], command)  # noqa: S606  no shell: that is the point
    except (DeniedError, OSError) as error:
        sys.stderr.write(f"{error}\n")
    return main.EXIT_REFUSED


def guard(host: Machine, name: str) -> int:
    """Run the guard in two processes: if one of them is killed, the other continues with the same memory."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    twin = Guard(host, name)
    child = os.fork()
    if child == 0:
        twin.announce()
        main.stand_guard(twin)
        os._exit(main.EXIT_OK)
    _, ended = os.waitpid(child, 0)
    if os.WIFSIGNALED(ended) or os.WEXITSTATUS(ended) != main.EXIT_OK:
        with contextlib.suppress(OSError):
            twin.announce()
        main.stand_guard(twin)
    return main.EXIT_OK


if __name__ == "__main__":
    sys.exit(start(sys.argv[1:]))
