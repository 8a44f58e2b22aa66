"""What lies on disk, for the inputs of HISTORIES 1.7 and for every gap that `store` settles."""

from __future__ import annotations

import re

import pytest
from tests.histories.message_parts.build import (
    Line,
    answer,
    call,
    conversation,
    inline,
    interrupt,
    journal_of,
    result,
    scenario,
    signature,
    stream_error,
    system,
    text,
    thought,
    user,
)
from tests.histories.message_parts.kept import K02, KEPT, SEEN, U

from tpharness.histories.message_parts import MESSAGE_PARTS
from tpharness.histories.message_parts.convert_parts import result_content
from tpharness.histories.moments import every_moment
from tpharness.run.plan import base_case
from tpharness.scenario import AgentRun, Scenario

PLAN, CURRENT = "message-parts/plan", "message-parts/current"


def stored(variant: str, played: Scenario, cut: tuple[int, str] | None = None) -> list[Line]:
    """Store a scenario, and leave out the times and the metadata of tasks."""
    return conversation(MESSAGE_PARTS[f"message-parts/{variant}"].store(journal_of(played, cut)))


@pytest.mark.parametrize(("variant", "name"), KEPT)
def test_what_is_kept_of_each_input(variant: str, name: str) -> None:
    """HISTORIES 1.7, each row but K17, which needs a file that is wrong."""
    assert stored(variant, scenario(f"histories/{name}")) == KEPT[variant, name]


def test_a_failed_model_call_is_no_interruption() -> None:
    """K12: nothing aborted; the current program hands the text to its next try."""
    *kept, prompt = stored("current", scenario("histories/k12-model-call-fails"))
    assert kept == KEPT["plan", "k12-model-call-fails"]
    assert prompt["type"] == "UserMessage"
    assert prompt["data"]["parts"][0]["text"].startswith("<assistant>\nHel\n</assistant>\n\n<system-reminder>")
    assert prompt["data"]["parts"][0]["text"].endswith("</system-reminder>")


# ------------------------------------------------------------------------------------------------ gaps

FAILURES = ["timeout", "network_failure", "error", "safety_halt"]
TEXT_CUT = "  - user: q\n  - steps: [{response: [{text: [Hel, lo], unfinished: true}], unfinished: true}]"
TOOL_RUNS = "  - user: q\n  - steps: [{response: [{call: slow, id: c1}]}, {start_tools: true}]"


def events_of(turns: str) -> int:
    """Return how many events the last run has before its result."""
    run = inline(turns).turns[-1]
    assert isinstance(run, AgentRun)
    return sum(1 for event in run.events or () if event["event_kind"] != "agent_run_result")


@pytest.mark.parametrize("variant", ["plan", "current"])
@pytest.mark.parametrize("reason", [*FAILURES, "process_ended"])
@pytest.mark.parametrize("turns", [TEXT_CUT, TOOL_RUNS], ids=["text", "tool"])
def test_only_the_user_aborts(turns: str, reason: str, variant: str) -> None:
    """The plan, decision 6: "aborted" is reserved strictly for user interrupts, failures and time-outs are errors."""
    lines = stored(variant, inline(turns), (events_of(turns), reason))
    assert not [d for d in (line["data"] for line in lines) if "aborted" in (d.get("stop_reason"), d.get("status"))]
    assert not [line for line in lines if line["type"] == "InterruptEntry"]


@pytest.mark.parametrize("reason", FAILURES)
def test_a_failure_in_a_response_is_a_stream_error(reason: str) -> None:
    """HISTORIES 1.2, `step_error`: the partial answer is not stored; what failed is."""
    lines = stored("plan", inline(TEXT_CUT), (events_of(TEXT_CUT), reason))
    assert lines == [U, stream_error(reason)]
    lines = stored("current", inline(TEXT_CUT), (events_of(TEXT_CUT), reason))
    assert lines[:2] == [U, stream_error(reason)]
    assert lines[2]["data"]["parts"][0]["text"].startswith("<assistant>\nHello\n")


