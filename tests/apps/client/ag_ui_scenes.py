"""Scenes for an AG-UI client: what an application answers, and what the user does.

A scene is a list of runs: `says` or `approved` is what the user does, `events` are answered, `ending` is how the body
ends: `end`, `lost` (the connection breaks), `left` (the user leaves when all has come).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["SCENES"]

Json = dict[str, Any]


def event(kind: str, **fields: Any) -> Json:
    """Return an event."""
    return {"type": kind, **fields}


STARTED = event("RUN_STARTED", threadId="thread", runId="run-1")
FINISHED = event("RUN_FINISHED", threadId="thread", runId="run-1")
FAILED = event("RUN_ERROR", message="the model failed")
CANCELLED = {**FINISHED, "outcome": {"type": "cancelled"}}
SUCCESS = {**FINISHED, "outcome": {"type": "success"}}


def text(*deltas: str, name: str = "m1", ends: bool = True, **more: Any) -> list[Json]:
    """Return the events of a text."""
    events = [event("TEXT_MESSAGE_START", messageId=name, role="assistant", **more)]
    events += [event("TEXT_MESSAGE_CONTENT", messageId=name, delta=delta) for delta in deltas]
    return [*events, *([event("TEXT_MESSAGE_END", messageId=name)] if ends else [])]


def thought(*deltas: str, ends: bool = True) -> list[Json]:
    """Return the events of thoughts."""
    events = [event("REASONING_START", messageId="r1")]
    events += [event("REASONING_MESSAGE_START", messageId="r1", role="reasoning")]
    events += [event("REASONING_MESSAGE_CONTENT", messageId="r1", delta=delta) for delta in deltas]
    over = [event("REASONING_MESSAGE_END", messageId="r1"), event("REASONING_END", messageId="r1")]
    return [*events, *(over if ends else [])]


def call(*deltas: str, name: str = "c1", parent: str | None = "m1", ends: bool = True) -> list[Json]:
    """Return the events of a call."""
    of = {} if parent is None else {"parentMessageId": parent}
    events = [event("TOOL_CALL_START", toolCallId=name, toolCallName="book", **of)]
    events += [event("TOOL_CALL_ARGS", toolCallId=name, delta=delta) for delta in deltas]
    return [*events, *([event("TOOL_CALL_END", toolCallId=name)] if ends else [])]


def result(name: str = "c1", content: Any = "booked", message: str | None = None) -> Json:
    """Return the event of a result."""
    return event("TOOL_CALL_RESULT", messageId=message or f"result-{name}", toolCallId=name, content=content)


def snapshot(*messages: Json) -> Json:
    """Return a snapshot of messages, that of the user first."""
    return event("MESSAGES_SNAPSHOT", messages=[{"id": "user-1", "role": "user", "content": "one"}, *messages])


def said(content: str, name: str = "m1", *calls: str) -> Json:
    """Return a message of the assistant as a snapshot has it."""
    made = [{"id": c, "type": "function", "function": {"name": "book", "arguments": '{"q":1}'}} for c in calls]
    return {"id": name, "role": "assistant", "content": content, **({"toolCalls": made} if made else {})}


def interrupt(*ids: str, call_id: str | None = "c1", **more: Any) -> Json:
    """Return the end of a run that waits for answers."""
    of = {} if call_id is None else {"toolCallId": call_id}
    interrupts = [{"id": name, "reason": "approval", **of, **more} for name in ids]
    return {**FINISHED, "outcome": {"type": "interrupt", "interrupts": interrupts}}


ANSWER = [STARTED, *text("Again.", name="m9"), FINISHED]


def run(*events: Json | str, ending: str = "end", **does: Any) -> Json:
    """Return a run; without anything else the user writes."""
    return {"events": list(events), "ending": ending, **(does or {"says": "one"})}


def then(*events: Json | str, ending: str = "end") -> list[Json]:
    """Return a scene in which the user writes again afterwards."""
    return [run(*events, ending=ending), run(*ANSWER, says="two")]


WORDS = text("Hello ", "you.")
HALF = '{"q":"al'
PLACES: Mapping[str, list[Json]] = {
    "nothing": [],
    "started": [STARTED],
    "in-text": [STARTED, *text("Hel", "lo", ends=False)],
    "text-ended": [STARTED, *WORDS],
    "in-thoughts": [STARTED, *thought("Let me", " see", ends=False)],
    "thoughts-ended": [STARTED, *thought("Let me see.")],
    "in-arguments": [STARTED, *WORDS, *call('{"q":', '"al', ends=False)],
    "in-arguments-without-parent": [STARTED, *call(HALF, parent=None, ends=False)],
    "no-arguments-yet": [STARTED, *call(parent=None, ends=False)],
    "half-arguments-closed": [STARTED, *WORDS, *call(HALF)],
    "call-ended": [STARTED, *WORDS, *call('{"q":1}')],
    "one-of-two-results": [STARTED, *WORDS, *call("{}"), *call("{}", name="c2"), result()],
    "in-step": [STARTED, event("STEP_STARTED", stepName="model"), *WORDS],
    "in-text-chunk": [STARTED, event("TEXT_MESSAGE_CHUNK", messageId="m1", delta="Hel")],
    "in-call-chunk": [STARTED, event("TOOL_CALL_CHUNK", toolCallId="c1", toolCallName="book", delta=HALF)],
    "in-thought-chunk": [STARTED, event("REASONING_MESSAGE_CHUNK", messageId="r1", delta="Let")],
    "in-subagent": [
        STARTED,
        event("SUBAGENT_STARTED", subagentRunId="s1", name="helper"),
        *[{**one, "subagentRunId": "s1"} for one in text("Hel", ends=False)],
    ],
}
ENDINGS: Mapping[str, tuple[list[Json], str]] = {
    "end": ([], "end"),
    "lost": ([], "lost"),
    "left": ([], "left"),
    "error": ([FAILED], "end"),
    "finished": ([SUCCESS], "end"),
    "cancelled": ([CANCELLED], "end"),
}


def chunk(kind: str, **fields: Any) -> Json:
    """Return an event in the short form."""
    return event(f"{kind}_CHUNK", **fields)


A = chunk("TEXT_MESSAGE", messageId="m1", delta="A")
GOES_ON = chunk("TEXT_MESSAGE", delta="B")


CHUNKS: Mapping[str, list[Json]] = {
    "text-then-text": [
        A,
        chunk("TEXT_MESSAGE", messageId="m2", delta="B"),
    ],
    "text-goes-on-without-id": [
        chunk("TEXT_MESSAGE", messageId="m1", role="assistant", delta="A"),
        GOES_ON,
    ],
    "text-without-delta": [chunk("TEXT_MESSAGE", messageId="m1")],
    "text-of-another-role": [chunk("TEXT_MESSAGE", messageId="m1", role="user", delta="A")],
    "text-changes-role": [
        A,
        chunk("TEXT_MESSAGE", messageId="m1", role="user", delta="B"),
    ],
    "text-without-id": [chunk("TEXT_MESSAGE", delta="A")],
    "text-with-metadata-alone": [
        A,
        chunk("TEXT_MESSAGE", metadata={"x": 1}),
    ],
    "text-then-call": [
        A,
        chunk("TOOL_CALL", toolCallId="c1", toolCallName="book", parentMessageId="m1", delta='{"q"'),
        chunk("TOOL_CALL", delta=":1}"),
        result(),
    ],
    "call-changes-name": [
        chunk("TOOL_CALL", toolCallId="c1", toolCallName="book", delta="{"),
        chunk("TOOL_CALL", toolCallId="c1", toolCallName="look", delta="}"),
    ],
    "call-without-name": [chunk("TOOL_CALL", toolCallId="c1", delta="{}")],
    "call-without-id": [chunk("TOOL_CALL", toolCallName="book", delta="{}")],
    "two-calls": [
        chunk("TOOL_CALL", toolCallId="c1", toolCallName="book", delta="{}"),
        chunk("TOOL_CALL", toolCallId="c2", toolCallName="book", delta="{}"),
    ],
    "thought-then-text": [
        chunk("REASONING_MESSAGE", messageId="r1", delta="Let me"),
        chunk("REASONING_MESSAGE", delta=" see."),
        A,
    ],
    "thought-without-id": [chunk("REASONING_MESSAGE", delta="Let me")],
    "closed-by-custom": [
        A,
        event("CUSTOM", name="x", value=1),
        GOES_ON,
    ],
    "not-closed-by-raw": [
        A,
        event("RAW", event={}),
        GOES_ON,
    ],
    "closed-by-state": [
        A,
        event("STATE_SNAPSHOT", snapshot={}),
        chunk("TEXT_MESSAGE", messageId="m1", delta="B"),
    ],
    "mixed-with-the-long-form": [*text("A", ends=False), chunk("TEXT_MESSAGE", messageId="m1", delta="B")],
    "of-two-agents": [
        chunk("TEXT_MESSAGE", messageId="m1", delta="A", subagentRunId="s1"),
        chunk("TEXT_MESSAGE", messageId="m2", delta="B", subagentRunId="s2"),
        chunk("TEXT_MESSAGE", messageId="m1", delta="C"),
    ],
    "of-nobody-in-particular": [
        chunk("TEXT_MESSAGE", messageId="m1", delta="A", subagentRunId="s1"),
        chunk("TEXT_MESSAGE", messageId="m2", delta="B", subagentRunId="s2"),
        chunk("TEXT_MESSAGE", delta="C"),
    ],
    "of-the-only-one": [
        chunk("TEXT_MESSAGE", messageId="m1", delta="A", subagentRunId="s1"),
        GOES_ON,
    ],
}

TOOL = {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "booked"}
SNAPSHOTS: Mapping[str, list[Json]] = {
    "result-only-there": [*WORDS, *call("{}"), snapshot(said("Hello you.", "m1", "c1"), TOOL)],
    "everything-only-there": [snapshot(said("Hello you.", "m1", "c1"), TOOL)],
    "result-renamed": [*WORDS, *call('{"q":1}'), result(), snapshot(said("Hello you.", "m1", "c1"), TOOL)],
    "answer-renamed": [*WORDS, snapshot(said("Hello you.", "m7"))],
    "answer-gone": [*WORDS, snapshot()],
    "answer-gone-while-it-streams": [*text("Hel", ends=False), snapshot(), *text("lo")[1:]],
    "user-gone": [*WORDS, event("MESSAGES_SNAPSHOT", messages=[said("Hello you.")])],
    "thoughts-stay": [*thought("Let me see."), *WORDS, snapshot(said("Hello you."))],
    "thoughts-are-replaced": [
        *thought("Let me see."),
        snapshot({"id": "r7", "role": "reasoning", "content": "Let me see."}, said("Hello you.")),
    ],
    "activity-stays": [
        event("ACTIVITY_SNAPSHOT", messageId="a1", activityType="plan", content={"n": 1}),
        snapshot(said("Hello you.")),
    ],
    "with-an-error": [*call("{}", parent=None), snapshot(said("", "c1", "c1"), {**TOOL, "error": "it failed"})],
    "without-an-id": [snapshot({"role": "assistant", "content": "A"})],
    "of-an-unknown-role": [snapshot({"id": "x", "role": "wizard", "content": "A"})],
    "closes-a-chunk": [
        A,
        snapshot(said("A")),
        chunk("TEXT_MESSAGE", messageId="m1", delta="B"),
    ],
}

PARTS = [{"type": "text", "text": "booked"}]
NAMED_START = "event: x\nid: 1\n" + f"data: {json.dumps(STARTED)}\n\n"


def patch(op: str, path: str, **fields: Any) -> Json:
    """Return an operation of a JSON Patch."""
    return {"op": op, "path": path, **fields}


AMENDED: Mapping[str, tuple[Any, list[Any]]] = {
    "unknown-operation": ({"a": 1}, [patch("later", "/a"), patch("add", "/b", value=2)]),
    "whole-removed": ({"a": 1}, [patch("remove", "")]),
    "whole-replaced": ({"a": 1}, [patch("replace", "", value=[1])]),
    "whole-moved": ({"a": [1]}, [patch("move", "", **{"from": "/a"})]),
    "moved-into-itself": ({"a": {"b": 1}}, [patch("move", "/a/b", **{"from": "/a"})]),
    "moved-deep-into-itself": ({"a": {"b": {}}}, [patch("move", "/a/b/c", **{"from": "/a"})]),
    "moved-to-itself": ({"a": {"b": 1}}, [patch("move", "/a", **{"from": "/a"})]),
    "copied-into-itself": ({"a": {"b": 1}}, [patch("copy", "/a/b", **{"from": "/a"})]),
    "replaces-what-is-not-there": ({"a": 1}, [patch("replace", "/b", value=2)]),
    "removes-what-is-not-there": ({"a": 1}, [patch("remove", "/b")]),
    "behind-the-end": ({"a": [1]}, [patch("add", "/a/2", value=2)]),
    "at-no-element": ({"a": [1]}, [patch("replace", "/a/1", value=2)]),
    "at-a-leading-zero": ({"a": [1, 2]}, [patch("remove", "/a/01")]),
    "at-the-end-marker": ({"a": [1]}, [patch("remove", "/a/-")]),
    "below-a-text": ({"a": "x"}, [patch("add", "/a/b", value=1)]),
    "true-is-not-1": ({"a": 1}, [patch("test", "/a", value=True), patch("add", "/b", value=2)]),
    "null-is-not-absent": ({"a": 1}, [patch("test", "/b", value=None), patch("add", "/b", value=2)]),
    "test-without-a-value": ({"a": 1}, [patch("test", "/a")]),
    "add-without-a-value": ({"a": 1}, [patch("add", "/b")]),
    "copy-without-a-place": ({"a": 1}, [patch("copy", "/b")]),
    "path-without-a-slash": ({"a": 1}, [patch("add", "b", value=1)]),
    "path-that-is-a-number": ({"a": 1}, [{"op": "add", "path": 1, "value": 1}]),
    "bad-escape": ({"a": 1}, [patch("add", "/~2", value=1)]),
    "operation-without-a-name": ({"a": 1}, [{"path": "/b", "value": 1}]),
    "operation-with-a-number-for-a-name": ({"a": 1}, [{"op": 1, "path": "/b", "value": 1}]),
    "operation-that-is-a-number": ({"a": 1}, [7]),
    "of-null": (None, [patch("add", "/a", value=1)]),
    "second-fails": ({"a": 1}, [patch("add", "/b", value=1), patch("remove", "/c")]),
}
"""A value, and the operations of a JSON Patch for it."""

ORDERS: Mapping[str, list[Json | str]] = {
    "call-without-parent": [STARTED, *WORDS, *call("{}", parent=None), result(), FINISHED],
    "call-of-an-unknown-parent": [STARTED, *call("{}", parent="m5"), FINISHED],
    "call-of-the-user": [STARTED, *call("{}", parent="user-1"), FINISHED],
    "call-after-a-result": [STARTED, *WORDS, *call("{}"), result(), *call("{}", name="c2"), result("c2"), FINISHED],
    "result-after-the-next-text": [STARTED, *WORDS, *call("{}"), *text("Done.", name="m2"), result(), FINISHED],
    "results-in-another-order": [
        STARTED,
        *WORDS,
        *call("{}"),
        *call("{}", name="c2"),
        result("c2"),
        result(),
        *text("Done.", name="m2"),
        FINISHED,
    ],
    "two-results-for-one-call": [STARTED, *WORDS, *call("{}"), result(), result(message="other"), FINISHED],
    "result-of-an-unknown-call": [STARTED, result("c5"), FINISHED],
    "result-before-the-end": [STARTED, *call("{", ends=False, parent=None), result(), FINISHED],
    "result-in-parts": [STARTED, *WORDS, *call("{}"), result(content=PARTS), FINISHED],
    "result-that-is-an-object": [STARTED, *WORDS, *call("{}"), result(content={"ok": True}), FINISHED],
    "same-call-again": [STARTED, *WORDS, *call(HALF), *call("{}"), FINISHED],
    "same-call-with-another-name": [
        STARTED,
        *call("{}", parent=None),
        event("TOOL_CALL_START", toolCallId="c1", toolCallName="look"),
        event("TOOL_CALL_END", toolCallId="c1"),
        FINISHED,
    ],
    "same-text-again": [STARTED, *text("A"), *text("B"), FINISHED],
    "same-text-twice-open": [STARTED, *text("A", ends=False), *text("B"), FINISHED],
    "text-of-the-user": [STARTED, {**text("A")[0], "role": "user"}, *text("A")[1:], FINISHED],
    "text-of-a-wizard": [STARTED, {**text("A")[0], "role": "wizard"}, *text("A")[1:], FINISHED],
    "content-that-is-not-open": [STARTED, *text("A")[1:], FINISHED],
    "end-that-is-not-open": [STARTED, text("A")[-1], FINISHED],
    "arguments-that-are-not-open": [STARTED, call("{}")[1], FINISHED],
    "thoughts-that-are-not-open": [STARTED, thought("A")[2], FINISHED],
    "thoughts-without-a-span": [STARTED, *thought("A")[1:-1], FINISHED],
    "span-open-at-the-end": [STARTED, *thought("A")[:-1], FINISHED],
    "step-twice": [STARTED, event("STEP_STARTED", stepName="s"), event("STEP_STARTED", stepName="s"), FINISHED],
    "step-that-is-not-open": [STARTED, event("STEP_FINISHED", stepName="s"), FINISHED],
    "step-of-another-agent": [
        STARTED,
        event("STEP_STARTED", stepName="s", subagentRunId="s1"),
        event("STEP_FINISHED", stepName="s"),
        FINISHED,
    ],
    "subagent-open-at-the-end": [STARTED, event("SUBAGENT_STARTED", subagentRunId="s1", name="a"), FINISHED],
    "no-start": [*WORDS, FINISHED],
    "error-first": [FAILED],
    "start-twice": [STARTED, STARTED, FINISHED],
    "result-after-the-end": [STARTED, *WORDS, *call("{}"), FINISHED, result(), *text("B", name="m2")],
    "error-after-the-end": [STARTED, *WORDS, FINISHED, FAILED],
    "text-after-an-error": [STARTED, *WORDS, FAILED, *text("B", name="m2")],
    "two-runs-in-one-stream": [STARTED, *WORDS, FINISHED, STARTED, *text("B", name="m2"), FINISHED],
    "a-run-after-an-error": [STARTED, *text("A", ends=False), FAILED, STARTED, *text("B", name="m2"), FINISHED],
    "start-with-history": [
        {**STARTED, "input": {"threadId": "thread", "runId": "run-1", "messages": [said("Before.", "m0")]}},
        *WORDS,
        FINISHED,
    ],
    "unknown-event": [STARTED, event("SOMETHING_NEW", x=1), *WORDS, FINISHED],
    "unknown-field": [STARTED, {**text("A")[0], "colour": "red"}, *text("A")[1:], FINISHED],
    "no-id": [STARTED, event("TEXT_MESSAGE_START", role="assistant"), FINISHED],
    "null-for-an-optional-field": [STARTED, {**text("A")[0], "name": None}, *text("A")[1:], FINISHED],
    "null-for-a-parent": [STARTED, {**call("{}")[0], "parentMessageId": None}, *call("{}")[1:], FINISHED],
    "null-for-an-outcome": [STARTED, *WORDS, {**FINISHED, "outcome": None}],
    "outcome-that-is-a-text": [STARTED, *WORDS, {**FINISHED, "outcome": "success"}],
    "outcome-of-an-unknown-type": [STARTED, *WORDS, {**FINISHED, "outcome": {"type": "pausing"}}],
    "interrupt-without-interrupts": [STARTED, *WORDS, {**FINISHED, "outcome": {"type": "interrupt", "interrupts": []}}],
    "not-json": [STARTED, *WORDS, "data: {oh\n\n", FINISHED],
    "end-marker": [STARTED, *WORDS, FINISHED, "data: [DONE]\n\n"],
    "not-an-object": [STARTED, "data: 7\n\n", FINISHED],
    "comments-and-other-fields": [
        ": hello\n\n",
        "event: x\nid: 1\n" + f"data: {json.dumps(STARTED)}\n\n",
        *WORDS,
        FINISHED,
    ],
    "metadata": [
        STARTED,
        {**text("A")[0], "metadata": {"a": 1, "b": {"x": 1}}},
        *text("A")[1:-1],
        {**text("A")[-1], "metadata": {"b": {"y": 2}}},
        {**call("{}")[0], "metadata": {"c": 1}},
        *call("{}")[1:],
        {**result(), "metadata": {"d": 1}},
        FINISHED,
    ],
    "encrypted-values": [
        STARTED,
        *thought("A"),
        *WORDS,
        *call("{}"),
        event("REASONING_ENCRYPTED_VALUE", subtype="message", entityId="r1", encryptedValue="e1"),
        event("REASONING_ENCRYPTED_VALUE", subtype="tool-call", entityId="c1", encryptedValue="e2"),
        event("REASONING_ENCRYPTED_VALUE", subtype="message", entityId="m5", encryptedValue="e3"),
        FINISHED,
    ],
    "thinking-of-before-1.0": [
        STARTED,
        event("THINKING_START"),
        event("THINKING_TEXT_MESSAGE_START"),
        event("THINKING_TEXT_MESSAGE_CONTENT", delta="Let me see."),
        event("THINKING_TEXT_MESSAGE_END"),
        event("THINKING_END"),
        FINISHED,
    ],
    "state": [
        STARTED,
        event("STATE_SNAPSHOT", snapshot={"a": [1, 2], "b": {"c": 1}}),
        event("STATE_DELTA", delta=[patch("add", "/a/-", value=3), patch("remove", "/b/c")]),
        event(
            "STATE_DELTA",
            delta=[{"op": "replace", "path": "/a/0", "value": 9}, {"op": "test", "path": "/b", "value": 7}],
        ),
        event(
            "STATE_DELTA",
            delta=[{"op": "move", "from": "/a/2", "path": "/d"}, {"op": "copy", "from": "/d", "path": "/e"}],
        ),
        FINISHED,
    ],
    "state-null": [STARTED, event("STATE_SNAPSHOT", snapshot=None), FINISHED],
    "activity": [
        STARTED,
        event("ACTIVITY_SNAPSHOT", messageId="a1", activityType="plan", content={"n": 1}),
        event("ACTIVITY_DELTA", messageId="a1", activityType="plan", patch=[{"op": "add", "path": "/m", "value": 2}]),
        event("ACTIVITY_SNAPSHOT", messageId="a1", activityType="plan", content={"n": 5}, replace=False),
        event("ACTIVITY_SNAPSHOT", messageId="a2", activityType="plan", content={"n": 5}),
        event("ACTIVITY_SNAPSHOT", messageId="a2", activityType="list", content={"k": 5}),
        event("ACTIVITY_DELTA", messageId="a9", activityType="plan", patch=[]),
        *text("A", name="a1"),
        FINISHED,
    ],
}

ASKS = [STARTED, *WORDS, *call('{"q":1}')]
AFTERWARDS = run(STARTED, result(), *text("Done.", name="m2"), FINISHED, approved=True)
INTERRUPTS: Mapping[str, list[Json]] = {
    "granted": [run(*ASKS, interrupt("i1")), AFTERWARDS, run(*ANSWER, says="two")],
    "denied": [run(*ASKS, interrupt("i1")), {**AFTERWARDS, "approved": False}, run(*ANSWER, says="two")],
    "not-answered": then(*ASKS, interrupt("i1")),
    "without-a-call": [run(*ASKS, interrupt("i1", call_id=None)), AFTERWARDS],
    "two": [run(*ASKS, *call("{}", name="c2"), interrupt("i1", "i2", call_id=None)), AFTERWARDS],
    "expired": then(*ASKS, interrupt("i1", expiresAt="2020-01-01T00:00:00Z")),
    "broken-off-when-it-goes-on": [
        run(*ASKS, interrupt("i1")),
        run(STARTED, result(), *text("Do", name="m2", ends=False), ending="lost", approved=True),
        run(*ANSWER, says="two"),
    ],
}


def _scenes() -> Iterator[tuple[str, list[Json]]]:
    for place, events in PLACES.items():
        for ending, (last, how) in ENDINGS.items():
            yield f"{place}/{ending}", then(*events, *last, ending=how)
    for group, table in (("chunks", CHUNKS), ("snapshot", SNAPSHOTS)):
        for name, events in table.items():
            yield f"{group}/{name}", then(STARTED, *events, FINISHED)
            yield f"{group}/{name}/lost", then(STARTED, *events, ending="lost")
    for name, order in ORDERS.items():
        yield f"order/{name}", then(*order)
    for name, (value, operations) in AMENDED.items():
        amended = [event("STATE_SNAPSHOT", snapshot=value), event("STATE_DELTA", delta=operations)]
        yield f"patch/{name}", then(STARTED, *amended, FINISHED)
        if isinstance(value, dict):
            of = {"messageId": "a1", "activityType": "plan"}
            shown = [event("ACTIVITY_SNAPSHOT", **of, content=value), event("ACTIVITY_DELTA", **of, patch=operations)]
            yield f"patch/{name}/activity", then(STARTED, *shown, FINISHED)
    for name, runs in INTERRUPTS.items():
        yield f"interrupt/{name}", runs


SCENES: Mapping[str, list[Json]] = dict(_scenes())
