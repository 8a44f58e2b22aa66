"""The protocol itself: versions, parsing, rules, canonical form, comparison, migration, history for a model."""