@pytest.mark.parametrize("variant", ["plan", "current"])
def test_a_time_limit_is_an_error_of_the_tool_that_runs(variant: str) -> None:
    """HISTORIES 1.2: an exception or time-out in a tool is status error, in its words."""
    lines = stored(variant, inline(TOOL_RUNS), (events_of(TOOL_RUNS), "timeout"))
    said = "Tool slow execution error: TimeoutError the run took too long"
    assert lines == [U, answer(call("c1", "slow"), stop="tool_use"), result("c1", "slow", "error", said)]


@pytest.mark.parametrize("variant", ["plan", "current"])
@pytest.mark.parametrize("reason", ["network_failure", "process_ended"])
def test_a_program_that_ends_leaves_calls_without_results(reason: str, variant: str) -> None:
    """K15: dangling after a crash, and nobody there to write more."""
    lines = stored(variant, inline(TOOL_RUNS), (events_of(TOOL_RUNS), reason))
    assert lines == [U, answer(call("c1", "slow"), stop="tool_use")]


def test_an_interruption_after_a_regular_stop_is_forced_on_the_message() -> None:
    """The plan: force the stop reason "even if the provider did not report it". The program's task had ended."""
    played = scenario("documents/message-part-local-interrupt")
    said = text("It was a dark and stormy night.")
    assert stored("plan", played) == [user("Write an essay."), answer(said, stop="aborted")]
    assert stored("current", played) == [user("Write an essay."), answer(said, stop="stop")]


def test_half_an_answer_is_words_of_the_user_in_2_32() -> None:
    """Measured: the prompt that continues a failed call, and an entry; later releases keep the answer."""
    cut = (events_of(TEXT_CUT), "user_cancelled")
    prompt = (
        "<assistant>\nHello\n</assistant>\n\n<system-reminder>Your previous response was interrupted due to a "
        "transient error (often network-related). Please continue from where it left off without repeating content "
        "you've already provided.</system-reminder>"
    )
    assert stored("2.32", inline(TEXT_CUT), cut) == [U, user(prompt), SEEN]
    assert stored("current", inline(TEXT_CUT), cut) == [U, answer(text("Hello"), stop="aborted")]
    (kept,) = MESSAGE_PARTS["message-parts/2.32"].turn_contents(stored("2.32", inline(TEXT_CUT), cut))
    assert (kept.texts, kept.interrupted) == (("Hello",), True)


@pytest.mark.parametrize(("answers", "asked"), [(1, 1), (3, 3), (4, 3)])
def test_an_answer_without_words_is_asked_for_again(answers: int, asked: int) -> None:
    """A thought alone, too; the fourth in a row ends the task, which nothing can interrupt after that."""
    thoughts = "\n".join("      - {response: [{thinking: hm}]}" for _ in range(answers))
    played = inline(f"  - user: q\n  - steps:\n{thoughts}")
    lines = stored("current", played, (events_of(f"  - user: q\n  - steps:\n{thoughts}"), "user_cancelled"))
    again = [line for line in lines if line["type"] == "UserMessage" and "was empty" in str(line)]
    assert len(again) == asked
    assert (lines[-1] == interrupt(notice=False)) == (answers <= 3)
    assert lines[1] == answer(thought("hm"), stop="stop")


def test_a_text_of_blanks_was_seen_and_is_not_kept() -> None:
    """HISTORIES 1.3: what is kept is stripped; nothing is left, so an entry tells it, with a notice."""
    turns = "  - user: q\n  - steps: [{response: [{text: [' ', ' '], unfinished: true}], unfinished: true}]"
    cut = (events_of(turns), "user_cancelled")
    assert stored("plan", inline(turns), cut) == [U, answer(text("  "), stop="aborted")]
    assert stored("current", inline(turns), cut) == [U, SEEN]


def test_a_signature_may_be_half_while_its_thought_is_open() -> None:
    """A thought whose end was not seen is kept by the plan without what there is of its signature."""
    turns = "  - user: q\n  - steps: [{response: [{thinking: [hm], signature: s, unfinished: true}], unfinished: true}]"
    cut = (events_of(turns), "user_cancelled")
    assert stored("plan", inline(turns), cut) == [U, answer(thought("hm"), stop="aborted")]


