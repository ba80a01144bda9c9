#!/usr/bin/python3 -IS
"""A network test of a simulated node, under the name of the tool: the fabric answers for it.

One line of JSON goes to the simulator: ``{"node", "argv", "environment"}``. It answers in lines, ``{"stdout": TEXT}``
and ``{"stderr": TEXT}``, and last ``{"exit": STATUS}``. Its socket closes when this program is killed, which ends the
flow.
"""

import json
import os
import socket
import sys

SOCKET = "/run/railweave-sim/tools.sock"


def main() -> int:
    """Pass the call on, print what comes back and return the exit status."""
    name = os.path.basename(sys.argv[0])
    request = {
        "node": socket.gethostname(),
        "argv": [name, *sys.argv[1:]],
        "environment": dict(os.environ),
    }
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as fabric:
            fabric.connect(SOCKET)
            fabric.sendall(json.dumps(request).encode() + b"\n")
            # Line by line: the intervals of a test appear as they pass.
            for line in fabric.makefile("rb"):
                answer = json.loads(line)
                if "exit" in answer:
                    return int(answer["exit"])
                for stream in ("stdout", "stderr"):
                    if stream in answer:
                        getattr(sys, stream).write(answer[stream])
                        getattr(sys, stream).flush()
    except BrokenPipeError:
        # Nobody reads the output any more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except (OSError, ValueError) as error:
        print(f"{name}: the simulated fabric does not answer: {error}", file=sys.stderr)
        return 1
    print(f"{name}: the simulated fabric ended the test", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
