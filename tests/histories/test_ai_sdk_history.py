"""The history `ai-sdk` is what the real package holds after a cut, page and server, and what it tells a model then."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.about import about
from tests.distribution import Sample
from tests.histories.cut_script import PLAYED, events_of
from tests.histories.message_parts.build import journal_of, scenario
from tests.histories.node_oracle import NodeOracle

import tpharness.peers
from tpharness.findings import Level
from tpharness.histories.ai_sdk import AI_SDK
from tpharness.histories.ai_sdk_model import model_messages
from tpharness.histories.langchain import UnsupportedError
from tpharness.histories.moments import case_moments, has_server
from tpharness.journal import UserTurn
from tpharness.model_apis.check import check_payload
from tpharness.resources import scenarios_dir
from tpharness.run.plan import base_case, make_script
from tpharness.run.select import SelectedScenario, select_scenarios
from tpharness.scenario import Scenario, load_scenario
from tpharness.targets.contract import RunScript
from tpharness.wires.vsp.partial_json import NOTHING, parse_partial_json

HISTORY = AI_SDK["ai-sdk"]
NEXT = {"id": "next", "role": "user", "parts": [{"type": "text", "text": "Go on."}]}
TOLD = {"model_request", "model_response_end", "part_start", "part_delta", "part_end", "agent_run_result"}
TOOLS = {"function_tool_call", "function_tool_result"}


@pytest.fixture(scope="module")
def package() -> Iterator[NodeOracle]:
    """The real package, in a program of its own for all tests of this module."""
    here = Path(__file__).parent / "ai_sdk"
    with NodeOracle("drive.mjs", scripts=here, packages=Path(tpharness.peers.__file__).parent / "ai_sdk") as program:
        yield program


def contents(messages: list[dict[str, Any]]) -> list[Any]:
    """Return roles and parts: ids are made up by whoever makes a message."""
    return [(message["role"], message["parts"]) for message in messages]


def ids(told: list[dict[str, Any]], kind: str) -> list[str]:
    """Return the ids of all calls, or of all results, of model messages."""
    parts = [part for message in told if isinstance(message["content"], list) for part in message["content"]]
    return sorted(part["toolCallId"] for part in parts if part["type"] == kind)


def question_of(played: Scenario) -> str | None:
    """Return the text with which a scenario of one run begins; None if it begins otherwise."""
    match make_script(base_case(played)).turns:
        case [UserTurn(parts=({"content": str(said)},)), RunScript()]:
            return said
    return None


def hold(package: NodeOracle, played: Scenario, at: int) -> None:
    """Compare one place: the page's messages, the server's, what the model is told of them, what is refused."""
    real = package.ask({"events": events_of(played), "at": at, "said": question_of(played)})
    document = HISTORY.store(journal_of(played, (at, "user_cancelled")))
    assert contents(document) == contents(real["client"]), at
    assert contents(document) == contents(real["server"]["kept"]), at
    assert model_messages([*document, NEXT]) == real["model"], at
    assert ids(real["complete"], "tool-call") == ids(real["complete"], "tool-result"), at
    payload = HISTORY.model_input(document, "openai-chat", next_user="Go on.")
    rules = {finding.code for finding in check_payload("openai-chat", payload) if finding.level is Level.MUST}
    assert real.get("error") == ("AI_MissingToolResultsError" if "chat-call-unanswered" in rules else None), at


@pytest.mark.node
def test_a_cut_leaves_what_the_package_holds(package: NodeOracle) -> None:
    """At each place of three runs."""
    for name, played in PLAYED.items():
        with about(name):
            for at in range(len(events_of(played)) + 1):
                hold(package, played, at)


def playable(played: Scenario) -> bool:
    """Whether the scripted model can say it: one run of texts, thoughts and calls, as one provider says them."""
    if question_of(played) is None:
        return False
    events = events_of(played)
    started = [event["part"] for event in events if event["event_kind"] == "part_start"]
    ids = [part["tool_call_id"] for part in started if part["part_kind"] == "tool-call"]
    return (
        bool(events)
        and events[0]["event_kind"] == "model_request"
        and {event["event_kind"] for event in events} <= TOLD | TOOLS
        and {part["part_kind"] for part in started} <= {"text", "thinking", "tool-call"}
        and len(ids) == len(set(ids))
        and not any("parts" in event for event in events)
    )


@pytest.mark.node
@pytest.mark.sampled
def test_every_place_of_every_run_that_the_package_can_play(package: NodeOracle, sample: Sample[Scenario]) -> None:
    """The scenarios about histories, each cut everywhere."""
    about_histories = select_scenarios(("histories/*",), (scenarios_dir(),))
    found = [load_scenario(one.path, root=one.root) for one in about_histories]
    runs = [played for played in found if has_server(played) and playable(played)]
    assert len(runs) > 20
    for played in sample(runs):
        with about(played.id):
            for at in range(len(events_of(played)) + 1):
                hold(package, played, at)


@pytest.mark.node
@pytest.mark.sampled
def test_the_model_is_told_what_the_package_tells_it(package: NodeOracle, sample: Sample[SelectedScenario]) -> None:
    """The messages of every scenario that can be held: files, steering messages, the provider's tools, turns."""
    chosen, held = sample(select_scenarios((), (scenarios_dir(),))), 0
    for one in chosen:
        for moment in case_moments(base_case(load_scenario(one.path, root=one.root))):
            try:
                document = HISTORY.store(moment.after)
            except UnsupportedError:
                continue
            assert model_messages([*document, NEXT]) == package.ask({"messages": document})["model"], one.id
            held += 1
    assert held > len(chosen) // 2


