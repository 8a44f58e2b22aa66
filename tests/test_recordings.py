"""The recorded streams: all are there, all say where they come from, and the AI SDK's own record is their anchor."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios import load_builtin

from tpharness.clauses import load_clauses
from tpharness.protocol.versions import Version
from tpharness.resources import conformance_dir, scenarios_dir
from tpharness.run.baselines import load_baseline
from tpharness.run.plan import base_case
from tpharness.run.play import Players, play
from tpharness.scenario import AgentRun, Compare, Scenario
from tpharness.targets import Reference

ROOT = scenarios_dir() / "recorded"
DOC = Path(__file__).parents[1] / "docs" / "RECORDINGS.md"
FOLDERS = {"pydantic-ai": ("pydantic-ai", "2.68.0", 53), "ai-sdk": ("ai", "7.0.173", 45)}
NAMES = [f"{folder}/{path.stem}" for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.yaml"))]
ANCHORED = sorted(path.name.removesuffix(".server.json") for path in (ROOT / "ai-sdk").glob("*.server.json"))
PREFIX = "pydantic-ai/disconnect-asgi24-mid-text"
SERVER_DEPARTS = {
    "approval-denied": "the messages for the next model call hold no return for the denied call (R22, R30)",
    "eof-mid-text": "keeps a text that never ended (R10, R28)",
    "error-in-step2-text": "keeps a response that the error cut (R27, R40)",
    "error-mid-text": "keeps a response that the error cut (R27, R40)",
    "error-mid-text-then-finish": "keeps a response that the error cut (R27, R40)",
}
"""What the AI SDK's server records otherwise than its stream says by SPEC; docs/RECORDINGS.md explains it."""


@cache
def scenario(name: str) -> Scenario:
    """Load a recorded scenario."""
    return load_builtin(f"recorded/{name}")


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_recording_is_a_scenario(folder: str) -> None:
    """No recording is missing, and no data file is there without the scenario that it belongs to."""
    *_, count = FOLDERS[folder]
    stems = {path.stem for path in (ROOT / folder).glob("*.yaml")}
    assert len(stems) == count
    assert {path.name.partition(".")[0] for path in (ROOT / folder).iterdir()} == stems
    assert {path.stem for path in (ROOT / folder).glob("*.sse")} == stems


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_says_where_it_comes_from_and_what_it_comes_to(name: str) -> None:
    """Implementation and version are named; without carriers the content comparison is owed; the outcome is pinned."""
    one = scenario(name)
    implementation, version, _ = FOLDERS[name.split("/", maxsplit=1)[0]]
    assert one.recorded is not None
    assert (one.recorded.implementation, one.recorded.version) == (implementation, version)
    assert one.compare is Compare.CONTENT
    assert not one.carriers
    assert bool(one.expect.outline) == (name != PREFIX)  # there the two sides differ, as R32 says
    run = one.turns[-1]
    assert isinstance(run, AgentRun)
    assert run.wire is not None
    assert run.wire.data == (ROOT / f"{name}.sse").read_bytes()


def test_descriptions_are_unique() -> None:
    """Each recording is described in its own words."""
    assert len({scenario(name).description for name in NAMES}) == len(NAMES)


def test_the_baseline_cites_what_exists() -> None:
    """Each known departure cites clauses that exist, and is one of Pydantic AI's; most recordings are equal."""
    entries = load_baseline(conformance_dir() / "baselines" / "pydantic-ai-2.68.0.yaml").entries
    assert set(entries) <= {f"recorded/{name}" for name in NAMES}
    assert FOLDERS["pydantic-ai"][2] - len(entries) - 1 >= 41  # one is a prefix
    clauses = set(load_clauses())
    for entry in entries.values():
        assert entry.clauses
        assert set(entry.clauses) <= clauses


@pytest.mark.parametrize("name", ANCHORED)
def test_a_clients_thread_is_what_the_servers_own_record_says(name: str) -> None:
    """Texts, calls and returns of the client's last turn are those of the AI SDK server's model messages.

    The record is made by the server from its model's parts, not from the stream. Where it departs, it departs.
    """
    record = json.loads((ROOT / "ai-sdk" / f"{name}.server.json").read_text("utf-8"))
    same = from_thread(f"ai-sdk/{name}") == from_record(record)
    assert same == (name not in SERVER_DEPARTS)


