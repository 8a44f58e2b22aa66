"""A timeline holds, at every place, the threads that a run cut there has; they share what they have in common."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from tests.counting import count_lines
from tests.scenarios import load_builtin

from tpharness.picture import place_number, place_of_ruling, timeline_of_case, timeline_of_file
from tpharness.run.plan import SweepPlace, base_case, cut_case, cut_time, cut_times, make_script, make_streams
from tpharness.scenario import CutAt, CutPlan, load_text
from tpharness.targets import Reference
from tpharness.targets.contract import RunScript
from tpharness.wires.vsp.encode import encode_stream

TWO_STEPS = """
description: A tool answers, and the user cancels while the second answer streams.
clauses: [cycle.kept]
turns:
  - user: "What's the weather in Paris?"
  - steps:
      - response:
          - {text: "Let me look."}
          - {call: get_weather, id: c1, args: {city: Paris}}
      - returns: {c1: {temp: 18}}
      - response: [{text: "It is eighteen degrees", label: answer}]
    interrupt: {reason: user_cancelled, after: answer.mid}
"""


def thread_of(timeline: dict[str, Any], number: int) -> dict[str, Any]:
    """Build a thread again from the tables, as the page does."""
    tables = timeline["tables"]

    def unroll(name: str, at: int) -> list[int]:
        found: list[int] = []
        while at > 0:
            at, item = tables[name][at]
            found.insert(0, item)
        return found

    other, updated, turns = tables["threads"][number]
    built = []
    for turn in unroll("lists", turns):
        fields, chain = tables["turns"][turn]
        messages = {} if chain < 0 else {"messages": [tables["values"][m] for m in unroll("chains", chain)]}
        built.append({**tables["values"][fields], **messages})
    return {**tables["values"][other], "updated_at": updated, "turns": built}


@pytest.mark.parametrize(
    "name", ["cycles/three-steps", "basics/parallel-returns-in-call-order", "parts/every-kind-in-one-response"]
)
def test_every_place_has_the_threads_of_a_run_that_is_cut_there(name: str) -> None:
    """Each place is played once more as a case of its own, from its beginning to its cut."""
    scenario = load_builtin(name)
    index, run = scenario.runs[0]
    scenario = replace(scenario, cut=CutPlan(at=CutAt.EVERY_EVENT, reasons=("timeout",), turn=index))
    timeline = timeline_of_case(base_case(scenario))
    version = scenario.versions[-1]
    rows = [timeline["rows"][n] for n in timeline["places"]]
    *rows, _end = [row for row in rows if row["turn"] == index]  # the beginning, each event, the end
    assert len(rows) == len(run.events or ()) + 1
    reference = Reference()
    for count, row in enumerate(rows):
        place = SweepPlace(id=scenario.id, turn=index, count=count, reason="timeout")
        case = cut_case(base_case(scenario, [version]), place)
        script = make_script(case)
        served = asyncio.run(reference.serve(script))
        received = asyncio.run(reference.receive(script, make_streams(case, served.streams)))
        assert thread_of(timeline, row["server"]) == served.threads[version]
        assert thread_of(timeline, row["client"]) == received.threads[version]


def parts_of(timeline: dict[str, Any], gone: dict[str, Any]) -> list[Any]:
    """Return the parts of a response that is not kept, as the page builds them."""
    tables, found, number = timeline["tables"], [], gone["parts"]
    while number:
        number, value = tables["chains"][number]
        found.append(tables["values"][value])
    return found[::-1]


def gone_of(timeline: dict[str, Any]) -> list[Any]:
    """Return what each row would not keep, with the texts of open parts as far as they had come."""
    texts = timeline["tables"]["texts"]
    shown = []
    for row in timeline["rows"]:
        for side, number in row.get("gone", {}).items():
            for one in timeline["tables"]["values"][number]:
                parts = parts_of(timeline, one) if "parts" in one else []
                said = [{**part, "text": texts[part["text"][0]][: part["text"][1]]} for part in parts if "text" in part]
                shown.append((side, {**one, "parts": [part for part in parts if "text" not in part]}, said))
    return shown


@pytest.mark.parametrize(
    "name",
    [
        "cycles/three-steps",
        "interruptions/mid-tool-args",
        "parts/every-kind-in-one-response",
        "stream/block-ids-that-look-alike",
        "events/source-after-its-step",
        "interruptions/client-loses-a-running-tool",
    ],
)
def test_what_a_place_shares_with_the_one_before_is_what_it_has(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts of a growing response are the same as when each place describes all of them anew."""
    shared = gone_of(timeline_of_case(base_case(load_builtin(name))))
    monkeypatch.setattr("tpharness.picture.tables._Grown.count", lambda *_: None)
    assert shared == gone_of(timeline_of_case(base_case(load_builtin(name))))
    assert any(said or one["parts"] for _, one, said in shared)


