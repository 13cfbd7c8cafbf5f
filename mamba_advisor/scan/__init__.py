"""Raw blocks of a log -> readings and batches, a hundred times faster than by line."""
