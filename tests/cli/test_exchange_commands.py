"""`tpharness history` and `tpharness import` print what can be used, and say what is not in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tpharness.findings import Level
from tpharness.histories.exchange.model_calls import FORMS, model_of
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.registry import API_NAMES, find_api

AT = "2025-01-20T10:00:{:02d}Z"
REFERENCE = {"uri": "https://example.org/1", "size_bytes": 5}


def message(kind: str, second: int, *parts: dict[str, Any], agent: str = "a") -> dict[str, Any]:
    """Return a message."""
    return {"message_type": kind, "timestamp": AT.format(second), "agent_id": agent, "parts": list(parts)}


def call(call_id: str) -> dict[str, Any]:
    """Return a call."""
    return {"part_kind": "tool-call", "tool_name": "look", "tool_call_id": call_id, "args": {}}


def thread() -> dict[str, Any]:
    """Return a thread with a custom part, a provider's tool, a reference, an event and a call that waits."""
    returned = {"part_kind": "tool-return", "tool_name": "look", "tool_call_id": "c1", "status": "success"}
    builtin = {"part_kind": "builtin-tool-call", "tool_name": "web", "tool_call_id": "n1", "args": {}}
    messages = [
        message("response", 2, {"part_kind": "custom:plan", "step": 1}, builtin, call("c1")),
        message("request", 3, {**returned, "content_ref": REFERENCE}),
        {"message_type": "system", "timestamp": AT.format(3), "event_type": "data-app-note", "event_data": 1},
        message("response", 4, {"part_kind": "text", "content": "Done."}, call("c2")),
    ]
    agents = {name: {"agent_id": name, "agent_name": name.upper(), "created_at": AT.format(0)} for name in "ab"}
    turn = {"turn_type": "agent", "agent_id": "a", "started_at": AT.format(2), "completed_at": AT.format(5)}
    asked = {"part_kind": "user-prompt", "content": "Hi"}
    return {
        "version": "0.0.4",
        "thread_id": "t",
        "created_at": AT.format(0),
        "updated_at": AT.format(5),
        "agents": agents,
        "turns": [
            {"turn_type": "user", "submitted_at": AT.format(1), "parts": [asked]},
            {**turn, "completion_status": "complete", "messages": messages},
        ],
    }


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Return the path of the thread."""
    path = tmp_path / "thread.json"
    path.write_text(json.dumps(thread()), "utf-8")
    return str(path)


@pytest.fixture
def stored(tmp_path: Path) -> str:
    """Return the option that gives the content that is stored elsewhere."""
    path = tmp_path / "one.json"
    path.write_text('{"t": 18}', "utf-8")
    return f"{REFERENCE['uri']}={path}"


@pytest.mark.parametrize("form", FORMS)
def test_the_history_is_printed_in_every_form(form: str, file: str, stored: str, call: Any) -> None:
    """Exit code 0; the content that was given is in it; what is not in it goes to standard error."""
    called = call("history", file, "--for", form, "--content", stored)
    assert called.code == 0
    messages = json.loads(f"[{','.join(called.out.splitlines())}]" if form == "thread-log" else called.out)
    assert "18" in called.out
    lines = called.err.splitlines()
    assert [line.split(";")[0] for line in lines[:3]] == [
        "left out /turns/1/messages/0/parts/0: custom:plan",
        "left out /turns/1/messages/2: data-app-note",
        "left out /turns/1/messages/3: calls c2",
    ]
    assert lines[-1] == "pending /turns/1/messages/3/parts/1: look c2 waits for its return"
    elsewhere = [line for line in lines if "of the history" in line]
    if form in (*API_NAMES, "thread-log"):
        assert [line.split(";")[0] for line in elsewhere] == ["left out /1/parts/0 of the history: builtin-tool-call"]
    else:
        assert elsewhere == []
    if form in API_NAMES:
        provider = next(name for name in API_NAMES if name == form)
        rejected = {f.code for f in check_payload(provider, messages) if f.level is Level.MUST}
        assert rejected <= {"anthropic-prefill"}  # until somebody says something, since c2 waits


def test_the_history_for_pydantic_ai_is_loaded(file: str, stored: str, call: Any) -> None:
    """By its own type adapter, from the text that was printed."""
    from pydantic_ai import ModelMessagesTypeAdapter  # half a second, for this test alone

    called = call("history", file, "--for", "pydantic-ai", "--content", stored)
    assert len(ModelMessagesTypeAdapter.validate_json(called.out)) == 4


def test_a_content_that_nobody_gives_is_reported(file: str, call: Any) -> None:
    """The model is told neither an empty result nor an address."""
    called = call("history", file, "--for", "openai-chat")
    assert called.code == 0
    assert "the return of c1 is stored at https://example.org/1, and nobody resolved it (R6)" in called.err
    assert "tool_calls" not in called.out


def test_the_report_has_everything(file: str, call: Any) -> None:
    """With --json it goes to standard output, and nothing to standard error."""
    called = call("history", file, "--for", "anthropic", "--json")
    report = json.loads(called.out)
    assert called.err == ""
    assert sorted(report) == ["added", "left_out", "messages", "moved", "not_sent", "pending"]
    assert [loss["what"] for loss in report["not_sent"]] == ["builtin-tool-call"]
    assert report["pending"] == [{"pointer": "/turns/1/messages/3/parts/1", "tool_name": "look", "tool_call_id": "c2"}]
    assert {"pointer", "what", "why"} == set(report["left_out"][0])


@pytest.mark.parametrize("named", [["--model", "mistral-large-latest"], ["--server", "mistral"]])
def test_the_history_for_a_server_is_what_it_takes(named: list[str], file: str, stored: str, call: Any) -> None:
    """By the name of the model or of the server: `accept` finds nothing in it, and something in the plain one."""
    told = ["history", file, "--for", "openai-chat", "--content", stored, "--next-user", "And in Rome?"]
    accept = ["accept", "-", "--api", "openai-chat", "--server", "mistral"]
    plain = call(*accept, stdin=call(*told).out.encode())
    assert "C11 chat-call-id-long" in plain.out
    fitting = call(*accept, stdin=call(*told, *named).out.encode())
    assert (fitting.code, "ACCEPTED: none of the" in fitting.out) == (0, True)


@pytest.mark.parametrize("option", [["--model", "claude-opus-4-8"], ["--server", "mistral"]])
def test_a_server_matters_where_an_api_has_others(option: list[str], file: str, call: Any) -> None:
    """An option that changes nothing is not taken silently; a server that is not in the table neither."""
    called = call("history", file, "--for", "anthropic", *option)
    assert (called.code, called.out) == (2, "")
    assert f"{option[0]}: what is written for anthropic is the same" in called.err
    unknown = call("history", file, "--for", "openai-chat", "--server", "llama.cpp")
    assert (unknown.code, unknown.out) == (2, "")
    assert "mistral, moonshot, deepseek, groq" in unknown.err


MODELS = {
    "openai-chat": "mistral-large-2411",
    "openai-responses": "gpt-5",
    "anthropic": "claude-3-5-sonnet-20241022",
    "gemini": "gemini-2.5-pro",
    "ollama": "qwen3",
    "bedrock": "amazon.nova-pro-v1:0",
}
"""Models that take less or more than the newest ones of their API, so that `accept` has to know the name."""


@pytest.mark.parametrize("form", API_NAMES)
def test_a_request_has_the_model_that_the_thread_names(form: str, stored: str, tmp_path: Path, call: Any) -> None:
    """What is printed is judged by this model, with nothing said again; for a server it is what that one takes."""
    path, model = tmp_path / "named.json", MODELS[form]
    value = thread()
    value["turns"][1]["messages"][3]["model_name"] = model
    path.write_text(json.dumps(value), "utf-8")
    printed = call("history", str(path), "--for", form, "--request", "--content", stored, "--next-user", "And?")
    assert printed.code == 0
    body = json.loads(printed.out)
    field = find_api(form).names_model
    assert body[field] == model
    plain = json.loads(call("history", str(path), "--for", form, "--content", stored, "--next-user", "And?").out)
    if form != "openai-chat":  # Mistral's get other ids
        assert {name: entry for name, entry in body.items() if name != field} == (
            plain if isinstance(plain, dict) else {find_api(form).entries: plain}
        )
    taken = call("accept", "-", "--api", form, stdin=printed.out.encode())
    assert taken.code == 0
    assert taken.out.splitlines()[0].endswith(f", {model}")
    assert "ACCEPTED" in taken.out
    if form in ("openai-chat", "anthropic", "gemini", "bedrock"):  # it has what no other API has
        assert call("accept", "-", stdin=printed.out.encode()).out == taken.out
    other = call("history", str(path), "--for", form, "--request", "--content", stored, "--model", "another")
    assert json.loads(other.out)[field] == "another"


def test_a_request_without_a_known_model_says_so(file: str, call: Any) -> None:
    """And it is refused for a library, which has no requests."""
    called = call("history", file, "--for", "gemini", "--request")
    assert called.code == 0
    assert "model" not in json.loads(called.out)
    assert "the thread does not say which model answered: --model names it" in called.err
    refused = call("history", file, "--for", "ai-sdk", "--request")
    assert (refused.code, refused.out) == (2, "")
    assert "--request: ai-sdk is the form of a library" in refused.err


def test_a_request_says_what_every_request_of_its_api_needs(file: str, call: Any) -> None:
    """Anthropic's API refuses one without max_tokens, which no thread has; `accept` says that it does not look."""
    called = call("history", file, "--for", "anthropic", "--request", "--next-user", "And?")
    assert "max_tokens" not in json.loads(called.out)
    assert "the request still needs max_tokens: anthropic refuses it without" in called.err.splitlines()
    assert "max_tokens" not in call("history", file, "--for", "anthropic").err
    assert "max_tokens" not in call("history", file, "--for", "openai-chat", "--request").err
    taken = call("accept", "-", "--api", "anthropic", stdin=called.out.encode())
    assert taken.code == 0
    assert "Only the messages are judged. Not judged: other fields, such as max_tokens" in taken.out


