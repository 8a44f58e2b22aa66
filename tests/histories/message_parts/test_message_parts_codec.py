"""The file's lines and back; what decodes to nothing is told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.histories.message_parts.build import Line, answer, call, interrupt, result, retract, text, user

from tpharness.histories.message_parts import decode, dumps, encode, loads
from tpharness.histories.message_parts.records import (
    AssistantMessage,
    DeveloperMessage,
    HistoryEvent,
    ImageFilePart,
    ImageURLPart,
    InterruptEntry,
    OtherEntry,
    RetractEntry,
    StreamErrorItem,
    SystemMessage,
    TextPart,
    ThinkingSignaturePart,
    ThinkingTextPart,
    ToolCallPart,
    ToolResultMessage,
    UserMessage,
    Variant,
)

words = st.text(st.characters(codec="utf-8"), max_size=8)
maybe = st.none() | words
times = st.none() | st.sampled_from(["2025-01-20T10:00:00Z", "2025-01-20T10:00:00.123456", "2025-01-20T11:00:00+01:00"])
objects = st.none() | st.dictionaries(words, st.none() | st.integers(0, 2**53) | words, max_size=2)

texts = st.builds(TextPart, text=words)
others = st.one_of(
    st.builds(ImageURLPart, url=words, id=maybe, frozen=st.none() | st.booleans(), source_file_path=maybe),
    st.builds(ImageFilePart, file_path=words, mime_type=maybe, byte_size=st.none() | st.integers(0, 9), sha256=maybe),
    st.builds(ThinkingTextPart, id=maybe, text=words, model_id=maybe, reasoning_field=maybe, format=maybe),
    st.builds(ThinkingSignaturePart, id=maybe, signature=words, model_id=maybe, format=maybe),
    st.builds(ToolCallPart, call_id=words, id=maybe, tool_name=words, arguments_json=words),
)
no_text = st.lists(others, max_size=3).map(tuple)
parts = st.lists(texts | others, max_size=4).map(tuple)
common: dict[str, Any] = {"id": maybe, "created_at": times, "response_id": maybe}
statuses = st.sampled_from(["success", "error", "aborted"])
stops = st.none() | st.sampled_from(["stop", "length", "tool_use", "error", "aborted"])
positions = st.none() | st.sampled_from(["append", "prepend"])


def messages(developer_ui: Any, result_ui: Any) -> st.SearchStrategy[HistoryEvent]:
    """What every variant has, with these fields for the UI."""
    return st.one_of(
        st.builds(SystemMessage, parts=st.lists(texts, max_size=2).map(tuple), **common),
        st.builds(DeveloperMessage, parts=parts, attachment_position=positions, ui_extra=developer_ui, **common),
        st.builds(UserMessage, parts=parts, source=st.sampled_from([None, "user", "bash_mode"]), **common),
        st.builds(AssistantMessage, parts=parts, usage=objects, stop_reason=stops, **common),
        st.builds(
            ToolResultMessage,
            call_id=words,
            tool_name=words,
            status=statuses,
            output_text=words,
            parts=no_text,
            ui_extra=result_ui,
            side_effects=st.none() | st.just(("todo_change",)),
            task_metadata=objects,
            **common,
        ),
        st.builds(StreamErrorItem, error=words, created_at=times),
        st.builds(OtherEntry, kind=st.just("TaskMetadataItem"), data=st.dictionaries(words, words, max_size=2)),
    )


planned = messages(objects, objects)
typed = st.sampled_from([None, {"type": "markdown_doc", "file_path": "a.md", "content": "x"}])
current = st.one_of(
    messages(st.sampled_from([None, {"items": []}, {"items": [{"type": "skill_listing"}]}]), typed),
    st.builds(InterruptEntry, show_notice=st.booleans(), created_at=times),
    st.builds(RetractEntry, retracted_text=words, created_at=times),
    st.builds(OtherEntry, kind=st.just("AwaySummaryEntry"), data=st.fixed_dictionaries({"text": words})),
)


@given(st.lists(planned, max_size=4))
def test_a_history_of_the_plan_survives_its_file(events: list[HistoryEvent]) -> None:
    """What is written is read again: same events, nothing dropped (the plan, phase 1: "round-trip")."""
    decoded = loads(dumps(map(encode, events)), "plan")
    assert list(decoded.events) == events
    assert not decoded.findings


@given(st.lists(current, max_size=4))
def test_a_current_history_survives_its_file(events: list[HistoryEvent]) -> None:
    """The same with entries that are not messages."""
    document = list(map(encode, events))
    assert list(loads(dumps(document), "current").events) == events
    assert list(map(encode, decode(document, "current").events)) == document


@given(st.lists(current, max_size=3))
def test_nothing_is_written_for_what_is_not_there(events: list[HistoryEvent]) -> None:
    """HISTORIES 1.5: `exclude_none`, in messages and in their parts."""
    for line in map(encode, events):
        if line["type"] in ("TaskMetadataItem", "AwaySummaryEntry"):
            continue
        fields = [line["data"], *line["data"].get("parts", ())]
        assert all(value is not None for each in fields for value in each.values())


def test_a_line_looks_as_the_program_writes_it() -> None:
    """One object a line: the name of the class, then its fields; text outside ASCII as it is (HISTORIES 1.5)."""
    line = encode(UserMessage(parts=(TextPart(text="Grüße"),)))
    assert dumps([line]) == (
        '{"type": "UserMessage", "data": {"role": "user", "parts": [{"type": "text", "text": "Grüße"}]}}\n'
    )


GOOD = user("q")
TEXT_IN_RESULT = result("c1", "t", "success", "x", text("x"))
NOTHING: dict[str, tuple[str, int]] = {
    "unknown type": (dumps([{"type": "StartItem", "data": {}}]), 1),
    "a delta, which is never kept": (dumps([{"type": "AssistantTextDelta", "data": {"content": "x"}}]), 1),
    "the start of a call, which is never kept": (dumps([{"type": "ToolCallStartDelta", "data": {}}]), 1),
    "no type": (dumps([{"data": {"parts": []}}]), 1),
    "bad JSON": ('{"type": "UserMessage"\n', 1),
    "JSON that goes too deep": ("[" * 100_000 + "\n", 1),
    "blank": ("\n \n", 2),
    "no object": ("[1]\n3\n", 2),
    "a field of the wrong kind": (dumps([{"type": "UserMessage", "data": {"parts": "q"}}]), 1),
    "a missing field": (dumps([{"type": "StreamErrorItem", "data": {}}]), 1),
    "a part that nobody knows": (dumps([answer({"type": "video", "url": "u"})]), 1),
    "a role that is not the message's": (dumps([{"type": "UserMessage", "data": {"role": "tool", "parts": []}}]), 1),
    "a time that is none": (dumps([{"type": "UserMessage", "data": {"parts": [], "created_at": "noon"}}]), 1),
    "a text part in a tool result": (dumps([TEXT_IN_RESULT]), 1),
    "an image in a system message": (
        dumps([{"type": "SystemMessage", "data": {"parts": [{"type": "image_url", "url": "u"}]}}]),
        1,
    ),
}


@pytest.mark.parametrize("wrong", NOTHING)
@pytest.mark.parametrize("variant", ["plan", "current"])
def test_what_decodes_to_nothing_is_told(variant: Variant, wrong: str) -> None:
    """K17 and HISTORIES 1.5: the program skips these without a word; the lines around them stay."""
    lines, count = NOTHING[wrong]
    decoded = loads(dumps([GOOD]) + lines + dumps([GOOD]), variant)
    assert list(map(encode, decoded.events)) == [GOOD, GOOD]
    assert decoded.dropped == count
    assert [(f.code, f.place.line) for f in decoded.findings] == [
        ("history-line-dropped", 2 + number) for number in range(count)
    ]


def test_a_call_loses_its_result_with_a_text_part() -> None:
    """HISTORIES 1.5: the whole tool result disappears and its call becomes dangling."""
    decoded = decode([GOOD, answer(call("c1", "t")), TEXT_IN_RESULT], "current")
    assert [type(event).__name__ for event in decoded.events] == ["UserMessage", "AssistantMessage"]
    assert decoded.findings[0].place.pointer == "/2"


@pytest.mark.parametrize("extra", ["a string", 3, ["a list"]])
def test_a_bad_ui_extra_is_dropped_alone(extra: Any) -> None:
    """K17: kept without ui_extra; that is told too, and no line counts as dropped."""
    line = result("c1", "t", "success", "x")
    with_extra = {**line, "data": {**line["data"], "ui_extra": extra}}
    decoded = decode([with_extra], "current")
    assert list(map(encode, decoded.events)) == [line]
    assert [f.code for f in decoded.findings] == ["history-ui-extra-dropped"]
    assert decoded.dropped == 0


def test_a_bad_ui_extra_is_no_excuse_for_the_rest() -> None:
    """The second try is made without ui_extra alone."""
    wrong = {**TEXT_IN_RESULT, "data": {**TEXT_IN_RESULT["data"], "ui_extra": 3}}
    assert decode([wrong], "current").dropped == 1


def test_other_keys_are_ignored() -> None:
    """HISTORIES 1.5: extra keys ignored."""
    line: Line = {**GOOD, "v": 1, "data": {**GOOD["data"], "mood": "good"}}
    decoded = decode([line], "plan")
    assert list(map(encode, decoded.events)) == [GOOD]
    assert not decoded.findings


def test_the_plan_knows_no_interruption_of_its_own() -> None:
    """The plan, "Must not include: standalone interrupt events": such a line is nothing to it."""
    lines = [interrupt(notice=True), retract("q"), {"type": "AwaySummaryEntry", "data": {"text": "x"}}]
    assert decode(lines, "plan").dropped == 3
    assert decode(lines, "current").dropped == 0


@pytest.mark.parametrize("document", [None, 3, "text", {"type": "UserMessage"}, b"x"])
def test_what_is_no_list_holds_nothing(document: Any) -> None:
    """Any JSON value can be given, none raises."""
    assert decode(document, "plan").dropped == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from(["UserMessage", "ToolResultMessage", "InterruptEntry", "TaskMetadataItem", "X"]),
    st.dictionaries(st.sampled_from(["parts", "status", "created_at", "ui_extra", "show_notice"]), json_values),
)
def test_no_line_raises(name: str, data: dict[str, Any]) -> None:
    """A line decodes to one event, or it is told as dropped."""
    decoded = decode([{"type": name, "data": data}], "current")
    assert len(decoded.events) + decoded.dropped == 1


def test_a_tool_result_with_a_text_part_cannot_be_made() -> None:
    """The plan, "Tool result text strictness": parts must not contain TextPart."""
    with pytest.raises(ValueError, match="not text"):
        ToolResultMessage(status="success", output_text="", parts=(TextPart(text="x"),))


@pytest.mark.parametrize("kind", ["CompactionEntry", "AwaySummaryEntry", "SideQuestionEntry", "LLMRequestEntry"])
def test_an_entry_without_what_it_is_about_is_dropped(kind: str) -> None:
    """As the program does: an empty compaction compacts nothing."""
    decoded = decode([user("q"), {"type": kind, "data": {}}], "current")
    assert (len(decoded.events), decoded.dropped, decoded.lines) == (1, 1, (0,))


def test_each_release_reads_its_sources_and_entries() -> None:
    """2.32 drops whole user messages of sources that came later, and entries that it does not know."""
    sources = ("user", "bash_mode", "shell_completion", "task_completion", "peer_message")
    lines = [{**user("q"), "data": {**user("q")["data"], "source": source}} for source in sources]
    assert decode(lines, "current").dropped == 0
    assert decode(lines, "2.32").lines == (0, 1)
    assert decode([retract("q")], "2.32").dropped == 1
    fork = {"summary": "S", "source_session_id": "s", "source_pivot_index": 1, "source_message_count": 2}
    assert decode([{"type": "ForkSummaryEntry", "data": fork}], "current").dropped == 0
    assert decode([{"type": "ForkSummaryEntry", "data": fork}], "2.32").dropped == 1


def test_fields_for_the_ui_of_an_unknown_type_are_dropped() -> None:
    """The message stays; the plan does not say which types there are."""
    wrong = {**result("c1", "t", "success", "x"), "data": {**result("c1", "t", "success", "x")["data"]}}
    wrong["data"]["ui_extra"] = {"type": "other"}
    (finding,) = decode([wrong], "current").findings
    assert finding.code == "history-ui-extra-dropped"
    assert "ui_extra" not in encode(decode([wrong], "current").events[0])["data"]
    assert decode([wrong], "plan").findings == ()


def test_times_may_be_numbers() -> None:
    """Seconds since 1970, as the program reads them."""
    line = {**user("q"), "data": {**user("q")["data"], "created_at": 1737367200.5}}
    assert list(map(encode, decode([line], "current").events)) == [line]
