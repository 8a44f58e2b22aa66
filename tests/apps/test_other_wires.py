"""Applications on a wire that has no calls, or under a profile that their user wrote: what is said, and what is not."""

from __future__ import annotations

import pytest
from tests.apps.ag_ui_app import AgUiApp, Stream
from tests.apps.chat_app import Defect
from tests.apps.page_app import PageApp
from tests.apps.playing import codes_of, play

from tpharness.apps.client.text_stream import TextStream
from tpharness.errors import UsageError
from tpharness.verdict import Outcome, Result

OWN = "python:tests.apps.own_profiles"


def found(results: list[Result]) -> dict[str, set[str]]:
    """Return the codes of every case with findings, those of a policy too."""
    return {one.id: {finding.code for finding in one.findings} for one in results if one.findings}


def test_a_stream_of_plain_text_is_read() -> None:
    """That it shows no calls is said once, of a run that nobody cut; cuts are judged as on any other wire."""
    results = play(PageApp(plain=True), "uncut", "user-leaves", history="ai-sdk-text", effects="ledger")
    assert codes_of(results) == set()
    assert found(results) == {"uncut/tool-call": {"calls-not-on-the-wire"}}
    played = {one.id for one in results if one.outcome is Outcome.PASSED}
    assert {"user-leaves/in-text", "user-leaves/while-tool-runs"} <= played


def test_half_a_text_is_posted_as_the_page_has_it() -> None:
    """A model that is told something else than was shown is found on this wire, too."""
    (result,) = play(PageApp(plain=True), "user-leaves/in-text", history="ai-sdk-text")
    assert result.outcome is Outcome.PASSED


@pytest.mark.parametrize("pieces", [[b"Hel", b"lo"], [b"H\xc3", b"\xa9"], []])
def test_a_text_is_read_however_it_is_split(pieces: list[bytes]) -> None:
    """As `transformTextToUiMessageStream` of `ai` 7 has it: a step, a text, a finish."""
    stream = TextStream()
    chunks = [chunk for piece in pieces for chunk in stream.feed(piece)]
    chunks += stream.close()
    text = "".join(chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta")
    assert text == b"".join(pieces).decode()
    kinds = [chunk["type"] for chunk in chunks if chunk["type"] != "text-delta"]
    assert kinds == ["start", "start-step", "text-start", "text-end", "finish-step", "finish"]


def test_nothing_is_said_under_a_profile_that_leaves_events_out() -> None:
    """The run ends after one case, and names the events that came to nothing."""
    results = play(PageApp(), "basic", history=f"{OWN}:WithoutCalls", effects="ledger")
    (result,) = results
    (finding,) = result.findings
    assert (result.id, result.outcome, finding.code) == ("uncut/tool-call", Outcome.ERRORED, "profile-misreads")
    assert "effect-forgotten" in str(finding.got)
    assert "1 tool-input-available" in str(finding.got)


def test_a_profile_that_reads_everything_is_judged_as_ours_is() -> None:
    """Nothing else is found than with the AI SDK's own profile."""
    results = play(PageApp(), "basic", history=f"{OWN}:Whole", effects="ledger")
    assert codes_of(results) == codes_of(play(PageApp(), "basic", history="ai-sdk", effects="ledger"))
    assert len(results) > 1


def test_a_run_of_ag_ui_that_hides_its_failure_is_found() -> None:
    """The model was away, and the run ends with RUN_FINISHED; one that ends with RUN_ERROR is right."""
    right = play(AgUiApp(), "model-fails", history="ag-ui", effects="ledger")
    assert not codes_of(right)
    hides = play(AgUiApp(Stream.PLAIN, Defect.HIDES_FAILURE), "model-fails", history="ag-ui", effects="ledger")
    assert "failure-as-finish" in codes_of(hides)


def test_a_wire_without_calls_is_a_property_and_cuts_are_judged_beside_it() -> None:
    """Said once; half the words that an application makes up are found all the same."""
    results = play(PageApp(), "basic", history=f"{OWN}:Facade", effects="ledger")
    assert found(results) == {"uncut/tool-call": {"calls-not-on-the-wire"}}
    assert len([one for one in results if one.outcome is Outcome.PASSED]) == len(results)
    broken = play(PageApp(Defect.HIDES_FAILURE), "model-fails", history=f"{OWN}:Facade", effects="ledger")
    assert "failure-as-finish" in codes_of(broken)


def test_a_method_of_a_profile_that_does_not_work_is_named_with_its_case() -> None:
    """Which of sixty cases called it says what the method was not written for."""
    where = r"^uncut/tool-call: tests\.apps\.own_profiles\.Forgets\.body cannot be used: TypeError: it returned None"
    with pytest.raises(UsageError, match=where) as raised:
        play(PageApp(), "uncut/tool-call", history=f"{OWN}:Forgets")
    assert raised.value.hint.startswith("body(chat, trigger) returns a dict")
