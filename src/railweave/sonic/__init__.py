"""SONiC configuration as data: rows with reasons, the running document, and how a change is applied safely.

``rows``, ``document`` and ``ownership`` are what the folders share. ``render`` turns a fabric's device into rows,
``frr`` is FRR's text, ``delta`` what a change consists of. ``frr`` and ``delta`` know nothing of fabrics, so that a
driver can use them alone.
"""
