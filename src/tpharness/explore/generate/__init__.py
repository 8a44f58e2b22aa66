"""Generators of cases: programs, streams, documents and scenario files."""