def test_calls_of_a_response_that_goes_on_are_not_kept() -> None:
    """Never a tool call part with partial JSON: of a response without its end no call is known to be whole."""
    turns = "  - user: q\n  - steps: [{response: [{text: ok}, {call: a, id: c1, args: {}}], unfinished: true}]"
    cut = (events_of(turns), "user_cancelled")
    for variant in ("plan", "current"):
        assert stored(variant, inline(turns), cut) == [U, answer(text("ok"), stop="aborted")]


def test_the_user_can_stop_the_second_try() -> None:
    """The program asks again inside its turn, where a thread's turn ended with the error; the plan does not say."""
    places = list(every_moment(base_case(scenario("interruptions/error-then-finish-stop"))))
    program, plan = MESSAGE_PARTS[CURRENT], MESSAGE_PARTS[PLAN]
    failed, asked, speaks = places[1:4]
    assert failed.seen_by(program) is not failed
    assert failed.seen_by(plan) is failed
    error = stream_error("a tool registry was slow")
    assert conversation(program.store(failed.seen_by(program).after)) == [user("Hi"), error, interrupt(notice=False)]
    assert conversation(program.store(asked.seen_by(program).after)) == [user("Hi"), error, interrupt(notice=False)]
    assert conversation(program.store(speaks.seen_by(program).after))[2]["data"]["stop_reason"] == "aborted"
    assert conversation(plan.store(speaks.after)) == [user("Hi"), error]
    assert places[0].seen_by(program) is places[0]


def test_a_second_try_is_kept_and_the_first_is_not() -> None:
    """K12 going on: error, then an answer, and the turn is complete."""
    turns = (
        "  - user: q\n  - steps:\n"
        "      - {response: [{text: Hel, unfinished: true}], unfinished: true}\n"
        "      - {error: net down}\n"
        "      - {response: [{text: Hello}]}\n"
        "      - {finish: {finish_reason: stop}}"
    )
    done = answer(text("Hello"), stop="stop")
    assert stored("plan", inline(turns)) == [U, stream_error("net down"), done]
    current = stored("current", inline(turns))
    assert [line["type"] for line in current] == ["UserMessage", "StreamErrorItem", "UserMessage", "AssistantMessage"]
    assert current[-1] == done


def test_an_error_that_a_response_outlives_takes_nothing() -> None:
    """The response ends regularly after the error: it did not fail."""
    events = [
        "{event_kind: part_start, index: 0, part: {part_kind: text, content: Hel}}",
        "{event_kind: error, error_text: hiccup}",
        "{event_kind: part_delta, index: 0, delta: {part_delta_kind: text, content_delta: lo}}",
        "{event_kind: part_end, index: 0, part: {part_kind: text, content: Hello}}",
        "{event_kind: model_response_end, finish_reason: stop}",
        "{event_kind: agent_run_result, finish_reason: stop}",
    ]
    turns = "  - user: q\n  - server:\n" + "".join(f"      - {event}\n" for event in events)
    lines = stored("plan", inline(turns))
    assert [line["type"] for line in lines] == ["UserMessage", "AssistantMessage", "StreamErrorItem"]
    assert lines[1]["data"]["parts"] == [text("Hello")]


def test_arguments_are_kept_as_they_were_written() -> None:
    """HISTORIES 1.1: `arguments_json` is the raw string, JSON or not, with its blanks and numbers."""
    turns = (
        "  - user: q\n  - steps:\n"
        "      - response: [{call: a, id: c1, raw: '{ \"n\": 1.0e2 }'}, {call: b, id: c2, raw: 'not JSON'}, "
        "{call: c, id: c3, args: null}]\n"
        "      - returns: {c1: x, c2: {error: bad}, c3: {a: [1, true]}}"
    )
    lines = stored("current", inline(turns))
    made = [part["arguments_json"] for part in lines[1]["data"]["parts"]]
    assert made == ['{ "n": 1.0e2 }', "not JSON", "{}"]
    assert [line["data"]["output_text"] for line in lines[2:5]] == ["x", "bad", '{"a":[1,true]}']
    assert [line["data"]["status"] for line in lines[2:5]] == ["success", "error", "success"]


