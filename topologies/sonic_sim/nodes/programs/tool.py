#!/usr/bin/python3 -IS
r"""A network test of a simulated node, under the name of the tool: the fabric answers for it.

The simulator is sent the words of the command and the environment, each with a letter before it and a zero byte after
it, and a zero byte at the end: ``aib_write_bw\0a-d\0amlx5_0\0eHOME=/root\0\0``. It answers ``stdout 5`` or
``stderr 5`` in a line of its own before so many bytes of text, and last ``exit 0``. Its socket closes when this program
is killed, which ends the flow.
"""

# `socket` and `json` take longer to import than everything else here, and a round starts hundreds of tools.
import _socket
import os
import sys

SOCKET = "/run/railweave-sim/tools.sock"


def main() -> int:
    """Pass the call on, print what comes back and return the exit status."""
    name = os.path.basename(sys.argv[0])
    words = [b"a" + os.fsencode(word) for word in (name, *sys.argv[1:])]
    words += [b"e" + key + b"=" + value for key, value in os.environb.items()]
    try:
        fabric = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        fabric.connect(SOCKET)
        fabric.sendall(b"".join(word + b"\0" for word in words) + b"\0")
        with open(fabric.fileno(), "rb", closefd=False) as answer:
            # Part by part: the intervals of a test appear as they pass.
            for line in iter(answer.readline, b""):
                kind, _, number = line.partition(b" ")
                if kind == b"exit":
                    return int(number)
                stream = 2 if kind == b"stderr" else 1
                write(stream, answer.read(int(number)))
    except BrokenPipeError:
        # Nobody reads the output any more.
        return 1
    except (OSError, ValueError) as error:
        print(f"{name}: the simulated fabric does not answer: {error}", file=sys.stderr)
        return 1
    print(f"{name}: the simulated fabric ended the test", file=sys.stderr)
    return 1


def write(stream: int, data: bytes) -> None:
    """Write all of ``data``. Raises OSError."""
    while data:
        data = data[os.write(stream, data) :]


if __name__ == "__main__":
    sys.exit(main())
