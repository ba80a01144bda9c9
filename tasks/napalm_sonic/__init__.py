"""NAPALM driver for community SONiC: ``get_network_driver("sonic")`` returns :class:`SonicDriver`.

NAPALM takes the first driver class that it finds here in alphabetical order, so nothing else may be visible.
"""

from napalm_sonic.driver import SonicDriver

__all__ = ["SonicDriver"]
