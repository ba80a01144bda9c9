"""Setting up GPU nodes through ansible-runner: what would change, and the change, host by host."""
