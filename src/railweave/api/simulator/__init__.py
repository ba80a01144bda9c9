"""The simulated fabric of an intent, and rehearsals of a plan on one."""
