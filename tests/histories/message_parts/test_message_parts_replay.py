"""What a UI is shown again (HISTORIES 1.4)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.histories.message_parts.build import (
    Line,
    answer,
    call,
    cancelled,
    interrupt,
    journal_of,
    result,
    retract,
    scenario,
    stream_error,
    system,
    text,
    thought,
    user,
)

from tpharness.histories.message_parts import MESSAGE_PARTS, interrupt_findings

PLAN, CURRENT = MESSAGE_PARTS["message-parts/plan"], MESSAGE_PARTS["message-parts/current"]


def shown(variant: str, name: str) -> list[str]:
    """Replay a scenario's history in short: the names of events, calls and results with their ids."""
    dialect = MESSAGE_PARTS[f"message-parts/{variant}"]
    return list(map(short, dialect.replay(dialect.store(journal_of(scenario(f"histories/{name}"))))))


def short(event: dict[str, Any]) -> str:
    """Return an event in short, such as `ToolResult c1 error`."""
    words = (event["event"].removesuffix("Event"), event.get("tool_call_id"), event.get("status"))
    return " ".join(word for word in words if word)


# Under the plan: thinking and text are one event each, then the calls, then the interruption (companion notes); then
# the response's metadata, rebuilt from the message where it has token counts (decision 5).
PLAN_SHOWS = {
    "k01-text-only": ["UserMessage", "TurnStart", "AssistantMessage", "TaskMetadata"],
    "k02-thinking-call-and-answer": [
        *("UserMessage", "TurnStart", "Thinking", "AssistantMessage", "ToolCall c1", "ResponseMetadata"),
        *("ToolResult c1 success", "TurnStart", "AssistantMessage", "TaskMetadata"),
    ],
    "k03-before-any-delta": ["UserMessage", "TurnStart", "Interrupt"],
    "k05-mid-text-after-thinking": ["UserMessage", "TurnStart", "Thinking", "AssistantMessage", "Interrupt"],
    "k08-tool-runs": [
        *("UserMessage", "TurnStart", "AssistantMessage", "ToolCall c2", "ToolResult c2 error", "Interrupt"),
    ],
    "k09-second-of-two-runs": [
        *("UserMessage", "TurnStart", "ToolCall c1", "ToolCall c2", "ToolResult c1 success", "ToolResult c2 error"),
        "Interrupt",
    ],
    "k10-second-tool-never-started": [
        *("UserMessage", "TurnStart", "ToolCall c2", "ToolCall c1"),
        *("ToolResult c2 error", "Interrupt", "ToolResult c1 error", "Interrupt"),
    ],
    "k12-model-call-fails": ["UserMessage", "Error"],
    "k14-between-result-and-answer": [
        *("UserMessage", "TurnStart", "ToolCall c1", "ToolResult c1 success", "TurnStart", "Interrupt"),
    ],
}

# The current program: a stream again, calls just before their results, TaskFinish unless the turn was interrupted.
ANSWER = ["AssistantTextStart", "AssistantTextDelta", "AssistantTextEnd"]
CURRENT_SHOWS = {
    "k01-text-only": ["TaskStart", "UserMessage", "StepStart", *ANSWER, "TaskMetadata", "TaskFinish"],
    "k02-thinking-call-and-answer": [
        *("TaskStart", "UserMessage", "StepStart", "ThinkingStart", "ThinkingDelta", "ThinkingEnd", *ANSWER, "Usage"),
        *("ToolCall c1", "ToolResult c1 success", "StepStart", *ANSWER, "TaskMetadata", "TaskFinish"),
    ],
    "k03-before-any-delta": ["TaskStart", "UserMessage", "Interrupt"],
    "k05-mid-text-after-thinking": ["TaskStart", "UserMessage", "StepStart", *ANSWER, "Interrupt"],
    "k08-tool-runs": [
        *("TaskStart", "UserMessage", "StepStart", *ANSWER, "ToolCall c2", "ToolResult c2 error", "Interrupt"),
    ],
    "k09-second-of-two-runs": [
        *("TaskStart", "UserMessage", "StepStart", "ToolCall c1", "ToolResult c1 success"),
        *("ToolCall c2", "ToolResult c2 error", "Interrupt"),
    ],
    "k11-second-call-done-first": [
        *("TaskStart", "UserMessage", "StepStart", "ToolCall c1", "ToolResult c1 success"),
        *("ToolCall c2", "ToolResult c2 error", "Interrupt"),
    ],
    "k12-model-call-fails": ["TaskStart", "UserMessage", "UserMessage"],
    "k15-program-ends-while-a-tool-runs": [
        *("TaskStart", "UserMessage", "StepStart", "ToolCall c1", "ToolResult c1 success"),
        *("ToolCall c2", "TaskFinish", "TaskStart", "UserMessage"),
    ],
    "k18-withdrawn": ["TaskStart", "Interrupt"],
}


