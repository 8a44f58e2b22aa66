"""A server of AG-UI as it runs, judged by what it answers to inputs that we post."""
