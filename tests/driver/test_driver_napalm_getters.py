"""NAPALM's conformance suite for getters, on recorded answers."""

import pytest
from napalm.base.test.getters import BaseTestGetters


@pytest.mark.usefixtures("set_device_parameters")
class TestGetters(BaseTestGetters):  # type: ignore[misc]
    """Every test comes from NAPALM; what the driver does not implement is skipped by the suite itself."""
