"""ThreadProtocol as an application writes it: judged where the address `thread` answers it, and reported apart."""
