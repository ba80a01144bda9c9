"""The intent: what the fabric should be, read from one YAML file with every fault at its place."""
