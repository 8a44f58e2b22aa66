"""A commit whose answer is lost: its entries may be in the log. What the client was sent is what the thread shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.reference_app.peer import HELLO, TOOL_CALL, Serve, run_body

from tpharness.reference_app import Settings
from tpharness.reference_app.acknowledged import Acknowledged

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize("events", [HELLO, TOOL_CALL], ids=["text", "call"])
@pytest.mark.parametrize("number", [2, 3, 4, 5])
async def test_a_client_is_sent_what_the_thread_shows(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, events: list[dict[str, object]]
) -> None:
    """The number beside the database cannot be written once, when the database has the transaction."""
    real, written = Acknowledged.write, 0

    def write(self: Acknowledged, transaction: int) -> None:
        nonlocal written
        written += 1
        if written == number:
            raise OSError("the disk is full")
        real(self, transaction)

    monkeypatch.setattr(Acknowledged, "write", write)
    async with serve(Settings(store=tmp_path / "s.db")) as peer:
        async with peer.post("/threads/t/runs", run_body(events)) as answer:
            assert answer.status == 200
            sent = await answer.read()
        turns = (await peer.thread("t"))["turns"]
        async with peer.get("/threads/t/stream") as again:
            assert await again.read() == sent
    kept = [message for turn in turns for message in turn["messages"] if message["message_type"] == "response"]
    complete = [turn["completion_status"] for turn in turns] == ["complete"]
    assert (b'{"type":"finish"' in sent, b'"abort","reason":"error"' in sent) == (complete, not complete)
    if kept:
        assert sent.count(b'"finish-step"') == len(kept)
