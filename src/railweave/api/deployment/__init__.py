"""Changes of devices: deployments, also in phases and resumed, and rollbacks."""
