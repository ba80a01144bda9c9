"""One device during a run: its session, what is read and observed of it, and the steps that change it."""
