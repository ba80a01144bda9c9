"""Validation of rendered CONFIG_DB documents by SONiC's own YANG models.

The models are not part of railweave: they are read from a folder, as every switch has one in
``/usr/local/yang-models``. Only ``models`` needs libyang; translation and violations are plain functions.
"""
