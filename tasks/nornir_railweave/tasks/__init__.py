"""One task, one file. A task never raises for a device's fault: what went wrong is a value in its small result."""
