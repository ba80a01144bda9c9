"""The commands of ``show``, a family a module; whoever imports this package has them all."""

from sonic_sim.commands.show import interfaces, qos, routing, running, switching, system  # noqa: F401
