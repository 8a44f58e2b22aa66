"""docs/EVENTS.md has every event, part, delta and field of the schema, and says what the reference does."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import pytest
from scripts import events_page

from tpharness import assert_same_thread
from tpharness.clauses import load_clauses, load_rulings
from tpharness.resources import conformance_dir, scenarios_dir, schema_path
from tpharness.server_events import EventKind

PAGE: str = events_page.PAGE.read_text("utf-8")
EXAMPLES: list[dict[str, Any]] = [one for group in events_page.groups() for one in group["examples"]]
EVENTS: list[dict[str, Any]] = [event for one in EXAMPLES for event in one["events"]]
SCHEMA: dict[str, Any] = json.loads(schema_path("server-event").read_text("utf-8"))


def test_the_page_is_what_the_script_makes() -> None:
    """`python scripts/events_page.py` changes nothing."""
    assert events_page.render() == PAGE, "run python scripts/events_page.py, and read the difference"


def kinds_of(schema: dict[str, Any], tag: str) -> Iterator[tuple[str, set[str]]]:
    """Yield the kinds that a schema names under `tag`, each with the fields that it states for that kind."""
    for rule in schema["allOf"]:
        named = rule["if"]["properties"][tag]
        for kind in named.get("enum") or [named["const"]]:
            yield kind, set(rule["then"].get("properties", ()))


def fields_of(objects: list[Any], tag: str) -> dict[str, set[str]]:
    """Return the fields that objects of each kind have somewhere."""
    found: dict[str, set[str]] = {}
    for one in objects:
        found.setdefault(one[tag], set()).update(one)
    return found


def test_every_kind_of_event_has_an_example_with_every_field() -> None:
    """Those that the schema names, and those that have no fields of their own."""
    shown = fields_of(EVENTS, "event_kind")
    assert set(shown) == {kind.value for kind in EventKind}
    for kind, fields in kinds_of(SCHEMA, "event_kind"):
        assert fields <= shown[kind], kind
    assert set(SCHEMA["properties"]) <= set().union(*shown.values())


@pytest.mark.parametrize(
    ("definition", "tag", "holder"), [("response_part", "part_kind", "part"), ("delta", "part_delta_kind", "delta")]
)
def test_every_kind_of_part_and_delta_has_an_example_with_every_field(definition: str, tag: str, holder: str) -> None:
    """And so has a kind of the application's own."""
    shown = fields_of([e[holder] for e in EVENTS if e["event_kind"].startswith("part_") and holder in e], tag)
    for kind, fields in kinds_of(SCHEMA["$defs"][definition], tag):
        assert fields <= shown[kind], kind
    if definition == "response_part":
        assert any(kind.startswith("custom:") for kind in shown)


def test_every_field_and_outcome_of_a_result_has_an_example() -> None:
    """And so has every kind of part of a request, but for returns, which come with their results."""
    results = [event["part"] for event in EVENTS if event["event_kind"].endswith("tool_result")]
    assert set(SCHEMA["$defs"]["result"]["properties"]) <= {name for part in results for name in part}
    words = re.search(r"`outcome` is (.*?) \(R22", SCHEMA["$defs"]["result"]["description"])
    assert words is not None
    assert set(re.split(r", | or ", words[1])) == {part["outcome"] for part in results if "outcome" in part}
    assert {"tool-return", "retry-prompt"} <= {part.get("part_kind") for part in results}
    calls = [event["part"] for event in EVENTS if event["event_kind"].endswith("tool_call")]
    assert set(SCHEMA["$defs"]["call"]["properties"]) <= {name for part in calls for name in part}
    files = [
        e["part"]["content"] for e in EVENTS if e["event_kind"] == "part_start" and e["part"]["part_kind"] == "file"
    ]
    rule = next(
        one
        for one in SCHEMA["$defs"]["response_part"]["allOf"]
        if one["if"]["properties"]["part_kind"]["const"] == "file"
    )
    assert set(rule["then"]["properties"]["content"]["properties"]) <= {name for one in files for name in one}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one["title"])
def test_with_carriers_both_sides_hold_the_thread_that_the_page_shows(example: dict[str, Any]) -> None:
    """Carriers say all that the chunks do not."""
    played = events_page.play(example, carriers=True)
    assert_same_thread(played.server, played.client)
    assert played.server == events_page.play(example, carriers=False).server


