"""The simulator's error."""


class SimulatorError(Exception):
    """A request that the simulator cannot carry out; the text gives the reason and a way out."""