def test_finish_reasons_are_brought_to_the_words_of_the_plan() -> None:
    """stop, length, tool_use, error or aborted; the plan has no word for filtered content, which is an error."""
    words = {"stop": "stop", "length": "length", "tool_call": "tool_use", "content_filter": "error", "error": "error"}
    for told, kept in words.items():
        turns = f"  - user: q\n  - steps: [{{response: [{{text: x}}], finish_reason: {told}}}]"
        assert stored("plan", inline(turns))[1] == answer(text("x"), stop=kept)


def test_images_and_other_content() -> None:
    """User images are URLs or data URLs, an image of the model a file; what has no part is told as JSON."""
    turns = (
        "  - user: [look, {kind: image-url, url: 'https://e.x/a.png'}, "
        "{kind: binary, media_type: image/png, data: AQI=}, "
        "{kind: audio-url, url: 'https://e.x/a.mp3', identifier: i}]\n"
        "  - steps:\n"
        "      - {response: [{file: {media_type: image/png, data: AQI=}}, {call: shot, id: c1}]}\n"
        "      - {returns: {c1: [taken, {kind: binary, media_type: image/png, data: AQI=}]}}"
    )
    first, made, came = stored("current", inline(turns))
    inside = {"type": "image_url", "url": "data:image/png;base64,AQI="}
    assert first["data"]["parts"] == [
        text("look"),
        {"type": "image_url", "url": "https://e.x/a.png"},
        inside,
        text('{"identifier":"i","kind":"audio-url","url":"https://e.x/a.mp3"}'),
    ]
    file = made["data"]["parts"][0]
    # the two bytes 1 and 2: their SHA-256 by sha256sum
    digest = "a12871fee210fb8619291eaea194581cbd2531e4b23759d225f6806923f63222"
    assert file["type"] == "image_file"
    assert (file["mime_type"], file["byte_size"], file["sha256"]) == ("image/png", 2, digest)
    assert came["data"]["output_text"] == "taken"
    assert came["data"]["parts"] == [inside]


def test_neighbouring_texts_and_thoughts_become_one() -> None:
    """HISTORIES 1.2: consecutive deltas merge; a signature stands between two thoughts and parts them."""
    turns = (
        "  - user: q\n  - steps: [{response: [{thinking: a}, {thinking: b, signature: s}, {thinking: c}, "
        "{text: x}, {text: y}]}]"
    )
    parts = stored("plan", inline(turns))[1]["data"]["parts"]
    assert parts == [thought("ab"), signature("s"), thought("c"), text("xy")]


def test_what_is_whole_is_appended_at_once() -> None:
    """HISTORIES 1.2: a message is appended when its model call has ended, a result when its tool has."""
    played = scenario("histories/k02-thinking-call-and-answer")
    run = played.turns[-1]
    assert isinstance(run, AgentRun)
    events = run.events or ()
    kinds = [event["event_kind"] for event in events]
    ends = [i + 1 for i, kind in enumerate(kinds) if kind in ("model_response_end", "function_tool_result")]
    for count in range(len(events) + 1):
        appended = sum(1 for end in ends if end <= count)
        assert stored("current", played, (count, "process_ended")) == K02[: 1 + appended]


def test_a_file_by_url_and_one_whose_data_is_no_base64() -> None:
    """An image of the model by its URL stays one; data that does not decode is measured as the text it is."""
    parts = [
        "{part: {part_kind: file, content: {kind: image-url, url: 'https://e.x/a.png'}}}",
        "{part: {part_kind: file, content: {kind: binary, media_type: application/pdf, data: '*'}}}",
        "{part: {part_kind: x-other, payload: 1}}",
    ]
    turns = f"  - user: q\n  - steps: [{{response: [{', '.join(parts)}]}}]"
    by_url, by_data = stored("plan", inline(turns))[1]["data"]["parts"]
    assert by_url == {"type": "image_url", "url": "https://e.x/a.png"}
    # sha256sum of the one byte "*"
    digest = "684888c0ebb17f374298b65ee2807526c066094c701bcc7ebbe1c1095f494fc1"
    assert (by_data["byte_size"], by_data["sha256"]) == (1, digest)


