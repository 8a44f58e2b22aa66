"""Real frameworks behind the control contract, each a program that `peer:NAME` starts.

`scripted_run` reads a script as what a model and its tools do, `playback` lets it happen in order inside a framework,
`control` answers the requests of the contract. What each framework adds is a package of its own; none is imported by
the rest of tpharness, and what it needs is an optional extra.
"""
