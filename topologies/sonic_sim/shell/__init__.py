"""The little of a POSIX shell that engineers and programs use over SSH."""
