"""What the simulator refuses to do."""


class SimulatorError(Exception):
    """The simulator cannot do what was asked; the text says why and what to do."""
