"""What a stream of AG-UI says beside its thread, in its own events and in facts."""

from __future__ import annotations

from typing import Any

import pytest

from tpharness.wires.ag_ui.encode import to_bytes
from tpharness.wires.ag_ui.said import read_said

FACT = {"metadata": {"threadprotocol": {"step": True}}}
CUT = {"metadata": {"threadprotocol": {"cut": True}}}
START = {"type": "TEXT_MESSAGE_START", "messageId": "m"}
END = {"type": "TEXT_MESSAGE_END", "messageId": "m"}
THOUGHT = {"type": "REASONING_MESSAGE_START", "messageId": "g", "role": "reasoning"}
STEP = {"type": "STEP_STARTED", "stepName": "s", **FACT}
CARRIER = {"type": "CUSTOM", "name": "threadprotocol.data-sys-tp", "value": {"transient": True, "data": {}}}
APP_EVENT = {"type": "CUSTOM", "name": "threadprotocol.data-app-note", "value": {"data": {"n": 1}}}


@pytest.mark.parametrize(
    ("events", "texts"),
    [
        ([START, END], None),
        ([APP_EVENT, START, END], None),
        ([CARRIER, START, END], (("text", END),)),
        ([STEP, START, END], (("text", END),)),
        ([STEP, START, {**END, **CUT}], (("text", None),)),
        ([STEP, START, {**END, "metadata": {"threadprotocol": {"cut": "no"}}}], "ended"),
        ([STEP, THOUGHT, START, END], (("thinking", None), ("text", END))),
        ([STEP, {**START, "role": "user"}, END], ()),
        ([STEP, {**START, "subagentRunId": "s"}, END], ()),
        ([STEP, START, END, START], (("text", END), ("text", None))),
        ([STEP, START, {"type": "TEXT_MESSAGE_CHUNK", "messageId": "n", "delta": "a"}], None),
    ],
)
def test_texts_are_ended_unless_a_fact_says_that_they_were_cut(events: list[dict[str, Any]], texts: Any) -> None:
    """A stream without facts has no mark for a cut, and is not held to it."""
    said = read_said(to_bytes(events)).texts
    if texts == "ended":
        assert said is not None
        assert [end is not None for _, end in said] == [True]
    else:
        assert said == texts


@pytest.mark.parametrize(
    ("id_", "facts", "asks"),
    [("c1", True, ("c1",)), ("own", True, ("c1 as own",)), ("own", False, ("c1",))],
)
def test_an_interrupt_has_the_id_of_its_call(id_: str, facts: bool, asks: tuple[str, ...]) -> None:
    """R64; of a server that knows nothing of it, the call counts."""
    outcome = {"type": "interrupt", "interrupts": [{"id": id_, "reason": "r", "toolCallId": "c1"}]}
    end = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": outcome}
    assert read_said(to_bytes([STEP, end] if facts else [end])).asks == asks


def test_a_call_that_was_renamed_on_the_wire_is_that_of_the_model() -> None:
    """An id that a run has used before gets a new one on the wire; the approval has the model's (R64)."""
    fact = {"threadprotocol": {"tool_call_id": "c1"}}
    start = {"type": "TOOL_CALL_START", "toolCallId": "c1-2", "toolCallName": "pay", "metadata": fact}
    outcome = {"type": "interrupt", "interrupts": [{"id": "c1", "reason": "r", "toolCallId": "c1-2"}]}
    end = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": outcome}
    assert read_said(to_bytes([start, end])).asks == ("c1",)
