"""Threads to and from the messages of other programs: what `tpharness history` prints and `tpharness import` reads."""
