"""The short form expands to the events that a well-behaved Pydantic AI server reports."""

import json
from typing import Any

import pytest

from tpharness.scenario import AgentRun


def kinds(run: AgentRun) -> list[str]:
    """Return the kinds of the run's events, in order."""
    return [event["event_kind"] for event in run.events or ()]


def of_kind(run: AgentRun, kind: str) -> list[Any]:
    """Return the run's events of one kind."""
    return [event for event in run.events or () if event["event_kind"] == kind]


def test_a_text_response_is_a_request_a_part_in_pieces_and_an_end(play):
    """One text gives model_request, start with the first piece, deltas, end with the whole, response end, result."""
    run = play("response: [{text: The quick brown fox}]")
    assert kinds(run) == [
        "model_request",
        "part_start",
        "part_delta",
        "part_delta",
        "part_end",
        "model_response_end",
        "agent_run_result",
    ]
    pieces = [run.events[1]["part"]["content"], *(e["delta"]["content_delta"] for e in run.events[2:4])]
    assert pieces == ["The ", "quick ", "brown fox"]
    assert run.events[4]["part"] == {"part_kind": "text", "content": "The quick brown fox"}
    assert run.events[0]["model_name"] == "test-model"
    assert run.events[0]["provider_name"] == "test"
    assert run.events[5]["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ('""', [""]),
        ("a", ["a"]),
        ("word", ["wo", "rd"]),
        ("two words", ["two ", "words"]),
        ('" lead"', [" ", "lead"]),
        ("[a, '', bc]", ["a", "", "bc"]),
        ("[a, a]", ["a", "a"]),
    ],
)
def test_texts_are_cut_at_word_boundaries_or_as_given(play, text, pieces):
    """A string is cut between words, one word in half; a list is taken as its deltas."""
    run = play(f"response: [{{text: {text}}}]")
    got = [run.events[1]["part"]["content"], *(e["delta"]["content_delta"] for e in of_kind(run, "part_delta"))]
    assert got == pieces
    assert of_kind(run, "part_end")[0]["part"]["content"] == "".join(pieces)


def test_a_call_streams_the_json_text_of_its_arguments_in_three_pieces(play):
    """Arguments go out as text; the part's end holds the text, not the value."""
    run = play("response: [{call: weather, id: c1, args: {city: Paris}}]")
    start, end = of_kind(run, "part_start")[0]["part"], of_kind(run, "part_end")[0]["part"]
    deltas = [e["delta"] for e in of_kind(run, "part_delta")]
    assert len(deltas) == 2
    assert all(d["part_delta_kind"] == "tool_call" and d["tool_call_id"] == "c1" for d in deltas)
    assert start["args"] + "".join(d["args_delta"] for d in deltas) == end["args"]
    assert json.loads(end["args"]) == {"city": "Paris"}
    assert (end["part_kind"], end["tool_name"], end["tool_call_id"]) == ("tool-call", "weather", "c1")
    assert of_kind(run, "model_response_end")[0]["finish_reason"] == "tool_call"


def test_arguments_may_be_raw_text_given_deltas_or_absent(play):
    """`raw` is any text, `deltas` its pieces, `args: null` a model that wrote none."""
    run = play(
        "response: [{call: f, id: a, raw: '{\"x'}, {call: f, id: b, deltas: ['{\"x\"', ':1}']},"
        " {call: f, id: c, args: null}, {call: f, id: d}]"
    )
    ends = [e["part"].get("args") for e in of_kind(run, "part_end")]
    assert ends == ['{"x', '{"x":1}', None, "{}"]
    assert [e["index"] for e in of_kind(run, "part_end")] == [0, 1, 2, 3]


def test_thinking_ends_with_its_signature(play):
    """The signature comes as a last delta and stands in the whole part."""
    run = play("response: [{thinking: Hm, signature: s1, provider: p, id: t1}]")
    assert of_kind(run, "part_delta")[-1]["delta"] == {"part_delta_kind": "thinking", "signature_delta": "s1"}
    assert of_kind(run, "part_end")[0]["part"] == {
        "part_kind": "thinking",
        "id": "t1",
        "provider_name": "p",
        "content": "Hm",
        "signature": "s1",
    }


