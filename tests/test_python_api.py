"""What tests of other people call: `play`, `fold`, `check`, `diff` and the assertions."""

from __future__ import annotations

import asyncio
import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.places import places, replace_at

from tpharness import (
    Folded,
    InputError,
    Level,
    TargetError,
    UsageError,
    assert_passed,
    assert_same_thread,
    assert_valid,
    check,
    convert,
    diff,
    fold,
    play,
)
from tpharness.document_files import sort_of
from tpharness.wires.vsp.encode import DONE, encode_sse

DOCUMENT = (Path(__file__).parents[1] / "docs" / "PYTHON.md").read_text("utf-8")
CHUNKS: list[dict[str, Any]] = [
    {"type": "start"},
    {"type": "start-step"},
    {"type": "tool-input-available", "toolCallId": "c1", "toolName": "search", "input": {"q": "rain"}},
    {"type": "tool-output-available", "toolCallId": "c1", "output": {"hits": 3}},
    {"type": "finish-step"},
    {"type": "start-step"},
    {"type": "text-start", "id": "1"},
    {"type": "text-delta", "id": "1", "delta": "It rains"},
    {"type": "text-end", "id": "1"},
    {"type": "finish-step"},
    {"type": "finish"},
]
STREAM = b"".join(map(encode_sse, CHUNKS)) + DONE
EVENTS: list[dict[str, Any]] = [
    {"event_kind": "part_start", "index": 0, "part": {"part_kind": "text", "content": "It rains"}},
    {"event_kind": "part_end", "index": 0, "part": {"part_kind": "text", "content": "It rains"}},
    {"event_kind": "agent_run_result"},
]


def said(folded: Folded) -> list[Any]:
    """Return what each turn says, by hand: the user's words, or an agent's kinds of parts."""
    return [
        turn["parts"][0]["content"]
        if turn["turn_type"] == "user"
        else [turn["completion_status"], *(part["part_kind"] for m in turn["messages"] for part in m["parts"])]
        for turn in folded.thread["turns"]
    ]


def test_every_example_of_the_document_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, as one module in an empty folder."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    examples = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    assert len(examples) == 7
    for example in examples:
        exec(compile(example, "an example of docs/PYTHON.md", "exec"), names)  # noqa: S102  # our own document
    names["server"]["turns"][1]["messages"][0]["parts"][0]["content"] = 18
    with pytest.raises(AssertionError) as failed:
        assert_same_thread(names["server"], names["client"], mode="content")
    assert "\n".join(f"    {line}".rstrip() for line in str(failed.value).splitlines()) in DOCUMENT


@pytest.mark.parametrize("answer", [STREAM, bytearray(STREAM), CHUNKS], ids=["bytes", "bytearray", "chunks"])
def test_an_answer_is_folded_however_it_is_given(answer: Any) -> None:
    """The user's words are a turn, and each answer is."""
    folded = fold("Hi", answer, "And then?", answer)
    agent = ["complete", "tool-call", "tool-return", "text"]
    assert said(folded) == ["Hi", agent, "And then?", agent]
    assert folded.findings == ()


def test_files_and_server_events_are_folded(tmp_path: Path) -> None:
    """What a file is, its name says."""
    (stream := tmp_path / "a.sse").write_bytes(STREAM)
    (events := tmp_path / "a.jsonl").write_text('\n{"event_kind": "agent_run_result"}\n', "utf-8")
    assert said(fold("Hi", stream)) == ["Hi", ["complete", "tool-call", "tool-return", "text"]]
    assert said(fold("Hi", EVENTS, "Bye", events)) == ["Hi", ["complete", "text"], "Bye", ["complete"]]


def test_a_cut_answer_keeps_what_the_rules_keep() -> None:
    """The cycle stays and the half answer goes; earlier answers are not cut."""
    cut = fold("Hi", STREAM, "More", CHUNKS[:8], interrupted="user_cancelled")
    whole = ["complete", "tool-call", "tool-return", "text"]
    assert said(cut) == ["Hi", whole, "More", ["interrupted", "tool-call", "tool-return"]]
    assert cut.thread["turns"][3]["interruption"]["reason"] == "user_cancelled"
    assert fold(CHUNKS[:8]).thread["turns"][0]["interruption"]["reason"] != "user_cancelled"


