"""Tests of a chat as a user writes them who has docs/PYTHON.md and docs/PYTEST.md: played, and checked strictly.

The chat is that of `examples/starlette_chat/`, whose `chat.py` lies beside it.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from chat import app
from syrupy.assertion import SnapshotAssertion

from tpharness import (
    App,
    Finding,
    Folded,
    InputError,
    Level,
    Mode,
    Outcome,
    Place,
    Played,
    Reason,
    ThreadDifference,
    TpharnessError,
    UsageError,
    VersionName,
    assert_passed,
    assert_same_thread,
    assert_valid,
    canonical_thread,
    check,
    content_thread,
    convert,
    diff,
    export,
    fold,
    import_messages,
    load_scenario,
    model_history,
    outline,
    pending_calls,
    play,
    repair,
    thread_hash,
)
from tpharness.http_clients import ASGITransport, AsyncRecordingClient
from tpharness.snapshots import ContentSnapshotExtension, mask

ASKED = "How warm is it?"
CHAT: list[dict[str, Any]] = [
    {"id": "1", "role": "user", "parts": [{"type": "text", "text": ASKED}]},
    {"id": "2", "role": "assistant", "parts": [{"type": "step-start"}, {"type": "text", "text": "Warm."}]},
]


def ask(chat: App, name: str) -> tuple[dict[str, Any], Folded]:
    """Return what both sides hold of a chat."""
    stream = chat.client.post(f"/chats/{name}", json={"text": ASKED})
    thread: dict[str, Any] = chat.client.get(f"/chats/{name}").json()
    return thread, fold(ASKED, stream.content)


def test_both_sides_hold_the_same(tpharness_app: App) -> None:
    """By content, and the server's thread is valid."""
    mode: Mode = "content"
    server, client = ask(tpharness_app, "whole")
    assert_valid(server)
    assert_same_thread(server, client, mode=mode)
    differences: list[ThreadDifference] = diff(server, client.thread, mode=mode)
    assert differences == []
    assert outline(server)[0] == "user"
    assert thread_hash(server) == thread_hash(canonical_thread(server))


def test_what_is_wrong_is_data() -> None:
    """With its place, its level, and what to do."""
    found: list[Finding] = check(b'data: {"type":"start"}\n\n')
    place: Place = found[0].place
    assert place.byte == 24
    assert found[0].level is Level.SHOULD
    assert all(finding.code and finding.remedy and finding.message for finding in found)


def test_messages_of_another_program() -> None:
    """They become a thread, and the thread becomes messages."""
    thread = import_messages(CHAT, format="ai-sdk").thread
    assert export(thread, format="anthropic", next_user="And now?").messages["messages"][0]["role"] == "user"
    assert repair(CHAT).value == CHAT
    assert content_thread(thread)["turns"][0]["parts"] == [{"part_kind": "user-prompt", "content": ASKED}]
    assert pending_calls(thread) == []
    assert len(model_history(thread).messages) == len(CHAT)
    version: VersionName = "0.0.3"
    assert convert(thread, version).thread["version"] == version


def test_what_i_call_wrongly_is_said(tmp_path: Path) -> None:
    """Each error has a hint."""
    reason: Reason = "user_cancelled"
    errors: list[TpharnessError] = []
    with pytest.raises(UsageError, match=r"this one is a stream") as text:
        fold(ASKED, 'data: {"type":"start"}\n\n', interrupted=reason)
    with pytest.raises(InputError) as missing:
        check(tmp_path / "nowhere.json")
    with pytest.raises(InputError, match=r"tpharness.play takes ids") as by_id:
        load_scenario("cycles/late-return")
    errors += [text.value, missing.value, by_id.value]
    assert all(error.hint for error in errors)


def test_my_server_plays_a_scenario() -> None:
    """By its id, as `tpharness run` plays it."""
    played: Played = play("cycles/late-return", dialects=["0.0.4"])
    assert_passed(played)
    assert [result.outcome for result in played.results] == [Outcome.PASSED]


def test_stop_without_a_port() -> None:
    """Over ASGI, in the middle of an answer."""

    async def stopped() -> tuple[dict[str, Any], bytes]:
        async with AsyncRecordingClient(transport=ASGITransport(app), base_url="http://test") as client:
            async with client.stream("POST", "/chats/stopped", json={"text": ASKED}) as response:
                async for data in response.aiter_bytes():
                    if b"eighteen" in data:
                        await client.post("/chats/stopped/stop")
            thread: dict[str, Any] = (await client.get("/chats/stopped")).json()
            return thread, client.received[0].data

    server, received = asyncio.run(stopped())
    assert_same_thread(server, fold(ASKED, received), mode="content")


def test_a_snapshot(tpharness_app: App, snapshot: SnapshotAssertion) -> None:
    """Of what is the same at every run."""
    server, _ = ask(tpharness_app, "kept")
    assert mask(server, "/turns/0/parts/*/content") == snapshot(extension_class=ContentSnapshotExtension)
