"""The node image's own code: SONiC's management commands and daemons on a real Redis, FRR and kernel."""
