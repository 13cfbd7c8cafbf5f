"""The command line: the only part that prints, reads options and exits."""
