"""What batch lines and metrics show of the run."""
