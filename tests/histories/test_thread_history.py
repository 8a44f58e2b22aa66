"""ThreadProtocol's versions as histories: the rendered thread, and what is shown, sent and held of it."""

from __future__ import annotations

import pytest
from tests.histories.message_parts.build import inline, journal_of, scenario

from tpharness.dialects.contract import ThreadHeader
from tpharness.findings import Level
from tpharness.histories.projections import CallContent, ResultContent, TurnContent
from tpharness.histories.registry import HISTORIES, OTHER_HISTORIES, all_names, find_histories
from tpharness.histories.thread_history import THREADS, ThreadHistory
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.registry import API_NAMES
from tpharness.protocol.rules import check_thread
from tpharness.protocol.versions import Version

NEWEST = THREADS["0.0.4"]


@pytest.mark.parametrize("name", ["histories/k02-thinking-call-and-answer", "histories/k14-between-result-and-answer"])
@pytest.mark.parametrize("history", THREADS.values(), ids=lambda h: h.name)
def test_the_document_is_a_thread(history: ThreadHistory, name: str) -> None:
    """A valid one of its version, also without a header: the agents that ran are its registry."""
    document = history.store(journal_of(scenario(name)))
    assert document["version"] == history.name
    assert not [finding for finding in check_thread(document) if finding.level is Level.MUST]
    assert list(document["agents"]) == ["assistant"]


def test_a_header_of_the_caller_is_used() -> None:
    """Its id, its time and its registry."""
    header = ThreadHeader(thread_id="t-9", created_at="2025-01-01T00:00:00Z", agents={"a": {"agent_id": "a"}})
    document = ThreadHistory(version=Version.V0_0_4, header=header).store(
        journal_of(scenario("histories/k01-text-only"))
    )
    assert (document["thread_id"], list(document["agents"])) == ("t-9", ["a"])


def test_what_a_thread_holds_is_counted_from_its_messages() -> None:
    """K02: thinking with its signature, texts of both responses, the call with parsed arguments, the usage."""
    (turn,) = NEWEST.turn_contents(NEWEST.store(journal_of(scenario("histories/k02-thinking-call-and-answer"))))
    assert turn == TurnContent(
        texts=("check", "done"),
        thinking=("hmm",),
        signatures=("sig",),
        calls=(CallContent(call_id="c1", name="fast", arguments='{"city":"Paris"}'),),
        results=(ResultContent(call_id="c1", outcome="success", content="sunny"),),
        usage=True,
    )


def test_an_interrupted_turn_that_is_kept_says_so() -> None:
    """K14 in 0.0.4; 0.0.3 has no such turn (R18)."""
    journal = journal_of(scenario("histories/k14-between-result-and-answer"))
    assert [turn.interrupted for turn in NEWEST.turn_contents(NEWEST.store(journal))] == [True]
    assert THREADS["0.0.3"].turn_contents(THREADS["0.0.3"].store(journal)) == []


def test_a_failed_tool_is_held_as_an_error() -> None:
    """K13 and a retry prompt are both no success (R22)."""
    (turn,) = NEWEST.turn_contents(NEWEST.store(journal_of(scenario("histories/k13-tool-times-out"))))
    assert [result.outcome for result in turn.results] == ["error"]
    retried = inline(
        "  - user: q\n"
        "  - steps:\n"
        "      - response: [{call: a, id: c1, args: {}}]\n"
        "      - returns: {c1: {retry_prompt: again}}\n"
        "      - response: [{text: done}]\n"
    )
    (turn,) = NEWEST.turn_contents(NEWEST.store(journal_of(retried)))
    assert [(result.outcome, result.content) for result in turn.results] == [("error", "again")]


def test_a_replay_shows_parts_in_order_and_the_interruption_last() -> None:
    """What the user said, the call, its return, and that it was cut."""
    shown = NEWEST.replay(NEWEST.store(journal_of(scenario("histories/k14-between-result-and-answer"))))
    assert [event["event"] for event in shown] == ["user", "tool-call", "tool-return", "interruption"]
    assert shown[-1]["reason"] == "user_cancelled"
    assert shown[0]["parts"][0]["content"] == "q"


def test_a_replay_shows_the_facts_beside_the_messages() -> None:
    """The error that interrupted the turn is an event of the thread."""
    shown = NEWEST.replay(NEWEST.store(journal_of(scenario("histories/k12-model-call-fails"))))
    assert [event["event"] for event in shown] == ["user", "system", "interruption"]
    assert shown[1]["event_type"] == "data-tp-error"


@pytest.mark.parametrize("provider", API_NAMES)
def test_the_model_gets_the_thread_and_what_the_user_says_next(provider: str) -> None:
    """As Pydantic AI would send it; every API takes it."""
    document = NEWEST.store(journal_of(scenario("histories/k14-between-result-and-answer")))
    payload = NEWEST.model_input(document, provider, next_user="Go on.")
    assert "Go on." in str(payload)
    assert not [f for f in check_payload(provider, payload) if f.level is Level.MUST]


def test_a_family_name_means_its_variants_and_a_full_name_one() -> None:
    """Names as `--dialect` takes them; what nothing is called names nothing."""
    assert [h.name for h in find_histories("langchain")] == [
        *("langchain/documented", "langchain/repaired", "langchain/js"),
    ]
    assert [h.name for h in find_histories("message-parts/plan")] == ["message-parts/plan"]
    assert [h.name for h in find_histories("0.0.4")] == ["0.0.4"]
    assert find_histories("0.0.4", OTHER_HISTORIES) == find_histories("lang") == find_histories("") == []
    assert list(HISTORIES)[:3] == ["0.0.4", "0.0.3", "2.0.0"]
    assert all_names() == [
        *("0.0.4", "0.0.3", "2.0.0", "message-parts", "message-parts/plan"),
        *("message-parts/2.32", "message-parts/current"),
        *("langchain", "langchain/documented", "langchain/repaired", "langchain/js"),
        *("langgraph", "pydantic-ai", "ai-sdk"),
        *("chimera", "chimera/python", "chimera/typescript", "openai-agents"),
        *("openai-agents-js", "openai-agents-js/session", "openai-agents-js/list"),
        *("google-adk", "google-adk/left", "google-adk/aborted"),
        *("strands", "strands/left", "strands/cancel", "agno"),
        *("agent-framework", "agent-framework/run", "agent-framework/call"),
    ]


@pytest.mark.parametrize("history", HISTORIES.values(), ids=lambda h: h.name)
def test_every_history_reads_back_what_it_wrote(history: object) -> None:
    """Through its own codec; a history that waits for tools has nothing before they have returned."""
    again = HISTORIES[history.name]  # type: ignore[attr-defined]
    waits = again.name == "strands/cancel"
    played = "histories/l-11-in-the-final-text" if waits else "histories/k09-second-of-two-runs"
    document = again.store(journal_of(scenario(played)))
    assert again.loads(again.dumps(document)) == document