@pytest.mark.parametrize("name", PLAN_SHOWS)
def test_the_plan_shows(name: str) -> None:
    """HISTORIES 1.4, first bullet, on the inputs of 1.7."""
    assert shown("plan", name) == PLAN_SHOWS[name]


@pytest.mark.parametrize("name", CURRENT_SHOWS)
def test_the_current_program_shows(name: str) -> None:
    """HISTORIES 1.4, third bullet and 1.7 "Replay expectations"."""
    assert shown("current", name) == CURRENT_SHOWS[name]


def test_what_the_events_say() -> None:
    """Thinking and text joined, arguments as written, the result's text, an aborted result as an error."""
    history = [
        user("q"),
        answer(thought("a"), thought("b"), text("x"), text("y"), call("c1", "t", "{ }"), stop="tool_use"),
        cancelled("c1", "t"),
    ]
    assert PLAN.replay(history) == [
        {"event": "UserMessageEvent", "content": "q"},
        {"event": "TurnStartEvent"},
        {"event": "ThinkingEvent", "content": "ab"},
        {"event": "AssistantMessageEvent", "content": "xy"},
        {"event": "ToolCallEvent", "tool_call_id": "c1", "tool_name": "t", "arguments": "{ }"},
        {
            "event": "ToolResultEvent",
            "tool_call_id": "c1",
            "tool_name": "t",
            "result": "[Request interrupted by user for tool use]",
            "status": "error",
        },
        {"event": "InterruptEvent"},
    ]


def test_thoughts_and_texts_take_turns_in_the_stream() -> None:
    """HISTORIES 1.4: start, deltas and end a part; a text after a thought ends it, a thought after a text too."""
    history = [user("q"), answer(thought("a"), text("x"), thought("b"), text("y"), stop="stop")]
    stream = [short(event) for event in CURRENT.replay(history)][3:-1]
    thinking = ["ThinkingStart", "ThinkingDelta", "ThinkingEnd"]
    assert stream == [*thinking, *ANSWER, *thinking, *ANSWER]


def test_thoughts_that_follow_one_another_are_one_stream() -> None:
    """Blank lines stand between two that say something, and after one that says nothing there are none."""
    history = [user("q"), answer(thought(""), thought("a"), thought("b"), text("x"), stop="stop")]
    deltas = [e["content"] for e in CURRENT.replay(history) if e["event"] == "ThinkingDeltaEvent"]
    assert deltas == ["a", "  \n  \n", "b"]


def test_system_messages_and_failed_calls() -> None:
    """A system message is never shown; a stream error is shown by the plan and skipped by the current program."""
    history = [system("be kind"), user("q"), stream_error("net down")]
    assert [short(e) for e in PLAN.replay(history)] == ["UserMessage", "Error"]
    assert [short(e) for e in CURRENT.replay(history)] == ["TaskStart", "UserMessage"]


def test_a_task_before_a_withdrawn_one_still_ends() -> None:
    """The interruption of the withdrawn turn belongs to no step; the turn before it had ended at its user message."""
    history = [user("a"), answer(text("x"), stop="stop"), user("b"), answer(text("y"), stop="stop"), user("c")]
    names = [short(event) for event in CURRENT.replay(history)]
    assert names.count("TaskFinish") == 2
    assert CURRENT.replay([]) == []


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_plan_shows_an_interruption_for_each_aborted_result(count: int) -> None:
    """HISTORIES 1.4: n aborted tools give n interrupt events; more than one is a duplicate, the current has one."""
    made = [call(f"c{n}", "t") for n in range(count)]
    history: list[Line] = [user("q"), answer(*made, stop="tool_use"), *(cancelled(f"c{n}", "t") for n in range(count))]
    planned = PLAN.replay(history)
    assert [event["event"] for event in planned].count("InterruptEvent") == count
    codes = [finding.code for finding in interrupt_findings(planned, interrupted=1)]
    assert codes == ([] if count == 1 else ["duplicate-interrupt"])
    assert not interrupt_findings(CURRENT.replay([*history, interrupt(notice=True)]), interrupted=1)


def test_an_interruption_a_turn_is_no_duplicate() -> None:
    """Two interrupted turns are two interruptions; a duplicate is told once a turn, at the second notice."""
    cut = [user("q"), answer(text("x"), stop="aborted")]
    assert not interrupt_findings(PLAN.replay([*cut, *cut]), interrupted=2)
    twice = [user("q"), answer(call("a", "t"), call("b", "t"), call("c", "t")), *(cancelled(n, "t") for n in "abc")]
    findings = interrupt_findings(PLAN.replay([*twice, *twice]))
    assert [f.code for f in findings] == ["duplicate-interrupt", "duplicate-interrupt"]


