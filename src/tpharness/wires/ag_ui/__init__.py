"""AG-UI, the event protocol between agents and pages: its events, and what a stream of them breaks of its rules."""
