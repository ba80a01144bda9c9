"""The Generic Config Updater: JSON patches checked, ordered into single safe changes, and applied one by one."""
