"""Readers of what test tools write: a module for each program, chosen by the content of a file; none raises."""
