"""SONiC's management plane, simulated: real SSH, CONFIG_DB, and the texts and refusals of its commands."""