def test_a_long_response_takes_as_much_room_as_it_has_parts() -> None:
    """Each place shows all parts so far; the page is not their square."""

    def room(calls: int) -> int:
        chunks: list[dict[str, Any]] = [{"type": "start"}, {"type": "start-step"}]
        for number in range(calls):
            call = {"toolCallId": f"c{number:04}", "toolName": "t"}
            chunks.append({"type": "tool-input-start", **call})
            chunks.append({"type": "tool-input-available", **call, "input": {"n": 1000 + number}})
        return len(json.dumps(timeline_of_file("long.sse", encode_stream(chunks))))

    assert room(400) < 2.2 * room(200)


def test_the_last_row_has_the_threads_of_the_case_itself() -> None:
    """The interruption of the scenario is played as it stands, and the half answer is named as what goes (R20)."""
    timeline = timeline_of_case(base_case(load_text(TWO_STEPS, id="chat/cancelled")))
    last = timeline["rows"][-1]
    assert last["server"] == last["client"]
    turn = thread_of(timeline, last["server"])["turns"][-1]
    assert turn["interruption"]["reason"] == "user_cancelled"
    assert [message["message_type"] for message in turn["messages"]] == ["response", "request"]
    (gone,) = timeline["tables"]["values"][last["gone"]["client"]]
    assert (gone["what"], gone["why"], gone["finished"]) == ("response", "R20", False)
    number, length = parts_of(timeline, gone)[0]["text"]
    chunks = [json.loads(row["frame"][6:]) for row in timeline["rows"] if "delta" in row.get("frame", "")]
    deltas = [chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta"]
    assert "".join(deltas) == "Let me look." + timeline["tables"]["texts"][number][:length]


def test_a_response_whose_call_has_no_return_goes_by_another_ruling() -> None:
    """R21: after the end of the response that calls, and before the return."""
    timeline = timeline_of_case(base_case(load_text(TWO_STEPS, id="chat/cancelled")))
    values = timeline["tables"]["values"]
    at = next(row for row in timeline["rows"] if row.get("event", {}).get("event_kind") == "model_response_end")
    (gone,) = values[at["gone"]["server"]]
    assert (gone["why"], gone["finished"]) == ("R21", True)
    assert [part["kind"] for part in parts_of(timeline, gone)] == ["text", "tool-call"]
    answered = next(row for row in timeline["rows"] if row.get("event", {}).get("event_kind") == "function_tool_result")
    assert "server" not in answered.get("gone", {})


def test_bytes_that_the_client_never_got_are_marked() -> None:
    """The server's frames stay on the page, and the client's thread stays where its stream ended (R32)."""
    timeline = timeline_of_case(base_case(load_builtin("basics/client-loses-the-end")))
    frames = [row for row in timeline["rows"] if "frame" in row]
    lost = [row for row in frames if row.get("lost")]
    assert lost
    assert frames[-len(lost) :] == lost
    assert not any("broken" in row for row in frames)  # the cut is between two frames
    assert len({json.dumps(thread_of(timeline, row["client"])["turns"][0]) for row in lost}) == 1
    assert timeline["rows"][-1]["differences"]
    offsets = [(row["from"], row["to"]) for row in frames if row["turn"] == frames[0]["turn"]]
    assert all(one[1] == other[0] for one, other in pairwise(offsets))


def test_a_frame_that_is_cut_inside_is_broken() -> None:
    """The client got 40 bytes: of the frame in which they end it got some, and of those after it none."""
    text = TWO_STEPS.replace("user_cancelled, after: answer.mid", "network_failure, client: {after: {byte: 40}}")
    timeline = timeline_of_case(base_case(load_text(text, id="chat/cancelled")))
    (row,) = [row for row in timeline["rows"] if "broken" in row]
    assert row["from"] + row["broken"] == 40
    assert row["from"] < 40 < row["to"]
    assert all(bool(one.get("lost")) == (one["from"] >= 40) for one in timeline["rows"] if "frame" in one)


def test_threads_share_their_messages() -> None:
    """A run ten times as long has tables ten times as large, and not a hundred times."""

    def size(calls: int) -> int:
        steps = "".join(
            f"      - response: [{{call: look, id: c{n}, args: {{}}}}]\n      - returns: {{c{n}: {'x' * 50}}}\n"
            for n in range(calls)
        )
        text = f"description: Many calls.\nclauses: [cycle.kept]\nturns:\n  - user: Hi\n  - steps:\n{steps}"
        return len(json.dumps(timeline_of_case(base_case(load_text(text, id="chat/long")))))

    assert size(100) < 12 * size(10)


def test_a_stream_alone_has_the_client_only() -> None:
    """What the body says, with the place of every frame; at its end the thread that `fold` gives."""
    data = b'data: {"type":"start"}\n\ndata: {"type":"text-start","id":"t"}\n\n: ping\n\ndata: {"type":"text-de'
    timeline = timeline_of_file("odd.sse", data)
    rows = timeline["rows"]
    assert [row["kind"] for row in rows] == ["begin", "chunk", "chunk", "chunk", "chunk", "end"]
    assert all("server" not in row for row in rows)
    assert (rows[-2]["from"], rows[-2]["to"]) == (len(data) - len('data: {"type":"text-de'), len(data))
    assert thread_of(timeline, rows[-1]["client"])["turns"] == []
    (gone,) = timeline["tables"]["values"][rows[3]["gone"]["client"]]
    assert gone["why"] == "R20"


def test_server_events_alone_are_played_to_a_client() -> None:
    """Both sides are there, and a finding stands at the row that caused it."""
    events = [
        {"event_kind": "part_start", "index": 0, "part": {"part_kind": "text", "content": "Hi"}},
        {"event_kind": "part_delta", "index": 7, "delta": {"part_delta_kind": "text", "content_delta": "!"}},
        {"event_kind": "agent_run_result"},
    ]
    timeline = timeline_of_file("odd.jsonl", b"\n".join(json.dumps(event).encode() for event in events))
    last = timeline["rows"][-1]
    assert last["server"] == last["client"]
    found = {row["index"]: [one["code"] for one in row["found"]] for row in timeline["rows"] if "found" in row}
    assert found == {1: ["server-part-unknown"], 2: ["server-open-part-discarded", "open-part-discarded"]}
    said = [one["message"] for row in timeline["rows"] for one in row.get("found", ())]
    assert said[1:] == ["open parts that are discarded: 1", "parts still open when their response finished: 1"]


def test_the_work_of_a_row_does_not_grow_with_the_steps_before_it() -> None:
    """What has settled is not looked at again: four times the steps are four times the work."""

    def stream(steps: int) -> bytes:
        chunks: list[dict[str, Any]] = [{"type": "start"}]
        for number in range(steps):
            call = {"toolCallId": f"c{number}", "toolName": "look"}
            chunks += [
                {"type": "start-step"},
                {"type": "tool-input-available", **call, "input": {}},
                {"type": "tool-output-available", **call, "output": number},
                {"type": "finish-step"},
            ]
        return encode_stream([*chunks, {"type": "finish"}])

    few, many = (count_lines(partial(timeline_of_file, "long.sse", stream(steps))) for steps in (50, 200))
    assert many < 4.4 * few


def test_the_text_of_an_open_part_is_put_together_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at each of its deltas, which would be the square of its length: here 500 times as much."""
    joined: list[int] = []

    def join(pieces: list[str]) -> str:
        joined.append(sum(map(len, pieces)))
        return "".join(pieces)

    for module in ("journal.opened", "journal.writer", "picture.tables"):
        monkeypatch.setattr(f"tpharness.{module}.join_text", join)
    deltas = [{"type": "text-delta", "id": "t", "delta": "1234567 "} for _ in range(1000)]
    chunks = [{"type": "start"}, {"type": "text-start", "id": "t"}, *deltas, {"type": "finish"}]
    timeline = timeline_of_file("long.sse", encode_stream(chunks))
    assert max(map(len, timeline["tables"]["texts"])) == 8000
    assert sum(joined) <= 4 * 8000  # once by each of two folds, and for the page


@pytest.mark.parametrize("joins", [3, 1000])
def test_every_row_has_the_text_so_far_in_units_of_utf_16(joins: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the writer does with its pieces; half a character is one unit (R43)."""
    monkeypatch.setattr("tpharness.wires.vsp.fold.CHUNKS_BETWEEN_JOINS", joins)
    deltas = ["a", "é", "\ud83d", "\ude00", "€b", "\U0001f600", "c", "d"]
    chunks: list[dict[str, Any]] = [{"type": "start"}, {"type": "text-start", "id": "t"}]
    chunks += [{"type": "text-delta", "id": "t", "delta": delta} for delta in deltas]
    data = b"".join(b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks)
    timeline = timeline_of_file("odd.sse", data)
    rows = [row for row in timeline["rows"] if "text-delta" in row.get("frame", "")]
    found = [parts_of(timeline, timeline["tables"]["values"][row["gone"]["client"]][0])[0]["text"] for row in rows]
    assert [length for _, length in found] == [1, 2, 3, 4, 6, 8, 9, 10]
    assert {timeline["tables"]["texts"][number] for number, _ in found} == {"aé😀€b😀cd"}


def test_events_without_times_are_looked_at_once() -> None:
    """The time of a cut is that of the last event that has one, which is not looked for again at each."""
    runs = [RunScript(agent_id="a", started_at="2025-01-20T10:00:00Z", events=({},) * n) for n in (50, 200)]
    few, many = (count_lines(partial(cut_times, run)) for run in runs)
    assert many < 4.4 * few


def test_the_times_of_all_cuts_are_those_of_each() -> None:
    """Where events have times, and where they have none."""
    for scenario in (load_builtin("cycles/three-steps"), load_text(TWO_STEPS, id="chat/cancelled")):
        for _, run in scenario.runs:
            events = run.events or ()
            bare = replace(run, events=tuple({name: e[name] for name in e if name != "at"} for e in events))
            for one in (run, bare):
                assert cut_times(one) == [cut_time(one, count) for count in range(len(events) + 1)]


@pytest.mark.parametrize("scenario", ["histories/k06-mid-arguments", "cycles/three-steps", "interruptions/mid-text"])
def test_the_place_at_which_a_ruling_drops_something_is_one_that_links_name(scenario: str) -> None:
    """R20: the first cut that has something to drop, by the name that an address and the id of a case have."""
    timeline = timeline_of_case(base_case(load_builtin(scenario)))
    place = place_of_ruling(timeline, "R20")
    number = place_number(timeline, place)
    assert number is not None
    row = timeline["rows"][timeline["places"][number]]
    assert any("R20" in one["why"] for gone in row["gone"].values() for one in timeline["tables"]["values"][gone])
    earlier = [timeline["rows"][row] for row in timeline["places"][:number]]
    assert not any("gone" in row for row in earlier)


def test_a_ruling_that_drops_nothing_has_no_place() -> None:
    """R2 is about something else, and R20 begins with it."""
    assert place_of_ruling(timeline_of_case(base_case(load_builtin("cycles/three-steps"))), "R2") == ""
