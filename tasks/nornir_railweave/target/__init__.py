"""How the devices of a fabric are reached: the target's file, addresses and logins, and a Nornir made of them."""
