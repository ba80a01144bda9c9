"""Work on devices in other processes and at other sites: messages, workers, and the runner that spreads a task."""
