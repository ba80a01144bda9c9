"""asyncssh without a search for libraries: to see whether liboqs and nettle are there it starts the compiler twice.

Both are for key exchanges and MACs that no client of a simulated switch needs.
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
