"""The packet buffer of a switch as SONiC sets it up: headroom, pools, and when groups pause."""
