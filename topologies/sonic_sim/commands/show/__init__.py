"""The commands of ``show``, a family a module; whoever imports this package has them all."""

from sonic_sim.commands.show import (  # noqa: F401
    counters,
    interfaces,
    optics,
    qos,
    routing,
    running,
    services,
    switchhash,
    switching,
    system,
    vxlan,
)
