"""GPU and storage nodes of a simulated fabric: machines in namespaces, reached by SSH."""
