"""`tpharness.check` finds in stored conversations what the command finds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks.stored_conversations import BREAKAGES, MAKERS

from tpharness import UsageError, check
from tpharness.checking import RepairFormat
from tpharness.histories.stored.formats import check_stored


def broken(name: str) -> tuple[RepairFormat, Any]:
    """Return the format of a conversation that is broken in one way, and the conversation."""
    form, _, change = BREAKAGES[name]
    conversation = MAKERS[form](1)
    change(conversation)
    formats: dict[str, RepairFormat] = {"ai-sdk": "ai-sdk", "pydantic-ai": "pydantic-ai", "thread": "thread"}
    return formats[form], conversation


@pytest.mark.parametrize("name", [name for name in BREAKAGES if name != "cut-file"])
def test_python_and_the_command_find_the_same(name: str, tmp_path: Path) -> None:
    """As a value, a row and a file, with the format and, where it is plain, without it."""
    form, conversation = broken(name)
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(conversation), "utf-8")
    expected = [(one.code, one.place.pointer) for one in check_stored(conversation, form)]
    assert expected
    documents = [conversation, file, file.read_bytes()]
    documents += [] if form == "thread" else [{"id": 7, "messages": conversation}]
    for document in documents:
        assert [(one.code, one.place.pointer) for one in check(document, format=form)] == expected
        if not isinstance(document, bytes):  # bytes are a stream
            assert [(one.code, one.place.pointer) for one in check(document)] == expected


@pytest.mark.parametrize("form", ["ai-sdk", "pydantic-ai"])
def test_what_is_right_has_no_findings(form: RepairFormat, tmp_path: Path) -> None:
    """A sound file of another program is not a thread that has everything wrong."""
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(MAKERS[form](1)), "utf-8")
    assert check(file) == check(file, format=form) == check(MAKERS[form](1)) == []


def test_a_request_is_recognised_where_it_is_plain(tmp_path: Path) -> None:
    """As the command recognises it: it is not a thread that has everything wrong."""
    use = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
    turns = [("user", "Hi"), ("assistant", [use]), ("user", "And?")]
    request = {"model": "claude-sonnet-4-5", "messages": [{"role": role, "content": said} for role, said in turns]}
    file = tmp_path / "request.json"
    file.write_text(json.dumps(request), "utf-8")
    for document in (request, file):
        assert "anthropic-call-unanswered" in {one.code for one in check(document)}


def test_an_unknown_format_is_refused() -> None:
    """With the one that is like it; what is not JSON is a finding."""
    with pytest.raises(UsageError) as refused:
        check([], format="ai-sdc")  # type: ignore[arg-type]
    assert "ai-sdk" in refused.value.hint
    assert [one.code for one in check(b"{", format="ai-sdk")] == ["json-invalid"]
