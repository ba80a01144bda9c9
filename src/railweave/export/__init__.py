"""A fabric's topology and settings as files of others: schedulers, Kubernetes operators, Ansible, DNS."""