def with_slip(text: str, chance: random.Random) -> str:
    """Return a text with another character at one place."""
    place = chance.randrange(len(text) + 1)
    other = chance.choice('{}[]:,-+.eE09tfnul\\ "')
    return text[:place] + other + text[place + 1 :]


@pytest.mark.node
def test_input_that_streams_is_read_as_the_package_reads_it(package: NodeOracle) -> None:
    """Every beginning of texts with all kinds of values; and text that is not JSON, such as the same with slips."""
    whole = [
        '{"city": "Par\\u00e9is\\n\\"x\\" \\ud83d\\ude00", "n": -12.5e3, "l": [1, 2.5, true, null, {"a": []}]}',
        '{"": {"b": "c"}}',
        ' { "a" : [ 1 , 2 ] , "b" : "" } ',
        '[1,"a",[],{}]',
        "12.25e-2",
        "false",
        "[true, fal",
        '{"city": Paris',
        '{"a" 1}',
        "abc",
        "",
    ]
    beginnings = sorted({text[:end] for text in whole for end in range(len(text) + 1)})
    chance = random.Random(1)  # noqa: S311  # the same texts each time
    texts = [*beginnings, *(with_slip(chance.choice(beginnings), chance) for _ in range(2000))]
    ours = [[] if value is NOTHING else [value] for value in map(parse_partial_json, texts)]
    assert dict(zip(texts, ours, strict=True)) == dict(zip(texts, package.ask({"texts": texts}), strict=True))


def test_arguments_that_are_not_json_are_an_error_at_once() -> None:
    """Driven by hand with the package, which adds the words of its JSON parser."""
    document = HISTORY.store(journal_of(scenario("tools/args-not-json"), (5, "user_cancelled")))
    (call,) = document[-1]["parts"][1:]
    assert (call["state"], call["input"]) == ("output-error", '{"city": Par')
    assert call["errorText"].startswith("AI_InvalidToolInputError: Invalid input for tool a: AI_JSONParseError: ")


def test_what_its_agent_never_does_is_not_supported() -> None:
    """The model asked again before its calls have returned."""
    with pytest.raises(UnsupportedError, match="ai-sdk: the model is asked again"):
        HISTORY.store(journal_of(scenario("interruptions/goes-on-without-a-return")))


def test_an_answer_goes_on_in_the_message_that_waited() -> None:
    """What the run after an approval brings belongs to the call of the run before it."""
    (*_, last) = case_moments(base_case(scenario("recorded/ai-sdk/approval-approved")))
    document = HISTORY.store(last.after)
    assert [message["role"] for message in document] == ["user", "assistant"]
    states = [(part["type"], part.get("state")) for part in document[1]["parts"]]
    assert states == [
        ("step-start", None),
        ("text", "done"),
        ("tool-search", "output-available"),
        ("step-start", None),
        ("text", "done"),
    ]