ADDED = {
    "gemini": [
        (
            "added /contents/1/parts/0/thought_signature of these messages: skip_thought_signature_validator for the "
            "call call_1; gemini: the first call of an answer has a signature, and the thread has none"
        )
    ],
    "anthropic": [
        (
            "added /messages/2/content/0/content/0 of these messages: the text '(the tool failed without a message)' "
            "for the call call_1; anthropic: a result that is an error has a text"
        )
    ],
    "bedrock": [
        (
            "added /messages/2/content/0/toolResult/content/0 of these messages: the text '(the tool failed without a "
            "message)' for the call call_1; bedrock: a result that is an error has a content"
        )
    ],
}


@pytest.mark.parametrize("request_", [[], ["--request"]], ids=["messages", "request"])
@pytest.mark.parametrize("form", API_NAMES)
def test_what_an_api_gets_beside_the_thread_is_printed(
    form: str, request_: list[str], tmp_path: Path, call: Any
) -> None:
    """A line each, at its place in what is printed; a signature that the thread has is not added, and has none."""
    value, path = thread(), tmp_path / "thread.json"
    used = {"part_kind": "tool-call", "tool_name": "look", "tool_call_id": "call_1", "args": {}}
    failed = {"part_kind": "tool-return", "tool_name": "look", "tool_call_id": "call_1", "status": "error"}
    value["turns"][1]["messages"] = [message("response", 2, used), message("request", 3, {**failed, "content": []})]
    path.write_text(json.dumps(value), "utf-8")
    called = call("history", str(path), "--for", form, *request_)
    assert called.code == 0, called.err
    said = [line for line in called.err.splitlines() if line.startswith("added ")]
    assert said == ADDED.get(form, [])
    sent = json.loads(called.out)
    for line in said:
        place: Any = sent
        for step in line.split()[1].split("/")[1:]:
            place = place[int(step)] if isinstance(place, list) else place[step]
        assert place
    thought = {"part_kind": "thinking", "content": "Hm.", "signature": "c2ln", "provider_name": "google"}
    value["turns"][1]["messages"][0]["parts"].insert(0, thought)
    path.write_text(json.dumps(value), "utf-8")
    signed = call("history", str(path), "--for", form, *request_)
    assert ("skip_thought" in signed.err, signed.code) == (False, 0)


