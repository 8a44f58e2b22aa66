"""Every wire keeps the contract of `wires.contract`, and nobody else knows what its events are called."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios import load_builtin

import tpharness
from tpharness.errors import UsageError
from tpharness.journal import AgentTurn, Interrupted, Journal, UserTurn
from tpharness.run.plan import base_case, make_script
from tpharness.server_events import Recorder
from tpharness.targets.contract import RunScript
from tpharness.wires.checked import check_stream
from tpharness.wires.contract import Wire
from tpharness.wires.registry import WIRES, default_wire, name_wire, recognize, wire_named
from tpharness.wires.sse.frames import split_frames
from tpharness.wires.vsp.majors import CHUNK_TYPES

SRC = Path(tpharness.__file__).parent
AT = "2026-01-01T00:00:00Z"
SCENARIOS = ("basics/tool-call-and-answer", "cycles/parallel-completion-order", "cycles/three-steps")

NAMES_CHUNKS = {
    "wires/ag_ui/encode.py": "writes each kind of chunk as an event of AG-UI",
    "apps/checks/view.py": "what a chat of the AI SDK shows",
    "apps/client/ag_ui.py": "translates a stream of AG-UI for the chat client, until AG-UI is a wire",
    "apps/client/text_stream.py": "makes of a plain text the chunks that the AI SDK makes of it",
    "apps/client/adk.py": "makes of events of ADK's api_server the chunks that the AI SDK makes of an answer",
    "apps/client/agno.py": "makes of events of an AgentOS the chunks that the AI SDK makes of an answer",
    "apps/client/langgraph_stream.py": "makes of a run of a LangGraph server what the AI SDK makes of an answer",
    "apps/client/openai_streams.py": "makes of an answer of OpenAI's APIs the chunks that the AI SDK makes of a text",
    "apps/client/message.py": "does what useChat of the AI SDK does, and is held to it",
    "apps/evidence.py": "reads when useChat was shown a call, and when its result",
    "apps/play.py": "waits for what useChat reacts to",
    "explore/generate/streams.py": "makes streams of chunks that no server sends",
    "histories/ai_sdk.py": "the AI SDK's own messages",
    "histories/ai_sdk_model.py": "the AI SDK's own messages",
    "histories/exchange/ai_sdk_4.py": "the AI SDK's own messages",
    "histories/exchange/from_ui_messages.py": "the AI SDK's own messages",
    "histories/stored/ui_messages.py": "the AI SDK's own messages",
    "histories/thread_log/dialect.py": "lines of chimera's log, some of which have the same names",
    "histories/thread_log/lines.py": "lines of chimera's log",
    "histories/thread_log/read.py": "lines of chimera's log",
    "histories/thread_log/rules.py": "lines of chimera's log",
    "histories/thread_log/transform.py": "lines of chimera's log",
    "histories/thread_log/write.py": "lines of chimera's log",
}
"""Who names a kind of chunk outside of its wire and of the peers, and why it is not the wire that is named."""


@pytest.fixture(params=list(WIRES))
def wire(request: pytest.FixtureRequest) -> Wire:
    """Each wire that there is."""
    return wire_named(request.param)


def written(wire: Wire, scenario: str) -> list[tuple[RunScript, list[bytes]]]:
    """Return the runs of a scenario, each with what the server's half sends for its start, its events and its end."""
    recorder, runs = Recorder(), []
    parts: tuple[Mapping[str, Any], ...] = ()
    for turn in make_script(base_case(load_builtin(scenario))).turns:
        if isinstance(turn, UserTurn):
            recorder.add_user_turn(turn)
            parts = turn.parts
            continue
        recorder.begin(turn.agent_id, turn.started_at)
        writer = wire.open_writer(agent_id=turn.agent_id, message_id=turn.message_id, tool_name=recorder.tool_name)
        sent = [writer.start(turn.started_at, parts)]
        for event in turn.events:
            recorder.feed(event)
            sent.append(writer.feed(event))
        cut = turn.interruption
        sent.append(writer.finish() if cut is None else writer.stop(cut.reason, cut.at))
        runs.append((turn, sent))
    return runs


def test_a_name_is_that_of_the_wire() -> None:
    """The first one is what somebody means who does not name one; an unknown name is refused with those there are."""
    assert [wire_named(name).name for name in WIRES] == ["vsp", "ag-ui"]
    assert default_wire() is wire_named(next(iter(WIRES)))
    with pytest.raises(UsageError, match="'vps' is not the name of a wire") as refused:
        wire_named("vps")
    assert "vsp" in str(refused.value.hint)


