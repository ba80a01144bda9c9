"""asyncssh without its search for liboqs and nettle, which starts ldconfig, gcc and ld at every import.

Both libraries are for key exchanges and MACs that `sonic_sim.server` does not offer.
"""

import ctypes.util

_find_library = ctypes.util.find_library
ctypes.util.find_library = lambda name: None
try:
    import asyncssh
    from asyncssh import editor
finally:
    ctypes.util.find_library = _find_library

__all__ = ["asyncssh", "editor"]
