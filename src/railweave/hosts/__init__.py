"""GPU nodes: addresses, policy routing, NIC settings and NCCL, as functions of the fabric."""
