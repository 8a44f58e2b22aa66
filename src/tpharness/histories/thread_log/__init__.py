"""ThreadProtocol 0.0.7 as its only public program, chimera, implements it: a log of lines, no document.

What is known of it was seen of chimera at 0898c78; the specification that its code names is not public. So every rule
here is marked "as implemented" (`conformance/statements/thread-log-0.0.7.yaml`), and nothing of it certifies.
"""
