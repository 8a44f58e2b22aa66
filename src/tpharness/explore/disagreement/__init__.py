"""Where several targets make different things of the same scenario."""
