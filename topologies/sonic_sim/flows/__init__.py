"""RDMA and TCP flows through a simulated fabric: what tools measure, and what switches and NICs count."""
