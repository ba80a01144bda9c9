"""What turns one configuration of a switch into another: edits, how each is applied, their order and their inverse."""
