"""A model of a real fabric that carries out an acceptance plan: it writes the results and counters that a judge reads.

It knows ``plan.json`` and nothing of the project: flows by networkx, max-min fair rates, queues by a fluid model, and
faults by hand. What it prints are the forms of perftest, nccl-tests, SONiC and the mlx5 driver.
"""
