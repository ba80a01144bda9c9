"""SONiC configuration as data: rows with reasons, the running document, changes, and how each is applied safely.

``rows``, ``document``, ``frr``, ``changes``, ``methods`` and ``steps`` know nothing of fabrics, so that a driver can
use them alone; ``configure`` turns a fabric's device into rows.
"""
