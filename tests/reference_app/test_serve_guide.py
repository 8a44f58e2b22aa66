"""docs/SERVE.md against the command and the server: every option with its default, every request with its answer."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import aiohttp
import pytest
from tests.reference_app.peer import Serve

from tpharness.cli.app import app
from tpharness.reference_app.settings import LARGE_RETURN, Settings

GUIDE = (Path(__file__).parents[2] / "docs" / "SERVE.md").read_text("utf-8")


def test_every_option_is_told_with_its_default() -> None:
    """And no option that there is not."""
    command = app.commands["serve"]
    told = dict(re.findall(r"^\| `(--[a-z-]+)` \| `?([^|`]*)`? \|", GUIDE, re.MULTILINE))
    options = {option.opts[0]: option.default for option in command.params if option.name != "help"}
    assert set(told) == set(options)
    named = {"--token": "TPHARNESS_TOKEN"}
    for option, default in options.items():
        assert told[option].strip() == named.get(option, "none" if default is None else str(default)), option


def test_the_limits_are_those_of_the_settings() -> None:
    """A limit that changes is one to tell."""
    settings = Settings()
    for number in (settings.max_events, settings.max_threads, settings.max_runs):
        assert f"{number:,}" in GUIDE
    for size in (settings.max_body, settings.max_stream):
        assert f"{size >> 20} MiB" in GUIDE
    assert f"{LARGE_RETURN >> 10} KiB" in GUIDE
    assert f"after {settings.unread_seconds:g} s" in GUIDE


@pytest.mark.asyncio
async def test_the_conversation_by_hand_goes_as_it_says(serve: Serve) -> None:
    """The commands of the guide, their bodies as they stand there."""
    first, rest = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    body = json.loads(shlex.split(first)[-1])
    async with serve() as peer:
        async with peer.post("/threads/t-1/runs", body) as stream:
            seen = await peer.until(stream, b'"delta":"a time"')
            assert b"id: 1.0\n" in seen
            steps = [shlex.split(line) for line in rest.strip().splitlines()]
            assert [step[0] for step in steps] == ["curl"] * 4
            status, told = await peer.answer("POST", "/threads/t-1/cancel", json.loads(steps[0][-1]))
            assert (status, told) == (200, {"cancelled": True})
            assert b'"abort"' in await peer.rest(stream)
        thread = await peer.thread("t-1")
        assert [turn["turn_type"] for turn in thread["turns"]] == ["user"]
        name, _, last = steps[2][-1].partition(": ")
        async with peer.get("/threads/t-1/stream", headers={name: last}) as again:
            assert isinstance(again, aiohttp.ClientResponse)
            text = await again.read()
        assert b"id: 1.0\n" not in text
        assert text.startswith(b"id: ")
        assert (await peer.answer("DELETE", "/threads/t-1"))[0] == 204