def test_every_example_is_decided_by_something_that_exists() -> None:
    """And so is each answer; the goldens beside them exist, and are those of scenarios."""
    known = {*load_rulings(), *load_clauses()}
    for example in EXAMPLES:
        assert example["decides"], example["title"]
        assert set(example["decides"]) <= known, example["title"]
    assert set(re.findall(r"\bR\d+\b", PAGE)) <= known
    answers = PAGE.partition("## What is easily guessed wrongly")[2].partition("## How to read")[0]
    rows = [line.strip("|").split(" | ") for line in answers.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 10
    for _, _, decided, goldens in rows:
        assert set(re.findall(r"`([^`]+)`", decided)) <= known
        for name in re.findall(r"`([^`]+)`", goldens):
            assert (conformance_dir() / "golden" / f"{name}.json").is_file(), name
            assert (scenarios_dir() / f"{name}.yaml").is_file(), name


def messages(name: str) -> list[dict[str, Any]]:
    """Return the messages of the agent's turn in a golden."""
    golden = json.loads((conformance_dir() / "golden" / f"{name}.json").read_text("utf-8"))
    found: list[dict[str, Any]] = next(turn for turn in golden["turns"] if turn["turn_type"] == "agent")["messages"]
    return found


def test_the_goldens_are_what_the_answers_say() -> None:
    """Judged without the reference."""
    thinking, text, *_ = messages("parts/ids-of-the-provider")[0]["parts"]
    assert (thinking["thinking_id"], thinking["provider_name"], text["id"]) == ("rs_1", "openai", "msg_1")
    foreign, plain, builtin, _, call = messages("stream/metadata-of-other-frameworks")[0]["parts"]
    assert (foreign["provider_name"], foreign["signature"], "thinking_id" in foreign) == ("openai", "s-1", False)
    assert builtin["provider_name"] == "openai"
    assert not {"id", "provider_name"} & {*plain, *call}
    file = messages("parts/file-without-an-identifier")[0]["parts"][0]["content"]
    digest = hashlib.sha1(b64decode(file["data"]), usedforsecurity=False).hexdigest()
    assert file["identifier"] == digest[:6]
    kept = [part["part_kind"] for part in messages("cycles/call-without-its-end")[0]["parts"]]
    assert kept == ["text", "tool-call"]
    assert [part["content"] for part in messages("cycles/open-part-at-finish")[0]["parts"]] == ["Whole"]
    assert [one["event_type"] for one in messages("events/source-after-its-step")] == ["data-tp-thread_spawn"]
    assert messages("interruptions/error-mid-text")[-1]["event_data"].keys() == {"error"}
    turns = json.loads((conformance_dir() / "golden/threads/usage-told-again-by-the-result.json").read_text("utf-8"))[
        "turns"
    ]
    responses = [one for one in turns[1]["messages"] if one["message_type"] == "response"]
    parts = messages("parts/provider-return-without-names")[0]["parts"]
    assert {(one["tool_name"], one["provider_name"]) for one in parts} == {("web_search", "acme")}
    assert [one["content"] for one in messages("parts/provider-returns-twice")[0]["parts"][1:]] == [{"hits": 1}, "One"]
    files = [one["content"] for one in messages("parts/file-in-the-other-alphabet")[0]["parts"]]
    assert [one["data"] for one in files] == ["-_8=", "-_8", "+/8="]
    digest = hashlib.sha1(bytes([0xFB, 0xFF]), usedforsecurity=False).hexdigest()
    assert {one["identifier"] for one in files} == {digest[:6]}
    steered = [one["message_type"] for one in messages("threads/same-words-after-the-first-answer")]
    assert steered == ["response", "request", "response"]
    assert {one["agent_id"] for one in messages("threads/agent-changes-before-anything")} == {"other"}
    assert turns[1]["total_usage"]["input_tokens"] == sum(one["usage"]["input_tokens"] for one in responses)


def test_links_of_the_table_lead_to_their_examples() -> None:
    """A title has letters, spaces and hyphens alone, so that every generator makes the same anchor of it."""
    for example in EXAMPLES:
        assert re.fullmatch(r"[A-Za-z][A-Za-z -]*", example["title"]), example["title"]
    titles = [example["title"] for example in EXAMPLES]
    assert len(set(titles)) == len(titles)
    heads = {events_page.anchor(line[4:]) for line in PAGE.splitlines() if line.startswith("### ")}
    assert set(re.findall(r"\(#([^)]+)\)", PAGE)) <= heads


@pytest.mark.parametrize("text", ['{"x": NaN}', "-Infinity", "[Infinity]", "[1, -1e999]"])
def test_arguments_with_a_number_that_json_does_not_have_stay_text(text: str) -> None:
    """R12, R38: Python reads such text as numbers, which nothing can write again; 1e999 is infinite there, too."""
    call = {"part_kind": "tool-call", "tool_name": "book", "tool_call_id": "c1", "args": text}
    example = {"events": [{"event_kind": "part_start", "index": 0, "part": call}, {"event_kind": "agent_run_result"}]}
    played = events_page.play(example)
    for thread in (played.server, played.client):
        assert thread["turns"][1]["messages"][0]["parts"][0]["args"] == text
    inputs = [chunk for _, sent in played.events for chunk in sent if chunk["type"] == "tool-input-available"]
    assert [chunk["input"] for chunk in inputs] == [text]


def _call(number: int) -> dict[str, Any]:
    part = {"part_kind": "tool-call", "tool_name": "book", "tool_call_id": f"c{number}", "args": "{}"}
    return {"event_kind": "part_start", "index": number, "part": part}


def _returned(number: int) -> dict[str, Any]:
    part = {"part_kind": "tool-return", "tool_name": "book", "tool_call_id": f"c{number}", "content": "ok"}
    return {"event_kind": "function_tool_result", "part": part}


_TEXT = {"event_kind": "part_start", "index": 0, "part": {"part_kind": "text", "content": "Hi"}}
_ERROR = {"event_kind": "error", "error_text": "boom"}


def test_every_input_of_a_response_comes_before_any_output_of_it() -> None:
    """The page says so of a sibling, too."""
    played = events_page.play({"events": [_call(1), _call(2), _returned(1), _returned(2)]})
    sent = [(c["type"], c["toolCallId"]) for _, some in played.events for c in some if "toolCallId" in c]
    whole = [one for one in sent if one[0] in ("tool-input-available", "tool-output-available")]
    inputs = [("tool-input-available", "c1"), ("tool-input-available", "c2")]
    assert whole == [*inputs, ("tool-output-available", "c1"), ("tool-output-available", "c2")]
    assert "with it those of all calls of the response, before the output of any of them" in PAGE


def test_another_agent_after_an_error_completes_the_turn() -> None:
    """The run goes on, so the error has not ended it."""
    example = {"events": [_TEXT, _ERROR, {"event_kind": "agent_start", "agent_id": "b"}, _TEXT]}
    played = events_page.play(example, carriers=True)
    for thread in (played.server, played.client):
        first = thread["turns"][1]
        assert first["completion_status"] == "complete"
        assert first["messages"][-1]["event_type"] == "data-tp-error"
    assert "after `error` too, since the run goes on" in PAGE


@pytest.mark.parametrize(
    ("reason", "interrupts", "sent"), [("interrupted", True, "interrupted"), ("weird", False, "other")]
)
def test_a_result_without_a_reason_has_that_of_the_last_response(reason: str, interrupts: bool, sent: str) -> None:
    """`interrupted` interrupts; the finish reason `error`, which any other word becomes, does not."""
    ended = {"event_kind": "part_end", "index": 0, "part": _TEXT["part"]}
    end = {"event_kind": "model_response_end", "finish_reason": reason}
    played = events_page.play({"events": [_TEXT, ended, end, {"event_kind": "agent_run_result"}]})
    assert played.events[-1][1][-1] == {"type": "finish", "finishReason": sent}
    for thread in (played.server, played.client):
        assert ("interruption" in thread["turns"][1]) is interrupts
    assert "A result that names no reason has that of the last response" in PAGE
    assert "no error of the run (R27): it does not interrupt the turn" in PAGE


def test_the_id_of_a_file_of_a_thought_is_on_the_stream() -> None:
    """And in both threads."""
    content = {"kind": "binary", "media_type": "image/png", "data": "aGk=", "identifier": "c22b5f"}
    part = {"part_kind": "custom:reasoning-file", "id": "f1", "content": content}
    played = events_page.play({"events": [{"event_kind": "part_start", "index": 0, "part": part}]})
    (chunk,) = [one for _, some in played.events for one in some if one["type"] == "reasoning-file"]
    assert chunk["providerMetadata"] == {"pydantic_ai": {"id": "f1"}}
    for thread in (played.server, played.client):
        assert thread["turns"][1]["messages"][0]["parts"][0]["id"] == "f1"
    assert "in which its id travels as that of a file does" in PAGE


def test_a_reference_is_a_content_in_the_oldest_version() -> None:
    """And stays beside it; the golden of the suite shows both."""
    golden = json.loads((conformance_dir() / "golden" / "tools" / "content-ref@2.0.0.json").read_text("utf-8"))
    parts = [p for turn in golden["turns"] for m in turn.get("messages", ()) for p in m.get("parts", ())]
    (one,) = [part for part in parts if "content_ref" in part]
    assert one["content"] == one["content_ref"]
    assert "the content of such a return is the reference, and `content_ref` stays beside it" in PAGE