def test_returns_first_start_every_call_in_order_and_then_come_as_written(play):
    """Calls start in the order they were made; returns come in the order of completion."""
    run = play(
        "response: [{call: f, id: a}, {call: g, id: b}]",
        "returns: {b: 2, a: {k: v}}",
    )
    assert kinds(run)[-5:] == [
        "function_tool_call",
        "function_tool_call",
        "function_tool_result",
        "function_tool_result",
        "agent_run_result",
    ]
    assert [e["part"]["tool_call_id"] for e in of_kind(run, "function_tool_call")] == ["a", "b"]
    results = [e["part"] for e in of_kind(run, "function_tool_result")]
    assert [(p["tool_call_id"], p["tool_name"], p["content"], p["outcome"]) for p in results] == [
        ("b", "g", 2, "success"),
        ("a", "f", {"k": "v"}, "success"),
    ]
    assert [p["timestamp"] for p in results] == [e["at"] for e in of_kind(run, "function_tool_result")]


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ("{error: boom}", {"part_kind": "tool-return", "content": "boom", "outcome": "failed"}),
        ("{denied: no}", {"part_kind": "tool-return", "content": "no", "outcome": "denied"}),
        ("{denied: null}", {"part_kind": "tool-return", "content": "The tool call was denied.", "outcome": "denied"}),
        ("{validation_error: bad}", {"part_kind": "tool-return", "content": "bad", "outcome": "retried"}),
        ("{validation_error: [1]}", {"part_kind": "tool-return", "content": [1], "outcome": "retried"}),
        ("{interrupted: cut}", {"part_kind": "tool-return", "content": "cut", "outcome": "interrupted"}),
        ("{retry_prompt: again}", {"part_kind": "retry-prompt", "content": "again"}),
        (
            "{ref: {uri: 's3://b/k'}}",
            {"part_kind": "tool-return", "content_ref": {"uri": "s3://b/k"}, "outcome": "success"},
        ),
        (
            "{value: {error: x}, metadata: {m: 1}}",
            {"part_kind": "tool-return", "content": {"error": "x"}, "outcome": "success", "metadata": {"m": 1}},
        ),
        (
            "{error: x, more: y}",
            {"part_kind": "tool-return", "content": {"error": "x", "more": "y"}, "outcome": "success"},
        ),
        ("{}", {"part_kind": "tool-return", "content": {}, "outcome": "success"}),
        ("null", {"part_kind": "tool-return", "content": None, "outcome": "success"}),
    ],
)
def test_a_map_of_reserved_words_says_what_came_back(play, value, part):
    """Only a map of nothing but reserved words is special; `value` says any map literally."""
    run = play("response: [{call: f, id: c}]", f"returns: {{c: {value}}}")
    got = dict(of_kind(run, "function_tool_result")[0]["part"])
    assert (got.pop("tool_name"), got.pop("tool_call_id")) == ("f", "c")
    got.pop("timestamp")
    assert got == part


def test_arguments_are_invalid_when_they_are_no_json_or_a_return_says_so(play):
    """`args_valid` is false for broken text and for calls that get a validation error, even when started earlier."""
    run = play(
        "response: [{call: f, id: a, raw: '{'}, {call: f, id: b}, {call: f, id: c}]",
        "start_tools: true",
        "returns: {b: {validation_error: no}, a: 1, c: 1}",
    )
    assert [e["args_valid"] for e in of_kind(run, "function_tool_call")] == [False, False, True]


def test_tools_may_start_early_and_report_progress(play):
    """`start_tools` emits the calls without returns; `progress` starts what has not started."""
    run = play(
        "response: [{call: f, id: a}, {call: f, id: b}]",
        "start_tools: [b]",
        "progress: {a: {done: 1}}",
        "returns: {a: 1, b: 2}",
    )
    assert [e["part"]["tool_call_id"] for e in of_kind(run, "function_tool_call")] == ["b", "a"]
    progress = of_kind(run, "tool_progress")[0]
    assert (progress["tool_call_id"], progress["content"]) == ("a", {"done": 1})
    assert kinds(run).index("tool_progress") < kinds(run).index("function_tool_result")


def test_a_call_id_that_is_used_again_is_started_again(play):
    """Ids belong to the latest call with them."""
    run = play("response: [{call: f, id: c}]", "returns: {c: 1}", "response: [{call: g, id: c}]", "returns: {c: 2}")
    assert [e["part"]["tool_name"] for e in of_kind(run, "function_tool_call")] == ["f", "g"]
    assert [e["part"]["tool_name"] for e in of_kind(run, "function_tool_result")] == ["f", "g"]


def test_a_later_run_may_return_to_a_call_that_an_earlier_one_left(load):
    """R30: calls that a finished run leaves open get their returns in a later turn."""
    loaded = load(
        "description: A test.\nclauses: [turn.one]\nturns:\n"
        "  - user: hi\n  - steps: [{response: [{call: f, id: c}]}]\n"
        "  - steps: [{returns: {c: 1}}, {response: [{text: ok}]}]\n"
    )
    first, second = (run for _, run in loaded.runs)
    assert of_kind(first, "function_tool_call") == []
    assert [e["event_kind"] for e in second.events][:3] == [
        "function_tool_call",
        "function_tool_result",
        "model_request",
    ]


