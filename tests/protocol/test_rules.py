"""Each rule of threads at its border: a thread that just keeps it, and one that just breaks it, with the place."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tpharness.findings import Kind, Level
from tpharness.protocol import problems, schema
from tpharness.protocol.rules import check_thread
from tpharness.protocol.rules.every import RULES

LINK = "550e8400-e29b-41d4-a716-446655440000"
DIGITS = "0123456789abcdef" * 4
FIRST = "/turns/0/messages/0"
PART = f"{FIRST}/parts/0"
RETURN = "/turns/0/messages/1/parts/0"
MODE = "/turns/0/client_metadata/mode"
PICTURE = {"kind": "binary", "data": "AA==", "media_type": "image/png", "identifier": "i"}
CUT = {"reason": "timeout", "interrupted_at": "2025-01-20T10:00:09Z"}
NUMBERS = ("index", "position", "ordinal", "sequence_no", "part_index")
KINDS = [value for module in (schema, problems) for value in vars(module).values() if isinstance(value, Kind)]


def at(second: int) -> str:
    """Return a time in the thread's minute."""
    return f"2025-01-20T10:00:{second:02d}Z"


def part(kind: str, **fields: Any) -> dict[str, Any]:
    """Return a part."""
    return {"part_kind": kind, **fields}


def text(content: str = "x") -> dict[str, Any]:
    """Return a text part."""
    return part("text", content=content)


def call(call_id: str, **fields: Any) -> dict[str, Any]:
    """Return a tool-call part."""
    return {**part("tool-call", tool_name="f", tool_call_id=call_id, args={}), **fields}


def answer(call_id: str, **fields: Any) -> dict[str, Any]:
    """Return a tool-return part; a content of Ellipsis is no content."""
    made = {**part("tool-return", tool_name="f", tool_call_id=call_id, status="success", content=1), **fields}
    return {k: v for k, v in made.items() if v is not ...}


def prompt(content: str) -> dict[str, Any]:
    """Return a user prompt."""
    return part("user-prompt", content=content)


