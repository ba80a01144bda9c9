"""BGP between the simulated switches: sessions from both ends' configuration, routes through their policies."""
