"""When a cable is poor, and when it must leave service: the ``links:`` of an intent, with its defaults."""

from typing import NamedTuple


class LinkPolicy(NamedTuple):
    """The keys of ``links:``; each is described in docs/reference/intent.md."""

    # Nodes of the largest job; None: all nodes of the fabric.
    job_nodes: int | None = None
    job_hours: int = 24
    # The chance that a job of this size and length loses a codeword, above which a link must be drained.
    job_loss: float = 0.01
    # Bit error rates before correction; None: from the FEC and the job.
    warn_ber: float | None = None
    drain_ber: float | None = None
    # A link is drained if its first lost codeword is predicted within these hours.
    lead_hours: int = 3
    # Flaps within `flap_hours` from which on a link must be drained.
    flaps: int = 3
    flap_hours: int = 1
    # Whether the modules' own thresholds grade.
    optics: bool = True
    # Days with a grade other than A within `offender_window_days` that make a repeat offender.
    offender_days: int = 3
    offender_window_days: int = 30
