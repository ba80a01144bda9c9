"""railweave for programs: what the command line does, as functions over values.

A project is found in the working directory (`open_project`). The functions return frozen values, raise
`railweave.errors.RailweaveError` with words for people, and print nothing; the command line prints what they return.
"""

from railweave.api.offline import Checked, Rendered, check, diff, explain, render, size
from railweave.api.project import Project, open_project

__all__ = ["Checked", "Project", "Rendered", "check", "diff", "explain", "open_project", "render", "size"]
