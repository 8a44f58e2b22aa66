"""The example in plain Node over AG-UI: what it makes of streams that no reference server sends, and what it sends.

That it passes the suite over this wire is in test_plain_suite.py. Its client was written from docs/AG_UI_STREAM.md, the
rulings and AG-UI's specification, so that where it and the reference part, one of the four is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.examples.stdio import Ask, asked
from tests.wires.ag_ui.streams import FOLDS, STREAMS, body_of, value_at
from tests.wires.ag_ui.test_ag_ui_servers import RECORDED

from tpharness import fold
from tpharness.scenario.outline import outline
from tpharness.targets.nodejs import find_node

pytestmark = pytest.mark.node

EXAMPLE = Path(__file__).parents[2] / "examples" / "plain_node.mjs"
AT = "2025-01-20T10:00:00Z"
AGENTS = {"assistant": {"agent_id": "assistant", "agent_name": "Assistant", "created_at": AT}}
HEADER = {"thread_id": "t", "created_at": AT, "agents": AGENTS, "versions": ["0.0.4"], "wire": "ag-ui"}


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """Start one process; return what asks it one thing and gives its answer."""
    with asked(str(find_node().executable), EXAMPLE, "--stdio") as ask:
        yield ask


def received(ask: Ask, body: bytes) -> list[dict[str, Any]]:
    """Play one stream on the client, all of it in one read; return the turns of 0.0.4."""
    packets = [{"data": body.decode("utf-8", "replace"), "at": AT}]
    stream = {"turn_type": "agent", "agent_id": "assistant", "begun_at": AT, "packets": packets, "end": {"at": AT}}
    answer = ask({"op": "receive", "id": 1, "case": {**HEADER, "turns": [stream]}})
    turns: list[dict[str, Any]] = answer["received"]["threads"]["0.0.4"]["turns"]
    return turns


@pytest.mark.parametrize("vector", FOLDS, ids=[vector["name"] for vector in FOLDS])
def test_a_stream_makes_the_thread_that_a_person_has_read_in_it(ask: Ask, vector: dict[str, Any]) -> None:
    """The vectors of the rulings, which hold the reference too."""
    turns = received(ask, body_of(vector))
    assert outline({"turns": turns}) == vector["outline"]
    for pointer, value in vector.get("values", {}).items():
        assert value_at(turns, pointer) == value, pointer


@pytest.mark.parametrize("stream", STREAMS, ids=[stream["name"] for stream in STREAMS])
def test_it_rejects_what_a_client_has_to_reject_and_nothing_else(ask: Ask, stream: dict[str, Any]) -> None:
    """Legal streams that look odd, and streams that break a rule: what was delivered before stays (G9)."""
    turns = received(ask, body_of(stream))
    assert outline({"turns": turns}) == outline(fold("Hi", body_of(stream)).thread)[1:]


def test_it_reads_recordings_of_real_servers_as_the_reference_does(ask: Ask) -> None:
    """With their own ids, order and omissions."""
    files = [file for file in sorted(RECORDED.glob("*/*.sse")) if file.read_bytes()]
    parted = []
    for file in files:
        expected = outline(fold("Hi", file).thread)[1:]
        if outline({"turns": received(ask, file.read_bytes())}) != expected:
            parted.append(file)
    assert parted == []
