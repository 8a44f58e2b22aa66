"""`tpharness repair`, `accept --repair` and `check --from`: what is said, what is written, and what is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.stored_conversations import thread_conversation

USER = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}
LATER = {"id": "u2", "role": "user", "parts": [{"type": "text", "text": "And?"}]}
CALL = {"type": "tool-look", "toolCallId": "c1", "state": "input-available", "input": {}}
OPEN = {"id": "a1", "role": "assistant", "parts": [CALL]}
HALF = {"id": "a1", "role": "assistant", "parts": [{**CALL, "state": "output-available", "input": "{", "output": 1}]}


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    """Return a folder with a right chat, one that can be repaired, and one that cannot."""
    folder = tmp_path / "chats"
    folder.mkdir()
    for name, chat in {"right": [USER], "open": [USER, OPEN, LATER], "half": [USER, HALF, LATER]}.items():
        (folder / f"{name}.json").write_text(json.dumps(chat), "utf-8")
    return folder


def test_check_recognises_the_messages_of_other_programs(chats: Path, call: Any) -> None:
    """Their findings, and not those of a thread; --from says the format where it is not plain."""
    called = call("check", str(chats))
    assert called.code == 1
    assert [line.split(" at ")[0] for line in called.out.splitlines() if line.startswith("MUST")] == [
        "MUST stored-arguments-half",
        "MUST stored-call-unanswered",
    ]
    assert call("check", str(chats / "right.json")).out == "1 file checked as ai-sdk, nothing wrong\n"
    assert (
        call("check", "-", "--from", "pydantic-ai", stdin=b"[]").out == "1 file checked as pydantic-ai, nothing wrong\n"
    )
    wrong = call("check", str(chats), "--from", "ai-sdc")
    assert "did you mean ai-sdk?" in wrong.err


def test_a_request_is_checked_as_its_api_does(call: Any) -> None:
    """Half arguments that have an answer are found too, which the API takes."""
    function = {"name": "look", "arguments": '{"INVALID_JSON": "{"}'}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c1", "content": "18"},
    ]
    called = call("check", "-", "--from", "openai-chat", stdin=json.dumps(messages).encode())
    assert "stored-arguments-half at - /1/tool_calls/0" in called.out


def test_without_an_output_nothing_is_written(chats: Path, tmp_path: Path, call: Any) -> None:
    """What would be changed is listed with its ruling, and what has to be done by hand."""
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    called = call("repair", str(chats))
    assert called.code == 1
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    half, opened, total = called.out.splitlines()
    assert "half.json: not repaired: MUST stored-arguments-half at /1/parts/0" in half
    assert opened.endswith("left out with its response [R21]")
    assert total.startswith("3 documents: 1 not repaired, 1 to be repaired, 1 valid; ")
    alone = call("repair", str(chats / "right.json"))
    assert (alone.code, alone.out) == (0, f"{chats / 'right.json'}: ai-sdk, valid\n")


def test_what_is_written_is_valid(chats: Path, tmp_path: Path, call: Any) -> None:
    """The document that cannot be made so is not written; `check` finds nothing in the others."""
    target = tmp_path / "repaired"
    called = call("repair", str(chats), "-o", str(target))
    assert called.code == 1
    assert sorted(path.name for path in target.glob("[a-z]*.json")) == ["open.json", "right.json"]
    assert json.loads((target / "open.json").read_bytes()) == [USER, LATER]
    assert call("check", str(target)).code == 0
    assert call("import", str(target), "--from", "ai-sdk", "--strict").code == 0
    again = call("repair", str(target))
    assert (again.code, "nothing to repair" in again.out) == (0, True)


def test_one_document_is_repaired_in_a_pipe(chats: Path, call: Any) -> None:
    """The document goes to standard output, and what was changed to standard error."""
    called = call("repair", "-", "-o", "-", stdin=(chats / "open.json").read_bytes())
    assert called.code == 0
    assert json.loads(called.out) == [USER, LATER]
    assert "left out with its response [R21]" in called.err
    reported = json.loads(call("repair", str(chats / "open.json"), "--json").out)
    assert [change["code"] for change in reported["changes"]] == ["stored-call-unanswered"]
    assert (reported["format"], reported["outcome"]) == ("ai-sdk", "to be repaired")


def test_what_is_in_no_known_format_is_refused(call: Any) -> None:
    """Exit code 2, and how to name the format."""
    called = call("repair", "-", stdin=b'{"a": 1}')
    assert called.code == 2
    assert "--from thread|ai-sdk|pydantic-ai" in called.err


def test_a_request_is_repaired_so_that_the_api_takes_it(tmp_path: Path, call: Any) -> None:
    """The command to type after a 400."""
    use = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [{"type": "text", "text": "Let me look."}, use]},
        {"role": "user", "content": "And?"},
    ]
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"model": "claude-sonnet-4-5", "messages": messages}), "utf-8")
    assert call("accept", str(request)).code == 1
    dry = call("accept", str(request), "--repair")
    assert dry.code == 1
    assert "/messages/1/content/1: " in dry.out
    target = str(tmp_path / "right.json")
    assert call("accept", str(request), "--repair", "-o", target).code == 0
    assert call("accept", target, "--api", "anthropic").code == 0
    assert json.loads(Path(target).read_bytes())["messages"] == [messages[0], messages[2]]


def test_what_a_tool_has_returned_is_named_and_kept(tmp_path: Path, call: Any) -> None:
    """Without its call it has no place: nothing is changed but by --drop-results; its id and tool are printed."""
    returned = {"part_kind": "tool-return", "tool_name": "book", "tool_call_id": "c1", "content": "BOOKED 77"}
    messages = [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "book"}]},
        {"kind": "request", "parts": [returned]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "ok"}]},
    ]
    path, target = tmp_path / "chat.json", tmp_path / "right.json"
    path.write_text(json.dumps(messages), "utf-8")
    refused = call("repair", str(path), "-o", str(target))
    assert (refused.code, target.exists()) == (1, False)
    assert "(call c1 of book, returned 'BOOKED 77')" in refused.out
    assert "--drop-results leaves it out" in refused.out
    (named,) = json.loads(call("repair", str(path), "--json").out)["refused"]
    assert (named["call_id"], named["tool"], named["content"]) == ("c1", "book", "BOOKED 77")
    dropped = call("repair", str(path), "--drop-results", "-o", str(target))
    assert dropped.code == 0
    assert "(call c1 of book, returned 'BOOKED 77'): left out [R23]" in dropped.out
    assert json.loads(target.read_bytes()) == [messages[0], messages[2]]


def test_a_result_beside_an_open_call_is_kept(tmp_path: Path, call: Any) -> None:
    """What is written has it, and so has the thread that is made of it."""
    done = {**CALL, "toolCallId": "c0", "state": "output-available", "output": {"booked": "HOTEL-77"}}
    path, target = tmp_path / "chat.json", tmp_path / "right.json"
    path.write_text(json.dumps([USER, {**OPEN, "parts": [done, CALL]}, LATER]), "utf-8")
    called = call("repair", str(path), "-o", str(target))
    assert called.code == 0
    assert "(call c1 of look): closed with an error" in called.out
    assert "HOTEL-77" in call("import", str(target), "--from", "ai-sdk", "--strict").out


@pytest.mark.parametrize("form", ["ai-sdk", "pydantic-ai", "openai-chat", "anthropic", "openai-responses", "thread"])
def test_a_text_that_goes_with_its_call_is_named(form: str, tmp_path: Path, call: Any) -> None:
    """Somebody has read it: its beginning is printed, and with --json all of it (R21)."""
    words = "Let me look for a room in Paris that has a view, a desk, and a bed that is long enough for me."
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(_with_open_call(form, words)), "utf-8")
    printed = call("repair", str(path), "--from", form).out
    assert f"left out with its response; it said '{words[:80]}…' [R21]" in printed
    (change, *_) = json.loads(call("repair", str(path), "--from", form, "--json").out)["changes"]
    assert change["said"] == words


def _with_open_call(form: str, words: str) -> Any:
    """Return a conversation that goes on after an answer with a text and a call that was never answered."""
    asked, more = {"role": "user", "content": "Hi"}, {"role": "user", "content": "And?"}
    if form == "ai-sdk":
        return [USER, {**OPEN, "parts": [{"type": "text", "text": words}, CALL]}, LATER]
    if form == "openai-chat":
        function = {"name": "look", "arguments": "{}"}
        called = {"role": "assistant", "content": words, "tool_calls": [{"id": "c1", "function": function}]}
        return [asked, called, more]
    if form == "anthropic":
        use = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
        return [asked, {"role": "assistant", "content": [{"type": "text", "text": words}, use]}, more]
    if form == "openai-responses":
        said = {"role": "assistant", "content": [{"type": "output_text", "text": words}]}
        return [asked, said, {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}, more]
    answer = [
        {"part_kind": "text", "content": words},
        {"part_kind": "tool-call", "tool_name": "look", "tool_call_id": "c1", "args": {}},
    ]
    prompts = [{"part_kind": "user-prompt", "content": text} for text in ("Hi", "And?")]
    if form == "pydantic-ai":
        first, last = ({"kind": "request", "parts": [prompt]} for prompt in prompts)
        return [first, {"kind": "response", "parts": answer}, last]
    thread = thread_conversation(0, 1)
    messages = thread["turns"][1]["messages"]
    messages[0]["parts"] = answer
    del messages[1]
    return thread


@pytest.mark.parametrize(
    ("value", "asked"), [(b"[]", True), (b'{"messages": []}', True), (b"5", False), (b"{}", False)]
)
def test_what_may_be_messages_is_asked_for_its_format(value: bytes, asked: bool, call: Any) -> None:
    """A list is messages of some format, which has to be named; anything else gets the advice for a thread."""
    called = call("check", "-", stdin=value)
    assert called.code == 1
    assert ("its format is not plain: --from ai-sdk|pydantic-ai" in called.out) == asked
