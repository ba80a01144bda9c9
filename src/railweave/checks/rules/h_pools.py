"""orchagent waits for ever for what a buffer row names and nobody wrote, and a lossless profile without room behind it
drops: rows of overrides and of live switches are resolved down to the pool and the chip."""

from railweave.catalog.load import load_catalog
from railweave.checks.registry import Breach, Breaches, SwitchRead, rule
from railweave.sonic.buffer_faults import buffer_faults

RULE = rule(
    "H-pools",
    "buffer rows name what is there, and their headroom and pools fit",
    __doc__,
    "overrides: {leaf: {BUFFER_PROFILE: {mine: {pool: no_such_pool, size: '0', dynamic_th: '0'}}}}",
)


@RULE.on_switch
def rows(read: SwitchRead) -> Breaches:
    """Resolve every buffer row of a switch."""
    model = load_catalog().find_switch(read.fabric.switch_of[read.name].panel.model)
    for row, what, fix in buffer_faults(read.tables, model.asic.buffer_bytes if model else None):
        yield Breach("", f"{row} of {read.name} {what}", fix, devices=(read.name,))
