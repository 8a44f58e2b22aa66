"""Other legal orders of the events of a run."""