def response(second: int, *parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a response."""
    return {"message_type": "response", "timestamp": at(second), "agent_id": "a", "parts": list(parts), **fields}


def request(second: int, *parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a request."""
    return {"message_type": "request", "timestamp": at(second), "agent_id": "a", "parts": list(parts), **fields}


def event(second: int, name: str, **fields: Any) -> dict[str, Any]:
    """Return a system message."""
    return {"message_type": "system", "timestamp": at(second), "event_type": name, "event_data": None, **fields}


def two(**fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two responses."""
    return response(2, text(), **fields), response(3, text(), **fields)


def user(second: int = 0, *parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a user turn."""
    return {"turn_type": "user", "submitted_at": at(second), "parts": list(parts or [prompt("Hi")]), **fields}


def agent(*messages: dict[str, Any], start: int = 1, end: int = 9, cut: bool = False, **fields: Any) -> dict[str, Any]:
    """Return an agent turn of 0.0.4."""
    turn: dict[str, Any] = {"turn_type": "agent", "agent_id": "a", "started_at": at(start), "messages": list(messages)}
    if cut:
        turn |= {"completion_status": "interrupted", "interruption": {"reason": "timeout", "interrupted_at": at(end)}}
    else:
        turn |= {"completion_status": "complete", "completed_at": at(end)}
    return {**turn, **fields}


def thread(*turns: dict[str, Any], version: str = "0.0.4", **fields: Any) -> dict[str, Any]:
    """Return a thread; in versions before 0.0.4 a complete turn has no status."""
    made = [copy.deepcopy(turn) for turn in turns]
    if version != "0.0.4":
        for turn in made:
            if turn.get("completion_status") == "complete":
                del turn["completion_status"]
    agents = {k: {"agent_id": k, "agent_name": k.upper(), "created_at": at(0)} for k in ("a", "b")}
    return {
        "version": version,
        "thread_id": "t",
        "created_at": at(0),
        "updated_at": at(9),
        "agents": agents,
        "turns": made,
        **fields,
    }


def run(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a thread of one agent turn."""
    return thread(agent(*messages, **fields))


def called(content: Any = 1, **fields: Any) -> dict[str, Any]:
    """Return a turn with one call and its return."""
    return agent(response(2, call("c1")), request(3, answer("c1", content=content, **fields)))


def returned(**fields: Any) -> dict[str, Any]:
    """Return a turn with one call and a return by reference."""
    return called(..., content_ref={"uri": "https://x/y", **fields})


def linked(to: str) -> dict[str, Any]:
    """Return a thread that links to another."""
    return thread(relationships={"links": [{"thread_id": to, "relation": "referenced"}]})


def registered(key: str, agent_id: str) -> dict[str, Any]:
    """Return a thread with one more entry in its registry."""
    document = thread()
    document["agents"][key] = {"agent_id": agent_id, "agent_name": "C", "created_at": at(0)}
    return document


CASES: dict[str, list[tuple[dict[str, Any], dict[str, Any], str]]] = {
    # code: (keeps it, breaks it, where)
    "thread-schema": [(thread(), thread(thread_id=None), "/thread_id")],
    "thread-version-unknown": [(thread(), thread(version="0.0.5"), "/version")],
    "agent-unknown": [
        (run(agent_id="b"), run(agent_id="c"), "/turns/0/agent_id"),
        (
            run(response(2, text(), agent_id="b")),
            run(response(2, text(), agent_id="c")),
            "/turns/0/messages/0/agent_id",
        ),
    ],
    "agent-key-differs": [(registered("c/d", "c/d"), registered("c/d", "c"), "/agents/c~1d/agent_id")],
    "agent-id-not-uuid": [(registered(LINK, LINK), registered("c", "c"), "/agents/c")],
    "event-agent-unknown": [
        (
            run(event(2, "data-app-x", source_agent="a", target_agents=["b"])),
            run(event(2, "data-app-x", source_agent="a", target_agents=["b", "c"])),
            FIRST,
        )
    ],
    "link-not-uuid": [
        (linked(LINK), linked("t"), "/relationships/links/0/thread_id"),
        (linked(LINK.upper()), linked(LINK.replace("-", "")), "/relationships/links/0/thread_id"),
        (linked(LINK), linked(f"urn:uuid:{LINK}"), "/relationships/links/0/thread_id"),
    ],
    "timestamp-invalid": [
        (
            thread(user(submitted_at="2024-02-29T10:00:00Z")),
            thread(user(submitted_at="2025-02-29T10:00:00Z")),
            "/turns/0/submitted_at",
        ),
        (
            thread(user(submitted_at="2025-01-20T10:00:00+14:00")),
            thread(user(submitted_at="2025-01-20T10:00:00+99:99")),
            "/turns/0/submitted_at",
        ),
        (thread(created_at="2025-01-20T10:00:00"), thread(created_at="2025-02-30T10:00:00"), "/created_at"),
        (thread(), thread(created_at="2025-13-01T10:00:00Z"), "/created_at"),
        (thread(), thread(updated_at="2025-01-32T10:00:00Z"), "/updated_at"),
        (run(completed_at="2025-01-31T10:00:00Z"), run(completed_at="2025-01-32T10:00:00Z"), "/turns/0/completed_at"),
        (
            run(response(2, text()), cut=True),
            run(
                response(2, text()),
                cut=True,
                interruption={"reason": "timeout", "interrupted_at": "2025-01-20T25:00:00Z"},
            ),
            "/turns/0/interruption/interrupted_at",
        ),
    ],
    "updated-before-created": [
        (thread(updated_at=at(0)), thread(created_at=at(9), updated_at=at(8)), "/updated_at"),
        (thread(), thread(updated_at="2025-01-20T11:00:00+02:00"), "/updated_at"),
    ],
    "turns-overlap": [
        (thread(agent(end=5), agent(start=5)), thread(agent(end=5), agent(start=4)), "/turns/1/started_at"),
        (
            thread(agent(response(2, text()), end=5, cut=True), user(5)),
            thread(agent(response(2, text()), end=5, cut=True), user(4)),
            "/turns/1/submitted_at",
        ),
        (thread(user(1), agent(start=1)), thread(user(2), agent(start=1)), "/turns/1/started_at"),
    ],
    "message-out-of-order": [
        (
            run(response(3, text()), event(3, "data-app-x")),
            run(response(3, text()), event(2, "data-app-x")),
            "/turns/0/messages/1/timestamp",
        )
    ],
    "message-outside-turn": [
        (run(response(1, text()), start=1), run(response(0, text()), start=1), f"{FIRST}/timestamp"),
        (run(response(5, text()), end=5), run(response(6, text()), end=5), f"{FIRST}/timestamp"),
        (run(start=3, end=3), run(start=3, end=2), "/turns/0"),
    ],
    "return-without-call": [
        (
            thread(agent(response(2, call("c1")), end=3), agent(request(4, answer("c1")), start=3)),
            thread(agent(response(2, call("c1")), end=3), agent(request(4, answer("c2")), start=3)),
            "/turns/1/messages/0/parts/0",
        ),
        (
            run(request(2, part("retry-prompt", content="no"))),
            run(request(2, part("retry-prompt", content="no", tool_call_id="c1"))),
            PART,
        ),
        (
            run(response(2, call("c1")), request(3, answer("c1"))),
            run(request(2, answer("c1")), response(3, call("c1"))),
            PART,
        ),
    ],
    "call-answered-twice": [
        (
            run(*called()["messages"], response(4, call("c1")), request(5, answer("c1"))),
            run(*called()["messages"], request(5, answer("c1", status="error"))),
            "/turns/0/messages/2/parts/0",
        )
    ],
    "return-of-another-tool": [
        (
            run(response(2, call("c1")), request(3, part("retry-prompt", content="", tool_call_id="c1"))),
            run(response(2, call("c1", tool_name="g")), request(3, answer("c1"))),
            RETURN,
        )
    ],
    "returns-out-of-order": [
        (
            run(response(2, call("c2"), call("c1")), request(3, answer("c2"), answer("c1"))),
            run(response(2, call("c2"), call("c1")), request(3, answer("c1"), answer("c2"))),
            "/turns/0/messages/1/parts/1",
        )
    ],
    "call-id-in-use": [
        (
            run(*called()["messages"], response(4, call("c1"))),
            run(response(2, call("c1")), response(4, call("c1"))),
            RETURN,
        )
    ],
    "cycle-incomplete": [
        (
            run(response(2, call("c1"), call("c2")), request(3, answer("c1"), answer("c2")), cut=True),
            run(response(2, call("c1"), call("c2")), request(3, answer("c1")), cut=True),
            "/turns/0/messages/0/parts/1",
        ),
        (  # R30: a complete turn may leave a call open
            run(response(2, call("c1"))),
            run(response(2, call("c1")), cut=True),
            PART,
        ),
        (  # R42: what the provider executes needs no return
            run(response(2, part("builtin-tool-call", tool_name="s", tool_call_id="p1")), cut=True),
            run(response(2, call("p1")), cut=True),
            PART,
        ),
    ],
    "interrupted-turn-empty": [
        (run(event(2, "data-tp-error"), cut=True), run(cut=True), "/turns/0"),
        (run(response(2, text("")), cut=True), run(event(2, "data-app-x"), cut=True), "/turns/0"),
    ],
    "message-empty": [
        (run(request(2, prompt(""))), run(request(2)), FIRST),
        (run(response(2, text(""))), run(response(2)), FIRST),
    ],
    "interrupted-before-0.0.4": [
        (
            thread(agent(response(2, text()), completion_status="complete"), version="0.0.3"),
            thread(agent(response(2, text()), completion_status=status), version="0.0.3"),
            "/turns/0",
        )
        for status in ("interrupted", "streaming")
    ]
    + [  # with an end besides, the interruption is a field that the version does not know (R7)
        (
            thread(agent(response(2, text()), interruption=CUT), version="0.0.3"),
            thread(agent(response(2, text()), interruption=CUT, completed_at=None), version="0.0.3"),
            "/turns/0",
        ),
    ],
    "system-prompt-stored": [
        (
            run(request(2, prompt("You are"))),
            run(request(2, prompt("Go on"), part("system-prompt", content="You are"))),
            "/turns/0/messages/0/parts/1",
        ),
        (thread(user()), thread(user(0, part("system-prompt", content="You are"))), "/turns/0/parts/0"),
        (  # a library may write that there are none
            run(request(2, prompt("x"), instructions=None)),
            run(request(2, prompt("x"), instructions="You are")),
            f"{FIRST}/instructions",
        ),
        (thread(metadata={"system_prompt": "You are"}), thread(system_prompt="You are"), "/system_prompt"),
    ],
    "user-input-repeated": [
        (
            thread(user(), agent(request(1, prompt("Another")))),
            thread(user(), agent(request(1, prompt("Hi")))),
            "/turns/1/messages/0",
        ),
        (  # steering with the same words is another input: only the first request repeats the turn
            thread(user(), agent(response(1, text()), request(2, prompt("Hi")))),
            thread(user(), agent(event(1, "data-app-x"), request(2, prompt("Hi")))),
            "/turns/1/messages/1",
        ),
        (  # a list of one text is that text
            thread(user(), agent(request(1, part("user-prompt", content=["Hi", "Go"])))),
            thread(user(), agent(request(1, part("user-prompt", content=["Hi"])))),
            "/turns/1/messages/0",
        ),
    ],
    "content-and-reference": [
        (
            thread(called(None, content_ref={"uri": "s3://b/k"})),
            thread(called("", content_ref={"uri": "s3://b/k"})),
            RETURN,
        )
    ],
    "reference-hash-malformed": [
        (
            thread(returned(hash=f"sha256:{DIGITS}")),
            thread(returned(hash=f"sha256:{DIGITS[1:]}")),
            f"{RETURN}/content_ref/hash",
        ),
        (
            thread(returned(hash=DIGITS.upper())),
            thread(returned(hash=f"sha512:{DIGITS}")),
            f"{RETURN}/content_ref/hash",
        ),
    ],
    "reference-scheme-unusual": [
        (thread(returned(uri=good)), thread(returned(uri=bad)), f"{RETURN}/content_ref/uri")
        for good, bad in (("gs://b/k", "file:///x"), ("azure://b/k", "no scheme"), ("acme+blob:k", "http://x"))
    ],
    "return-large": [
        (
            thread(called("x" * (100 * 1024 - 3))),  # the two quotes count
            thread(called("x" * (100 * 1024 - 2))),  # the guide keeps what is smaller than 100 * 1024
            f"{RETURN}/content",
        ),
        (  # however few items it has
            thread(called({"text": "x" * (100 * 1024 - 12)})),
            thread(called({"text": "x" * (100 * 1024 - 11)})),
            f"{RETURN}/content",
        ),
        (  # 2.0.0 has no references to move it to
            thread(called("x" * 200_000), version="2.0.0"),
            thread(called("x" * 200_000), version="0.0.3"),
            f"{RETURN}/content",
        ),
    ],
    "client-metadata-key": [
        *(
            (thread(user(client_metadata={key: 1})), thread(user(client_metadata={key: 1, "mode": 1})), MODE)
            for key in ("ui:mode", "ui.mode", "ui/mode", "ui_mode", "ui-mode")
        ),
        (
            thread(user(client_metadata={"mode": 1}), version="2.0.0"),
            thread(user(client_metadata={"mode": 1}), version="0.0.3"),
            MODE,
        ),
    ],
    "event-name-of-another-version": [
        (run(event(2, new, event_data=data)), run(event(2, old, event_data=data)), f"{FIRST}/event_type")
        for new, old, data in (
            ("data-tp-agent_handoff", "agent.handoff", {"to": "b"}),
            ("data-tp-thread_spawn", "thread.spawn", {"spawned_thread_id": "t2"}),
            ("data-tp-thread_merge", "thread.merge", {"merged_thread_id": "t2"}),
            ("data-tp-thread_end", "thread.end", {}),
            ("data-tp-error", "error", {"error": "x"}),
        )
    ]
    + [
        (
            thread(agent(event(2, "agent.handoff")), version="0.0.3"),
            thread(agent(event(2, "data-tp-agent_handoff")), version="0.0.3"),
            f"{FIRST}/event_type",
        )
    ],
    "namespace-unknown": [
        (run(event(2, name)), run(event(2, "state.update")), f"{FIRST}/event_type")
        for name in ("data-app-x", "data-anything", "meta:x", "source.url", "data-sys-latency")
    ]
    + [
        (run(response(2, part(kind))), run(response(2, part("speech"))), f"{PART}/part_kind")
        for kind in ("custom:chart", "meta:trace")
    ],
    "timestamp-of-another-form": [
        (
            run(response(2, text(), timestamp="2025-01-20T10:00:02Z")),
            run(response(2, text(), timestamp=form)),
            f"{FIRST}/timestamp",
        )
        for form in ("2025-01-20 10:00:02Z", "2025-W04-1T10:00:02Z", "2025-020T10:00:02Z")
    ],
    "timestamp-without-offset": [
        (
            run(response(2, text(), timestamp="2025-01-20T11:00:02+01:00")),
            run(response(2, text(), timestamp=f"2025-01-20T10:00:02{fraction}")),
            f"{FIRST}/timestamp",
        )
        for fraction in ("", ".5", ",123456")
    ]
    + [  # one finding for all that one writer wrote
        (thread(), thread(created_at="2025-01-20T10:00:00", updated_at="2025-01-20T10:00:09"), "/created_at"),
        (
            run(response(2, text()), cut=True),
            run(
                response(2, text()),
                cut=True,
                interruption={"reason": "timeout", "interrupted_at": "2025-01-20T10:00:09"},
            ),
            "/turns/0/interruption/interrupted_at",
        ),
    ],
    "event-after-end": [
        (run(event(5, "data-app-x"), end=5), run(event(6, "data-app-x"), end=5), f"{FIRST}/timestamp"),
        (
            run(response(2, text()), event(5, "data-app-x"), end=5, cut=True),
            run(response(2, text()), event(6, "data-app-x"), end=5, cut=True),
            "/turns/0/messages/1/timestamp",
        ),
        (
            thread(agent(event(6, "app-x"), end=5), version="0.0.3"),
            thread(agent(event(6, "app-x"), end=5), version="2.0.0"),
            f"{FIRST}/timestamp",
        ),
    ],
    "event-after-end-0.0.3": [
        (
            thread(agent(event(5, "data-x"), end=5), version="0.0.3"),
            thread(agent(event(6, "data-x"), end=5), version="0.0.3"),
            f"{FIRST}/timestamp",
        )
    ],
    "return-late": [
        (
            run(response(2, call("c1")), request(3, answer("c1")), response(4, text())),
            run(response(2, call("c1")), response(3, text()), request(4, answer("c1"))),
            "/turns/0/messages/2/parts/0",
        ),
        (  # several requests may hold the returns, and an event may stand between them
            run(
                response(2, call("c1"), call("c2")),
                request(3, answer("c1")),
                event(3, "data-app-x"),
                request(4, answer("c2"), prompt("And?")),
            ),
            run(response(2, call("c1")), request(3, prompt("And?")), request(4, answer("c1"))),
            "/turns/0/messages/2/parts/0",
        ),
        (  # R30: the returns of an earlier run begin a later turn
            thread(
                agent(response(2, call("c1")), end=3),
                user(3),
                agent(request(4, answer("c1")), response(5, text()), start=3),
            ),
            thread(
                agent(response(2, call("c1")), end=3),
                user(3),
                agent(response(4, text()), request(5, answer("c1")), start=3),
            ),
            "/turns/2/messages/1/parts/0",
        ),
    ],
    "call-left-behind": [
        (
            run(response(2, call("c1")), request(3, answer("c1")), response(4, call("c2"))),
            run(response(2, call("c1")), response(4, text())),
            PART,
        ),
        (  # a later turn may answer, however late
            thread(
                agent(response(2, call("c1")), response(3, text()), end=3), agent(request(4, answer("c1")), start=3)
            ),
            thread(agent(response(2, call("c1")), response(3, text()), end=3), agent(request(4, prompt("x")), start=3)),
            PART,
        ),
    ],
    "incomplete-stream-recorded": [
        (
            run(response(2, text()), cut=True, interruption={"reason": good, "interrupted_at": at(9)}),
            run(response(2, text()), cut=True, interruption={"reason": "incomplete_stream", "interrupted_at": at(9)}),
            "/turns/0/interruption/reason",
        )
        for good in ("network_failure", "power_cut")
    ],
    "part-misplaced": [
        *(
            (run(response(2, one)), run(request(2, one)), PART)
            for one in (
                text(),
                part("thinking", provider_name="p"),
                part("file", content=PICTURE),
                part("builtin-tool-call", tool_name="s", tool_call_id="p1"),
            )
        ),
        *(
            (run(request(2, one)), run(response(2, one)), PART)
            for one in (prompt("x"), part("retry-prompt", content="no"))
        ),
        (run(response(2, call("c1"))), thread(user(0, call("c1"))), "/turns/0/parts/0"),
        (thread(user(0, part("custom:x"))), thread(user(0, text())), "/turns/0/parts/0"),
    ],
    "content-not-base64": [
        (
            run(response(2, part("file", content={**PICTURE, "data": good}))),
            run(response(2, part("file", content={**PICTURE, "data": bad}))),
            f"{PART}/content/data",
        )
        for good, bad in (
            ("", "="),
            ("AA==", "A==="),
            ("AAA=", "AAA=="),
            ("AA", "A"),
            ("+/+/", "AA%A"),
            ("-_-_", "AA\nAA"),
            ("AAAA", "AA=A"),
        )
    ]
    + [
        (
            thread(user(0, part("user-prompt", content=["look", PICTURE]))),
            thread(user(0, part("user-prompt", content=["look", {**PICTURE, "data": "no bytes"}]))),
            "/turns/0/parts/0/content/1/data",
        )
    ],
    "arguments-in-text": [
        (run(response(2, call("c", args=args))), run(response(2, call("c", args='{"q": 1}'))), f"{PART}/args")
        for args in ({"q": 1}, '{"q": ', '"q"', "[1]", "7", "{}x", "")
    ]
    + [
        (
            run(response(2, part("builtin-tool-call", tool_name="f", tool_call_id="c", args={}))),
            run(response(2, part("builtin-tool-call", tool_name="f", tool_call_id="c", args=" {} "))),
            f"{PART}/args",
        )
    ],
    "arguments-unparsed": [
        (
            run(response(2, call("c", args={"INVALID_JSON": "{", "q": 1})), request(3, answer("c"))),
            run(response(2, call("c", args={"INVALID_JSON": '{"q": '})), request(3, answer("c"))),
            f"{PART}/args",
        ),
        (
            run(response(2, part("builtin-tool-call", tool_name="f", tool_call_id="c", args={}))),
            run(response(2, part("builtin-tool-call", tool_name="f", tool_call_id="c", args={"INVALID_JSON": ""}))),
            f"{PART}/args",
        ),
    ],
    "file-by-url": [
        (
            run(response(2, part("file", content=PICTURE))),
            run(response(2, part("file", content={"kind": "audio-url", "url": "https://x/y.mp3", "identifier": "i"}))),
            f"{PART}/content",
        )
    ],
    "interruption-in-prompt": [
        (
            run(request(2, prompt("[Request it]"))),
            run(request(2, prompt("[Request interrupted by user for tool use] Go on"))),
            f"{PART}/content",
        ),
        (
            thread(user(0, part("user-prompt", content=["Go on"]))),
            thread(user(0, part("user-prompt", content=["[Request interrupted by user]", "Go on"]))),
            "/turns/0/parts/0/content",
        ),
    ],
    "event-name-reserved": [
        (run(event(2, "data-app-promoted")), run(event(2, "data-tp-promoted")), f"{FIRST}/event_type"),
        (  # the tiers are those of 0.0.4
            thread(agent(event(2, "data-tp-promoted")), version="0.0.3"),
            run(event(2, "data-tp-promoted")),
            f"{FIRST}/event_type",
        ),
    ],
    "spawn-without-thread": [
        (
            run(event(2, "data-tp-thread_spawn", event_data={"spawned_thread_id": "t2"})),
            run(event(2, "data-tp-thread_spawn", event_data=bad)),
            f"{FIRST}/event_data",
        )
        for bad in (None, {}, "t2", {"spawned_thread_id": ""}, {"spawned_thread_id": 2}, {"thread_id": "t2"})
    ],
    "event-without-its-fact": [
        (run(event(2, name, event_data=good)), run(event(2, name, event_data={})), f"{FIRST}/event_data")
        for name, good in (
            ("data-tp-agent_handoff", {"to": "b"}),
            ("data-tp-thread_merge", {"merged_thread_id": "t2"}),
            ("data-tp-error", {"error": "x"}),
        )
    ]
    + [
        (
            run(event(2, "data-tp-agent_handoff", target_agents=["b"])),
            run(event(2, "data-tp-error", target_agents=["b"])),
            f"{FIRST}/event_data",
        )
    ],
    "event-with-orchestration": [
        (
            run(event(2, "data-app-spawn_config", event_data={name: 1})),
            run(event(2, "data-tp-thread_spawn", event_data={"spawned_thread_id": "t2", name: 1})),
            f"{FIRST}/event_data/{name}",
        )
        for name in ("execution_mode", "priority", "timeout_ms")
    ],
    "usage-over-sum": [
        (
            run(*two(usage={"input_tokens": 5}), total_usage={"input_tokens": good}),
            run(*two(usage={"input_tokens": 5}), total_usage={"input_tokens": 9}),
            "/turns/0/total_usage/input_tokens",
        )
        for good in (10, 11, None)  # R17: what was not kept counts too
    ],
    "usage-total-too-small": [
        (
            run(response(2, text(), usage={"input_tokens": 5, "output_tokens": 4, "total_tokens": good})),
            run(response(2, text(), usage={"input_tokens": 5, "output_tokens": 4, "total_tokens": 8})),
            f"{FIRST}/usage/total_tokens",
        )
        for good in (9, 10, None)
    ]
    + [
        (
            run(total_usage={"input_tokens": 5, "output_tokens": 4, "thinking_tokens": 4, "total_tokens": 9}),
            run(total_usage={"thinking_tokens": 4, "total_tokens": 3}),
            "/turns/0/total_usage/total_tokens",
        )
    ],
    "field-numbers-order": [
        (run(response(2, text(), data={"seq": 1})), run(response(2, text(), seq=1)), f"{FIRST}/seq"),
        (thread(user()), thread(user(turn_number=0)), "/turns/0/turn_number"),
        (run(response(2, part("custom:x", index=1))), run(response(2, {**text(), "index": 0})), f"{PART}/index"),
        *((run(response(2, text())), run(response(2, text(), **{name: 1})), f"{FIRST}/{name}") for name in NUMBERS),
    ],
    "field-states-pending": [
        (run(response(2, call("c1", args={name: 1}))), run(response(2, call("c1", **{name: False}))), f"{PART}/{name}")
        for name in ("pending", "awaiting_approval", "deferred", "state", "requires_approval", "approval_status")
    ]
    + [  # a return has a status, and a call has none
        (thread(called(status="error")), run(response(2, {**call("c1"), "status": "pending"})), f"{PART}/status")
    ]
    + [  # an extension has fields of its own
        (run(response(2, part("custom:x", state=1))), run(response(2, {**text(), "state": "done"})), f"{PART}/state")
    ],
    "normative-name-reused": [
        (
            thread(agent(event(2, "error", event_data={"error": ""}), response(3, text())), version="0.0.3"),
            thread(agent(event(2, "error", event_data=said), response(3, text())), version="0.0.3"),
            f"{FIRST}/event_data",
        )
        for said in ({"field": "city"}, None, {"error": 7})
    ],
    "version-within-thread": [
        (thread(user(client_metadata={"a:version": 1})), thread(user(version="0.0.3")), "/turns/0/version"),
        (run(response(2, part("custom:x", version=1))), run(response(2, text(), version="2.0.0")), f"{FIRST}/version"),
    ],
    "interruption-with-orchestration": [
        (
            run(response(2, text()), cut=True, interruption={**CUT, "acme:retry": True, "note": "x"}),
            run(response(2, text()), cut=True, interruption={**CUT, name: value}),
            f"/turns/0/interruption/{name}",
        )
        for name, value in (("retry", True), ("max_retries", 3), ("severity", "fatal"), ("resume", "later"))
    ],
    "message-of-another-agent": [
        (run(response(2, text())), run(response(2, text(), agent_id="b")), f"{FIRST}/agent_id"),
        (  # an event may be of whomever it is about
            run(event(2, "data-app-x", agent_id="b")),
            run(request(2, prompt("Go"), agent_id="b")),
            f"{FIRST}/agent_id",
        ),
    ],
    "content-kind-unknown": [
        (
            thread(user(0, part("user-prompt", content=["x", {**PICTURE, "kind": "binary"}]))),
            thread(user(0, part("user-prompt", content=["x", {"kind": "attachment", "name": "a.pdf"}]))),
            "/turns/0/parts/0/content/1/kind",
        ),
    ],
    "agent-prefix-stored": [
        (run(response(2, text("{agent:C}: Hi"))), run(response(2, text("{agent:B}: Hi"))), f"{PART}/content"),
        (run(response(2, text("As {agent:b}: Hi"))), run(response(2, text("{agent:b}: Hi"))), f"{PART}/content"),
    ],
    "field-of-streaming": [
        (
            run(response(2, part("text", content="x", partial=False))),
            run(response(2, part("text", content="x", partial=True))),
            f"{PART}/partial",
        ),
        (
            run(event(2, "data-app-x", event_data={"partial": True})),
            run(event(2, "data-tp-error", event_data={"error": "x", "partial": True})),
            f"{FIRST}/event_data/partial",
        ),
        (run(stream_id=None), run(stream_id="s"), "/turns/0/stream_id"),
    ],
    "value-not-interoperable": [
        (
            run(response(2, call("c1", args={"n": good}))),
            run(response(2, call("c1", args={"n": bad}))),
            f"{PART}/args/n",
        )
        for good, bad in ((2**53 - 1, 2**53), (1 - 2**53, -(2**53)), (1e300, float("inf")), ("\U0001f600", "\ud83d"))
    ],
}
ROWS = [
    pytest.param(code, *case, id=f"{code}-{number}")
    for code, cases in CASES.items()
    for number, case in enumerate(cases)
]
SHORT_IDS = {("agent-id-not-uuid", "/agents/a"), ("agent-id-not-uuid", "/agents/b")}  # as the documents have them (R2)


def places(document: Any) -> list[tuple[str, str | None]]:
    """Return code and place of what is found."""
    found = check_thread(document, observations=True)
    return [place for f in found if (place := (f.code, f.place.pointer)) not in SHORT_IDS]


@pytest.mark.parametrize(("code", "good", "bad", "where"), ROWS)
def test_a_rule_finds_its_own_breach_at_its_place(
    code: str, good: dict[str, Any], bad: dict[str, Any], where: str
) -> None:
    """What just keeps a rule breaks no rule at all; what just breaks it is one finding of it, at the place."""
    assert [f.line() for f in check_thread(good) if f.level is Level.MUST] == []
    assert [found for found in places(good) if found[0] == code] == []
    assert [found for found in places(bad) if found[0] == code] == [(code, where)]


def test_every_kind_of_finding_has_a_pair() -> None:
    """A new kind without a thread that breaks it and one that keeps it is noticed here."""
    assert sorted(CASES) == sorted(kind.code for kind in KINDS)


def test_observations_are_left_out_unless_asked_for() -> None:
    """MAY findings cost time and say nothing about right or wrong."""
    assert check_thread(run(event(2, "state.update"))) == []
    assert {f.level for f in check_thread(run(event(2, "state.update")), observations=True)} == {Level.MAY}


def test_rules_that_observe_report_at_may_only() -> None:
    """A rule marked as observing is skipped by default, so nothing stronger may hide in it."""
    observed = {
        *("agent-id-not-uuid", "arguments-unparsed", "namespace-unknown", "file-by-url", "interruption-in-prompt")
    }
    assert {kind.code for kind in KINDS if kind.level is Level.MAY} == observed
    assert len([rule for rule in RULES if rule.observes]) == 3


def test_rules_do_not_judge_what_the_schema_refused() -> None:
    """A turn of a wrong shape is the schema's finding; the rules, which rely on the shape, stay silent."""
    assert {code for code, _ in places(run(request(2, answer("c9")), started_at=7))} == {"timestamp-malformed"}


def test_values_that_do_not_travel_are_named_even_where_the_schema_objects() -> None:
    """R38: a number that is not a JSON number is named by its own rule too."""
    found = places(run(total_usage={"input_tokens": float("nan")}))
    assert ("value-not-interoperable", "/turns/0/total_usage/input_tokens") in found


UNKNOWN_FIELDS = [
    # Names that another object of the protocol has, where this object does not have them (R7).
    (("turns", 1), "client_metadata submitted_at parts"),
    (("turns", 0), "messages agent_id completion_status interruption"),
    (("turns", 1, "messages", 0), "event_type source_agent target_agents"),
    (("turns", 1, "messages", 2), "parts usage"),
    (("turns", 1, "messages", 0, "parts", 1), "tool_call_id content_ref status"),
    (("agents", "a"), "client_metadata"),
    ((), "messages links"),
]
ODD_VALUES: list[Any] = [None, False, 5, 1.5, "", "interrupted", [], [1], [[]], {}, {"x": 1}, {"part_kind": 5}]


@pytest.mark.parametrize(("path", "name"), [(path, name) for path, names in UNKNOWN_FIELDS for name in names.split()])
def test_an_unknown_field_may_hold_anything(path: tuple[Any, ...], name: str) -> None:
    """R7: a field that an object does not have is preserved, never judged, and stops no rule."""
    document = thread(user(), agent(response(2, call("c1"), text()), request(3, answer("c1")), event(4, "data-app-x")))
    holder: Any = document
    for step in path:
        holder = holder[step]
    for value in ODD_VALUES:
        holder[name] = value
        assert places(document) == []
