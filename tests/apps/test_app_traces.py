"""The trace of a case on an application: what the model was told and said, the cut, the screen, and no secret."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.virtual_time import run_idly
from tests.apps.chat_app import ChatApp, Defect, running

from tpharness.apps.config import AppConfig
from tpharness.apps.effects import URL_VARIABLE
from tpharness.apps.engine import AppOptions, play_app
from tpharness.picture import applications_of_trace
from tpharness.report.trace import TraceReport
from tpharness.report.trace_lines import case_lines
from tpharness.trace.fates import fate, turn_facts
from tpharness.trace.format import Traced
from tpharness.trace.read import Trace
from tpharness.trace.secrets import secrets_of
from tpharness.trace.tool_times import tool_moments

IN_ARGUMENTS = "user-leaves/in-arguments"


async def _play(
    app: ChatApp, path: Path, traced: Traced, ids: tuple[str, ...], secrets: list[str], effects: str | None
) -> None:
    def ready(environment: dict[str, str]) -> None:
        app.base_url, app.api_key = environment["OPENAI_BASE_URL"], environment["OPENAI_API_KEY"]
        app.effects_url, app.environment = environment.get(URL_VARIABLE), environment

    report = TraceReport(path, traced, secrets=secrets)
    async with running(app) as port:
        config = AppConfig(
            name="chat",
            url=f"http://127.0.0.1:{port}/api/chat",
            history="last-message",
            allow=("book_hotel",),
            stop_within=0.4,
            concurrency=12,
            effects=effects,
        )
        async for event in play_app(AppOptions(config=config, ids=ids, on_ready=ready, record=True)):
            report.feed(event, server="chat", client="last-message")
    report.close()


def played(
    folder: Path, *ids: str, app: ChatApp, traced: Traced = Traced.FAILED, secrets: list[str] | None = None
) -> Trace:
    """Play cases on an application, and open the trace that they leave."""
    path = folder / "trace.zip"
    run_idly(_play(app, path, traced, ids, secrets or [], None))
    return Trace.open(path)


def test_a_trace_shows_what_the_model_said_the_user_saw_and_the_model_is_told(tmp_path: Path) -> None:
    """The application repairs half arguments: the user saw what was said, and the model is told something else.

    Every line fits the schema, or `case` would refuse it.
    """
    trace = played(tmp_path, IN_ARGUMENTS, "user-leaves/in-text", app=ChatApp(Defect.REPAIRS_ARGUMENTS))
    assert [entry.case for entry in trace.entries] == [IN_ARGUMENTS]  # the other one passes
    case = trace.case(IN_ARGUMENTS)
    cut, *following = case.turns
    assert (cut["cut"]["by"], cut["cut"]["pieces"]) == ("the user closes the tab", 7)
    assert ["cut" in turn for turn in following] == [False, False]
    assert [asked["outcome"] for asked in case.asked] == ["disconnected", "completed", "completed"]
    assert b'"inputTextDelta": "\\"Pa"}\n\n' in case.wires["client", 0].data
    text, call, result = turn_facts(case, cut)
    assert (text.shown.word, text.sent.word, text.whole) == ("whole", "whole", True)
    assert (call.said, call.whole) == ('book_hotel({"city":"Pa)', False)
    assert (call.shown.word, call.sent.word, call.sent.text) == ("whole", "other", "book_hotel({})")
    assert (result.said, result.sent.word, result.sent.text) == (None, "new", "interrupted")
    shown = "\n".join(line for _, line in case_lines(case))
    assert "CUT the user closes the tab, after 7 pieces of the model's answer" in shown
    assert "the model is told something else: book_hotel({})" in shown
    assert "arguments-invented" in shown.partition("the first turn")[0]


def test_a_request_is_shown_by_its_difference_from_the_one_before_it(tmp_path: Path) -> None:
    """What is not sent any more, what is new, and what has only moved; the rest is counted."""
    trace = played(tmp_path, "uncut/tool-call", app=ChatApp(Defect.REWORDS_RESULT), traced=Traced.ALL)
    shown = [line for _, line in case_lines(trace.case("uncut/tool-call"))]
    at = next(i for i, line in enumerate(shown) if line.endswith("it is sent, against request 2 of the first turn"))
    signs = [" ".join(line.split()[:3]) for line in shown[at + 1 : at + 6]]
    assert signs[0] == "… 3 messages"
    assert [sign[:6] for sign in signs[1:]] == ["- tool", "+ tool", "+ assi", "+ user"]
    first = next(line for line in shown if line.startswith("  request 1 to the model"))
    assert first.endswith("it is sent")


def test_all_traces_what_passes_too(tmp_path: Path) -> None:
    """And a case without a cut shows its turns."""
    ids = ("uncut/tool-call", "user-leaves/in-text")
    trace = played(tmp_path, *ids, app=ChatApp(), traced=Traced.ALL)
    assert sorted(entry.case for entry in trace.entries if entry.file) == sorted(ids)
    uncut = trace.case("uncut/tool-call")
    _, call, result = turn_facts(uncut, uncut.turns[0])
    assert (call.shown.word, call.sent.word) == ("whole", "whole")
    assert (result.shown.word, result.sent.word, result.is_result) == ("whole", "whole", True)


def test_when_a_tool_ran_stands_beside_what_its_user_did(tmp_path: Path) -> None:
    """The user leaves while it runs, and the model is sent its result on the next turn; without the ledger nothing."""
    name = "user-leaves/while-tool-runs"
    path = tmp_path / "ledger.zip"
    asyncio.run(_play(ChatApp(), path, Traced.ALL, (name,), [], "ledger"))  # the clock of the machine: times differ
    case = Trace.open(path).case(name)
    shown = "\n".join(line for _, line in case_lines(case)).partition("when the tools ran\n")[2]
    order = ["the first turn, request 1 to the model", "is answered, with a call of book_hotel", "of book_hotel starts"]
    order += ["of book_hotel has its effect", "CUT the user closes the tab", "with the result of"]
    places = [shown.find(words) for words in order]
    assert places == sorted(places)
    assert -1 not in places
    assert max(shown.find(f"of book_hotel is {state}") for state in ("completed", "cancelled")) > places[4]
    times = [float(line.split(" ms")[0]) for line in shown.splitlines() if " ms  " in line]
    assert times == sorted(times)
    ((_, page),) = applications_of_trace(Trace.open(path)).values()
    assert "CUT the user closes the tab" in page.partition("When the tools ran</caption>")[2]
    blind = played(tmp_path, "uncut/tool-call", app=ChatApp(), traced=Traced.ALL).case("uncut/tool-call")
    assert "when the tools ran" not in "\n".join(line for _, line in case_lines(blind))


def test_a_call_that_the_model_is_not_sent_any_more_is_named(tmp_path: Path) -> None:
    """Its tool has had its effect and was cancelled; the next request has neither the call nor its result."""
    name, path = "user-leaves/while-tool-runs", tmp_path / "ledger.zip"
    app = ChatApp(Defect.FORGETS_EFFECT, cancels_tools=True)
    asyncio.run(_play(app, path, Traced.FAILED, (name,), [], "ledger"))
    case = Trace.open(path).case(name)
    (run,) = case.tools
    words = [text for _, text in tool_moments(case)]
    assert f"the second turn, request 1 to the model, without the call {run['call_id']}" in words
    assert f"run {run['number']} of book_hotel has its effect" in words
    assert [text for text in words if "without" in text][1:] == []


def test_known_secrets_are_left_out(tmp_path: Path) -> None:
    """Headers that are sent, variables whose name says that they are secret: an application may repeat them."""
    sent = {"Authorization": "Bearer see-to-that", "Accept": "text/event-stream"}
    secrets = secrets_of(sent, {"MY_API_KEY": "travellers", "HOME": "right away"})
    assert sorted(secrets) == ["Bearer see-to-that", "see-to-that", "travellers"]
    app = ChatApp(Defect.REPAIRS_ARGUMENTS)
    trace = played(tmp_path, IN_ARGUMENTS, app=app, secrets=secrets)
    case = trace.case(IN_ARGUMENTS)
    (system, *_) = case.asked[0]["told"]
    assert system["text"] == "You help (left out)."
    assert "right away" in case.asked[0]["said"]


ODD: tuple[list[dict[str, Any]], ...] = (
    [{"role": "assistant", "parts": 7}],
    [{"role": "user", "parts": [{"type": "text", "text": 1}]}, {"role": "assistant", "parts": [None, "x"]}],
    [{"role": "assistant", "parts": [{"type": "text", "text": {}}, {"toolCallId": []}, {"toolCallId": "c"}]}],
    [{"role": {}, "parts": {}}, {}],
)


def test_a_screen_that_no_client_has_is_shown_all_the_same(tmp_path: Path) -> None:
    """Somebody else may have made the trace, and an application what its client holds."""
    case = played(tmp_path, IN_ARGUMENTS, app=ChatApp(Defect.REPAIRS_ARGUMENTS)).case(IN_ARGUMENTS)
    user = {"role": "user", "parts": [{"type": "text", "text": case.turns[0]["says"]}]}
    for screen in ODD:
        for odd in (screen, [user, *screen]):
            turns = [{**case.turns[0], "screen": odd}, case.turns[1]]
            assert "CUT the user closes the tab" in "\n".join(
                line for _, line in case_lines(replace(case, turns=turns))
            )


@pytest.mark.parametrize(
    ("said", "kept", "word"),
    [
        ("It is warm.", "It is warm. ", "whole"),
        ("It is warm.", "It is", "beginning"),
        ("It is warm.", None, "nothing"),
        ("It is warm.", " ", "nothing"),
        ("It is warm.", "It was", "other"),
        (None, "interrupted", "new"),
        (None, None, "nothing"),
        ('book({"a":1,"b":2})', 'book({"b": 2, "a": 1})', "whole"),
        ('book({"a":1})', 'look({"a":1})', "other"),
        ('book({"a)', "book({})", "other"),
        ('{"temp": 18}', '{"temp":18}', "whole"),
        ("[" * 3000, "[" * 2999, "beginning"),
    ],
)
def test_what_is_left_of_a_text(said: str | None, kept: str | None, word: str) -> None:
    """White space and the form of JSON do not count; a beginning does."""
    assert fate(said, kept).word == word


@pytest.mark.parametrize(
    ("kept", "shown", "told"),
    [
        ('book({"city": "Pa)', "beginning", "beginning"),
        ('book({"city": "Pa"})', "beginning", "other"),
        ('book({"city": "Paris", "rooms": [{"for": "tw"}]})', "beginning", "other"),
        ("book({})", "beginning", "other"),
        ("book()", "beginning", "beginning"),
        ('book({"city": "Rome"})', "other", "other"),
        ('book({"rooms": []})', "other", "other"),
        ('book({"city": "Pa", "rooms": []})', "other", "other"),
        ('book({"city": "Paris", "rooms": [{"for": "two"}, 1]})', "other", "other"),
        ('look({"city":"Pa)', "other", "other"),
    ],
)
def test_half_the_arguments_are_a_beginning_on_a_screen(kept: str, shown: str, told: str) -> None:
    """A client closes them to show them; a history that does so has arguments that the model did not write."""
    said = 'book({"city": "Paris", "rooms": [{"for": "two"}]})'
    assert fate(said, kept, shown=True).word == shown
    assert fate(said, kept).word == told
