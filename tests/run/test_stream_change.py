"""A server whose thread is right and whose stream is not is given the very chunk that it got wrong (R51).

The test spoils the streams of the reference, so that what has to be named is what it did to them, and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.scenarios import load_builtin

from tpharness.run.session import Session
from tpharness.targets import Capabilities, Packet, Reference, Script, TargetOutput
from tpharness.verdict import Result

Chunk = dict[str, Any]
Spoil = Callable[[Chunk], list[Chunk]]


class Spoilt:
    """A server with the reference's thread, and a stream in which each chunk is what `spoil` makes of it."""

    capabilities = Capabilities(name="spoilt")

    def __init__(self, spoil: Spoil) -> None:
        self._spoil = spoil
        self._inner = Reference()

    async def serve(self, script: Script) -> TargetOutput:
        """Play the script, and change what is sent."""
        served = await self._inner.serve(script)
        return replace(served, streams=tuple(tuple(map(self._packet, stream)) for stream in served.streams))

    def _packet(self, packet: Packet) -> Packet:
        frames = [frame for frame in packet.data.split(b"\n\n") if frame]
        return packet.with_data(b"".join(self._frame(frame) for frame in frames))

    def _frame(self, frame: bytes) -> bytes:
        if not frame.startswith(b"data: {"):
            return frame + b"\n\n"
        chunks = self._spoil(json.loads(frame.removeprefix(b"data: ")))
        return b"".join(b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks)


def play(scenario: str, spoil: Spoil) -> Result:
    """Play a built-in scenario on a server that spoils its stream."""
    with Session() as session:
        session.players = replace(session.players, server=Spoilt(spoil))
        result: Result = session.run(session.play(load_builtin(scenario)))[0]
    return result


def advice(result: Result) -> list[str]:
    """Return what the findings about the two threads say."""
    return [finding.remedy for finding in result.findings if finding.code == "identity-differs"]


def without(kind: str) -> Spoil:
    """Leave out every chunk of a kind."""
    return lambda chunk: [] if chunk["type"] == kind else [chunk]


def changed(kind: str, **fields: Any) -> Spoil:
    """Set fields of each chunk of a kind; None leaves one out."""

    def spoil(chunk: Chunk) -> list[Chunk]:
        if chunk["type"] != kind:
            return [chunk]
        return [{k: v for k, v in {**chunk, **fields}.items() if fields.get(k, v) is not None or k not in fields}]

    return spoil


def cumulative() -> Spoil:
    """Send all of a text with each delta."""
    texts: dict[str, str] = {}

    def spoil(chunk: Chunk) -> list[Chunk]:
        if chunk["type"] != "text-delta":
            return [chunk]
        texts[chunk["id"]] = texts.get(chunk["id"], "") + chunk["delta"]
        return [{**chunk, "delta": texts[chunk["id"]]}]

    return spoil


def thoughts_as_text(chunk: Chunk) -> list[Chunk]:
    """Send reasoning as if it was text."""
    return [{**chunk, "type": chunk["type"].replace("reasoning-", "text-")}]


def output_as_text(chunk: Chunk) -> list[Chunk]:
    """Send the JSON text of an output in place of the value."""
    return [{**chunk, "output": json.dumps(chunk["output"])} if "output" in chunk else chunk]


def error_as_output(chunk: Chunk) -> list[Chunk]:
    """Send what went wrong with a tool as its output."""
    if chunk["type"] != "tool-output-error":
        return [chunk]
    return [{"type": "tool-output-available", "toolCallId": chunk["toolCallId"], "output": chunk["errorText"]}]


def agents_not_said(chunk: Chunk) -> list[Chunk]:
    """Leave the agent out of what carriers say."""
    return (
        [{**chunk, "data": {k: v for k, v in chunk["data"].items() if k != "agent_id"}}]
        if is_carrier(chunk)
        else [chunk]
    )


def is_carrier(chunk: Chunk) -> bool:
    """Whether a chunk carries facts."""
    return bool(chunk["type"] == "data-sys-tp")