def test_events_stand_between_steps_and_inside_responses(play):
    """A system event keeps name, data, agents and whether it is transient."""
    run = play(
        "response: [{text: ab}, {event: source.url, data: {url: u}}, {text: cd}]",
        "event: data-app-x\n        data: [1]\n        source_agent: assistant\n        target_agents: [assistant]\n"
        "        transient: true",
    )
    inside, after = of_kind(run, "system_event")
    assert inside == {"event_kind": "system_event", "event_type": "source.url", "event_data": {"url": "u"}} | {
        "at": inside["at"]
    }
    assert kinds(run).index("system_event") < kinds(run).index("model_response_end")
    assert (after["source_agent"], after["target_agents"], after["transient"]) == ("assistant", ["assistant"], True)
    assert [e["index"] for e in of_kind(run, "part_start")] == [0, 1]


def test_a_prompt_inside_the_run_is_the_request_of_the_response_after_it(play):
    """A steering prompt makes one model request, not two."""
    run = play("response: [{text: a}]", "prompt: go on", "response: [{text: b}]\n        model: other")
    requests = of_kind(run, "model_request")
    assert len(requests) == 2
    assert requests[1]["parts"] == [{"part_kind": "user-prompt", "content": "go on"}]
    assert requests[1]["model_name"] == "other"


def test_another_agent_goes_on_in_the_same_stream(play):
    """R45: `agent` switches who responds, model and provider included."""
    run = play(
        "response: [{text: a}]",
        "agent: b",
        "response: [{text: c}]",
        agents="{a: {model_name: m1}, b: {model_name: m2, provider_name: p2}}",
    )
    assert of_kind(run, "agent_start")[0]["agent_id"] == "b"
    requests = of_kind(run, "model_request")
    assert [(e["model_name"], e["provider_name"]) for e in requests] == [("m1", "test"), ("m2", "p2")]


def test_unfinished_responses_and_parts_have_no_end(play):
    """`unfinished` leaves out the end of a part, and of a response."""
    run = play(
        "response: [{text: a b, unfinished: true}]\n        unfinished: true",
        "reset: true",
        "response: [{text: again}]",
    )
    assert kinds(run)[:4] == ["model_request", "part_start", "part_delta", "response_reset"]


def test_the_end_is_implicit_and_an_error_at_the_end_is_why_it_ends(play):
    """A run ends with a result unless told otherwise; after a last step `error` its finish reason is error (R27)."""
    assert kinds(play("response: [{text: a}]", run="finish: false"))[-1] == "model_response_end"
    assert of_kind(play("error: boom"), "agent_run_result")[0]["finish_reason"] == "error"
    result = of_kind(play("error: boom", "finish: {finish_reason: stop, usage: {input_tokens: 1}}"), "agent_run_result")
    assert [(e["finish_reason"], e["usage"]) for e in result] == [("stop", {"input_tokens": 1})]


def test_facts_of_a_response_stand_at_its_end(play):
    """Usage, finish reason and the provider's id are told with the response's end; null leaves the reason out."""
    run = play(
        "response: [{text: a}]\n        usage: {input_tokens: 3, output_tokens: 0}\n        finish_reason: length\n"
        "        response_id: r1",
        "response: []\n        finish_reason: null",
    )
    first, second = of_kind(run, "model_response_end")
    assert first["usage"] == {"input_tokens": 3, "output_tokens": 0}
    assert (first["finish_reason"], first["provider_response_id"]) == ("length", "r1")
    assert "finish_reason" not in second


def test_files_and_provider_calls_are_parts_at_once(play):
    """Files carry an identifier; provider calls and returns are the library's builtin kinds (R42)."""
    run = play(
        "response: [{file: {media_type: image/png, data: aGk=}}, {provider_call: search, id: p, args: {q: 1}},"
        " {provider_return: p, content: [r]}, {part: {part_kind: 'custom:x', content: 1}}]"
    )
    file, call, back, other = (e["part"] for e in of_kind(run, "part_start"))
    # sha1(b"hi") begins with c22b5f
    assert file["content"] == {"kind": "binary", "data": "aGk=", "media_type": "image/png", "identifier": "c22b5f"}
    assert (call["part_kind"], json.loads(call["args"]), call["provider_name"]) == (
        "builtin-tool-call",
        {"q": 1},
        "test",
    )
    assert (back["part_kind"], back["tool_name"], back["content"]) == ("builtin-tool-return", "search", ["r"])
    assert other == {"part_kind": "custom:x", "content": 1}
    assert of_kind(run, "model_response_end")[0]["finish_reason"] == "stop"


def test_every_event_takes_a_tick_of_virtual_time(play):
    """Times start at the clock's start, one tick for each turn and event, and a stall lets its seconds pass."""
    run = play(
        "response: [{text: a}]",
        "stall: 2.5",
        "event: data-app-y",
        clock="{start: '2025-01-01T00:00:00Z', tick: 1}",
    )
    second = "2025-01-01T00:00:"
    assert run.started_at == second + "01Z"
    # request, part start, part end, response end, stall; then 2.5 s pass
    assert [e["at"] for e in run.events[:5]] == [f"{second}0{i}Z" for i in (2, 3, 4, 5, 6)]
    assert [e["at"] for e in run.events[5:]] == [second + "09.5Z", second + "10.5Z"]


