"""Every example of the three documents, in `source_examples.yaml`: accepted, or told what a named ruling says of it."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tpharness.clauses import load_rulings
from tpharness.cli.app import app
from tpharness.findings import Level, load_kinds
from tpharness.protocol.canonical import canonical_thread, thread_hash
from tpharness.protocol.compare import same_content
from tpharness.protocol.history import check_history, model_history
from tpharness.protocol.migrate import convert
from tpharness.protocol.reading import check_as_read, fill_agents
from tpharness.protocol.rules import check_thread
from tpharness.protocol.versions import Version
from tpharness.scenario.outline import outline
from tpharness.suite_yaml import load_suite_yaml

EXAMPLES: list[dict[str, Any]] = load_suite_yaml(Path(__file__).parent / "source_examples.yaml")
FOLDED = ("chunks", "sse", "server-events")
DOCUMENTS = [example for example in EXAMPLES if example["kind"] not in FOLDED]
STREAMS = [example for example in EXAMPLES if example["kind"] in FOLDED]
_CALL_ID = re.compile(r"(?:(?<=-call)|(?<=-return)):[^ )]+")
AGENTS = ("agent_001", "agent_002", "agent-A", "agent-B", "assistant")


def at(second: int) -> str:
    """Return a time in the examples' minute."""
    return f"2025-01-20T10:00:{second:02d}Z"


def filled(example: dict[str, Any]) -> dict[str, Any]:
    """Return the thread that an example is, or is a fragment of: what it leaves out is the most ordinary value."""
    value, kind = example["value"], example["kind"]
    if kind == "thread":
        return dict(value)
    if kind == "events":
        value = [{"message_type": "system", **event} for event in value]
    turns = value if kind == "turns" else [{"turn_type": "agent", "messages": value}]
    return {
        "version": example["version"],
        "thread_id": "550e8400-e29b-41d4-a716-446655440000",
        "created_at": at(0),
        "updated_at": at(30),
        "agents": {name: {"agent_id": name, "agent_name": name, "created_at": at(0)} for name in AGENTS},
        "turns": [turn(one, example["version"], n, last=one is turns[-1]) for n, one in enumerate(turns)],
    }


def turn(given: dict[str, Any], version: str, index: int, *, last: bool) -> dict[str, Any]:
    """Return a turn with what the example leaves out; turns without times are three seconds long, but for the last."""
    if given["turn_type"] == "user":
        return {"submitted_at": at(3 * index), **given}
    made: dict[str, Any] = {"agent_id": "agent_001", "started_at": at(3 * index), **given}
    if made.get("completion_status") != "interrupted":
        made.setdefault("completed_at", at(30 if last else 3 * index + 3))
        if version == "0.0.4":
            made.setdefault("completion_status", "complete")
    made["messages"] = [
        {
            "timestamp": made["started_at"],
            **({"agent_id": made["agent_id"]} if message["message_type"] != "system" else {}),
            **message,
        }
        for message in given["messages"]
    ]
    return made


def codes(thread: dict[str, Any]) -> set[str]:
    """Return what a reader of the thread is told, but for the form of agent ids (R2)."""
    return {finding.code for finding in check_as_read(thread, observations=True)} - {"agent-id-not-uuid"}


@pytest.mark.parametrize("example", DOCUMENTS, ids=lambda example: example["id"])
def test_an_example_of_the_documents_is_accepted_or_a_ruling_says_why_not(example: dict[str, Any]) -> None:
    """Nothing is found but what is told here, and each finding cites the ruling that decides."""
    assert codes(filled(example)) == set(example["found"])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["id"])
def test_what_is_found_in_an_example_is_decided_by_a_ruling_that_exists(example: dict[str, Any]) -> None:
    """The finding cites the ruling; where no ruling is needed, it cites the clause that says it."""
    for code, ruling in example["found"].items():
        kind = load_kinds()[code]
        assert (ruling in kind.rulings and ruling in load_rulings()) if ruling else kind.clauses, code


@pytest.mark.parametrize(
    "example", [e for e in DOCUMENTS if e["found"].keys() <= {"agent-id-filled"}], ids=lambda example: example["id"]
)
def test_an_accepted_example_is_a_history_that_a_model_accepts(example: dict[str, Any]) -> None:
    """What the documents show as good can be gone on from."""
    history = model_history(fill_agents(filled(example))[0])
    found = {finding.code for finding in check_history(history.messages)}
    assert found <= {"history-starts-with-response"}  # a fragment without the user turn


def chunk_data(chunks: list[dict[str, Any]]) -> list[str]:
    """Return the data of the events of a stream; one that finishes ends with the end marker."""
    return [json.dumps(chunk) for chunk in chunks] + ["[DONE]"] * (chunks[-1]["type"] == "finish")


