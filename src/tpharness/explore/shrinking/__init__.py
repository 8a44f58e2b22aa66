"""From a failure to the smallest one of the same cause."""
