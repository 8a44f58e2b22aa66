"""Exploration: sweeps over places and orders, and campaigns of generated cases."""
