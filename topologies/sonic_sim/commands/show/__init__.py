"""The commands of ``show``, a family a module; whoever imports this package has them all."""

from sonic_sim.commands.show import counters, interfaces, qos, routing, running, services, switching, system  # noqa: F401
from sonic_sim.commands.show.echo import install
from sonic_sim.commands.show.root import show

install(show)