CASES: dict[str, tuple[str, Spoil, tuple[str, ...]]] = {
    "the end of a text": (
        "carriers/usage-in-floats",
        without("text-end"),
        ("(part_end) send {", '"type": "text-end"'),
    ),
    "the end of a run": (
        "histories/k18-withdrawn",
        without("finish"),
        ("(agent_run_result) send {", '"type": "finish"'),
    ),
    "finish in place of abort": (
        "interruptions/abort-with-known-reason",
        lambda chunk: [{"type": "finish"} if chunk["type"] == "abort" else chunk],
        ("where the run is stopped send {", '"type": "abort"', '"timeout"', ', not {"type": "finish"}'),
    ),
    "abort without its reason": (
        "interruptions/abort-with-known-reason",
        changed("abort", reason=None),
        ('where the run is stopped send `abort` with {"reason": "timeout"}',),
    ),
    "an event as if it was transient": (
        "histories/k18-withdrawn",
        changed("data-app-retract", transient=True),
        ("of the second run (system_event)", 'send `data-app-retract` without {"transient": true}'),
    ),
    "an agent that takes over": (
        "carriers/model-ends-with-its-agent",
        agents_not_said,
        ("(agent_start) send", "`data-sys-tp`", '"agent_id": "other"'),
    ),
    "a response that is taken back": (
        "cycles/reset-step",
        without("reset-step"),
        ('(response_reset) send {"type": "reset-step"}',),
    ),
    "what the user said in the run": (
        "events/queued-message-and-custom-event",
        without("steering-message"),
        ("(enqueued_messages) send {", '"type": "steering-message"', "Faster, please"),
    ),
    "an output as its JSON text": (
        "tools/null-output",
        output_as_text,
        ('(function_tool_result) send `tool-output-available` with {"output": null}, not {"output": "null"}',),
    ),
    "an error as an output": (
        "threads/right-and-not-only-the-same",
        error_as_output,
        ("send {", '"type": "tool-output-error"', "no such city", "not {", '"type": "tool-output-available"'),
    ),
    "thoughts as text": (
        "cycles/thinking-alone",
        thoughts_as_text,
        ("(part_start) send {", '"type": "reasoning-start"', "not {", '"type": "text-start"', "(and 2 more)"),
    ),
    "the whole text with each delta": (
        "interruptions/finished-text-before-finish",
        cumulative(),
        ('(part_delta) send `text-delta` with {"delta": "there"}, not {"delta": "Hello there"}',),
    ),
    "an error that nobody hears of": (
        "interruptions/error-then-finish-stop",
        without("error"),
        ("(error) send {", '"type": "error"', "a tool registry was slow"),
    ),
    "usage": (
        "carriers/usage-in-floats",
        lambda c: [{**c, "data": {k: v for k, v in c["data"].items() if k != "usage"}}] if is_carrier(c) else [c],
        ('(model_response_end) send `data-sys-tp` with {"usage": {', '"input_tokens": 3'),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_chunk_that_was_spoilt_is_named(name: str) -> None:
    """With the server event that it belongs to, what is sent and what is to be sent."""
    scenario, spoil, words = CASES[name]
    found = advice(play(scenario, spoil))
    first = [sentence for sentence in found if sentence != "the change of the first difference corrects this one, too"]
    assert found[0] is first[0]
    assert [(word, sentence) for sentence in first for word in words if word not in sentence] == []


@pytest.mark.parametrize(("scenario", "runs"), [("threads/right-and-not-only-the-same", 2), ("cycles/reset-step", 1)])
def test_of_each_chunk_that_is_lost_that_chunk_is_named(scenario: str, runs: int) -> None:
    """One after the other: where the loss of a chunk is seen in the thread, it is this chunk that is to be sent."""
    sent: list[Chunk] = []

    def note(chunk: Chunk) -> list[Chunk]:
        sent.append(chunk)
        return [chunk]

    play(scenario, note)
    starts = [index for index, chunk in enumerate(sent) if chunk["type"] == "start"]
    sent = sent[: starts[runs]]  # of the first playing
    named = 0
    for lost in range(len(sent)):
        count = iter(range(10_000))
        found = advice(play(scenario, lambda chunk: [] if next(count) == lost else [chunk]))  # noqa: B023
        if not found or is_carrier(sent[lost]):
            continue
        named += 1
        assert "send " in found[0], (sent[lost], found)
        assert "do not send" not in found[0], (sent[lost], found)
        assert sent[lost]["type"] in found[0], (sent[lost], found)
    assert named >= len(sent) // 4


@pytest.mark.parametrize(
    ("before", "more"),
    [
        ("tool-output-available", {"type": "data-app-again", "data": 1}),
        ("text-end", {"type": "source-url", "sourceId": "s", "url": "https://example.org"}),
        ("finish-step", {"type": "error", "errorText": "nothing of the sort"}),
    ],
)
def test_what_is_sent_too_much_is_named(before: str, more: Chunk) -> None:
    """A chunk that the run does not give is not to be sent."""

    def spoil(chunk: Chunk) -> list[Chunk]:
        return [more, chunk] if chunk["type"] == before else [chunk]

    first, *_ = advice(play("threads/right-and-not-only-the-same", spoil))
    assert 'do not send {"type": "' + more["type"] in first


def test_a_stream_with_other_ids_and_other_pieces_is_corrected_in_its_own_words() -> None:
    """How a server names and cuts its texts is its own: only what is wrong is to be changed, by the server's ids."""

    def spoil(chunk: Chunk) -> list[Chunk]:
        mine = {**chunk, "id": f"mine-{chunk['id']}"} if chunk["type"].startswith(("text-", "reasoning-")) else chunk
        if chunk["type"] in ("text-delta", "reasoning-delta"):
            return [{**mine, "delta": letter} for letter in mine["delta"]]
        return [] if chunk["type"] == "reasoning-end" else [mine]

    first, *_ = advice(play("threads/right-and-not-only-the-same", spoil))
    assert 'send {"type": "reasoning-end", "id": "mine-' in first
    assert "more)" not in first


def test_a_stream_that_is_too_long_to_compare_has_the_change_of_what_differs() -> None:
    """What is sent too much is still named, by what it is in the thread."""

    def spoil(chunk: Chunk) -> list[Chunk]:
        if chunk["type"] != "text-end":
            return [chunk]
        return [chunk, *({"type": "data-app-note", "data": number} for number in range(450))]

    first, *_ = advice(play("carriers/usage-in-floats", spoil))
    assert first.startswith("do not send system(app-note)")  # as the oldest version has it
