"""The commands of ``show``, a family a module; whoever imports this package has them all."""

from sonic_sim.commands.show import (  # noqa: F401
    aliases,
    counters,
    echo,
    generated,
    interfaces,
    qos,
    routing,
    running,
    services,
    switchhash,
    switching,
    system,
    vxlan,
)
from sonic_sim.commands.show.root import show

aliases.install(show)
echo.install(show)
