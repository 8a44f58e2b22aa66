"""What the bytes of a stream say of marks and heartbeats: bytes written by hand."""

from __future__ import annotations

import pytest

from tpharness.targets.stream_promises import judge_hold, judge_silence

DELTA = b'data: {"type":"text-delta","id":"t","delta":"a"}\n\n'


@pytest.mark.parametrize(
    ("stream", "codes"),
    [
        (DELTA + b": tp 1\n\n", []),
        (b": tp 1\n\n" + DELTA, ["marks-not-kept"]),
        (b": tp 1\n\n" + DELTA.replace(b":", b": "), ["marks-not-kept"]),
        (b": tp 1\n\n: alive\n\n" + DELTA, []),
        (b'data: {"type":"finish"}\n\n: tp 1\n\ndata: [DONE]\n\n', []),
        (DELTA, []),
    ],
)
def test_a_delta_behind_the_last_mark_of_a_held_run_is_one_that_its_event_caused(
    stream: bytes, codes: list[str]
) -> None:
    """After a heartbeat the end of the run may have caused it, and without the mark nothing is held."""
    assert [finding.code for finding in judge_hold(stream, 1)] == codes


def test_a_run_that_is_silent_to_its_limit_owes_a_heartbeat_and_no_delta_before_it() -> None:
    """Without a heartbeat nobody knows whether a delta came before the end or with it."""
    late = b": tp 1\n\n" + DELTA
    assert [finding.code for finding in judge_silence(late + b": alive\n\n", 1, 0.2)] == ["marks-not-kept"]
    assert [finding.code for finding in judge_silence(late, 1, 0.2)] == ["heartbeat-not-kept"]
