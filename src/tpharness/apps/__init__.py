"""Judging an application as it runs: a room beside the core, which imports the core and is not imported by it."""
