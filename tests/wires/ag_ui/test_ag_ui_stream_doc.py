"""docs/AG_UI_STREAM.md says what the reference sends and reads: every chunk, every event, every fact."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.scenarios import load_all
from tests.wires.ag_ui.both_wires import stream_of

from tpharness.resources import docs_dir
from tpharness.wires.ag_ui.carriers import KEY
from tpharness.wires.ag_ui.encode import AgUiEncoder
from tpharness.wires.ag_ui.fold import AgUiAssembler

PAGE = (docs_dir() / "AG_UI_STREAM.md").read_text("utf-8")
_, SERVER, CLIENT, _ = re.split(r"^## .+$", PAGE, flags=re.MULTILINE)
FACTS = {
    *("announced", "step", "cut", "provider_metadata", "empty", "provider_executed", "text_open", "tool_call_id"),
    *("input", "tool_name", "outcome", "json", "reported", "finish_reason", "reason"),
}
"""Everything that stands beside AG-UI's own members, by the page."""


def facts_sent() -> Iterator[str]:
    """Yield each fact that the reference sends in any scenario."""
    for scenario in load_all().values():
        if scenario.scripted:
            for line in stream_of(scenario).split(b"\n\n"):
                event: dict[str, Any] = json.loads(line.removeprefix(b"data: ") or "{}")
                yield from event.get("metadata", {}).get(KEY, ())


def test_every_fact_that_is_sent_is_on_the_page_and_no_other() -> None:
    """Two are sent by no scenario: of a stream without its start, and of a call before the first word of a text."""
    assert set(facts_sent()) == FACTS - {"announced", "text_open"}
    missing = [fact for fact in FACTS if f"`{fact}" not in SERVER]
    assert missing == []


def test_every_chunk_that_has_an_event_of_its_own_is_on_the_page() -> None:
    """The others are carried, as the last row says."""
    rows = [row.split("|")[1] for row in SERVER.splitlines() if row.startswith("| ")]
    words = set(re.findall(r"`([a-z-]+)`", " ".join(rows)))
    named = {word if not word.startswith("-") else f"{stem}{word}" for word in words for stem in ("text", "reasoning")}
    assert set(AgUiEncoder.HANDLERS) <= named


def test_every_event_that_means_something_is_on_the_page() -> None:
    """A family of events stands as `TEXT_MESSAGE_*`."""
    rows = " ".join(row.split("|")[1] for row in CLIENT.splitlines() if row.startswith("| "))
    for record in AgUiAssembler.HANDLERS:
        name = str(record.__struct_config__.tag)
        assert name in rows or f"{name.rpartition('_')[0]}_*" in rows, name
