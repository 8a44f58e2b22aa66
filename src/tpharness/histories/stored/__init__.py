"""Conversations as somebody has stored them: their format, what is wrong with them, what can be repaired."""
