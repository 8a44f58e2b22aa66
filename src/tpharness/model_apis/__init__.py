"""The APIs of models: one folder for each, and what all of them share."""
