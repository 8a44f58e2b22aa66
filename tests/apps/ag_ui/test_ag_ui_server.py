"""A server that has nothing but AG-UI: one that is right passes, and what is wrong in one thing is found, and named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.apps.ag_ui.servers import DEFECTS, serving

from tpharness.apps.ag_ui.cases import INPUTS
from tpharness.apps.ag_ui.engine import run_posts
from tpharness.apps.ag_ui.options import PostOptions
from tpharness.clauses import load_wire_rules
from tpharness.findings import load_kinds
from tpharness.targets.remote import Patience
from tpharness.verdict import Outcome, ResultReady, RunFinished

WARM = "How warm is it in Paris?"
PAGE_TOOL = {"name": "show_map", "description": "Shows a map."}
QUICK = Patience(connect=5, answer=5, silence=5, total=30, settle=5)
IMPATIENT = {
    "is-busy": Patience(settle=0.1),
    "fails-on-left-calls": Patience(settle=0.1),
    "refuses-half-calls": Patience(settle=0.1),
    "hangs": Patience(silence=0.2),
    "only-comments": Patience(silence=0.2),
    "keeps-the-body-open": Patience(settle=0.2),
    "never-ends": Patience(total=0.2),
    "stops-answering": Patience(connect=0.1, answer=0.2),
}


def played(
    port: int,
    *,
    ids: Sequence[str] = (),
    patience: Patience = QUICK,
    prompts: tuple[str, ...] = (WARM, "Ask the page"),
    **more: Any,
) -> tuple[dict[str, Any], RunFinished]:
    """Play the cases; return the results by id, and the last event."""
    options = PostOptions(url=f"http://127.0.0.1:{port}/", prompts=prompts, ids=tuple(ids), patience=patience, **more)
    events = list(run_posts(options))
    results = {event.result.id: event.result for event in events if isinstance(event, ResultReady)}
    last = events[-1]
    assert isinstance(last, RunFinished)
    return results, last


def test_a_server_that_keeps_the_rules_passes() -> None:
    """The example, written from the specification alone: every place that it comes to, and every odd input."""
    with serving() as server:
        results, last = played(server.server_port, tools=[PAGE_TOOL])
    assert last.passed, {name: one.findings for name, one in results.items() if one.findings}
    assert [name for name, one in results.items() if one.findings] == []
    unplayed = {name.partition("/")[2] for name, one in results.items() if one.outcome is Outcome.NOT_APPLICABLE}
    assert unplayed == {"resolved", "in-thought", "one-result", "in-step", "in-subagent"}
    assert {"whole/1", "whole/2", "next/whole", "cut/in-arguments", "next/in-arguments", *INPUTS} <= results.keys()
    assert results["next/call-ended"].reason == (
        'the call without a result get_weather({"city": "Paris"}): the wire does not show what became of it'
    )


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_found(name: str) -> None:
    """By its finding, first in its case; nothing else is wrong in that case."""
    defect = DEFECTS[name]
    with serving(name) as server:
        results, _ = played(
            server.server_port,
            ids=["next/whole", *({defect.case} - {"whole/2"})],
            prompts=(WARM, "Ask the page") if defect.case == "whole/2" else (WARM,),
            patience=IMPATIENT.get(name, QUICK),
            tools=[PAGE_TOOL],
        )
    result = results[defect.case]
    assert {finding.code for finding in result.findings} == {defect.finding}, result
    fails = load_kinds()[defect.finding].level.name == "MUST"
    expected = Outcome.ERRORED if name == "stops-answering" else Outcome.FAILED if fails else Outcome.PASSED
    assert result.outcome is expected


def test_every_finding_about_a_server_has_a_server_that_shows_it() -> None:
    """And each rule that posts judge names the servers that break it."""
    found = {defect.finding for defect in DEFECTS.values()}
    codes = {code for code in load_kinds() if code.startswith("endpoint-")}
    assert codes <= found
    for rule in load_wire_rules().values():
        own = {code for code in rule.findings if code in codes}
        assert own == {code for code in codes if rule.id in load_kinds()[code].clauses}
        shown = {DEFECTS[name].finding for name in rule.violated_by if name in DEFECTS}
        assert shown == own, rule.id


def test_a_run_ends_when_nothing_listens_any_more() -> None:
    """What is left is not played, and the run has not passed."""
    with serving("dies") as server:
        results, last = played(server.server_port)
    assert not last.passed
    assert "nothing listens any more" in last.ended
    assert results["next/in-text"].outcome is Outcome.FAILED
    assert "input/no-lists" not in results


def test_what_the_user_gives_is_posted() -> None:
    """Headers, forwardedProps, state, tools and context: as they are, with each post."""
    given: dict[str, Any] = {
        "forwarded_props": {"tenant": "a", "nothing": None},
        "state": {"count": 1},
        "tools": [PAGE_TOOL],
        "context": [{"description": "today", "value": "Friday"}],
        "headers": {"Authorization": "Bearer tok-123456"},
    }
    with serving() as server:
        played(server.server_port, ids=["next/whole"], **given)
        posts = list(server.posted)
    assert len(posts) == 3
    for headers, posted in posts:
        assert headers["Authorization"] == "Bearer tok-123456"
        assert headers["Accept"] == "text/event-stream"
        assert posted["forwardedProps"] == given["forwarded_props"]
        assert posted["state"] == {"count": 1}
        assert posted["tools"] == [PAGE_TOOL]
        assert posted["context"] == given["context"]
        assert posted["protocolVersion"] == "1.0"
    first, second = posts[0][1], posts[2][1]
    assert first["threadId"] == second["threadId"]
    assert first["runId"] != second["runId"]
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "tool", "assistant", "user"]


def test_an_interrupt_is_resolved_where_its_payload_is_given() -> None:
    """By `resume`, with the id that the run has asked with; the page cancels it where the user writes on instead."""
    with serving() as server:
        asked: dict[str, Any] = {"prompts": ("Please book a room",), "ids": ["interrupt", "next/whole"]}
        results, last = played(server.server_port, resume={"approved": True}, **asked)
        posts = [posted for _, posted in server.posted]
        unsaid, _ = played(server.server_port, **asked)
        nothing, _ = played(server.server_port, ids=["interrupt"], resume={"approved": True})
    assert last.passed
    assert [name for name, one in results.items() if one.outcome is not Outcome.PASSED] == []
    resolved = [entry for posted in posts for entry in posted.get("resume", ()) if entry["status"] == "resolved"]
    assert [entry["payload"] for entry in resolved] == [{"approved": True}]
    assert len([entry for posted in posts for entry in posted.get("resume", ()) if entry["status"] == "cancelled"]) == 1
    assert "--resume FILE" in unsaid["interrupt/resolved"].reason
    assert "no run ends with an interrupt" in nothing["interrupt/resolved"].reason


def test_a_call_that_is_streamed_again_when_it_is_approved_is_found() -> None:
    """A page appends its arguments to those that it has."""
    with serving("streams-the-approved-call-again") as server:
        results, _ = played(
            server.server_port, prompts=("Please book a room",), ids=["interrupt"], resume={"approved": True}
        )
    found = results["interrupt/resolved"]
    assert (found.outcome, {one.code for one in found.findings}) == (Outcome.FAILED, {"ag-ui-history-streamed"})


def test_the_place_behind_each_event_is_played_where_it_is_asked_for() -> None:
    """`cut/event-*`: as many as the answer to a prompt has events, but for the last."""
    with serving() as server:
        results, last = played(server.server_port, ids=["cut/event-*"])
        ended = len([one for one in server.posted if one[1]["messages"][-1]["content"] == WARM])
    assert last.passed
    cuts = [name for name in results if name.startswith("cut/")]
    assert cuts == [f"cut/event-{number}" for number in range(15)]
    assert ended == 16
