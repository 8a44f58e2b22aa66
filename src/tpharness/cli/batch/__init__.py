"""Commands on documents, by the thousand: where documents come from, what is done to each, where results go."""