def test_the_words_before_a_history_that_begins_with_an_answer_are_printed(tmp_path: Path, call: Any) -> None:
    """Gemini wants the user to begin; an empty text that the user has sent is not added."""
    value, path = thread(), tmp_path / "thread.json"
    value["turns"][1]["messages"] = [message("response", 2, {"part_kind": "text", "content": "Hello."})]
    asked = value["turns"].pop(0)
    path.write_text(json.dumps(value), "utf-8")
    called = call("history", str(path), "--for", "gemini")
    assert json.loads(called.out)["contents"][0] == {"role": "user", "parts": [{"text": ""}]}
    assert "added /contents/0 of these messages: an empty text of the user; gemini: the user says something first" in (
        called.err.splitlines()
    )
    asked["parts"][0]["content"] = ""
    value["turns"].insert(0, asked)
    path.write_text(json.dumps(value), "utf-8")
    assert "added" not in call("history", str(path), "--for", "gemini").err


def test_the_model_of_a_request_is_that_of_the_agent() -> None:
    """Of the one that is called, its newest."""
    value = thread()
    messages = value["turns"][1]["messages"]
    messages[0] |= {"model_name": "first"}
    messages[3] |= {"model_name": "second", "agent_id": "b"}
    assert [model_of(value), model_of(value, "a"), model_of(value, "b")] == ["second", "first", "second"]
    assert model_of(thread()) == ""