def test_turns_follow_each_other_in_time() -> None:
    """What has no time of its own happened after what has one."""
    late = {"type": "data-sys-tp", "data": {"timestamp": "2031-05-01T10:00:00Z"}, "transient": True}
    folded = fold("Hi", [CHUNKS[0], late, *CHUNKS[1:]], "And then?", CHUNKS, at="2030-01-01T00:00:00Z")
    assert [turn.get("submitted_at", turn.get("started_at")) for turn in folded.thread["turns"]][2:] == [
        "2031-05-01T10:00:00Z",
        "2031-05-01T10:00:00Z",
    ]
    assert not [f for f in check(folded.thread) if f.level is Level.MUST]


def test_a_version_is_asked_for_by_name() -> None:
    """The newest is the default."""
    assert fold("Hi", STREAM, version="0.0.3").thread["version"] == "0.0.3"
    assert fold("Hi", STREAM).thread["version"] == "0.0.4"


@pytest.mark.parametrize(
    ("pieces", "error", "told"),
    [
        (("Hi", 3), UsageError, "not folded from int"),
        (("Hi", {"type": "start"}), UsageError, "not folded from dict"),
        (("Hi", EVENTS, STREAM), UsageError, "streams and server events"),
        ((Path("nowhere.sse"),), InputError, "nowhere.sse: No such file"),
    ],
)
def test_what_cannot_be_folded_is_said(pieces: Any, error: type[Exception], told: str) -> None:
    """And what to give instead, which the traceback shows too."""
    with pytest.raises(error, match=told) as raised:
        fold(*pieces)
    assert raised.value.__notes__ == [raised.value.hint]  # type: ignore[attr-defined]


def test_check_takes_what_the_command_takes(tmp_path: Path) -> None:
    """A thread, a stream, chunks, events, and files."""
    whole = fold("Hi", STREAM).thread
    assert [f.code for f in check(whole) if f.level is Level.MUST] == []
    assert [f.code for f in check({**whole, "turns": 4}) if f.level is Level.MUST][:1] == ["thread-schema"]
    assert check(STREAM) == check(CHUNKS) == check(EVENTS) == []
    assert [f.code for f in check(EVENTS[:-1])] == ["stream-unfinished"]
    assert [f.code for f in check(CHUNKS[2:3] + CHUNKS)] == [f.code for f in check(encode_sse(CHUNKS[2]) + STREAM)]
    (scenario := tmp_path / "a.yaml").write_text("description: [", "utf-8")
    (finding, *_) = check(scenario)
    assert finding.place.file == str(scenario)
    with pytest.raises(UsageError, match="major 4"):
        check(STREAM, major=4)


def test_a_broken_document_fails_with_what_to_do() -> None:
    """Both the streams and the thread of what was folded are judged."""
    assert_valid(fold("Hi", STREAM))
    for document in (STREAM[150:], fold("Hi", CHUNKS + CHUNKS[6:8]), {"version": "0.0.4"}):
        with pytest.raises(AssertionError, match=r"(?s)a rule is broken.*to do     "):
            assert_valid(document)


def test_every_change_of_a_thread_is_told_with_its_place_and_both_values() -> None:
    """Whatever value is replaced, the message has its JSON pointer, or that of what holds it."""
    thread = fold("Hi", STREAM).thread
    inside = [p for p in places(thread["turns"]) if p and p[-1] == "content"]
    assert len(inside) > 2
    for place in inside:
        other = {**thread, "turns": replace_at(thread["turns"], place, "something else")}
        with pytest.raises(AssertionError) as failed:
            assert_same_thread(thread, other)
        told = str(failed.value)
        assert "/turns/" + "/".join(map(str, place)) in told
        assert '    client    "something else" (a string)' in told


def test_alike_values_of_two_types_are_told_apart() -> None:
    """Arguments as an object and as its text look the same but for the type; the ruling is named."""
    thread = fold("Hi", STREAM).thread
    other = copy.deepcopy(thread)
    other["turns"][1]["messages"][0]["parts"][0]["args"] = '{"q": "rain" }'
    other["turns"][1]["messages"][1]["parts"][0]["content"] = '{"hits": 3}'
    with pytest.raises(AssertionError) as failed:
        assert_same_thread(thread, other)
    assert '    server    {"hits": 3} (an object)\n    client    "{\\"hits\\": 3}" (a string)' in str(failed.value)


def test_a_missing_part_is_nothing_on_its_side() -> None:
    """And the ruling says why it is kept."""
    thread = fold("Hi", STREAM).thread
    other = copy.deepcopy(thread)
    del other["turns"][1]["messages"][1:]
    with pytest.raises(AssertionError) as failed:
        assert_same_thread(thread, other)
    assert "    client    nothing\n    decided   by R" in str(failed.value)


