"""Histories other than ThreadProtocol's: what they keep of an interrupted turn, and what model APIs make of it."""