@pytest.mark.parametrize("server", sorted(set(find_api("openai-chat").servers) - set(API_NAMES)))
def test_the_name_of_a_server_says_which_api_it_has(server: str, file: str, call: Any) -> None:
    """Where the name of an API is asked for."""
    called = call("history", file, "--for", server)
    assert (called.code, called.out) == (2, "")
    assert f"--for openai-chat --server {server}" in called.err
    judged = call("accept", "-", "--api", server, stdin=b"[]")
    assert f"--api openai-chat --server {server}" in judged.err


@pytest.mark.parametrize(
    ("server", "lines"),
    [
        (
            "mistral",
            [
                "moved /1/parts/0 of the history: thinking; openai-chat has no field for it: it is sent as text",
                (
                    "added /1/tool_calls/0/id of these messages: {id} for the call call_1 and its result;"
                    " Mistral's API and its models on other servers: ids of nine letters and digits"
                ),
                (
                    "added /3 of these messages: the assistant says '(no answer)';"
                    " Mistral's API and its models on other servers: an answer comes after a result"
                ),
            ],
        ),
        ("moonshot", []),
        ("groq", ["moved /1/parts/0 of the history: thinking; openai-chat has no field for it: it is sent as text"]),
    ],
)
def test_what_a_server_gets_otherwise_is_printed(server: str, lines: list[str], tmp_path: Path, call: Any) -> None:
    """A line each, with its place; nothing is added in silence."""
    value, path = thread(), tmp_path / "thread.json"
    returned = {"part_kind": "tool-return", "tool_name": "look", "tool_call_id": "call_1", "status": "success"}
    used = {"part_kind": "tool-call", "tool_name": "look", "tool_call_id": "call_1", "args": {}}
    value["turns"][1]["messages"] = [
        message("response", 2, {"part_kind": "thinking", "content": "Hm.", "provider_name": "unknown"}, used),
        message("request", 3, {**returned, "content": 18}),
    ]
    path.write_text(json.dumps(value), "utf-8")
    args = ["history", str(path), "--for", "openai-chat", "--server", server, "--next-user", "And?"]
    called = call(*args)
    assert called.code == 0, called.err
    sent = json.loads(called.out)
    made = sent[1]["tool_calls"][0]["id"]
    assert called.err.splitlines() == [line.format(id=made) for line in lines]
    report = json.loads(call(*args, "--json").out)
    assert len(report["added"]) + len(report["moved"]) == len(lines)
    del value["turns"][1]["messages"][0]["parts"][0]
    path.write_text(json.dumps(value), "utf-8")
    bare = call(*args).err
    assert ("/1/reasoning_content of these messages: an empty reasoning_content" in bare) == (server == "moonshot")
    empty = call(*args[:5], "ollama", *args[6:]).err
    assert "added /1/content of these messages: an empty text beside the calls; Ollama's /v1" in empty