def test_what_only_a_stream_cannot_say_is_pointed_out() -> None:
    """Threads that differ in times alone: the message says which comparison would pass."""
    early, late = fold("Hi", STREAM), fold("Hi", STREAM, at="2030-01-01T00:00:00Z")
    assert_same_thread(early, late, mode="content")
    with pytest.raises(AssertionError, match=r'mode="content" compares that \(R39\)'):
        assert_same_thread(early, late)


def test_what_is_not_a_thread_is_said() -> None:
    """Such as the error of a server in place of its thread."""
    with pytest.raises(AssertionError, match=r'the server holds is not a thread: .*it is \{"detail": "Not Found"\}'):
        assert_same_thread({"detail": "Not Found"}, fold("Hi", STREAM))


def test_hostile_text_is_escaped() -> None:
    """What a server sends cannot move the cursor of whoever reads the failure."""
    one, other = fold("Hi\x1b[2J", STREAM), fold("Hi", STREAM)
    with pytest.raises(AssertionError) as failed:
        assert_same_thread(one, other)
    assert "\x1b" not in str(failed.value)
    assert "\\x1b" in str(failed.value)


def test_differences_carry_their_values() -> None:
    """Uncut, by the name of the side."""
    thread = fold("Hi", STREAM).thread
    other = fold("Hi" * 500, STREAM).thread
    (difference,) = diff(thread, other)
    assert difference.values == {"a": "Hi", "b": "Hi" * 500}


SCENARIO = """\
description: The user asks and the agent answers.
clauses: [stream.text]
turns:
  - user: "Hi"
  - steps: [{response: [{text: "Hello there"}]}]
expect: {outline: [user, "agent complete: response(KIND)"]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with one scenario that passes and one that fails."""
    for name, kind in (("good", "text"), ("bad", "thinking")):
        (file := tmp_path / "mine" / "chat" / f"{name}.yaml").parent.mkdir(parents=True, exist_ok=True)
        file.write_text(SCENARIO.replace("KIND", kind), "utf-8")
    return tmp_path / "mine"


def test_play_gives_the_verdict_of_a_run(folder: Path) -> None:
    """Results, and the failure blocks of the command line with the command that shows more."""
    assert_passed(play("chat/good", scenarios=[folder]))
    played = play(scenarios=[folder])
    assert [result.id for result in played.failed] == ["chat/bad"]
    with pytest.raises(AssertionError) as failed:
        assert_passed(played)
    assert str(failed.value).startswith("FAILED chat/bad\n  outline-differs: ")
    assert f"tpharness replay chat/bad --scenarios {folder}" in str(failed.value)
    assert "chat/good" not in str(failed.value)


def test_play_takes_a_baseline(folder: Path) -> None:
    """A known failure is green, and one that does not fail any more is not."""
    (file := folder.parent / "known.yaml").write_text(
        "- {id: chat/bad, findings: [outline-differs], reason: the model thinks}\n", "utf-8"
    )
    assert_passed(play(scenarios=[folder], baseline=file))
    (folder / "chat/bad.yaml").write_text(SCENARIO.replace("KIND", "text"), "utf-8")
    with pytest.raises(AssertionError, match="baseline-stale"):
        assert_passed(play(scenarios=[folder], baseline=file))
    (folder / "chat/bad.yaml").unlink()
    with pytest.raises(AssertionError, match="baseline-unmatched"):
        assert_passed(play(scenarios=[folder], baseline=file))


def test_what_was_not_judged_has_not_passed(folder: Path) -> None:
    """A fault needs a wire, which the reference in this process has not."""
    with pytest.raises(AssertionError, match=r"(?s)nothing was judged.*chat/good@fault-.*on the wire"):
        assert_passed(play("chat/good", scenarios=[folder], faults=["all"]))


