"""What the AI SDK's own client makes of odd streams, beside what a thread makes of them (docs/AI_SDK_CLIENT.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from tpharness.clauses import load_rulings
from tpharness.dialects import DIALECTS, ThreadHeader
from tpharness.protocol.versions import Version
from tpharness.readings import Readings
from tpharness.resources import conformance_dir
from tpharness.scenario.outline import outline
from tpharness.suite_yaml import load_suite_yaml
from tpharness.wires.sse.parser import SseParser
from tpharness.wires.vsp.assembler import Assembler

T = "2026-11-20T21:32:40Z"
HEADER = ThreadHeader(thread_id="t", created_at=T, agents={"assistant": {"agent_id": "assistant"}})
PROBES: dict[str, dict[str, Any]] = json.loads((conformance_dir() / "probes/ai-7.0.173.json").read_text("utf-8"))
CLAIMS: dict[str, dict[str, Any]] = load_suite_yaml(conformance_dir() / "probes/ai-7.0.173.claims.yaml")
FOLDED = [name for name, claim in CLAIMS.items() if "thread" in claim]
RAW = [name for name in FOLDED if "rawBody" in PROBES[name]]
DOC = Path(__file__).parents[3] / "docs" / "AI_SDK_CLIENT.md"
KEYS = {"thread", "holds", "findings", "frames", "chunks", "end", "verdict", "rulings", "note"}
VERDICTS = {"agree", "differs", "keeps", "stops", "outside"}


def body(name: str) -> bytes:
    """Return the bytes of a probe's response body; one of decoded chunks ends with the end marker, unless it broke."""
    if name in RAW:
        raw: str = PROBES[name]["rawBody"]
        # the file of probes is UTF-8 itself and shows what that client read instead of the invalid byte
        return raw.encode().replace("�".encode(), b"\xff")
    chunks = [*CLAIMS[name].get("chunks", PROBES[name].get("chunks", ()))]
    texts = [chunk if isinstance(chunk, str) else json.dumps(chunk) for chunk in chunks]
    if "end" not in CLAIMS[name]:
        texts.append("[DONE]")
    return b"".join(b"data: " + text.encode() + b"\n\n" for text in texts)


def folded(name: str) -> tuple[dict[str, Any], list[str]]:
    """Return the thread (0.0.4) that the probe leaves behind, and the codes of what was found on the way."""
    client = Assembler()
    client.begin(T)
    client.feed(body(name), T)
    client.close(CLAIMS[name].get("end"), T)
    renderer = DIALECTS[Version.V0_0_4].renderer(HEADER, Readings())
    return cast("dict[str, Any]", renderer.render(client.journal())), [f.code for f in client.findings]


def held(thread: dict[str, Any]) -> list[Any]:
    """Return what the messages hold, in order: contents and arguments of parts, data of events."""
    found: list[Any] = []
    for message in (message for turn in thread["turns"] for message in turn["messages"]):
        if message["message_type"] == "system":
            found.append(message["event_data"])
        found += [part["args" if "args" in part else "content"] for part in message.get("parts", ())]
    return found


def test_every_probe_has_a_claim() -> None:
    """The table names each probe once, with a verdict and rulings that exist; only what has no stream is not folded."""
    rulings = set(load_rulings())
    assert set(CLAIMS) == set(PROBES)
    for name, claim in CLAIMS.items():
        assert claim.keys() <= KEYS, name
        assert claim["verdict"] in VERDICTS, name
        assert claim["rulings"], name
        assert set(claim["rulings"]) <= rulings, name
        assert (name in FOLDED) == bool(claim.keys() & {"chunks"} or PROBES[name].keys() & {"chunks", "rawBody"}), name


@pytest.mark.parametrize("name", FOLDED)
def test_the_reference_client_makes_of_a_probe_what_the_table_says(name: str) -> None:
    """The thread, what it holds, and the findings are those that the rulings ask for."""
    thread, codes = folded(name)
    claim = CLAIMS[name]
    assert outline(thread) == claim["thread"]
    assert held(thread) == claim["holds"]
    assert codes == claim["findings"]


@pytest.mark.parametrize("name", RAW)
def test_the_bytes_of_a_probe_are_read_as_the_event_stream_format_says(name: str) -> None:
    """As many events are dispatched as that client dispatched."""
    assert len(SseParser().feed(body(name))) == CLAIMS[name]["frames"]


def test_a_client_that_stops_said_so_itself() -> None:
    """Each verdict `stops` stands beside an exception of that client, and no `agree` or `keeps` of a stream does."""
    for name in FOLDED:
        errors = PROBES[name]["reader"]["errors"]
        if CLAIMS[name]["verdict"] == "stops":
            assert errors, name
        elif "end" not in CLAIMS[name]:
            assert not errors, name


@pytest.mark.parametrize("verdict", sorted(VERDICTS))
def test_the_document_shows_the_table(verdict: str) -> None:
    """Each row of the document is made of the probe and its claim."""
    text = DOC.read_text("utf-8")
    for name, claim in CLAIMS.items():
        if claim["verdict"] == verdict:
            assert row(name) in text, name


def row(name: str) -> str:
    """Render one row of the document's table."""
    claim = CLAIMS[name]
    thread = "; ".join(claim.get("thread", ())) or ("nothing recorded" if "thread" in claim else "–")
    if claim.get("holds"):
        thread += " with " + ", ".join(f"`{_json(value)}`" for value in claim["holds"])
    cells = [name, theirs(name), thread, ", ".join(f"`{code}`" for code in claim.get("findings", ())), claim["verdict"]]
    cells += [", ".join(claim["rulings"]), claim.get("note", "")]
    return "| " + " | ".join(cell.replace("|", "\\|").replace("__", "\\_\\_") for cell in cells) + " |"


def theirs(name: str) -> str:
    """Say in a few words what that client made of a probe."""
    probe = PROBES[name]
    reader, chat = probe.get("reader", {}), probe.get("chat", {})
    message = reader.get("message")
    if message is None and isinstance(chat.get("messages"), list):
        message = chat["messages"][-1]
    words = [_part(part) for part in message["parts"] if part["type"] != "step-start"] if message else []
    words += [f"throws {error['name']}" for error in reader.get("errors", ())]
    if chat.get("status"):
        words.append(f"chat {chat['status']}")
    return ", ".join(words) or "–"


def _part(part: dict[str, Any]) -> str:
    kind = part["type"]
    if kind in ("text", "reasoning"):
        return f"{kind} `{_json(part['text'])}` {part['state']}"
    if kind.startswith("data-"):
        return f"{kind} `{_json(part['data'])}`"
    shown = next((f" `{_json(part[key])}`" for key in ("output", "errorText", "input") if key in part), "")
    return f"{kind} {part['state']}{shown}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
