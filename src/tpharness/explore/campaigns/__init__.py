"""Campaigns: generated cases, judged one after the other, kept with what fails."""
