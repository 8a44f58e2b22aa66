"""What of a stored history goes to a model: retractions, compactions and rewinds, thoughts with their signatures."""

from __future__ import annotations

from typing import Any

import pytest
from tests.histories.message_parts.build import (
    Line,
    answer,
    call,
    developer,
    journal_of,
    result,
    retract,
    scenario,
    signature,
    text,
    thought,
    user,
)

from tpharness.histories.message_parts import MESSAGE_PARTS, MessageParts

PLAN, CURRENT = MESSAGE_PARTS["message-parts/plan"], MESSAGE_PARTS["message-parts/current"]


def chat(dialect: MessageParts, history: list[Line]) -> Any:
    """Return the messages for Chat Completions."""
    return dialect.model_input(history, "openai-chat")


def anthropic(dialect: MessageParts, history: list[Line]) -> Any:
    """Return the messages for Anthropic."""
    return dialect.model_input(history, "anthropic")["messages"]


def test_a_later_user_message_keeps_the_withdrawn_one() -> None:
    """A retraction by text reaches only the nearest user message; one by line reaches its line."""
    withdrawn = {"type": "RetractEntry", "data": {"retracted_text": "q", "retracted_line": 0}}
    assert len(chat(CURRENT, [user("q"), user("r"), retract("q")])) == 2
    assert len(chat(CURRENT, [user("q"), user("r"), withdrawn])) == 1


def test_the_release_before_retractions_sends_what_was_withdrawn() -> None:
    """2.32 knows no such entry, writes none, and drops one that it reads."""
    old = MESSAGE_PARTS["message-parts/2.32"]
    kept = old.store(journal_of(scenario("histories/k18-withdrawn")))
    assert "RetractEntry" not in [line["type"] for line in kept]
    assert len(chat(old, [user("q"), retract("q")])) == 1


def compaction(**data: Any) -> Line:
    """A compaction."""
    return {"type": "CompactionEntry", "data": {"summary": "S", **data}}


ANSWERED = [user("q"), answer(text("a"), stop="stop"), user("r")]


@pytest.mark.parametrize("name", ["message-parts/2.32", "message-parts/current"])
def test_a_compaction_sends_its_summary_and_what_is_kept(name: str) -> None:
    """Both releases go on with the summary as the user's words; a result whose call is gone goes, too."""
    history = MESSAGE_PARTS[name]

    def sent(document: list[Line]) -> list[Any]:
        return [part["text"] for entry in chat(history, document) for part in entry["content"]]

    assert sent([*ANSWERED, compaction(first_kept_index=2)]) == ["S", "r"]
    assert sent([*ANSWERED, compaction(first_kept_index=9), user("n")])[0] == "S"
    called = [user("q"), answer(call("c1", "fast")), result("c1", "fast", "success", "x"), user("n")]
    assert sent([*called, compaction(first_kept_index=2)]) == ["S", "n"]


def test_a_compaction_by_line_counts_lines_that_do_not_decode() -> None:
    """The line wins over the index where there is one."""
    broken: Line = {"type": "Nobody", "data": {}}
    sent = chat(CURRENT, [user("q"), broken, user("r"), compaction(first_kept_index=0, first_kept_line=2)])
    assert [entry["content"][0]["text"] for entry in sent] == ["S", "r"]


def test_what_was_rewound_or_forked_is_told_to_the_model() -> None:
    """A rewind as a note to the message before it, a fork's summary as words of the user."""
    rewind = {"checkpoint_id": 1, "note": "n", "rationale": "r", "reverted_from_index": 3, "original_user_message": "q"}
    checkpoint = developer("<system-reminder>Checkpoint 1</system-reminder>")
    (asked,) = chat(CURRENT, [user("q"), checkpoint, user("x"), {"type": "RewindEntry", "data": rewind}])
    assert "Rationale: r. Summary: n." in asked["content"][1]["text"]
    fork = {"summary": "S", "source_session_id": "s", "source_pivot_index": 1, "source_message_count": 2}
    told = chat(CURRENT, [user("q"), {"type": "ForkSummaryEntry", "data": fork}])[1]["content"][0]["text"]
    assert told.startswith("The messages above are kept")
    assert told.endswith("S")


def test_an_answer_without_words_is_sent_to_chat_by_the_older_release_only() -> None:
    """From 2.34 it is left out; the other APIs get it as before."""
    history = [user("q"), answer(thought("hm"), stop="stop"), user("n")]
    assert len(chat(CURRENT, history)) == 2
    assert chat(MESSAGE_PARTS["message-parts/2.32"], history)[1] == {"role": "assistant"}


def test_images_of_results_wait_for_all_results() -> None:
    """From 2.33; before, a user message with them stood between two tool messages, which no API takes."""
    image = {"type": "image_url", "url": "https://e.x/a.png"}
    both = answer(call("c1", "fast"), call("c2", "slow"), stop="tool_use")
    came = [result("c1", "fast", "success", "x", image), result("c2", "slow", "success", "y", image)]
    roles = {
        name: [entry["role"] for entry in chat(MESSAGE_PARTS[name], [user("q"), both, *came])] for name in MESSAGE_PARTS
    }
    assert roles["message-parts/current"] == ["user", "assistant", "tool", "tool", "user", "user"]
    assert roles["message-parts/2.32"] == ["user", "assistant", "tool", "user", "tool", "user"]


A, B, X = thought("A"), thought("B"), text("X")
S, T = signature("S"), signature("T")


@pytest.mark.parametrize(
    ("parts", "sent"),
    [
        ([A, X, S], [("thinking", "A", "S"), ("text", "X")]),
        ([A, B, S, T], [("thinking", "A", "T"), ("thinking", "B", "S")]),
        ([A, B, S], [("text", "<thinking>\nA\n</thinking>"), ("thinking", "B", "S")]),
        ([A, S, B, T], [("thinking", "A", "S"), ("thinking", "B", "T")]),
        ([S, A], [("thinking", "", "S"), ("text", "<thinking>\nA\n</thinking>")]),
        ([A, call("c1", "fast"), S], [("thinking", "A", "S"), ("tool_use",)]),
    ],
)
def test_a_signature_consumes_the_nearest_thought_before_it(parts: list[Line], sent: list[tuple[str, ...]]) -> None:
    """Document 002, "Thinking pairing rule", by order and whatever stands between; no thought is lost."""
    blocks = anthropic(PLAN, [user("q"), answer(*parts)])[1]["content"]
    fields = ("type", "thinking", "text", "signature")
    assert [tuple(block[name] for name in fields if name in block) for block in blocks] == sent


def test_the_current_program_pairs_neighbours_only() -> None:
    """Driven: a text between a thought and its signature parts them, and the first of two unsigned thoughts is lost."""
    parted = anthropic(CURRENT, [user("q"), answer(A, X, S)])[1]["content"]
    assert [block.get("thinking", block.get("text")) for block in parted] == ["<thinking>\nA\n</thinking>", "X", ""]
    assert len(anthropic(CURRENT, [user("q"), answer(A, B, S)])[1]["content"]) == 1


def test_pairs_of_the_plan_are_the_same_for_every_api() -> None:
    """Responses: an item for each; Gemini: the signature on its thought."""
    google = {**S, "format": "google", "signature": "UzE="}
    items = PLAN.model_input([user("q"), answer(A, X, S)], "openai-responses")
    assert items[1] == {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "A"}],
        "encrypted_content": "S",
    }
    parts = PLAN.model_input([user("q"), answer(A, X, google)], "gemini")[1]["parts"]
    assert parts == [{"text": "A", "thought": True, "thoughtSignature": "UzE="}, {"text": "X"}]