def test_another_agent_reads_who_said_what(file: str, call: Any) -> None:
    """The prompt is the caller's; the texts of others have their names."""
    called = call("history", file, "--for", "openai-chat", "--agent", "b", "--system-prompt", "You are B.")
    said = [message["content"] for message in json.loads(called.out)]
    assert said == ["You are B.", "Hi", "{agent:A}: Done."]


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (["--for", "cohere"], "nothing is called 'cohere'"),
        (["--for", "gemini", "--agent", "c"], "'c' is not in the registry of the thread"),
        (["--for", "gemini", "--content", "one.json"], "takes URI=FILE"),
        (["--for", "gemini", "--content", "https://example.org/1=nowhere.json"], "nowhere.json: No such file"),
    ],
)
def test_a_history_that_cannot_be_made_says_what_to_do(args: list[str], part: str, file: str, call: Any) -> None:
    """Exit code 2, nothing on standard output, and a hint."""
    called = call("history", file, *args)
    assert called.code == 2
    assert called.out == ""
    assert part in called.err
    assert len(called.err.splitlines()) == 2


def test_no_history_is_made_of_an_invalid_thread(call: Any) -> None:
    """The findings are printed, as `check` prints them."""
    wrong = {**thread(), "agents": {}}
    called = call("history", "-", "--for", "gemini", stdin=json.dumps(wrong).encode())
    assert called.code == 2
    assert called.out == ""
    assert "agent-unknown" in called.err
    assert "not a valid 0.0.4 thread" in called.err


@pytest.mark.parametrize("form", ["pydantic-ai", "ai-sdk"])
def test_what_history_prints_is_imported(form: str, file: str, stored: str, call: Any) -> None:
    """The thread is one that `check` accepts, and its history is the same again."""
    printed = call("history", file, "--for", form, "--content", stored)
    made = call("import", "-", "--from", form, "--agent", "b", "--thread-id", "t-2", stdin=printed.out.encode())
    assert (made.code, made.err) == (0, "")
    assert json.loads(made.out)["thread_id"] == "t-2"
    assert list(json.loads(made.out)["agents"]) == ["b"]
    assert call("check", "-", stdin=made.out.encode()).code == 0
    again = call("history", "-", "--for", form, stdin=made.out.encode())
    assert json.loads(again.out) == json.loads(printed.out)


def test_an_import_reports_what_the_thread_does_not_have(call: Any, tmp_path: Path) -> None:
    """On standard error; the thread is written where -o says."""
    parts = [{"part_kind": "system-prompt", "content": "Be brief."}, {"part_kind": "user-prompt", "content": "Hi"}]
    target = tmp_path / "out.json"
    request = json.dumps([{"kind": "request", "parts": parts}]).encode()
    called = call("import", "-", "--from", "pydantic-ai", "--at", AT.format(1), "-o", str(target), stdin=request)
    assert (called.code, called.out) == (0, "")
    assert called.err == "left out /0/parts/0: a system prompt; system prompts are never stored (R8)\n"
    assert json.loads(target.read_text("utf-8"))["turns"][0]["submitted_at"] == AT.format(1)


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (["--from", "langgraph"], "nothing is called 'langgraph'"),
        (["--from", "ai-sdk", "--agent", ""], "ids, which are not empty"),
        (["--from", "ai-sdk", "--at", "noon"], "'noon' is not a time"),
    ],
)
def test_an_import_that_makes_no_sense_is_refused(args: list[str], part: str, call: Any) -> None:
    """Exit code 2 and a hint or a sentence that says what is allowed."""
    called = call("import", "-", *args, stdin=b"[]")
    assert called.code == 2
    assert part in called.err


@pytest.mark.parametrize("command", [["history", "--for", "anthropic"], ["hash"], ["convert", "--to", "0.0.4"]])
def test_a_stream_in_place_of_a_thread_is_told_apart_from_broken_json(command: list[str], call: Any) -> None:
    """Its syntax is right: it has to be folded first."""
    called = call(*command, "-", stdin=b'data: {"type":"start"}\n\n')
    assert called.code == 2
    assert "- is a stream, not JSON" in called.err
    assert "`tpharness fold -` makes a thread of a stream" in called.err