def folded(example: dict[str, Any], folder: Path) -> tuple[dict[str, Any], set[str]]:
    """Return the thread that `tpharness fold` makes of an example, and the codes of what it reports."""
    value, kind = example["value"], example["kind"]
    file = folder / f"{example['id']}{'.jsonl' if kind == 'server-events' else '.sse'}"
    lines = {
        "server-events": lambda: "".join(json.dumps(event) + "\n" for event in value),
        "chunks": lambda: "".join(f"data: {data}\n\n" for data in chunk_data(value)),
        "sse": lambda: str(value),
    }
    file.write_text(lines[kind](), "utf-8")
    done = CliRunner().invoke(app, ["fold", str(file), "--version", example["version"], "--at", at(0)])
    thread: dict[str, Any] = json.loads(done.stdout)
    return thread, set(re.findall(r"^(?:MUST|SHOULD) ([a-z-]+) at ", done.stderr, re.MULTILINE))


@pytest.mark.parametrize("example", STREAMS, ids=lambda example: example["id"])
def test_the_streams_and_events_of_the_documents_can_be_folded(example: dict[str, Any], tmp_path: Path) -> None:
    """The thread is the one that the document describes, and `check` accepts it."""
    thread, reported = folded(example, tmp_path)
    assert [_CALL_ID.sub("", line) for line in outline(thread)] == example["outline"]
    assert reported | codes(thread) == set(example["found"])


@pytest.mark.parametrize("example", [e for e in STREAMS if "same_as" in e], ids=lambda example: example["id"])
def test_both_sides_of_the_guides_consistency_test_are_equal(example: dict[str, Any], tmp_path: Path) -> None:
    """0.0.3 guide, Consistency Testing: `expect(serverThread).toEqual(clientThread)` (R39, R59)."""
    other = next(one for one in STREAMS if one["id"] == example["same_as"])
    assert same_content(folded(example, tmp_path)[0], folded(other, tmp_path)[0])


def test_examples_of_every_document_are_here() -> None:
    """Ids are unique, and no document was forgotten."""
    assert max(Counter(example["id"] for example in EXAMPLES).values()) == 1
    counts = Counter(example["document"] for example in EXAMPLES)
    assert counts == {"2.0.0 specification": 6, "0.0.3 implementation guide": 18, "0.0.4 amendments": 21}


WEATHER: dict[str, Any] = next(example["value"] for example in EXAMPLES if example["id"] == "example-thread")
INTERRUPTED = fill_agents(filled(next(example for example in EXAMPLES if example["id"] == "no-special-prepending")))[0]


@pytest.mark.parametrize("example", [WEATHER, INTERRUPTED], ids=["2.0.0", "0.0.4"])
@pytest.mark.parametrize("version", list(Version), ids=lambda version: str(version.value))
def test_the_documents_examples_are_valid_in_every_version(example: dict[str, Any], version: Version) -> None:
    """Nothing is wrong with them, and all there is to observe is that their agent ids are no UUIDs (R2)."""
    found = check_thread(convert(example, version).thread, observations=True)
    assert {(finding.code, finding.level) for finding in found} == {("agent-id-not-uuid", Level.MAY)}


def test_the_hand_off_example_goes_to_the_newest_version_and_back() -> None:
    """R1: the event is renamed, the turns are complete, and the way back is the identity."""
    newest = convert(WEATHER, Version.V0_0_4).thread
    assert newest["turns"][1]["messages"][3]["event_type"] == "data-tp-agent_handoff"
    back = convert(newest, Version.V2_0_0)
    assert back.dropped == ()
    assert back.thread == WEATHER
    assert thread_hash(back.thread) == thread_hash(WEATHER)


def test_the_hand_off_example_is_canonical_as_it_is_written() -> None:
    """R37: whole seconds in UTC, no nulls, no metadata events: version and turns stay as they are."""
    assert canonical_thread(WEATHER) == {"version": "2.0.0", "turns": WEATHER["turns"]}


def test_the_second_agent_reads_the_first_one_s_texts_under_its_name() -> None:
    """2.0.0, "ThreadProtocol → Pydantic AI ModelMessages": texts are prefixed, calls and returns are not."""
    history = model_history(WEATHER, viewing_agent="agent_002")
    texts = [p["content"] for m in history.messages for p in m["parts"] if p["part_kind"] == "text"]
    told = "The weather in Tokyo is currently 18°C and partly cloudy. Travel Planner, what do you think?"
    assert texts == [
        "{agent:Weather Assistant}: Let me check the current weather in Tokyo.",
        "{agent:Weather Assistant}: " + told,
        "Perfect weather for sightseeing! I'd recommend visiting temples and parks.",
    ]
    assert check_history(history.messages) == []


def test_the_interrupted_example_is_a_history_that_goes_on() -> None:
    """0.0.4, "Reconstructing for Next agent.run()": all messages of the interrupted turn, then the next prompt."""
    history = model_history(INTERRUPTED)
    assert [m["kind"] for m in history.messages] == ["request", "response", "request", "request"]
    assert history.pending == ()
    assert check_history(history.messages) == []


def test_the_interrupted_example_is_dropped_on_the_way_down_and_named() -> None:
    """R1, R18: both user turns stay."""
    result = convert(INTERRUPTED, Version.V0_0_3)
    assert [turn["turn_type"] for turn in result.thread["turns"]] == ["user", "user"]
    assert [dropped.pointer for dropped in result.dropped] == ["/turns/1"]