def from_record(record: dict[str, Any]) -> list[tuple[str, list[Any]]]:
    """Return the messages of the run as the server's callbacks had them: at the end, else after each finished step."""
    ended, steps = record.get("onEnd"), record.get("onStepEnd") or []
    messages = ended["responseMessages"] if ended else [m for step in steps for m in step["responseMessages"]]
    shown: list[tuple[str, list[Any]]] = []
    for message in messages:
        asked = message["role"] == "assistant"
        parts = [_record_part(part) for part in message["content"] if not part["type"].startswith("tool-approval-")]
        if parts:
            shown.append(("response" if asked else "request", parts))
    return shown


def _record_part(part: dict[str, Any]) -> tuple[Any, ...]:
    match part["type"]:
        case "text" | "reasoning":
            return part["type"], part["text"]
        case "tool-call":
            return "call", part["toolCallId"], part["input"]
        case "tool-result":
            output = part["output"]
            good = output["type"] in ("json", "text")
            return "return", part["toolCallId"], output["value"] if good else None
        case other:
            return (other,)


def from_thread(name: str) -> list[tuple[str, list[Any]]]:
    """Return the messages of the last agent turn on the client, in the same form; events aside."""
    players = Players(server=Reference(), client=Reference())
    pieces = asyncio.run(play(base_case(scenario(name)), players, thorough=False))
    client = next(piece.client for piece in pieces if piece.version is Version.V0_0_4)
    assert client is not None
    turns = client.thread["turns"]
    messages = turns[-1]["messages"] if turns[-1]["turn_type"] == "agent" else []
    return [(m["message_type"], [_thread_part(p) for p in m["parts"]]) for m in messages if "parts" in m]


def _thread_part(part: dict[str, Any]) -> tuple[Any, ...]:
    match part["part_kind"]:
        case "text":
            return "text", part["content"]
        case "thinking":
            return "reasoning", part["content"]
        case "tool-call" | "builtin-tool-call":
            return "call", part["tool_call_id"], part["args"]
        case "tool-return" | "builtin-tool-return":
            good = part.get("status", "success") == "success"  # R39: failures are alike whatever their text
            return "return", part["tool_call_id"], part["content"] if good else None
        case "custom:mock.thing":
            return ("custom",)
        case other:
            return (other.removeprefix("custom:"),)


def verdict(name: str) -> str:
    """Say how the views of a recording compare."""
    folder, _, short = name.partition("/")
    if name == PREFIX:
        return "prefix"
    if folder == "ai-sdk" and short not in ANCHORED:
        return "client only"
    departs = short in SERVER_DEPARTS or f"recorded/{name}" in load_baseline().entries
    return "departs" if departs else "equal"


def row(name: str) -> str:
    """Render one row of the document's table: what the last agent turn comes to in 0.0.4, and the verdict."""
    one = scenario(name)
    lines = one.expect.outline.get(Version.V0_0_4, ("",))
    last = lines[-1].removeprefix("agent ") if lines[-1] != "user" else "left out"
    thread = last or "complete on the server, left out on the client"
    cells = [name.partition("/")[2], one.description, thread, verdict(name), ", ".join(one.rulings)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def test_the_document_has_the_verdict_of_every_recording() -> None:
    """Each of the rows is made of the scenario, the baseline and the comparison with the server's record."""
    lines = set(DOC.read_text("utf-8").splitlines())
    assert [line for line in map(row, NAMES) if line not in lines] == []


def test_the_document_gives_the_reason_of_each_departure() -> None:
    """No departure stands without its reason, in the words of the baseline or of this file."""
    text = " ".join(DOC.read_text("utf-8").split())
    reasons = [*SERVER_DEPARTS.values()]
    reasons += [entry.reason for entry in load_baseline().entries.values() if entry.id.startswith("recorded/")]
    assert [reason for reason in reasons if " ".join(reason.split()) not in text] == []
