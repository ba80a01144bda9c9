"""The intent: what the fabric should be, read from one YAML file with every error at its place."""
