"""The tools of nodes, as the fabric answers them: perftest, iperf3, nccl-tests."""
