"""The command line: reads options, calls the engine and the tasks, shows what they return."""
