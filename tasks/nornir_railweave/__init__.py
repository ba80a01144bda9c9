"""Nornir inventory, runner, tasks and progress for railweave: the only code that drives devices."""

from nornir_railweave.other_drivers import defer

defer()  # before any module here imports napalm
