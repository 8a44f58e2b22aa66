"""A server that sends carriers is judged as a client without carriers sees it, and by the chunks that no thread shows.

Each server has the reference's thread and its carriers; of the other chunks something is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.run.test_stream_change import Chunk, Spoil, Spoilt, changed, play
from tests.scenarios import load_builtin

from tpharness.findings import Level
from tpharness.run.session import Session
from tpharness.targets import Packet, Script, TargetOutput
from tpharness.verdict import Outcome

NEW = {"plain-stream-differs", "event-not-sent", "transient-event-not-sent", "event-sent-otherwise"}


@dataclass(frozen=True, kw_only=True)
class Silent:
    """A server whose plain chunks lack something: the finding, and words of what it has to send."""

    sentence: str
    scenario: str
    spoil: Spoil
    code: str
    words: tuple[str, ...]


def reason_in_a_carrier(chunk: Chunk) -> list[Chunk]:
    """Leave the reason of an abort to the carrier before it."""
    if chunk["type"] == "data-sys-tp" and "interrupted_at" in chunk["data"]:
        return [{**chunk, "data": {**chunk["data"], "reason": "timeout"}}]
    return [{"type": "abort"} if chunk["type"] == "abort" else chunk]


def return_in_a_carrier(spoil: Spoil) -> Spoil:
    """Let a carrier say of each failure what it was, ahead of the spoilt chunk."""
    status = {"tool-output-error": "error", "tool-input-error": "validation_error"}

    def carried(chunk: Chunk) -> list[Chunk]:
        if chunk["type"] not in status:
            return spoil(chunk)
        facts = {"tool_return": {"status": status[chunk["type"]], "content": chunk["errorText"]}}
        return [{"type": "data-sys-tp", "data": facts, "transient": True}, *spoil(chunk)]

    return carried


def refusal_as_failure(chunk: Chunk) -> list[Chunk]:
    """Send arguments that a tool refused as a failure of the tool."""
    if chunk["type"] != "tool-input-error":
        return [chunk]
    return [{"type": "tool-output-error", "toolCallId": chunk["toolCallId"], "errorText": chunk["errorText"]}]


def denial_as_failure() -> Spoil:
    """Send a denial as a failure with its reason."""
    reason: list[str] = []

    def spoil(chunk: Chunk) -> list[Chunk]:
        if chunk["type"] == "tool-approval-response":
            reason[:] = [chunk["reason"]]
        if chunk["type"].startswith("tool-approval-"):
            return []
        if chunk["type"] != "tool-output-denied":
            return [chunk]
        return [{"type": "tool-output-error", "toolCallId": chunk["toolCallId"], "errorText": reason[0]}]

    return spoil


def not_preliminary(chunk: Chunk) -> list[Chunk]:
    """Leave progress out."""
    return [] if chunk.get("preliminary") else [chunk]


def not_transient(chunk: Chunk) -> list[Chunk]:
    """Leave out what is sent and not kept."""
    lost = chunk.get("transient") and not chunk["type"].startswith(("data-sys-", "data-tp-"))
    return [] if lost else [chunk]


SILENT: dict[str, Silent] = {
    "reason-of-an-abort-in-a-carrier-alone": Silent(
        sentence="A carrier has the reason of an abort, and the abort has none.",
        scenario="interruptions/abort-with-known-reason",
        spoil=reason_in_a_carrier,
        code="plain-stream-differs",
        words=('where the run is stopped send `abort` with {"reason": "timeout"}',),
    ),
    "errors-masked": Silent(
        sentence="The text of every error is one sentence, and a carrier has the real one.",
        scenario="tools/every-status",
        spoil=return_in_a_carrier(changed("tool-output-error", errorText="An error occurred.")),
        code="event-not-sent",
        words=("(function_tool_result) send {", '"tool-output-error"', 'not {"type"', "An error occurred."),
    ),
    "refused-arguments-as-a-failure": Silent(
        sentence="Arguments that a tool refused are sent as a failure of the tool.",
        scenario="tools/every-status",
        spoil=return_in_a_carrier(refusal_as_failure),
        code="event-not-sent",
        words=('send {"type": "tool-input-error"', 'not {"type": "tool-output-error"'),
    ),
    "denial-as-a-failure": Silent(
        sentence="A denial is sent as a failure of the tool.",
        scenario="approvals/denied-in-a-later-turn",
        spoil=denial_as_failure(),
        code="event-not-sent",
        words=('of run 2 (function_tool_result) send {"type": "tool-approval-response"', "no way"),
    ),
    "transient-events-not-sent": Silent(
        sentence="An event that nobody keeps is not sent.",
        scenario="events/transient",
        spoil=not_transient,
        code="transient-event-not-sent",
        words=("at server event 0 (system_event) send {", '"data-app-progress"'),
    ),
    "progress-not-sent": Silent(
        sentence="The progress of a tool is not sent.",
        scenario="cycles/preliminary-outputs",
        spoil=not_preliminary,
        code="event-sent-otherwise",
        words=("(tool_progress) send {", '"preliminary": true'),
    ),
    "output-without-its-provider": Silent(
        sentence="An output of the provider does not say that the provider executed the call.",
        scenario="parts/provider-returns-twice",
        spoil=changed("tool-output-available", providerExecuted=None),
        code="event-sent-otherwise",
        words=('send {"type": "tool-output-available"', '"providerExecuted": true'),
    ),
    "every-finish-is-a-stop": Silent(
        sentence="Every stream finishes for the reason stop.",
        scenario="cycles/length-with-unexecuted-call",
        spoil=changed("finish", finishReason="stop"),
        code="event-sent-otherwise",
        words=("(agent_run_result) send {", '"finishReason": "', 'not {"type": "finish", "finishReason": "stop"}'),
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_what_plain_chunks_lack_is_named(name: str) -> None:
    """With the server event that causes the chunk; what a document or a ruling asks for fails the case."""
    row = SILENT[name]
    result = play(row.scenario, row.spoil)
    found = [finding for finding in result.findings if finding.code == row.code]
    assert found
    assert [word for word in row.words if word not in found[0].remedy] == [], found[0].remedy
    assert found[0].place.side == "server"
    assert (result.outcome is Outcome.FAILED) is (found[0].level is Level.MUST)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda chunk: [{"type": "data-app-alive", "data": 1, "transient": True}, chunk],
        lambda chunk: [{**chunk, "approvalId": f"mine-{chunk['approvalId']}"} if "approvalId" in chunk else chunk],
    ],
    ids=["an event of its own that is not kept", "ids of its own"],
)
@pytest.mark.parametrize("scenario", ["tools/every-status", "approvals/denied-in-a-later-turn", "events/transient"])
def test_what_a_server_may_do_is_not_found(scenario: str, spoil: Callable[[Chunk], list[Chunk]]) -> None:
    """It names approvals as it likes, and may send more of what nobody keeps."""
    found = {finding.code for finding in play(scenario, spoil).findings}
    assert found & NEW == set()


@pytest.mark.parametrize("scenario", ["tools/content-ref", "threads/handoff-in-one-stream"])
def test_what_only_carriers_can_say_is_not_asked_of_plain_chunks(scenario: str) -> None:
    """A reference in place of a content, and an agent that takes over, have no chunk (R39)."""
    result = play(scenario, lambda chunk: [chunk])
    assert result.outcome is Outcome.PASSED, result.findings
    assert {finding.code for finding in result.findings} & NEW == set()


class Torn(Spoilt):
    """A server whose packets end anywhere, also inside of a carrier."""

    async def serve(self, script: Script) -> TargetOutput:
        """Move the last three bytes of each packet into the next one."""
        served = await super().serve(script)
        return replace(served, streams=tuple(_moved(stream) for stream in served.streams))


def _moved(stream: tuple[Packet, ...]) -> tuple[Packet, ...]:
    rest, moved = b"", []
    for packet in stream[:-1]:
        data = rest + packet.data
        cut = max(len(data) - 3, 0)
        moved.append(packet.with_data(data[:cut]))
        rest = data[cut:]
    return (*moved, stream[-1].with_data(rest + stream[-1].data))


def test_carriers_are_left_out_wherever_packets_end() -> None:
    """A frame that is split goes with its last bytes, or not at all."""
    for spoil, codes in ((lambda chunk: [chunk], set()), (reason_in_a_carrier, {"plain-stream-differs"})):
        with Session() as session:
            server: Any = Torn(spoil)
            session.players = replace(session.players, server=server)
            result = session.run(session.play(load_builtin("interruptions/abort-with-known-reason")))[0]
        assert {finding.code for finding in result.findings} & NEW == codes