def test_results_of_other_forms() -> None:
    """A content that is missing is not text, a reference is told as canonical JSON, so is a list without images."""
    turns = (
        "  - user: q\n  - steps:\n"
        "      - response: [{call: a, id: c1}, {call: b, id: c2}, {call: c, id: c3}]\n"
        "      - returns: {c1: null, c2: {ref: {uri: 'https://e.x/r'}}, c3: [a, b]}"
    )
    lines = stored("plan", inline(turns))
    texts = [line["data"]["output_text"] for line in lines if line["type"] == "ToolResultMessage"]
    assert texts == ["", '{"uri":"https://e.x/r"}', '["a","b"]']


def test_a_result_without_canonical_form_is_told_as_json() -> None:
    """A lone surrogate has no canonical form (R38) and an escape in ASCII."""
    assert result_content({"content": {"s": "\ud83d"}}) == ('{"s": "\\ud83d"}', ())


def test_a_thought_of_an_unknown_provider_has_no_format() -> None:
    """The format of a signature is a word for its provider; all of Google's are one."""
    for provider, word in (("unknown", None), ("google-gla", "google"), ("anthropic", "anthropic")):
        turns = f"  - user: q\n  - steps: [{{response: [{{thinking: a, signature: s, provider: {provider}}}]}}]"
        part = stored("plan", inline(turns))[1]["data"]["parts"][1]
        assert part.get("format") == word


def test_a_prompt_inside_of_a_turn_is_a_user_message() -> None:
    """What the user sends while the model works is a message of the user, where it came."""
    turns = "  - user: q\n  - steps: [{response: [{text: a}]}, {prompt: also this}, {response: [{text: b}]}]"
    lines = stored("plan", inline(turns))
    assert lines == [U, answer(text("a"), stop="stop"), user("also this"), answer(text("b"), stop="stop")]


def test_a_response_without_parts() -> None:
    """The plan: exactly one assistant message a model call; the program keeps it, too, and asks again in that turn."""
    turns = "  - user: q\n  - steps: [{response: [{text: ''}]}]"
    assert stored("plan", inline(turns)) == [U, answer(stop="stop")]
    kept, empty, asked = stored("current", inline(turns))
    assert [kept, empty] == [U, answer(stop="stop")]
    assert asked["data"]["parts"][0]["text"].startswith("The previous model response was empty")
    history = MESSAGE_PARTS[CURRENT]
    assert len(history.turn_contents([kept, empty, asked])) == 1


def test_an_interrupted_bash_says_so_itself() -> None:
    """In the program's words; other tools, and the plan, have the words that all tools have."""
    turns = (
        "  - user: q\n  - steps:\n      - response: [{call: Bash, id: c1, args: {command: ls}}]\n"
        "      - {start_tools: true, label: t}\n"
        "    interrupt: {reason: user_cancelled, after: t}"
    )
    (told,) = [line["data"] for line in stored("current", inline(turns)) if line["type"] == "ToolResultMessage"]
    assert told["status"] == "aborted"
    assert re.fullmatch(r"Interrupted by user after \d+\.\d\d seconds running: ls", told["output_text"])
    (planned,) = [line["data"] for line in stored("plan", inline(turns)) if line["type"] == "ToolResultMessage"]
    assert planned["output_text"] == "[Request interrupted by user for tool use]"


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("'one\n'", ["[stdout before interrupt]\none"]),
        ("{stdout: 1, stderr: 'oops\n\n'}", ["[stderr before interrupt]\noops"]),
        ("{stdout: '1', stderr: '2'}", ["[stdout before interrupt]\n1", "[stderr before interrupt]\n2"]),
        ("'\n'", []),
    ],
)
def test_an_interrupted_bash_tells_its_output_so_far(output: str, told: list[str]) -> None:
    """The latest preliminary output, in the program's words (`oracle_klaude_agent` has them from its own tool)."""
    turns = (
        "  - user: q\n  - steps:\n      - response: [{call: Bash, id: c1, args: {command: ls}}]\n"
        f"      - {{start_tools: true}}\n      - {{progress: {{c1: earlier}}}}\n"
        f"      - {{progress: {{c1: {output.replace(chr(10), chr(10) * 2)}}}, label: t}}\n"
        "    interrupt: {reason: user_cancelled, after: t}"
    )
    for variant in ("2.32", "current"):
        (line,) = [line for line in stored(variant, inline(turns)) if line["type"] == "ToolResultMessage"]
        assert line["data"]["output_text"].split("\n[")[1:] == [text[1:] for text in told]