def test_a_stream_is_checked_by_the_rules_of_its_own_wire() -> None:
    """By hand: an event that only AG-UI has, and one that only the AI SDK has."""
    ag_ui = b'data: {"type":"RUN_STARTED","threadId":"t","runId":"r"}\n\n'
    chunks = b'data: {"type":"start"}\n\ndata: {"type":"finish"}\n\ndata: [DONE]\n\n'
    assert name_wire(ag_ui) == "ag-ui"
    assert name_wire(chunks) == "vsp"
    assert all(finding.code.startswith("ag-ui") for finding in check_stream(ag_ui, None))
    assert check_stream(ag_ui, None) != []
    assert check_stream(chunks, None) == []


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_the_server_sends_is_recognized_and_read(wire: Wire, scenario: str) -> None:
    """A whole run reads without a finding, however the bytes are split; what ends it is seen as its end."""
    for run, sent in written(wire, scenario):
        body = b"".join(sent)
        assert recognize(body) is wire
        journals: list[Journal] = []
        for size in (len(body), 7):
            reader = wire.open_reader(agent_id=run.agent_id)
            reader.begin(AT)
            events = sum(reader.feed(body[at : at + size], AT) for at in range(0, len(body), size))
            assert events > 0
            assert reader.signalled_end
            assert reader.complete
            assert reader.turn_ended
            reader.close(None, AT)
            assert reader.findings == []
            journals.append(reader.journal())
        assert journals[0] == journals[1]
        assert wire.ends_stream.search(body)
        assert wire.check(body, None, None) == []


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_smallest_deltas_say_the_same(wire: Wire, scenario: str) -> None:
    """A split changes no fact, and does split something."""
    for run, sent in written(wire, scenario):
        frames = split_frames(b"".join(sent))
        pieces = [piece for frame in frames for piece in wire.split_delta(frame)]
        journals: list[Journal] = []
        for stream in (frames, pieces):
            reader = wire.open_reader(agent_id=run.agent_id)
            reader.begin(AT)
            reader.feed(b"".join(stream), AT)
            reader.close(None, AT)
            journals.append(reader.journal())
        assert journals[0] == journals[1]
        assert len(pieces) > len(frames)


def test_a_stream_of_nothing_that_is_known_is_one_of_the_default_wire() -> None:
    """Bytes that no wire claims are judged as a stream of the default one, and are not an error of ours."""
    for data in (b"", b"data: [DONE]\n\n", b"data: {}\n\n", b"data: {\n\n", b": hello\n\n", b"data: []\n\n"):
        assert recognize(data) is default_wire()


def test_who_stops_a_run_says_so_in_the_stream(wire: Wire) -> None:
    """The client knows that the turn was interrupted, by what the server sends and not by the end of the body."""
    run, sent = written(wire, "basics/tool-call-and-answer")[0]
    writer = wire.open_writer(agent_id=run.agent_id)
    reader = wire.open_reader(agent_id=run.agent_id)
    reader.begin(AT)
    reader.feed(writer.start(run.started_at), AT)
    reader.feed(writer.feed(run.events[0]), AT)
    reader.feed(writer.stop("user_cancelled", AT), AT)
    reader.close(None, AT)
    (turn,) = reader.journal().turns()
    assert isinstance(turn, AgentTurn)
    assert isinstance(turn.end, Interrupted)
    assert turn.end.reason == "user_cancelled"
    assert sent


def test_carriers_are_known_and_can_be_left_out(wire: Wire) -> None:
    """Without carriers no frame carries; with them one does."""
    run, sent = written(wire, "basics/tool-call-and-answer")[0]
    assert wire.frame_carries(b"".join(sent))
    writer = wire.open_writer(agent_id=run.agent_id, carriers=False)
    plain = [writer.start(run.started_at), *map(writer.feed, run.events), writer.finish()]
    assert not wire.frame_carries(b"".join(plain))


def test_nobody_else_names_a_kind_of_chunk() -> None:
    """A branch on a kind of the AI SDK's stream belongs to its wire; the list says who else may name one, and why."""
    kinds = {kind for kind in CHUNK_TYPES if "-" in kind} | {"data-sys-tp"}
    naming = set()
    for path in SRC.rglob("*.py"):
        name = path.relative_to(SRC).as_posix()
        if name.startswith(("wires/vsp/", "peers/")):
            continue
        text = path.read_text("utf-8")
        if any(kind in text for kind in kinds):
            values = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
            if kinds & values or {kind.encode() for kind in kinds} & values:
                naming.add(name)
    assert naming == set(NAMES_CHUNKS)


def test_vsp_knows_what_faults_look_for() -> None:
    """By hand: the output of an application's tool, and neither what is preliminary nor what a provider ran."""
    vsp = wire_named("vsp")

    def frame(kind: str, **fields: object) -> bytes:
        return vsp.encode([{"type": kind, **fields}])

    assert vsp.output_of(frame("tool-output-available", toolCallId="c1", output=1)) == b"c1"
    assert vsp.output_of(frame("tool-output-error", toolCallId="c1", errorText="no")) == b"c1"
    assert vsp.output_of(frame("tool-output-available", toolCallId="c1", output=1, preliminary=True)) is None
    assert vsp.output_of(frame("tool-output-available", toolCallId="c1", output=1, providerExecuted=True)) is None
    assert vsp.output_of(frame("tool-input-available", toolCallId="c1", toolName="t", input={})) is None
    assert vsp.needs_no_event({"type": "start"})
    assert not vsp.needs_no_event({"type": "text-start", "id": "1"})
    delta = frame("text-delta", id="1", delta="a\N{GRINNING FACE}")
    assert [json.loads(piece[6:])["delta"] for piece in vsp.split_delta(delta)] == ["a", "\ud83d", "\ude00"]
    found = vsp.begins_text.search(delta)
    assert found is not None
    assert delta[found.end() :].startswith(b"a")