def test_wrong_use_is_not_a_failed_assertion(folder: Path) -> None:
    """A name, a target, an event loop: each says what to do."""
    with pytest.raises(UsageError, match="unknown version"):
        play(scenarios=[folder], dialects=["9"])  # type: ignore[list-item]  # as mypy says
    with pytest.raises(UsageError, match="there is no target 'nobody'"):
        play(scenarios=[folder], server="nobody")
    with pytest.raises(TargetError, match="cannot import"):
        play(scenarios=[folder], server="python:no_such_module:Server")

    async def in_a_loop() -> None:
        play(scenarios=[folder])

    with pytest.raises(UsageError, match="an event loop is running") as raised:
        asyncio.run(in_a_loop())
    assert "asyncio.to_thread(play" in raised.value.hint


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: check("thread.json"), "a document is not checked as str"),  # type: ignore[arg-type]
        (lambda: check(None), "a document is not checked as NoneType"),  # type: ignore[arg-type]
        (lambda: diff("a", {}), "a is not a thread: it is of the type str"),  # type: ignore[arg-type]
        (lambda: diff({"turns": []}, fold("Hi")), "b is not a thread: it is of the type Folded"),  # type: ignore[arg-type]
        (lambda: play(["cycles"]), "an id of a scenario is a text, not list"),  # type: ignore[arg-type]
    ],
    ids=["check a name", "check nothing", "diff a text", "diff what was folded", "play a list"],
)
def test_a_value_of_another_type_is_told(ask: Callable[[], object], told: str) -> None:
    """The call is wrong, and what it judges is not: an error with what to give."""
    with pytest.raises(UsageError, match=told) as raised:
        ask()
    assert raised.value.hint


@pytest.mark.parametrize("answer", [b"Internal Server Error", b"", []], ids=["error page", "no byte", "no chunk"])
def test_an_answer_that_is_no_stream_agrees_with_nothing(answer: bytes | list[Any]) -> None:
    """A server that answers 500 has stored the user's turn alone, and so has a client that was sent no event."""
    server = fold("Hi").thread
    with pytest.raises(AssertionError, match="the client has nothing to compare: MUST stream-without-events"):
        assert_same_thread(server, fold("Hi", answer), mode="content")
    assert fold("Hi", answer[:0], interrupted="user_cancelled").findings == ()


@pytest.mark.parametrize("mode", ["contnt", "EXACT", "", None, True])
def test_a_misspelt_comparison_is_refused(mode: Any) -> None:
    """It must not choose the weaker one, in silence."""
    one, other = fold("Hi", STREAM), fold("Hi", STREAM, at="2030-01-01T00:00:00Z")
    for compare in (
        lambda: assert_same_thread(one, other, mode=mode),
        lambda: diff(one.thread, other.thread, mode=mode),
    ):
        with pytest.raises(UsageError, match="mode takes exact or content, not "):
            compare()
    with pytest.raises(UsageError) as raised:
        assert_same_thread(one, one, mode="EXACT")  # type: ignore[arg-type]
    assert raised.value.hint == "did you mean exact?"


def test_threads_without_a_turn_agree_about_nothing() -> None:
    """An assertion about nothing is not green."""
    with pytest.raises(AssertionError, match="neither the server nor the client holds a turn"):
        assert_same_thread(fold(), fold(), mode="content")
    assert_same_thread(fold("Hi"), fold("Hi"))


def test_streams_of_another_protocol_agree_about_nothing() -> None:
    """Both sides have folded them to a turn in which nobody says anything."""
    folded = fold("Hi", b'data: {"type":"message_start"}\n\ndata: [DONE]\n\n')
    assert [f.level for f in folded.findings if f.code == "stream-of-unknown-chunks"] == [Level.MUST]
    with pytest.raises(AssertionError, match="the server has nothing to compare: MUST stream-of-unknown-chunks"):
        assert_same_thread(folded, folded)


def test_words_that_fold_and_convert_take_are_looked_at() -> None:
    """A misspelt reason, a time that is none, a version that is not there."""
    with pytest.raises(UsageError, match="unknown reason 'user_canceled'"):
        fold("Hi", STREAM, interrupted="user_canceled")  # type: ignore[arg-type]  # as mypy says
    with pytest.raises(UsageError, match="at is 'yesterday', which is not a time"):
        fold("Hi", STREAM, at="yesterday")
    with pytest.raises(UsageError, match="unknown version '9'"):
        convert(fold("Hi").thread, "9")  # type: ignore[arg-type]  # as mypy says
    assert convert(fold("Hi").thread, "0.0.3").thread["version"] == "0.0.3"


def test_one_name_is_not_a_list_of_letters(folder: Path) -> None:
    """Where several may be given, one may stand alone."""
    played = play("chat/good", scenarios=str(folder), dialects="0.0.4", clauses="stream.text", profiles="stream")
    assert [result.id for result in played.results] == ["chat/good"]
    assert play("chat/good", scenarios=folder, faults="fin-in-middle").results  # type: ignore[arg-type]


