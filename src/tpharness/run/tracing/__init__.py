"""What is traced of a run: the record of a case while it is played, and the files that are made of it."""
