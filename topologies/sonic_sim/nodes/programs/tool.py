#!/usr/bin/python3 -IS
r"""A network test of a simulated node, under the name of the tool: the fabric answers for it.

The simulator is sent the words of the command and the environment, each with a letter before it and a zero byte after
it, and a zero byte at the end: ``aib_write_bw\0a-d\0amlx5_0\0eHOME=/root\0\0``. It answers in lines: ``o`` and a line
of output or ``e`` and one of errors, a capital letter where the line goes on, and last ``x0``, the exit status. Its
socket closes when this program is killed, which ends the flow.
"""

# `socket` and `json` take longer to import than everything else here, and a round starts hundreds of tools.
import _socket
import os
import sys

# `typing` would be imported for this alone.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

SOCKET = "/run/railweave-sim/tools.sock"
HANDLE = 3
PRINTER = """
while IFS= read -r line <&3; do
    text=${line#?}
    case $line in
        o*) printf '%s\\n' "$text" || exit 1 ;;
        O*) printf '%s' "$text" || exit 1 ;;
        e*) printf '%s\\n' "$text" >&2 ;;
        E*) printf '%s' "$text" >&2 ;;
        x*) exit "$text" ;;
    esac
done
echo "$0: the simulated fabric ended the test" >&2
exit 1
"""
"""Prints the answer part by part. A shell that waits for it takes a tenth of the memory of Python."""


def main() -> "NoReturn":
    """Send the request, and become the shell that prints the answer."""
    name = os.path.basename(sys.argv[0])
    words = [b"a" + os.fsencode(word) for word in (name, *sys.argv[1:])]
    words += [b"e" + key + b"=" + value for key, value in os.environb.items()]
    try:
        fabric = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        fabric.connect(SOCKET)
        fabric.sendall(b"".join(word + b"\0" for word in words) + b"\0")
    except OSError as error:
        print(f"{name}: the simulated fabric does not answer: {error}", file=sys.stderr)
        sys.exit(1)
    os.dup2(fabric.fileno(), HANDLE)
    os.set_inheritable(HANDLE, True)
    os.execv("/bin/sh", ["sh", "-c", PRINTER, name])  # noqa: S606  in place of this process


if __name__ == "__main__":
    main()
