"""The fabric as plain values: switches, GPU nodes, links and the policies that every device shares."""
