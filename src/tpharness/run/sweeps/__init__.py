"""Sweeps: one run cut at every place, for one case and for the whole suite."""
