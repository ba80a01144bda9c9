#!/usr/bin/python3 -IS
"""Starts a NIC tool of a simulated node under its name, from what Python has compiled before.

An acceptance reads the counters of every NIC around each round: the fabric answers for these, without the rest.
"""

import os
import sys

LIBRARY = "/usr/local/lib/railweave-sim"
FABRIC = "/run/railweave-sim/tools.sock"
REFUSED = "/run/nics/refuse"


def main() -> None:
    """Act as the tool by whose name this program was called."""
    name = "nic_tools"
    if wants_counters(sys.argv) and os.path.exists(FABRIC) and not os.path.exists(REFUSED):
        name = "tool"
    # Python keeps what it has compiled of modules, not of programs.
    sys.path.insert(0, LIBRARY)
    __import__(name).main()


def wants_counters(words: list[str]) -> bool:
    """Tell whether ``words`` ask for the counters of an interface that exists."""
    is_asked = os.path.basename(words[0]) == "ethtool" and len(words) == 3 and words[1] == "-S"
    return is_asked and os.path.isdir(f"/sys/class/net/{words[2]}")


if __name__ == "__main__":
    main()
