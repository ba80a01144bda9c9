"""Validation of rendered CONFIG_DB documents by SONiC's own YANG models.

The models are not part of railweave: they are read from a folder such as ``/usr/local/yang-models`` on every switch.
Only ``models`` needs libyang; translation and violations are plain functions.
"""
