"""NAPALM driver for community SONiC."""