def test_an_interruption_that_is_not_shown_is_missed() -> None:
    """HISTORIES 1.4: release 2.0.0 plus one day lost those of tools; a history without the entry shows none."""
    history = [user("q"), answer(call("c1", "t"), stop="tool_use"), cancelled("c1", "t")]
    assert [f.code for f in interrupt_findings(CURRENT.replay(history), interrupted=1)] == ["missing-interrupt"]


def test_an_entry_without_notice_tells_and_shows_nothing() -> None:
    """A withdrawn turn leaves its entry to the turn before; the user sees one notice, that of the turn before."""
    history = [user("a"), answer(text("x"), stop="aborted"), user("b"), interrupt(notice=False), retract("b")]
    replayed = CURRENT.replay(history)
    assert [e.get("show_notice") for e in replayed if e["event"] == "InterruptEvent"] == [True, False]
    assert not interrupt_findings(replayed, interrupted=2)


def test_a_result_knows_whether_it_is_the_last() -> None:
    """Two results of a step: the second is its last."""
    made = answer(call("a", "t"), call("b", "t"), stop="tool_use")
    history = [user("q"), made, result("a", "t", "success", "1"), result("b", "t", "success", "2")]
    assert [e["is_last_in_step"] for e in CURRENT.replay(history) if "is_last_in_step" in e] == [False, True]


def other(kind: str) -> Line:
    """Write an entry that is not part of a conversation."""
    return {"type": kind, "data": {"text": "x"}}


def test_entries_beside_the_conversation() -> None:
    """Metadata of a task ends it; a recap ends it before it is shown; what only other programs make shows nothing."""
    task = [user("q"), answer(text("x"), stop="stop")]
    begin = ["TaskStart", "UserMessage", "StepStart", *ANSWER]
    assert [short(e) for e in CURRENT.replay([*task, other("TaskMetadataItem")])][-2:] == ["TaskMetadata", "TaskFinish"]
    assert [short(e) for e in CURRENT.replay([*task, other("AwaySummaryEntry")])][-2:] == ["TaskFinish", "AwaySummary"]
    assert [short(e) for e in CURRENT.replay([*task, other("SpawnSubAgentEntry")])] == [*begin, "TaskFinish"]
    assert [short(e) for e in PLAN.replay([*task, other("TaskMetadataItem")])][-1] == "TaskMetadata"


def test_a_step_begins_after_some_entries() -> None:
    """An answer after a side question begins a step, one after a recap goes on with the step."""
    for kind, begins in (("SideQuestionEntry", True), ("PromptSuggestionEntry", False)):
        names = [short(e) for e in CURRENT.replay([user("q"), other(kind), answer(text("x"), stop="stop")])]
        assert ("StepStart" in names) == begins
    assert PLAN.replay([user("look", {"type": "image_url", "url": "u"})])[0]["images"] == [
        {"type": "image_url", "url": "u"}
    ]


def test_images_of_the_model_are_shown_by_the_plan() -> None:
    """Companion notes: an image event for each image file."""
    file = {"type": "image_file", "file_path": "a.png"}
    events = PLAN.replay([user("q"), answer(file, stop="stop")])
    assert events[-1] == {"event": "AssistantImageDeltaEvent", "file_path": "a.png"}


def test_a_command_of_the_user_is_shown_as_one() -> None:
    """`bash_mode`: the message has the command and its output in tags."""
    said = "<bash-input>ls</bash-input><bash-stdout>a b</bash-stdout>"
    line = {**user(said), "data": {**user(said)["data"], "source": "bash_mode"}}
    assert list(MESSAGE_PARTS["message-parts/current"].replay([line]))[1:] == [
        {"event": "UserMessageEvent", "content": "!ls"},
        {"event": "BashCommandStartEvent", "command": "ls"},
        {"event": "BashCommandOutputDeltaEvent", "content": "a b"},
        {"event": "BashCommandEndEvent", "cancelled": False},
    ]


def test_the_end_of_a_background_task_begins_no_task() -> None:
    """Its message stands in the user's place, and does not end the task before it."""
    ended = {**user("done"), "data": {**user("done")["data"], "source": "task_completion"}}
    history = [user("q"), answer(text("a"), stop="stop"), ended]
    shown = [event["event"] for event in MESSAGE_PARTS["message-parts/current"].replay(history)]
    assert shown.count("TaskStartEvent") == 1
    assert shown[-1] == "TaskFinishEvent"


def test_what_was_compacted_is_shown_by_the_newer_release() -> None:
    """2.32 shows the history from the compaction on."""
    entry = {"type": "CompactionEntry", "data": {"summary": "S", "first_kept_index": 1}}
    history = [user("q"), user("r"), entry]
    for name, words in (("message-parts/current", ["q", "r"]), ("message-parts/2.32", ["r"])):
        shown = [e["content"] for e in MESSAGE_PARTS[name].replay(history) if e["event"] == "UserMessageEvent"]
        assert shown == words, name
