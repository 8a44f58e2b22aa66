"""tpharness: the conformance test suite and stream-replay harness for ThreadProtocol."""

__all__: list[str] = []
