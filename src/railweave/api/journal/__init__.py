"""What is on record: rollouts, the audit log, and which state of the project is deployed."""
