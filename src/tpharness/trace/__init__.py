"""What was really played, as a file that can be handed on: recorded (`tape`), written, read, searched for a cause."""
