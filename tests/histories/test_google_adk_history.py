"""The histories `google-adk`: what a stop leaves in the session, and what the next request leaves out of it.

Driven by hand with google-adk 2.13.0; `google_adk/oracle_google_adk.py` holds every place to the package.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.histories.message_parts.build import inline, journal_of, scenario

from tpharness.errors import UsageError
from tpharness.histories.google_adk import GOOGLE_ADK
from tpharness.histories.langchain import UnsupportedError

LEFT, ABORTED = GOOGLE_ADK["google-adk/left"], GOOGLE_ADK["google-adk/aborted"]
BESIDE = """
  - user: Book and pay.
  - steps:
      - response: [{text: Both.}, {call: book, id: c1, args: {}}, {call: pay, id: c2, args: {}}]
      - {start_tools: true}
      - returns: {c1: booked}
        label: booked
    interrupt: {reason: user_cancelled, after: booked}
"""
CUT = """
  - user: q
  - steps:
      - response: [{call: book, id: c1, args: {}}]
      - {start_tools: true, label: runs}
    interrupt: {reason: user_cancelled, after: runs}
"""
AGAIN = """
  - user: Again.
  - steps:
      - response: [{call: book, id: c1, args: {}}]
      - returns: {c1: {room: 7}}
      - response: [{text: Done.}]
"""


def sent(history: Any, turns: str) -> list[tuple[str, list[Any]]]:
    """Return the contents of the next request: their role, and what each part is."""
    contents = history.model_input(history.store(journal_of(inline(turns))), "gemini", next_user="Go on.")
    return [(content["role"], [_short(part) for part in content["parts"]]) for content in contents]


def _short(part: dict[str, Any]) -> Any:
    if "functionCall" in part:
        return f"{part['functionCall']['name']}()"
    return part["functionResponse"]["response"] if "functionResponse" in part else part["text"]


def test_a_run_that_was_left_has_its_calls_and_the_next_request_has_not() -> None:
    """Not even that of the tool that had returned; what was said beside them stays."""
    assert sent(LEFT, BESIDE) == [("user", ["Book and pay."]), ("model", ["Both."]), ("user", ["Go on."])]
    (turn,) = LEFT.turn_contents(LEFT.store(journal_of(inline(BESIDE))))
    assert ([call.name for call in turn.calls], turn.results, turn.interrupted) == (["book", "pay"], (), False)


def test_an_aborted_run_answers_each_call_with_the_same_error() -> None:
    """Also that of the tool that had returned."""
    error = {"error": "Invocation was aborted by client."}
    assert sent(ABORTED, BESIDE)[1:3] == [("model", ["Both.", "book()", "pay()"]), ("user", [error, error])]
    (turn,) = ABORTED.turn_contents(ABORTED.store(journal_of(inline(BESIDE))))
    assert ([result.outcome for result in turn.results], turn.interrupted) == (["aborted", "aborted"], True)


def test_a_call_whose_id_comes_again_counts_as_answered() -> None:
    """That of the run that was left goes alone; an abort has answered it."""
    assert sent(LEFT, CUT + AGAIN)[1:3] == [("model", ["book()"]), ("user", ["Again."])]
    assert sent(LEFT, CUT)[1:] == [("user", ["Go on."])]
    assert [role for role, _ in sent(ABORTED, CUT + AGAIN)[:4]] == ["user", "model", "user", "user"]


def test_what_the_model_has_said_last_may_still_be_answered() -> None:
    """Without a message behind it an open call stays."""
    document = LEFT.store(journal_of(inline(CUT)))
    assert [content["role"] for content in LEFT.model_input(document, "gemini")] == ["user", "model"]


def test_thoughts_are_sent_with_what_was_said_and_alone_only_with_a_signature() -> None:
    """K02; a thought alone has nothing to be sent for."""
    (_, said, *_) = LEFT.store(journal_of(scenario("histories/k02-thinking-call-and-answer")))
    assert said["content"]["parts"] == [
        {"text": "hmm", "thought": True},
        {"text": "", "thought": True, "thoughtSignature": "sig"},
        {"text": "check"},
        {"functionCall": {"id": "c1", "name": "fast", "args": {"city": "Paris"}}},
    ]
    thinks = "  - user: q\n  - steps: [{response: [{thinking: hm}]}]\n"
    assert sent(LEFT, thinks) == [("user", ["q"]), ("user", ["Go on."])]


def test_a_model_that_fails_leaves_an_event_however_the_run_is_stopped() -> None:
    """K12: without content, so that no request has it."""
    journal = journal_of(scenario("histories/k12-model-call-fails"))
    for history in (LEFT, ABORTED):
        document = history.store(journal)
        assert document[-1] == {"author": "agent", "errorCode": "ConnectionError"}
        assert history.turn_contents(document)[-1].interrupted
        assert len(history.model_input(document, "gemini")) == len(document) - 1


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("interruptions/goes-on-without-a-return", "the model is asked again"),
        ("tools/args-not-json", "no arguments that are not an object"),
        ("histories/k13-tool-times-out", "a tool that raises ends the run"),
        ("histories/l-15-run-again-without-a-user", "a run begins with a message of the user"),
        ("parts/user-content-of-every-kind", "what a user sends with files"),
    ],
)
def test_what_was_not_played_is_not_supported(name: str, why: str) -> None:
    """With the reason."""
    with pytest.raises(UnsupportedError, match=why):
        LEFT.store(journal_of(scenario(name)))


def test_it_writes_for_gemini() -> None:
    """The package's own classes for other APIs were not played."""
    with pytest.raises(UsageError, match="google-adk/left writes no requests for openai-chat"):
        LEFT.model_input([], "openai-chat")
