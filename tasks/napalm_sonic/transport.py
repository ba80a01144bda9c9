"""Which way commands go to a device: SSH, or ``docker exec`` for a switch that runs as a container."""

from typing import TYPE_CHECKING

from napalm_sonic.session import Session

if TYPE_CHECKING:
    from napalm_sonic.options import Options

SSH, DOCKER = "ssh", "docker"
TRANSPORTS = (SSH, DOCKER)


def new_session(hostname: str, username: str, password: str, timeout_s: float, options: "Options") -> Session:
    """Return a session that is not yet open. With ``docker``, ``hostname`` is the container; the login is not used."""
    if options.transport == DOCKER:
        from napalm_sonic.container_session import ContainerSession

        return ContainerSession(hostname, username, password, timeout_s, command_timeout_s=options.command_timeout_s)
    return Session(
        hostname=hostname,
        username=username,
        password=password,
        timeout_s=timeout_s,
        netmiko_arguments=options.netmiko,
        command_timeout_s=options.command_timeout_s,
        sudo=options.sudo,
        jump=options.jump,
    )