EVENT_LINES = b'{"event_kind": "agent_run_result"}\n'


@pytest.mark.parametrize(
    ("name", "data", "sort"),
    [
        ("a.sse", b"{}", "stream"),
        ("a.jsonl", STREAM, "events"),
        ("a.json", STREAM, "json"),
        ("a.log", STREAM, "stream"),
        ("-", b"\xef\xbb\xbf\r\nevent: x\r\n", "stream"),
        ("-", b": ping\n\n", "stream"),
        ("-", EVENT_LINES, "events"),
        ("-", EVENT_LINES.rstrip(), "events"),
        ("-", b'{"version": "0.0.4", "turns": []}', "json"),
        ("-", b'{\n "event_kind": 1}', "json"),
        ("-", b"", "json"),
    ],
)
def test_the_name_of_a_file_says_what_it_is_or_else_its_beginning(name: str, data: bytes, sort: str) -> None:
    """One rule for `check`, `fold` and `view`."""
    assert sort_of(name, data) == sort


def test_a_stream_under_another_name_is_checked_as_one(tmp_path: Path) -> None:
    """A log is what `fold` has always read."""
    (stream := tmp_path / "stream.log").write_bytes(STREAM)
    (events := tmp_path / "events.log").write_bytes(EVENT_LINES)
    assert check(stream) == check(events) == []
    assert said(fold("Hi", stream)) == said(fold("Hi", STREAM))
    assert said(fold("Hi", events)) == ["Hi", ["complete"]]


def test_a_difference_by_content_names_the_ids_of_the_threads() -> None:
    """They are those that somebody finds in the store; what belongs to a tool is left as it is."""

    def thread(agent: str, call: str, *more: str) -> dict[str, Any]:
        parts = [{"part_kind": "tool-call", "tool_name": "t", "tool_call_id": call, "args": {"agent_id": "agent-1"}}]
        response = {"message_type": "response", "agent_id": agent, "parts": parts}
        answered = [{"part_kind": "tool-return", "tool_name": "t", "tool_call_id": call, "content": "call-1"}]
        request = {"message_type": "request", "agent_id": agent, "parts": answered}
        texts = [{"message_type": "response", "agent_id": agent, "parts": _text(text)} for text in more]
        turn = {"turn_type": "agent", "agent_id": agent, "completion_status": "complete"}
        return {"version": "0.0.4", "turns": [{**turn, "messages": [response, request, *texts]}]}

    with pytest.raises(AssertionError) as failed:
        assert_same_thread(thread("a", "x1"), thread("b", "y2", "more"), mode="content")
    told = str(failed.value)
    assert "the first turn (agent, a), message 2 (response: text) is only on the client side" in told
    assert '"agent_id": "b"' in told
    for text in ("agent-1", "call-1"):
        assert text not in told
    other = thread("b", "y2")
    other["turns"][0]["messages"][0]["parts"][0]["args"] = {"agent_id": "agent-2"}
    with pytest.raises(AssertionError) as failed:
        assert_same_thread(thread("a", "x1"), other, mode="content")
    assert "(response: tool-call x1), part 0 (tool-call x1), args, agent_id differs" in str(failed.value)
    assert '"agent-1" (a string)' in str(failed.value)


def _text(content: str) -> list[dict[str, Any]]:
    return [{"part_kind": "text", "content": content}]


def test_what_only_a_carrier_says_comes_with_that_advice() -> None:
    """Without one the client cannot know the agent; by content an agent that differs is a real difference."""
    client = fold("Hi", STREAM)
    with pytest.raises(AssertionError) as failed:
        assert_same_thread(fold("Hi", STREAM, agent="support"), client)
    advice = [line.split("to do")[1].strip() for line in str(failed.value).splitlines() if "to do" in line]
    assert set(advice) == {'send it with the stream (a carrier), or compare with mode="content", which leaves it out'}


def test_names_in_the_data_of_a_tool_are_not_taken_for_facts_of_the_protocol() -> None:
    """An argument that is called `agent_id` or `timestamp` was lost or changed by somebody."""
    for name in ("agent_id", "timestamp"):
        one, other = (
            fold("Hi", [*CHUNKS[:2], {**CHUNKS[2], "input": {name: value}}, *CHUNKS[3:]]) for value in ("a", "b")
        )
        with pytest.raises(AssertionError, match="look at what was sent: the side that holds something else"):
            assert_same_thread(one, other)
