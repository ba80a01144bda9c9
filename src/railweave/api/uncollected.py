"""Work that makes millions of values and no cycles of them: Python need not look through them again and again."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collections() -> Iterator[None]:
    """Keep Python's garbage collector off within the block.

    This halves the time of a plan of 4,096 nodes and of its verdict.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