def test_a_step_may_say_when_it_happens(play):
    """`at` is the time of the step's first event, in UTC, and the clock goes on from there."""
    run = play(
        "response: [{text: a}]",
        "event: data-app-x\n        at: '2025-01-01T02:00:00+01:00'",
        "event: data-app-y",
        clock="{start: '2025-01-01T00:00:00Z', tick: 1}",
    )
    assert [e["at"] for e in of_kind(run, "system_event")] == ["2025-01-01T01:00:00Z", "2025-01-01T01:00:01Z"]


def test_labels_name_the_last_event_the_first_and_the_middle(play):
    """A label counts the events that have happened at its place."""
    run = play("response: [{text: one two three, label: t}]\n        label: r", "event: data-app-x\n        label: e")
    # 1 request, 2 start, 3 and 4 deltas, 5 end of the part, 6 end of the response, 7 event, 8 result
    assert run.labels == {
        "start": 0,
        "t.start": 2,
        "t.mid": 3,
        "t": 5,
        "r.start": 1,
        "r.mid": 3,
        "r": 6,
        "e.start": 7,
        "e.mid": 7,
        "e": 7,
        "end": 8,
    }


@pytest.mark.parametrize(
    ("steps", "code", "words"),
    [
        (["returns: {x: 1}"], "scenario-unknown-call", "'x'"),
        (["response: [{call: f, id: call_1}]", "returns: {call_2: 1}"], "scenario-unknown-call", "'call_1'?"),
        (["start_tools: [x]"], "scenario-unknown-call", "'x'"),
        (["response: [{provider_return: x}]"], "scenario-unknown-call", "'x'"),
        (["agent: asistant"], "scenario-unknown-agent", "did you mean 'assistant'?"),
        (["event: data-app-x\n        target_agents: [b]"], "scenario-unknown-agent", "'b'"),
        (["respons: []"], "scenario-bad-value", "did you mean 'response'?"),
        (["response: []\n        returns: {}"], "scenario-bad-value", "one of the keys"),
        (["response: [{txt: a}]"], "scenario-bad-value", "did you mean 'text'?"),
        (["response: [{call: f}]"], "scenario-missing-key", "'id'"),
        (["response: [{call: f}]", "start_tools: [x]", "returns: {x: 1}"], "scenario-missing-key", "'id'"),
        (["response: [{provider_call: f}, {provider_return: x}]"], "scenario-missing-key", "'id'"),
        (["response: [{text: a, lable: b}]"], "scenario-unknown-key", "did you mean 'label'?"),
        (["response: [{text: 1}]"], "scenario-bad-value", "put it in quotes"),
        (["response: [{call: f, id: c, args: {}, raw: '{}'}]"], "scenario-contradiction", "args and raw"),
        (["response: [{call: f, id: c, args: {a: 1}, deltas: ['{}']}]"], "scenario-contradiction", "add up"),
        (["response: [{text: a, label: x}, {text: b, label: x}]"], "scenario-duplicate-label", "'x'"),
        (["response: [{text: a, label: end}]"], "scenario-bad-value", "label"),
        (["response: [{text: a, label: a.b}]"], "scenario-bad-value", "label"),
        (["response: []\n        unfinished: true\n        usage: {}"], "scenario-contradiction", "unfinished"),
        (["reset: true"], "scenario-contradiction", "unfinished response"),
        (["response: [{call: f, id: c}]", "returns: {c: {error: a, denied: b}}"], "scenario-bad-value", "only one of"),
        (["response: [{call: f, id: c}]", "returns: {c: {metadata: a}}"], "scenario-bad-value", "needs one of"),
        (["event: data-app-x\n        at: '2020-01-01T00:00:00Z'"], "scenario-contradiction", "before"),
        (["event: data-app-x\n        at: yesterday"], "scenario-bad-value", ".at"),
        (["stall: -1"], "scenario-bad-value", "stall"),
        (["start_tools: false"], "scenario-bad-value", "start_tools"),
        (["response: [{text: a}]\n        usage: {input_tokens: -1}"], "scenario-bad-value", "usage"),
        (["text"], "scenario-bad-value", "steps[0]"),
    ],
)
def test_a_slip_in_a_step_is_named(wrong, steps, code, words):
    """Each slip is one finding, with what was probably meant."""
    findings = wrong(steps=steps)
    assert [f.code for f in findings] == [code]
    assert words in findings[0].message
    assert findings[0].place.line is not None
    assert findings[0].place.line > 5
