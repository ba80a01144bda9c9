"""railweave for programs: what the command line does, as functions over values.

A project is found in the working directory (`open_project`). The functions return frozen values, raise
`railweave.errors.RailweaveError` with words for people, and print nothing; the command line prints what they return.
Who wants to hear of progress and be asked before devices change gives the project an `Operator`.
"""

from railweave.api.deploying import Agreement, deploy
from railweave.api.draining import DrainWish, drain, drained, undrain
from railweave.api.observing import drift, plan, verify
from railweave.api.offline import Checked, Rendered, check, diff, explain, render, size
from railweave.api.operator import Operator
from railweave.api.project import Project, open_project
from railweave.api.resuming import resume
from railweave.api.rolling_back import rollback, rollback_last

__all__ = [
    "Agreement",
    "Checked",
    "DrainWish",
    "Operator",
    "Project",
    "Rendered",
    "check",
    "deploy",
    "diff",
    "drain",
    "drained",
    "drift",
    "explain",
    "open_project",
    "plan",
    "render",
    "resume",
    "rollback",
    "rollback_last",
    "size",
    "undrain",
    "verify",
]