def test_a_bash_that_never_began_has_the_words_of_any_tool() -> None:
    """Its own words are there from its start on."""
    turns = (
        "  - user: q\n  - steps:\n      - response: [{call: Bash, id: c1, args: {command: ls}}]\n        label: r\n"
        "      - {start_tools: true}\n    interrupt: {reason: user_cancelled, after: r}"
    )
    (line,) = [line for line in stored("current", inline(turns)) if line["type"] == "ToolResultMessage"]
    assert line["data"]["output_text"] == "[Request interrupted by user for tool use]"


def test_a_task_is_followed_by_its_metadata() -> None:
    """Document 002, "Task-level metadata events needed for replay"; the program counts calls that told token counts."""
    played = scenario("histories/k02-thinking-call-and-answer")
    counts = {"input_tokens": 7, "output_tokens": 5}
    for variant, count, more in (
        ("plan", {"turn_count": 2}, {}),
        ("current", {"step_count": 1}, {"is_partial": False}),
    ):
        (*_, last) = MESSAGE_PARTS[f"message-parts/{variant}"].store(journal_of(played))
        data = {name: value for name, value in last["data"].items() if name != "created_at"}
        agent = {"usage": counts, "model_name": "test-model", **count}
        assert last["type"] == "TaskMetadataItem"
        assert data == {"main_agent": agent, "sub_agent_task_metadata": [], **more}


def test_an_interrupted_task_has_metadata_where_token_counts_had_come() -> None:
    """After what tells the interruption; a task that fails, and one without a model call, has none."""
    played = scenario("histories/k02-thinking-call-and-answer")
    types = {
        (at, reason): [line["type"] for line in MESSAGE_PARTS[CURRENT].store(journal_of(played, (at, reason)))]
        for at, reason in ((8, "user_cancelled"), (14, "user_cancelled"), (14, "process_ended"))
    }
    assert "TaskMetadataItem" not in types[8, "user_cancelled"] + types[14, "process_ended"]
    assert types[14, "user_cancelled"][-2:] == ["InterruptEntry", "TaskMetadataItem"]
    spoken = inline("  - user: q\n  - steps: [{event: app-developer, data: hi}]")
    assert [line["type"] for line in MESSAGE_PARTS[CURRENT].store(journal_of(spoken))][-1] == "DeveloperMessage"


def test_system_messages_are_stored_as_planned() -> None:
    """Decision 9: an event of the application, and a system prompt of the user's turn; the program stores neither."""
    turns = (
        "  - user: {parts: [{part_kind: system-prompt, content: be kind}, {part_kind: user-prompt, content: q}]}\n"
        "  - steps: [{event: app-system, data: be brief}, {response: [{text: a}]}]"
    )
    said = answer(text("a"), stop="stop")
    assert stored("plan", inline(turns)) == [system("be kind"), U, system("be brief"), said]
    assert stored("current", inline(turns)) == [U, said]


def test_fields_of_a_developer_message_for_the_ui_are_kept_as_planned() -> None:
    """Document 002: "plus UI-only fields (e.g. `command_output`, `at_files`, etc.)", beside the others."""
    event = "{event: app-developer, data: {text: note, at_files: [a.py], command_output: {exit: 0}}}"
    line = stored("plan", inline(f"  - user: q\n  - steps: [{event}, {{response: [{{text: a}}]}}]"))[1]
    assert line["data"]["at_files"] == ["a.py"]
    assert line["data"]["command_output"] == {"exit": 0}
    plan = MESSAGE_PARTS[PLAN]
    assert plan.loads(plan.dumps([line])) == [line]
    assert "a.py" not in str(plan.model_input([U, line], "anthropic"))
