"""AG-UI as far as it is a wire: streams and inputs are checked; what it makes of a model's events is not here yet."""

from __future__ import annotations

from tpharness.findings import Finding
from tpharness.wires.ag_ui.judge import judge_input, judge_stream

__all__ = ["check_input", "check_stream"]


def check_stream(data: bytes, major: int | None = None, posted: bytes | None = None) -> list[Finding]:
    """Return what is wrong with a stream, and with the input that it answers if it is given."""
    del major  # both versions are read, and the stream says which it is
    return judge_stream(data, posted).findings


def check_input(posted: bytes) -> list[Finding]:
    """Return what is wrong with an input that was posted."""
    return judge_input(posted)
