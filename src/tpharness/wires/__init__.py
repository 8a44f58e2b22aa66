"""What may run between a server and a client: each wire has a package, and `sse` has the framing that they share."""
