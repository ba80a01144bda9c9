"""BGP Clos routing (RFC 7938): sessions, policy and announcements of one device as values."""
