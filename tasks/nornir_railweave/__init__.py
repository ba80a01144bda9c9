"""Nornir inventory, runner, tasks and progress for railweave: the only code that drives devices."""
