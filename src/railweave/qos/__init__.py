"""Quality of service: traffic classes as maps, schedulers, ECN and PFC settings."""
