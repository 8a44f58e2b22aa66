"""ThreadProtocol in one file of plain Python: a server and a client that tpharness can certify.

It needs Python 3.11 and nothing else, and shares no code with tpharness. Read it from top to bottom:

1. Journal   what has happened in a thread, and how it is written down in the three versions of the protocol
2. Server    the events of a model and its tools → the journal, and the chunks that tell a client
3. Wire      bytes → events of the stream → chunks
4. Client    chunks → the journal
5. stdio     one JSON object a line, in and out
6. HTTP      the same as a web server, with live runs: cancel, disconnect, limits, resume

    python examples/plain_python.py --stdio
    python examples/plain_python.py --http 127.0.0.1:0

The numbers R1–R46 are the rulings in conformance/rulings.md. Time is data here: it comes with each event and packet.
"""

from __future__ import annotations

import argparse
import base64
import codecs
import copy
import hashlib
import http.client
import json
import re
import socket
import sys
import threading
import urllib.parse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]

CAPABILITIES: Json = {
    "contract": "1.2",
    "name": "plain-python",
    "version": "1.0",
    "roles": ["server", "client"],
    "versions": ["2.0.0", "0.0.3", "0.0.4"],
    "carriers": True,
    "marks": True,
    "cancel": True,
    "disconnect": ["stop", "continue"],
    "limits": True,
    "resume": True,
    "integrity": True,
    "hash": True,
    "migrate": True,
    "history": True,
    "detects": ["network_failure", "timeout", "user_cancelled"],
}
KNOWN_REASONS = {"user_cancelled", "network_failure", "timeout", "safety_halt", "error"}

# ================================================================================================ 1. Journal


@dataclass
class Part:
    """A part of a response. It is in the thread once `done`: when its end was seen (R10)."""

    doc: Json
    text: list[str] = field(default_factory=list)
    done: bool = False
    order: int = 0  # among all parts of the thread
    of: int | None = None  # of an output of the provider, the order of the response with its call (R42)


@dataclass
class Response:
    """One answer of the model. `open` while it streams; only a finished one can be canonical (R20, R40)."""

    at: str
    order: int
    facts: Json
    parts: list[Part] = field(default_factory=list)
    open: bool = True

    def calls(self) -> list[Part]:
        """Return its complete calls that somebody has to answer; a provider's own are not among them (R42)."""
        return [p for p in self.parts if p.done and p.doc["part_kind"] == "tool-call"]


@dataclass
class Returns:
    """The request that answers calls within one turn: those of one response (R11), or all of earlier turns (R61)."""

    at: str
    order: int
    response: Response
    answers: list[tuple[Part, Json]] = field(default_factory=list)


@dataclass
class Request:
    """A request with a prompt inside an agent turn (R9, R44)."""

    at: str
    order: int
    content: Any

    @property
    def part(self) -> Json:
        """The prompt as the thread has it."""
        return {"part_kind": "user-prompt", "content": self.content}


@dataclass
class Event:
    """A fact of its own (R25); a source has a `response` that it belongs to."""

    at: str
    order: int
    doc: Json
    response: Response | None = None


@dataclass
class Turn:
    """One run of an agent. `end` is when it ended, `reason` why it was interrupted, None if it was not."""

    agent_id: str
    started_at: str
    items: list[Response | Returns | Request | Event] = field(default_factory=list)
    usage: Json = field(default_factory=dict)
    last: str | None = None  # the finish reason of its last response
    end: str | None = None
    reason: str | None = None
    error: Turn | None = None  # as it stood at an error that no finish has made good yet (R27)


@dataclass
class Call:
    """A call that a return may come for."""

    part: Part
    response: Response
    answered: bool = False
    output: int | None = None  # the order of the response in which its provider's output stands (R42)
    denial: str | None = None  # why, if an approval of it was refused


class Thread:
    """The journal of one thread. Both sides write it, and only here is decided what of it is canonical."""

    def __init__(self, header: Json) -> None:
        self.header = header
        self.turns: list[Json | Turn] = []  # a user turn is the document that it is
        self.calls: dict[str, Call] = {}
        self.calls_at_error: dict[str, Call] = {}  # which returns that came after it have not answered
        self.response: Response | None = None
        self._order = 0

    # -------------------------------------------------------------------- what happens

    def add_user_turn(self, turn: Json) -> None:
        self.turns.append(turn)

    def begin(self, agent_id: str, at: str) -> Turn:
        self.response = None
        turn = Turn(agent_id, at)
        self.turns.append(turn)
        return turn

    @property
    def turn(self) -> Turn:
        turn = self.turns[-1]
        if not isinstance(turn, Turn):
            raise TypeError("no agent turn has begun")
        return turn

    def next_order(self) -> int:
        self._order += 1
        return self._order

    def begin_response(self, at: str, facts: Json) -> Response:
        self.response = Response(at, self.next_order(), facts)
        self.turn.last = None
        self.turn.items.append(self.response)
        return self.response

    def finish_response(self) -> None:
        """What is open in it is discarded (R28), calls too."""
        if self.response is not None:
            self.response.open = False
            self.calls = {k: c for k, c in self.calls.items() if c.part.done or c.response is not self.response}
            self.response = None

    def drop_response(self) -> None:
        """R44: the parts go, and the sources with them."""
        gone, self.response = self.response, None
        if gone is not None:
            self.turn.items = [i for i in self.turn.items if i is not gone and getattr(i, "response", None) is not gone]
            self.calls = {k: c for k, c in self.calls.items() if c.response is not gone}
            self.wait_again({gone.order})

    def add_output(self, call: Call, doc: Json) -> Part:
        """R42: what a provider returns is a part of the response with which it comes."""
        part = self.add_part(doc, done=True)
        part.of = call.response.order
        call.answered, call.output = True, self.response.order if self.response else None
        return part

    def wait_again(self, gone: set[int]) -> None:
        """R42: an output goes with its response, and its call waits for another."""
        for call in self.calls.values():
            if call.output in gone:
                call.answered, call.output = False, None

    def add_part(self, doc: Json, *, done: bool = False) -> Part:
        part = Part(doc, done=done, order=self.next_order())
        if self.response is None:
            raise TypeError("no response has begun")
        self.response.parts.append(part)
        if doc["part_kind"] in ("tool-call", "builtin-tool-call"):
            self.calls[doc["tool_call_id"]] = Call(part, self.response)
        return part

    def end_thinking(self, part: Part) -> None:
        """R15: the event names the provider, else the carrier or request, else the registry, else nobody knows."""
        registry = self.header["agents"].get(self.turn.agent_id, {})
        known = self.response.facts.get("provider_name") if self.response else None
        part.doc.setdefault("provider_name", known or registry.get("provider_name") or "unknown")

    def answer(self, call: Call, doc: Json, at: str) -> bool:
        """Record the return of a call; the first one stands (R14)."""
        if call.answered:
            return False
        call.answered = True
        if isinstance(doc.get("content_ref"), dict):
            doc["content_ref"] = with_hash_name(doc["content_ref"])
        mine = {i.order for i in self.turn.items if isinstance(i, Response)}
        for item in self.turn.items:
            if isinstance(item, Returns) and (
                item.response.order == call.response.order or not {item.response.order, call.response.order} & mine
            ):
                break
        else:
            item = Returns(at, 0, call.response)
            self.turn.items.append(item)
        item.at, item.order = at, self.next_order()  # R25: the time of its last return
        head = {"tool_name": call.part.doc["tool_name"], "tool_call_id": call.part.doc["tool_call_id"]}
        item.answers.append((call.part, {"part_kind": doc.pop("part_kind", "tool-return"), **head, **doc}))
        item.answers.sort(key=lambda answer: answer[0].order)  # R11: in order of the calls
        return True

    def all_answered(self, response: Response) -> bool:
        answered = {id(call) for i in self.turn.items if isinstance(i, Returns) for call, _ in i.answers}
        return all(id(call) in answered for call in response.calls())

    def add_request(self, parts: list[Json], at: str) -> list[Request]:
        """R8, R9: system prompts are never stored, and what the user turn holds is not stored again."""
        items = self.turn.items  # a response of which nothing is complete is no message
        first = all(
            isinstance(i, Event) or (isinstance(i, Response) and not any(p.done for p in i.parts)) for i in items
        )
        before = next((turn for turn in reversed(self.turns) if isinstance(turn, dict)), None) if first else None
        said = [plain(p.get("content")) for p in before["parts"]] if before is not None else []
        said.append([])  # R52: a prompt without any content says nothing
        asked = [plain(p["content"]) for p in parts if p["part_kind"] == "user-prompt"]
        new = [Request(at, self.next_order(), content) for content in asked if content not in said]  # one each (R44)
        self.turn.items += new
        return new

    def add_event(self, name: str, data: Any, at: str, more: Json | None = None) -> None:
        owner = None
        if name in SOURCES.values():  # R25: the source belongs to the response before it
            owner = next((i for i in reversed(self.turn.items) if isinstance(i, Response)), None)
        doc = {"event_type": OLD_NAMES.get(name, name), "event_data": data, **(more or {})}
        self.turn.items.append(Event(at, self.next_order(), doc, owner))

    def add_usage(self, usage: Json) -> None:
        """R17: what was used was paid for, also when its response is dropped."""
        for name, count in usage.items():
            if isinstance(count, int) and not isinstance(count, bool):
                self.turn.usage[name] = self.turn.usage.get(name, 0) + count

    def add_error(self, text: str, at: str) -> None:
        """R27: the turn stands as it is now, unless it finishes all the same."""
        self.add_event("data-tp-error", {"error": text}, at)
        if self.turn.error is None:
            self.calls_at_error = {name: copy.copy(call) for name, call in self.calls.items()}
            self.turn.error = copy.deepcopy(self.turn)
            self.turn.error.end, self.turn.error.reason = at, "error"

    def complete(self, at: str) -> None:
        self.finish_response()
        if self.turn.end is None:
            self.turn.end = at

    def interrupt(self, reason: str, at: str) -> None:
        """R26: the first interruption stands, and one after the end changes nothing."""
        turn = self.turn
        if turn.end is not None:
            return
        if turn.error is not None:
            self.turns[-1], self.calls = turn.error, self.calls_at_error
            turn = turn.error
        else:
            turn.end, turn.reason = at, "network_failure" if reason == "incomplete_stream" else reason
        self.response = None
        mine = [i for i in turn.items if isinstance(i, Response)]
        self.wait_again({i.order for i in mine if i.open or not self.all_answered(i)})
        self.calls = {k: c for k, c in self.calls.items() if c.response.order not in {i.order for i in mine}}

    def finish(self, reason: str | None, at: str) -> None:
        """The stream says `finish`, or the run its result; the last response has finished before."""
        if reason == "error" and self.turn.error is not None:
            self.interrupt("error", at)
        elif "content_filter" in (finish_word(reason), finish_word(self.turn.last)):
            self.interrupt("safety_halt", at)
        elif reason == "interrupted":  # R44
            self.interrupt("user_cancelled", at)
        else:
            self.complete(at)

    # -------------------------------------------------------------------- what is canonical

    def document(self, version: str) -> Json:
        """Write the thread as of now; a turn that still runs is not in it (R18)."""
        turns: list[Json] = []
        kept: set[int] = set()
        end = self.header["created_at"]
        for turn in self.turns:
            if isinstance(turn, dict):
                turns.append(turn)
                end = turn["submitted_at"]
            elif turn.end is not None and (turn.reason is None or version == "0.0.4"):
                messages = self._messages(turn, version, kept)
                facts = any(m.get("event_type", "").startswith("data-tp-") for m in messages)
                if turn.reason is not None and not facts and all(m["message_type"] == "system" for m in messages):
                    continue  # R24: nothing is left of it
                turns.append(self._turn(turn, messages, version))
                end = turn.end
        head = {k: self.header[k] for k in ("thread_id", "created_at", "agents")}
        return {"version": version, **head, "updated_at": end, "turns": turns}

    def _turn(self, turn: Turn, messages: list[Json], version: str) -> Json:
        doc: Json = {"turn_type": "agent", "agent_id": turn.agent_id, "started_at": turn.started_at}
        doc["messages"] = messages
        if turn.usage:
            doc["total_usage"] = dict(turn.usage)
        if turn.reason is None:
            doc["completed_at"] = turn.end
        else:
            doc["interruption"] = {"reason": turn.reason, "interrupted_at": turn.end}
        if version == "0.0.4":
            doc["completion_status"] = "complete" if turn.reason is None else "interrupted"
        return doc

    def _messages(self, turn: Turn, version: str, kept: set[int]) -> list[Json]:
        """Choose what stays; `kept` holds the responses that stand in the thread, for returns in later turns."""
        answered = {id(call) for i in turn.items if isinstance(i, Returns) for call, _ in i.answers}
        for item in turn.items:
            # R20: a response that streams when its turn is cut goes whole. R21: so does one with an open call.
            if not isinstance(item, Response) or item.open:
                continue
            if turn.reason is None or all(id(call) in answered for call in item.calls()):
                kept.add(item.order)
        messages: list[tuple[Any, Json]] = []
        for item in turn.items:
            message = self._message(item, turn, version, kept)
            if message is not None:
                messages.append(((instant(item.at), item.order), message))
        return [message for _, message in sorted(messages, key=lambda pair: pair[0])]  # R25

    def _message(self, item: object, turn: Turn, version: str, kept: set[int]) -> Json | None:
        match item:
            case Response():
                parts = [p.doc for p in item.parts if p.done and (p.of is None or p.of in kept)]
                if not parts or item.order not in kept:
                    return None
                head = {"message_type": "response", "timestamp": item.at, "agent_id": turn.agent_id}
                return {**head, "parts": parts, **item.facts}
            case Returns():
                if item.response.order not in kept:
                    return None  # R23: no return without its call
                parts = [answer for _, answer in item.answers]
                if version == "2.0.0":  # R6: without references these are the content
                    parts = [{**p, "content": p["content_ref"]} if "content_ref" in p else p for p in parts]
                return {"message_type": "request", "timestamp": item.at, "agent_id": turn.agent_id, "parts": parts}
            case Request():
                return {
                    "message_type": "request",
                    "timestamp": item.at,
                    "agent_id": turn.agent_id,
                    "parts": [item.part],
                }
            case Event():
                if item.response is not None and item.response.order not in kept:
                    return None
                name = event_name(item.doc["event_type"], version)
                return {"message_type": "system", "timestamp": item.at, **item.doc, "event_type": name}
        return None


# What a custom event has beside the fields of the application's own.
CUSTOM_FIELDS = ("event_kind", "at", "name", "event_name", "tool_name", "tool_call_id", "data", "payload")

# R1, R34: the normative events have other names before 0.0.4, and 2.0.0 strips `data-` from all others.
OLD_NAMES = {
    "agent.handoff": "data-tp-agent_handoff",
    "thread.spawn": "data-tp-thread_spawn",
    "thread.merge": "data-tp-thread_merge",
    "thread.end": "data-tp-thread_end",
    "error": "data-tp-error",
}
NEW_NAMES = {new: old for old, new in OLD_NAMES.items()}


def event_name(name: str, version: str) -> str:
    if version == "0.0.4":
        return name
    name = NEW_NAMES.get(name, name)
    return (name.removeprefix("data-") or name) if version == "2.0.0" else name


CARRIED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?")  # the form of RFC 3339 (R47)
TIME = re.compile(r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:[.,](\d+))?(.*)")


def is_time(at: str) -> bool:
    """Whether a text is a time: the 30th of February is none."""
    try:
        instant(at)
    except ValueError:
        return False
    return True


def instant(at: str) -> tuple[datetime, str]:
    """Return something to compare times by, whatever their offset and however fine their fraction."""
    match = TIME.fullmatch(at)
    if match is None:
        raise ValueError(f"{at!r} is not a time")
    whole = datetime.fromisoformat(match[1] + match[3].upper().replace("Z", "+00:00"))
    return whole.astimezone(UTC), (match[2] or "").rstrip("0")


def finish_word(word: str | None) -> str | None:
    """R16: five words, and any other is `error`."""
    if word is None:
        return None
    words = {"tool-calls": "tool_call", "tool_calls": "tool_call", "content-filter": "content_filter"}
    words["safety_filter"] = "content_filter"  # the guide's word
    word = words.get(word, word)
    return word if word in ("stop", "length", "content_filter", "tool_call") else "error"


# R17: what libraries call them; requests and calls of tools are no tokens.
TOKENS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "totalTokens": "total_tokens",
    "reasoningTokens": "thinking_tokens",
    "output_reasoning_tokens": "thinking_tokens",
}
NO_TOKENS = ("requests", "tool_calls")


def tokens(usage: object) -> Json:
    """Return the `usage` that a response has, if it has used any token: noughts say nothing (R17)."""
    counts = usage if isinstance(usage, dict) else {}
    whole = {n: c for n, c in counts.items() if type(c) is int or (type(c) is float and c.is_integer())}  # 3.0 is 3
    used = {TOKENS.get(name, name): int(c) for name, c in whole.items() if c > 0 and name not in NO_TOKENS}
    return {"usage": used} if used else {}


def plain(content: Any) -> Any:
    """A list of one text is that text: the stream cannot tell them apart (R9, R44)."""
    return content[0] if isinstance(content, list) and len(content) == 1 and isinstance(content[0], str) else content


def pick(source: Json, *names: str) -> Json:
    """Return those of the fields that are there; null is the same as absent (R37)."""
    return {name: source[name] for name in names if source.get(name) is not None}


def parsed(args: Any) -> Any:
    """R12: arguments are the JSON value that they say; text that is not JSON stays text."""
    if args is None or args == "":
        return {}
    if not isinstance(args, str):
        return args
    try:
        return read_json(joined([args]))
    except ValueError:
        return joined([args])


def read_json(text: str) -> Any:
    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error


def joined(pieces: list[str]) -> str:
    """R43: a character may be split over two deltas as two surrogates; joined as UTF-16 it is whole."""
    return "".join(pieces).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def compact(value: Any) -> str:
    """Write JSON; a surrogate without its other half has no UTF-8 and travels as an escape."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value, separators=(",", ":"))
    return text


# ================================================================================================ 2. Server

STATUS = {"success": "success", "failed": "error", "denied": "error", "retried": "validation_error"}  # R22
DENIAL = "The tool call was denied."
OUTCOMES = {"success": "success", "validation_error": "retried"}  # R62: of a status that stands alone
FILE_FIELDS = ("kind", "data", "url", "media_type", "identifier")  # what the stream has a place for
FAMILIES = ("image", "audio", "video")
WIRE_FINISH = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content-filter",
    "tool_call": "tool-calls",
    "error": "other",
}


class Run:
    """One run on the server: each event goes into the journal, and comes back as the chunks that tell the client.

    A real server does this where its model streams. Each `on_…` takes one kind of event, writes the journal, and
    yields chunks.
    """

    def __init__(self, thread: Thread, agent_id: str, started_at: str, *, carriers: bool) -> None:
        self.thread = thread
        self.turn = thread.begin(agent_id, started_at)
        self.at = started_at
        self.carriers = carriers
        self.asked: Json = {}  # model and provider of the next response
        self.told: Json = {}  # what carriers have said and still holds
        self.blocks: dict[int, tuple[str, Part]] = {}  # index of an event → its block on the wire, its part
        self.unsent: list[Call] = []  # calls whose input the client has not been given
        self.step: Response | None = None  # the response of the step that is open on the wire
        self.count = 0

    # -------------------------------------------------------------------- the life of a run

    def start(self, message_id: str | None) -> list[Json]:
        chunk: Json = {"type": "start"}
        if message_id is not None:
            chunk["messageId"] = message_id
        return [chunk, *self.carry(agent_id=self.turn.agent_id, started_at=self.turn.started_at)]

    def feed(self, event: Json) -> list[Json]:
        """Play one event. After the end of the run nothing happens any more."""
        self.at = event.get("at", self.at)
        handler = getattr(self, f"on_{event.get('event_kind')}", None)
        if handler is None or self.thread.turn.end is not None:
            return []
        try:
            return list(handler(event))
        except (KeyError, TypeError, AttributeError, ValueError):
            return []  # R36: an event that lacks what it needs changes nothing

    def interrupt(self, reason: str, at: str, *, tell: bool) -> list[Json]:
        """Cut the run; tell the client with an abort, or not at all."""
        if self.thread.turn.end is not None:
            return []
        self.thread.interrupt(reason, at)
        self.at = at
        own = None if reason in KNOWN_REASONS else reason  # R27: only a carrier can name it
        return [*self.carry(reason=own), {"type": "abort", "reason": reason}] if tell else []

    def carry(self, **facts: Any) -> Iterator[Json]:
        """Tell what the stream does not say (R39). What holds already is not said again."""
        facts = {"timestamp": self.at, **facts}
        news = {k: v for k, v in facts.items() if v is not None and (k not in STANDING or self.told.get(k) != v)}
        self.told.update((k, v) for k, v in news.items() if k in STANDING)
        if self.carriers and news:
            yield {"type": "data-sys-tp", "data": news, "transient": True}

    # -------------------------------------------------------------------- the model's response

    def on_model_request(self, event: Json) -> Iterator[Json]:
        yield from self.end_step()  # R40: the model is asked again, so its response is over
        yield from self.ask(event.get("parts") or [])
        self.asked |= pick(event, "model_name", "provider_name")  # they stand until others are named (R39)

    def on_enqueued_messages(self, event: Json) -> Iterator[Json]:
        for message in event["messages"]:
            if any(part["part_kind"] == "user-prompt" and part["content"] != [] for part in message["parts"]):
                yield from self.end_step()
            yield from self.ask(message["parts"])

    def ask(self, parts: list[Json]) -> Iterator[Json]:
        """A request of the run: the client hears of a prompt that is not the user turn's."""
        for said in self.thread.add_request(parts, self.at):
            yield from self.carry()
            yield steering(said.content, self.block_id("steering"))

    def begin_response(self) -> Iterator[Json]:
        yield from self.end_step()
        self.blocks = {}
        self.step = self.thread.begin_response(self.at, dict(self.asked))
        yield from self.carry(**self.asked)
        yield {"type": "start-step"}

    def on_part_start(self, event: Json) -> Iterator[Json]:
        index, doc = event["index"], {k: v for k, v in event["part"].items() if v is not None}
        known = self.thread.calls.get(doc["tool_call_id"]) if doc["part_kind"].endswith("tool-call") else None
        if known is not None and not known.answered:
            return  # R36: an id can name another call once it has its return
        if self.thread.response is None or index in self.blocks:  # an index that begins again: another model call
            yield from self.begin_response()
        kind = doc["part_kind"]
        if kind in ("file", "custom:reasoning-file"):
            held = pick(doc["content"], *FILE_FIELDS)
            doc["content"] = {"identifier": name_of(held["data"]) if held.get("data") else held.get("url"), **held}
        if kind in ("text", "thinking"):
            yield from self.start_text(index, doc)
        elif kind in ("tool-call", "builtin-tool-call"):
            yield from self.start_call(index, doc)
        elif kind != "builtin-tool-return" or self.take_output(doc):
            if kind == "builtin-tool-return":
                call = self.thread.calls[doc["tool_call_id"]]
                yield from self.end_providers_call(call.part)
                part = self.thread.add_output(call, stored(doc))
            else:
                part = self.thread.add_part(stored(doc), done=True)
            self.blocks[index] = ("", part)
            yield from whole_part(doc)

    def take_output(self, output: Json) -> bool:
        """Whether a provider's call waits for this output, which is its provider's; the first one stands (R14, R42)."""
        call = self.thread.calls.get(output["tool_call_id"])
        if call is None or call.answered:
            return False
        output |= pick(call.part.doc, "tool_name", "provider_name")  # the stream names neither beside an output
        return True

    def end_providers_call(self, part: Part) -> Iterator[Json]:
        """A provider's call is complete when its output comes, or at the end of its response (R10, R42)."""
        if not part.done:
            part.done = True
            part.doc["args"] = parsed("".join(part.text))
            yield input_available(part.doc)

    def start_text(self, index: int, doc: Json) -> Iterator[Json]:
        word = "text" if doc["part_kind"] == "text" else "reasoning"
        part, block = self.thread.add_part(stored(doc)), self.block_id(word)
        self.blocks[index] = (block, part)
        yield {"type": f"{word}-start", "id": block}
        yield from self.delta(index, {"content_delta": doc.get("content")})

    def start_call(self, index: int, doc: Json) -> Iterator[Json]:
        args, call = doc.pop("args", None), {"toolCallId": doc["tool_call_id"], "toolName": doc["tool_name"]}
        part = self.thread.add_part(stored(doc))
        self.blocks[index] = (doc["tool_call_id"], part)
        yield {"type": "tool-input-start", **call, **provider_executed(part.doc)}
        yield from self.delta(index, {"args_delta": args})

    def on_part_delta(self, event: Json) -> Iterator[Json]:
        _, part = self.blocks.get(event["index"], ("", None))
        if part is not None and event["delta"]["part_delta_kind"] == DELTAS[part.doc["part_kind"]]:
            yield from self.delta(event["index"], event["delta"])

    def delta(self, index: int, delta: Json) -> Iterator[Json]:
        block, part = self.blocks.get(index, ("", None))
        if part is None or part.done:
            return  # R36: a delta without its start
        kind = part.doc["part_kind"]
        if kind == "tool-call":
            part.doc["tool_name"] += delta.get("tool_name_delta") or ""
        if delta.get("signature_delta") and kind == "thinking":
            part.doc["signature"] = part.doc.get("signature", "") + delta["signature_delta"]
        if delta.get("provider_name") and kind == "thinking":
            part.doc["provider_name"] = delta["provider_name"]
        text = delta.get("content_delta" if kind in ("text", "thinking") else "args_delta")
        if text is None or text == "":
            return
        if not isinstance(text, str):  # arguments that come as an object are merged, and told with the whole call
            held = parsed("".join(part.text))
            part.text = [compact({**(held if isinstance(held, dict) else {}), **text})]
            return
        part.text.append(text)
        if kind in ("text", "thinking"):
            yield {"type": "text-delta" if kind == "text" else "reasoning-delta", "id": block, "delta": text}
        else:
            yield {"type": "tool-input-delta", "toolCallId": block, "inputTextDelta": text}

    def on_part_end(self, event: Json) -> Iterator[Json]:
        block, part = self.blocks.get(event["index"], ("", None))
        if part is None or part.done or part.doc["part_kind"].endswith("tool-call"):
            return  # a call goes on until its response ends (R10)
        kind = part.doc["part_kind"]
        if event["part"]["part_kind"] != kind:
            return
        facts = pick(stored(event["part"]), *METADATA)
        part.doc.update(facts, content=joined(part.text))
        metadata = {k.removeprefix("thinking_"): part.doc[k] for k in METADATA if k in part.doc}
        if kind == "thinking":
            self.thread.end_thinking(part)
        end = {"type": "text-end" if kind == "text" else "reasoning-end", "id": block}
        yield {**end, "providerMetadata": {"pydantic_ai": metadata}} if metadata else end
        part.done = True

    def on_model_response_end(self, event: Json) -> Iterator[Json]:
        self.asked |= pick(event, "model_name", "provider_name")
        facts = pick(event, "model_name", "provider_name", "provider_response_id", "finish_reason", "usage")
        facts |= tokens(facts.pop("usage", None))
        self.thread.add_usage(facts.get("usage", {}))
        if "finish_reason" in facts:
            self.turn.last, facts["finish_reason"] = facts["finish_reason"], finish_word(facts["finish_reason"])
        if self.thread.response is not None:
            self.thread.response.facts.update(facts)
            yield from self.carry(**facts)
            yield from self.end_response(self.thread.response)
        elif self.step is not None:  # R40: one of its tools has ended it, and not all of them have returned
            self.step.facts.update(facts)
            yield from self.carry(**facts)
        elif facts:  # a response without a part is not a message, and was paid for
            yield {"type": "start-step"}
            yield from self.carry(**facts)
            yield {"type": "finish-step"}

    def end_response(self, response: Response) -> Iterator[Json]:
        """R10, R40: the response has finished, and its calls are complete with the arguments that they have now."""
        for part in response.parts:
            if part.doc["part_kind"] == "tool-call":
                part.done = True
                self.unsent.append(self.thread.calls[part.doc["tool_call_id"]])
            elif part.doc["part_kind"] == "builtin-tool-call":
                yield from self.end_providers_call(part)
        self.thread.finish_response()
        self.blocks = {}
        for call in list(self.unsent):
            if call.part.text:
                yield from self.send_input(call)
        if not response.calls():
            yield from self.end_step()

    def send_input(self, call: Call) -> Iterator[Json]:
        if call in self.unsent:
            self.unsent.remove(call)
            call.part.doc["args"] = parsed("".join(call.part.text))
            yield input_available(call.part.doc)

    def end_step(self) -> Iterator[Json]:
        if self.thread.response is not None:
            yield from self.end_response(self.thread.response)
        for call in list(self.unsent):  # neither the response nor a tool has said its arguments
            yield from self.send_input(call)
        if self.step is not None:
            self.step = None
            yield {"type": "finish-step"}

    def on_response_reset(self, _event: Json) -> Iterator[Json]:
        if self.thread.response is not None:
            self.thread.drop_response()
            self.blocks, self.step = {}, None
            yield {"type": "reset-step"}

    # -------------------------------------------------------------------- tools

    def on_function_tool_call(self, event: Json) -> Iterator[Json]:
        call = self.thread.calls[event["part"]["tool_call_id"]]  # a call that nobody has made: `feed` answers nothing
        args = event["part"].get("args")
        streams = call.response is self.thread.response
        if args is not None and (streams or not call.part.text):
            call.part.text = [args if isinstance(args, str) else compact(args)]
        if streams:  # R40: its first tool starts, so the response is over
            yield from self.end_response(call.response)
        yield from self.send_input(call)

    def on_deferred_tool_requests(self, event: Json) -> Iterator[Json]:
        """The calls that the user has to approve: the stream asks, and the thread has nothing of it (R64)."""
        named = event["requests"].get("approvals") if isinstance(event.get("requests"), dict) else None
        ids = [call.get("tool_call_id") for call in named if isinstance(call, dict)] if isinstance(named, list) else []
        for name in dict.fromkeys(one for one in ids if isinstance(one, str)):
            call = self.thread.calls.get(name)
            if call is None or call.answered or call.response is self.thread.response:
                continue
            if any(one is call.response for one in self.turn.items):  # and not of an earlier run
                yield from self.send_input(call)
                yield {"type": "tool-approval-request", "approvalId": name, "toolCallId": name}

    def on_tool_progress(self, event: Json) -> Iterator[Json]:
        call, output = event["tool_call_id"], event["content"]
        if call in self.thread.calls:  # R36: of a call that nobody has made there is nothing to tell
            yield {"type": "tool-output-available", "toolCallId": call, "output": output, "preliminary": True}

    def on_function_tool_result(self, event: Json) -> Iterator[Json]:
        part = {k: v for k, v in (event.get("part") or event["result"]).items() if v is not None or k == "content"}
        call = self.thread.calls.get(part.get("tool_call_id", ""))
        named = part.get("status")
        outcome = part.get("outcome") or (OUTCOMES.get(named, "failed") if named else "success")
        if call is None or call.answered:
            return
        if call.response is self.thread.response:
            yield from self.end_response(call.response)
        yield from self.send_input(call)
        if outcome == "interrupted":  # R41
            return
        retry = part.get("part_kind") == "retry-prompt"
        status = STATUS.get(outcome, "error")
        doc: Json = {"part_kind": "retry-prompt"} if retry else {"status": status}
        if "content_ref" in part and not retry:
            doc["content_ref"] = part["content_ref"]
        else:
            denied = outcome == "denied" and part.get("content") is None
            doc["content"] = DENIAL if denied else part.get("content")
        told = part.get("metadata")
        events = [e for e in told if is_data_chunk(e)] if isinstance(told, list) else []
        if told is not None and not events and not retry:
            doc["metadata"] = told
        yield from self.tell_return(call.part.doc, doc, denied=outcome == "denied")
        self.thread.answer(call, doc, self.at)
        for sent in events:  # Pydantic AI's way for a tool to send events of its own
            yield from self.on_system_event({"event_type": sent["type"], "event_data": sent["data"]})
        if self.step is call.response and self.thread.all_answered(call.response):
            yield from self.end_step()

    def tell_return(self, call: Json, doc: Json, *, denied: bool) -> Iterator[Json]:
        """The wire has one way for each status; what it cannot say goes with a carrier."""
        content, name = doc.get("content"), {"toolCallId": call["tool_call_id"]}
        text = content if isinstance(content, str) else compact(content)
        told = pick(doc, "part_kind", "content_ref", "metadata")
        if doc.get("status") != "success" and text is not content and "content" in doc:
            told["content"] = content
        yield from self.carry(tool_return=told or None)
        if doc.get("status") == "success":
            yield {"type": "tool-output-available", **name, "output": content}
        elif denied:
            approval = {"approvalId": self.block_id("approval")}
            yield {"type": "tool-approval-request", **approval, **name}
            yield {"type": "tool-approval-response", **approval, "approved": False, "reason": text}
            yield {"type": "tool-output-denied", **name}
        elif doc.get("status") == "validation_error":
            made = {"toolName": call["tool_name"], "input": call["args"]}
            yield {"type": "tool-input-error", **name, **made, "errorText": text}
        else:
            yield {"type": "tool-output-error", **name, "errorText": text}

    on_output_tool_call = on_function_tool_call
    on_output_tool_result = on_function_tool_result

    # -------------------------------------------------------------------- everything else

    def on_system_event(self, event: Json) -> Iterator[Json]:
        data: Any = event.get("event_data")
        name = str(OLD_NAMES.get(event["event_type"], event["event_type"]))
        if name not in SOURCES.values() and not name.startswith(("data-", "meta:")):
            name = f"data-{name}"  # R34: as the wire has it
        more = pick(event, "source_agent", "target_agents")
        kept = not event.get("transient") or name.startswith("data-tp-")
        if kept:
            self.thread.add_event(name, data, self.at, more)
        if name in SOURCES.values() and not kept:
            return  # its chunk cannot say that it is transient
        yield from self.carry(**more if kept else {})  # else the next event would have them
        if name in SOURCES.values():
            wire = next(k for k, v in SOURCES.items() if v == name)
            yield {"type": wire, **{WIRE_NAMES.get(k, k): v for k, v in data.items()}}
        else:
            chunk = {"type": name if name.startswith("data-") else f"data-{name}", "data": data}
            yield {**chunk, "transient": True} if event.get("transient") else chunk

    def on_custom(self, event: Json) -> Iterator[Json]:
        name = str(event.get("name") or event["event_name"])
        held = pick(event, "data", "payload")
        own = {k: v for k, v in event.items() if k not in CUSTOM_FIELDS}  # of the application's class, beside the name
        data = {**own, **held} if own else next(iter(held.values()), None)
        yield from self.on_system_event({"event_type": name, "event_data": data})

    def on_error(self, event: Json) -> Iterator[Json]:
        yield from self.carry()
        self.thread.add_error(event["error_text"], self.at)
        yield {"type": "error", "errorText": event["error_text"]}

    def on_agent_start(self, event: Json) -> Iterator[Json]:
        """R45: another agent goes on in the same stream; the turn before is complete, and with it its model's name."""
        if event["agent_id"] == self.turn.agent_id:
            return
        yield from self.end_step()
        if self.turn.items:
            self.thread.complete(self.at)
            self.turn = self.thread.begin(event["agent_id"], self.at)
        else:  # nothing was said in another's name
            self.turn.agent_id, self.turn.started_at, self.turn.last = event["agent_id"], self.at, None
        self.told, self.asked = {}, {}
        yield from self.carry(agent_id=event["agent_id"], started_at=self.at)

    def on_agent_run_result(self, event: Json) -> Iterator[Json]:
        yield from self.end_step()
        reason = event.get("finish_reason") or self.turn.last
        if finish_word(self.turn.last) == "content_filter":
            reason = self.turn.last
        usage = {} if self.turn.usage else tokens(event.get("usage")).get("usage", {})
        self.thread.add_usage(usage)
        yield from self.carry(completed_at=self.at, usage=usage or None)
        self.thread.finish(reason, self.at)
        finish = {"type": "finish"}
        if reason is not None:
            plain = reason in ("error", "interrupted")
            finish["finishReason"] = reason if plain else WIRE_FINISH[str(finish_word(reason))]
        yield finish

    def block_id(self, word: str) -> str:
        self.count += 1
        return f"{word}-{self.count}"


STANDING = ("timestamp", "agent_id", "model_name", "provider_name")
DELTAS = {"text": "text", "thinking": "thinking", "tool-call": "tool_call", "builtin-tool-call": "tool_call"}
METADATA = ("id", "thinking_id", "signature", "provider_name")
SOURCES = {"source-url": "source.url", "source-document": "source.document"}
WIRE_NAMES = {"source_id": "sourceId", "media_type": "mediaType"}
THREAD_NAMES = {wire: name for name, wire in WIRE_NAMES.items()}


def is_data_chunk(entry: Any) -> bool:
    """Whether an entry of a return's metadata is an event that is kept: transient ones are not, unless normative."""
    name = str(entry.get("type", "")) if isinstance(entry, dict) and "data" in entry else ""
    return name.startswith("data-tp-") or (name.startswith("data-") and not entry.get("transient"))


def stored(part: Json) -> Json:
    """Return the fields of a model's part that a thread has."""
    kind = part.get("part_kind", "")
    fields = {
        "text": ("id",),
        "thinking": ("thinking_id", "signature", "provider_name"),
        "tool-call": ("tool_name", "tool_call_id"),
        "builtin-tool-call": ("tool_name", "tool_call_id", "provider_name"),
        "builtin-tool-return": ("tool_name", "tool_call_id", "content", "provider_name"),
        "file": ("content", "id"),
    }.get(kind)
    if fields is None:
        return dict(part)
    named = {**part, "thinking_id": part["id"]} if "id" in part else part
    if kind == "builtin-tool-return":
        named = {"content": None, **named}
    return {k: named[k] for k in ("part_kind", *fields) if k in named}


def provider_executed(doc: Json) -> Json:
    """R42: calls of the provider are parts of their response, and the wire says so."""
    if not doc["part_kind"].startswith("builtin-"):
        return {}
    named = {"pydantic_ai": {"provider_name": doc["provider_name"]}} if "provider_name" in doc else None
    return {"providerExecuted": True, **({"providerMetadata": named} if named else {})}


def input_available(doc: Json) -> Json:
    call = {"toolCallId": doc["tool_call_id"], "toolName": doc["tool_name"], "input": doc["args"]}
    return {"type": "tool-input-available", **call, **provider_executed(doc)}


def whole_part(doc: Json) -> Iterator[Json]:
    """Parts that do not stream: a file, an output of the provider, a kind of the application."""
    kind = doc["part_kind"]
    if kind in ("file", "custom:reasoning-file"):
        yield {"type": kind.removeprefix("custom:"), **file_fields(doc["content"], doc.get("id"))}
    elif kind == "builtin-tool-return":
        output = {"toolCallId": doc["tool_call_id"], "output": doc.get("content")}
        yield {"type": "tool-output-available", **output, "providerExecuted": True}
    elif kind.startswith("custom:"):
        chunk = {"type": "custom", "kind": kind.removeprefix("custom:")}
        yield {**chunk, "providerMetadata": doc["provider_metadata"]} if "provider_metadata" in doc else chunk


def file_fields(content: Json, part_id: str | None = None) -> Json:
    """R63: a file by its address may have the range of its kind for a media type; its own names travel beside it."""
    url = content.get("url") or f"data:{content['media_type']};base64,{content['data']}"
    family = content["kind"].partition("-")[0]
    media = content.get("media_type") or (f"{family}/*" if family in FAMILIES else "*/*")
    usual = name_of(content["data"]) if content.get("data") else url
    own = {"id": part_id, "identifier": content.get("identifier")}
    names = {k: v for k, v in own.items() if v is not None and v != usual}
    more = {"providerMetadata": {"pydantic_ai": names}} if names else {}
    return {"url": url, "mediaType": media, **more}


def steering(content: Any, name: str) -> Json:
    items = [content] if isinstance(content, str) else content
    said = [{"type": "text", "text": i} if isinstance(i, str) else {"type": "file", **file_fields(i)} for i in items]
    return {"type": "steering-message", "id": name, "parts": said}


def with_hash_name(ref: Json) -> Json:
    """R6: the hash of a reference names its algorithm."""
    bare = isinstance(ref.get("hash"), str) and re.fullmatch(r"[0-9a-fA-F]{64}", ref["hash"])
    return {**ref, "hash": f"sha256:{ref['hash'].lower()}"} if bare else ref


# ================================================================================================ 3. Wire

DONE = "data: [DONE]\n\n"


def frame(chunk: Json) -> str:
    return f"data: {compact(chunk)}\n\n"


class SseReader:
    """Bytes → events, as the WHATWG describes: any line end, any split between reads, one byte order mark."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._line: list[str] = []
        self._data: list[str] = []
        self._name = ""
        self._after_cr = False

    def feed(self, data: bytes) -> Iterator[tuple[str, str]]:
        """Yield ("data", text) for each event and ("comment", text) for each comment."""
        text = self._decode.decode(data)
        if not text:
            return
        if self._after_cr and text[0] == "\n":
            text = text[1:]
            self._after_cr = False
        for line, end in re.findall(r"([^\r\n]*)(\r\n|\r|\n|$)", text):
            self._line.append(line)
            if end:
                self._after_cr = end == "\r"
                line, self._line = "".join(self._line), []  # noqa: PLW2901  # the whole line, of all reads
                yield from self._take(line)
            elif line:
                self._after_cr = False

    def _take(self, line: str) -> Iterator[tuple[str, str]]:
        if not line:
            if self._data and self._name != "ping":
                yield "data", "\n".join(self._data)
            self._data, self._name = [], ""
            return
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not name:
            yield "comment", value
        elif name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value


FIELDS = {  # what each chunk has to have; a chunk of another name is unknown, and kept as an event (R7)
    **dict.fromkeys(("start", "finish", "abort", "message-metadata", "start-step", "finish-step", "reset-step"), ""),
    **dict.fromkeys(("text-start", "text-end", "reasoning-start", "reasoning-end"), "id"),
    **dict.fromkeys(("text-delta", "reasoning-delta"), "id delta"),
    "tool-input-start": "toolCallId toolName",
    "tool-input-delta": "toolCallId inputTextDelta",
    "tool-input-available": "toolCallId toolName input",
    "tool-input-error": "toolCallId toolName input errorText",
    "tool-approval-request": "toolCallId approvalId",
    "tool-approval-response": "approvalId approved",
    "tool-output-available": "toolCallId output",
    "tool-output-error": "toolCallId errorText",
    "tool-output-denied": "toolCallId",
    "source-url": "sourceId url",
    "source-document": "sourceId mediaType title",
    **dict.fromkeys(("file", "reasoning-file"), "url mediaType"),
    "custom": "kind",
    "steering-message": "parts",
    "error": "errorText",
}
KINDS: dict[str, type] = {
    "input": object,
    "output": object,
    "data": object,
    "approved": bool,
    "parts": list,
}  # else text
OPTIONAL: dict[str, tuple[type, tuple[str, ...]]] = {  # what a field of chunks with these beginnings has to be, or null
    "messageId": (str, ("start",)),
    "finishReason": (str, ("finish",)),
    "reason": (str, ("abort", "tool-approval-")),
    "title": (str, ("tool-input-", "source-url")),
    "filename": (str, ("source-document",)),
    "inputEncoding": (str, ("tool-input-start",)),
    "signature": (str, ("tool-approval-request",)),
    "citations": (list, ("text-end",)),
    "toolMetadata": (dict, ("tool-input-", "tool-output-")),
    "providerMetadata": (dict, ("text-", "reasoning-", "tool-", "source-", "file", "custom")),
    "id": (str, ("data-",)),
}
FLAGS = {"tool": ("providerExecuted", "preliminary", "dynamic"), "data": ("transient",)}
TEXTS = {
    f"{word}-{verb}": (kind, verb)
    for word, kind in (("text", "text"), ("reasoning", "thinking"))
    for verb in ("start", "delta", "end")
}


def read_chunk(text: str) -> Json | None:
    """Return the chunk that an event holds, or None: what is not a chunk changes nothing (R36)."""
    try:
        chunk = read_json(text)
    except ValueError:
        return None
    if not isinstance(chunk, dict) or not isinstance(chunk.get("type"), str) or not chunk["type"]:
        return None
    if chunk["type"] == "data" and str(chunk.get("name")).startswith("data-"):  # R33
        if "value" not in chunk:
            return None
        rest = {k: v for k, v in chunk.items() if k not in ("name", "value")}
        chunk = {**rest, "type": chunk["name"], "data": chunk["value"]}
    spelled = chunk["type"].replace("thinking-", "reasoning-", 1)
    if chunk["type"].startswith("thinking-") and spelled in FIELDS:
        chunk["type"] = spelled
    fields = "data" if chunk["type"].startswith("data-") else FIELDS.get(chunk["type"], "")
    good = all(name in chunk and isinstance(chunk[name], KINDS.get(name, str)) for name in fields.split())
    named = all(chunk[name] for name in ("toolName", "mediaType") if name in fields.split() and name in chunk)
    flags = all(isinstance(chunk.get(name), bool | None) for name in FLAGS.get(chunk["type"].partition("-")[0], ()))
    known = chunk["type"] in FIELDS or fields == "data"
    held = [
        (chunk.get(name), kind) for name, (kind, types) in OPTIONAL.items() if known and chunk["type"].startswith(types)
    ]
    fits = all(isinstance(value, kind | None) for value, kind in held)
    return chunk if good and named and flags and fits else None


# ================================================================================================ 4. Client

FACT_TYPES: dict[str, type] = {"usage": dict, "tool_return": dict, "target_agents": list}  # all others are text
TIMES = ("timestamp", "started_at", "completed_at", "interrupted_at")
SILENT = {
    *("text-delta", "text-end", "reasoning-delta", "reasoning-end", "tool-input-delta", "message-metadata"),
    *("finish-step", "reset-step", "tool-approval-request", "tool-approval-response"),
}


class Client:
    """The client's side of a thread: streams go in, the journal comes out."""

    def __init__(self, header: Json) -> None:
        self.thread = Thread(header)
        self.over = True
        self.approvals: dict[str, Call] = {}  # a later stream may answer them (R30)

    def begin(self, agent_id: str, at: str) -> None:
        """A stream opens. Its turn begins with the first chunk (R45)."""
        self.sse = SseReader()
        self.agent_id, self.begun_at = agent_id, at
        self.started = self.over = self.step = self.responded = False
        self.facts: Json = {}  # what carriers have told
        self.last: Response | None = None  # the latest response of the step
        self.stated: str | None = None  # the latest time that an event has stated itself
        self.blocks: dict[tuple[str, str], Part] = {}

    def feed(self, data: bytes, at: str) -> list[str]:
        """Take in one read; return the comments that it held."""
        comments: list[str] = []
        for kind, text in self.sse.feed(data):
            if kind == "comment":
                comments.append(text)
            else:
                self.take(text, at)
        return comments

    def take(self, text: str, at: str) -> None:
        if self.over:
            return  # R35, R40: after finish, abort and the end marker nothing counts
        if text == "[DONE]":
            self.over = True
            return
        chunk = read_chunk(text)
        if chunk is None:
            return
        self.received = at
        name = chunk["type"]
        if not self.started and name != "data-sys-tp":
            if not self.counts(chunk):
                return
            self.started = True
            self.thread.begin(self.facts.get("agent_id", self.agent_id), self.facts.get("started_at", self.at))
        if name == "data-sys-tp":
            self.carrier(chunk["data"])
        elif name.startswith("data-"):
            if not chunk.get("transient") or name.startswith("data-tp-"):
                name = name.removeprefix("data-") if name.startswith("data-meta:") else name
                self.event(name, chunk["data"])
        elif name in TEXTS:
            self.text(*TEXTS[name], chunk)
        elif name in FIELDS:
            getattr(self, "on_" + name.replace("-", "_"), self.nothing)(chunk)
        else:
            self.event(name, {k: v for k, v in chunk.items() if k != "type"})  # R7

    def counts(self, chunk: Json) -> bool:
        """Whether a chunk begins the turn of a stream without a start (R45): what changes nothing does not (R36)."""
        name = chunk["type"]
        if name.startswith("tool-output-"):
            return self.thread.calls.get(chunk["toolCallId"]) is not None
        return not (chunk.get("transient") and not name.startswith("data-tp-")) and name not in SILENT

    def close(self, reason: str | None, at: str) -> None:
        """The stream has ended. Without finish and abort that is an interruption (R27)."""
        if self.started and not self.over:
            self.use_up()
        if self.started:
            self.thread.interrupt(reason or "network_failure", self.facts.get("interrupted_at", at))
        self.over = True

    @property
    def at(self) -> str:
        """When a thing happened: as a carrier says, else when it was received, and not before what was before it."""
        return str(self.facts.get("timestamp", max(self.stated or self.received, self.received, key=instant)))

    def nothing(self, chunk: Json) -> None:
        """Metadata of the application, and a second start, change nothing."""

    # -------------------------------------------------------------------- carriers

    def carrier(self, data: Any) -> None:
        """Each fact holds for what follows; those of one response belong to the one that streams (R39)."""
        told: Json = data if isinstance(data, dict) else {}
        told = {k: v for k, v in told.items() if isinstance(v, FACT_TYPES.get(k, str))}
        told = {k: v for k, v in told.items() if k not in TIMES or (CARRIED.fullmatch(v) and is_time(v))}
        agent = told.get("agent_id")
        current = self.thread.turn.agent_id if self.started else self.facts.get("agent_id", self.agent_id)
        if agent and agent != current:  # the model was that of the agent before (R45)
            self.facts = {k: v for k, v in self.facts.items() if k not in ("model_name", "provider_name")}
        if self.started and agent and agent != current:
            if self.thread.turn.items:
                self.finish_response()
                self.thread.complete(told.get("started_at") or told.get("timestamp") or self.at)
                self.thread.begin(agent, told.get("timestamp") or self.at)
                self.blocks, self.last = {}, None
                self.facts = {k: v for k, v in self.facts.items() if k == "timestamp"}
            self.thread.turn.agent_id, self.thread.turn.last = agent, None
        if self.started and "started_at" in told:
            self.thread.turn.started_at = told["started_at"]
        if self.started and self.thread.response is not None:  # whose end may name the model that answered
            self.thread.response.facts.update(pick(told, "model_name", "provider_name"))
        if "finish_reason" in told:
            told["finish_reason"] = finish_word(str(told["finish_reason"]))
        if agent == "":
            del told["agent_id"]  # R2
        self.facts.update(told)
        if self.started and self.thread.response is None and self.waiting_response() is not None:
            self.use_up()

    def waiting_response(self) -> Response | None:
        """Return the response that streams, or the one before it while one of its tools still runs (R40)."""
        if self.thread.response is not None or self.last is None:
            return self.thread.response
        return None if self.thread.all_answered(self.last) else self.last

    def use_up(self) -> None:
        """What carriers told of the response that ends, or of the run, is its; usage counts without a response too."""
        names = ("provider_response_id", "finish_reason", "usage")
        facts = {name: self.facts.pop(name) for name in names if name in self.facts}
        facts |= tokens(facts.pop("usage", None))
        self.thread.add_usage(facts.get("usage", {}))
        response = self.waiting_response()
        if response is not None:
            response.facts.update(pick(self.facts, "model_name", "provider_name") if facts else {}, **facts)
        if facts and self.thread.turn.end is None:
            self.thread.turn.last = facts.get("finish_reason")

    # -------------------------------------------------------------------- responses and steps

    def respond(self) -> None:
        """A part starts: it belongs to the response that streams, or begins one (R40)."""
        self.responded = True
        if self.thread.response is None:
            self.last = self.thread.begin_response(self.at, pick(self.facts, "model_name", "provider_name"))

    def finish_response(self) -> None:
        self.use_up()
        self.thread.finish_response()
        self.blocks = {}

    def on_start_step(self, _chunk: Json) -> None:
        self.finish_response()
        self.step, self.responded, self.last = True, False, None

    def on_finish_step(self, _chunk: Json) -> None:
        self.finish_response()
        self.step, self.responded, self.last = False, False, None

    def on_reset_step(self, _chunk: Json) -> None:
        self.use_up()
        self.thread.drop_response()
        self.blocks, self.last = {}, None

    # -------------------------------------------------------------------- texts and thoughts

    def text(self, kind: str, verb: str, chunk: Json) -> None:
        """A start, a delta or an end. Texts and thoughts have ids apart; what has no start is nothing (R36)."""
        block = (kind, chunk["id"])
        part = self.blocks.get(block)
        if verb == "start" and part is None:
            self.respond()
            part = self.blocks[block] = self.thread.add_part({"part_kind": kind})
        if part is None:
            return
        if kind == "thinking" or verb != "delta":
            part.doc.update(metadata(kind, chunk))
        if verb == "delta":
            part.text.append(chunk["delta"])
        elif verb == "end":
            del self.blocks[block]
            part.doc["content"] = joined(part.text)
            if kind == "thinking":
                self.thread.end_thinking(part)
            part.done = True

    # -------------------------------------------------------------------- calls and their returns

    def open_call(self, chunk: Json) -> Call | None:
        """Return a new call, or None when one of that id waits for its arguments or its return (R36)."""
        known = self.thread.calls.get(chunk["toolCallId"])
        if known is not None and (not known.answered or known.response is self.thread.response):
            return None
        self.respond()
        kind = "builtin-tool-call" if chunk.get("providerExecuted") else "tool-call"
        doc = {"part_kind": kind, "tool_call_id": chunk["toolCallId"]}
        self.thread.add_part({**doc, **metadata(kind, chunk)})
        return self.thread.calls[chunk["toolCallId"]]

    def on_tool_input_start(self, chunk: Json) -> None:
        self.open_call(chunk)

    def on_tool_input_available(self, chunk: Json) -> None:
        call = self.thread.calls.get(chunk["toolCallId"])
        if call is None or call.answered:
            call = self.open_call(chunk)
        if call is not None and not call.part.done:
            self.complete_call(call, chunk)

    def complete_call(self, call: Call, chunk: Json) -> None:
        if chunk.get("providerExecuted"):  # which the start need not say
            call.part.doc["part_kind"] = "builtin-tool-call"
        named = {"tool_name": chunk["toolName"], "args": chunk["input"]}  # the start may have had a piece of the name
        call.part.doc.update(named, **metadata(call.part.doc["part_kind"], chunk))
        call.part.done = True

    def on_tool_input_error(self, chunk: Json) -> None:
        """The call is complete and refused at once; no tool has run, so its response goes on (R40)."""
        call = self.thread.calls.get(chunk["toolCallId"])
        if call is None or call.answered:
            call = self.open_call(chunk)
        if call is not None:
            if not call.part.done:
                self.complete_call(call, chunk)
            if call.part.doc["part_kind"] == "builtin-tool-call":
                self.output(chunk, {"content": chunk["errorText"]})
            else:
                self.answer(call, {"status": "validation_error", "content": chunk["errorText"]})

    def on_tool_approval_request(self, chunk: Json) -> None:
        call = self.thread.calls.get(chunk["toolCallId"])
        if call is not None:
            self.approvals[chunk["approvalId"]] = call

    def on_tool_approval_response(self, chunk: Json) -> None:
        call = self.approvals.get(chunk["approvalId"])
        if call is not None and not chunk["approved"] and isinstance(chunk.get("reason"), str):
            call.denial = chunk["reason"]

    def on_tool_output_available(self, chunk: Json) -> None:
        if not chunk.get("preliminary"):  # R14: progress is not a return
            self.output(chunk, {"status": "success", "content": chunk["output"]})

    def on_tool_output_error(self, chunk: Json) -> None:
        self.output(chunk, {"status": "error", "content": chunk["errorText"]})

    def on_tool_output_denied(self, chunk: Json) -> None:
        call = self.thread.calls.get(chunk["toolCallId"])
        reason = None if call is None else call.denial
        self.output(chunk, {"status": "error", "content": DENIAL if reason is None else reason})

    def output(self, chunk: Json, doc: Json) -> None:
        call = self.thread.calls.get(chunk["toolCallId"])
        if call is None or not call.part.done or call.answered:
            return  # R36, R14
        if call.part.doc["part_kind"] == "builtin-tool-call":  # R42: a part of the response, and no return
            self.respond()
            head = {k: v for k, v in call.part.doc.items() if k not in ("part_kind", "args")}
            self.thread.add_output(call, {"part_kind": "builtin-tool-return", **head, "content": doc["content"]})
            return
        if call.response is self.thread.response:
            self.finish_response()  # R40: tools run after their response
        self.answer(call, doc)

    def answer(self, call: Call, doc: Json) -> None:
        told = self.facts.pop("tool_return", None)
        if isinstance(told, dict):
            if "content_ref" in told:  # instead of the content, unless the carrier has both (R6)
                doc.pop("content")
            if told.get("status") not in ("success", "error", "validation_error"):
                told = {k: v for k, v in told.items() if k != "status"}  # R22
            doc.update((k, told[k]) for k in ("part_kind", "status", "content", "content_ref", "metadata") if k in told)
            if doc.get("part_kind") == "retry-prompt":
                doc.pop("status")
        self.thread.answer(call, doc, self.at)

    # -------------------------------------------------------------------- whole parts, requests, events

    def on_file(self, chunk: Json) -> None:
        self.respond()
        part = {"part_kind": "file", "content": content_of(chunk), **pick(own_names(chunk), "id")}
        self.thread.add_part(part, done=True)

    def on_reasoning_file(self, chunk: Json) -> None:
        self.respond()
        part = {"part_kind": "custom:reasoning-file", "content": content_of(chunk), **pick(own_names(chunk), "id")}
        self.thread.add_part(part, done=True)

    def on_custom(self, chunk: Json) -> None:
        self.respond()
        told = chunk.get("providerMetadata")
        more = {} if told is None else {"provider_metadata": told}
        self.thread.add_part({"part_kind": f"custom:{chunk['kind']}", **more}, done=True)

    def on_steering_message(self, chunk: Json) -> None:
        items = [p for p in chunk["parts"] if isinstance(p, dict)]
        said: list[Any] = []
        for part in items:
            if part.get("type") == "text" and isinstance(part.get("text"), str):
                said.append(part["text"])
            elif part.get("type") == "file" and isinstance(part.get("url"), str):
                said.append(content_of(part))
        if said:  # R52
            self.finish_response()
        self.thread.add_request([{"part_kind": "user-prompt", "content": said}], self.at)

    def event(self, name: str, data: Any) -> None:
        own = data.get("timestamp") if name.startswith("data-tp-") and isinstance(data, dict) else None
        if isinstance(own, str) and is_time(own) and "timestamp" not in self.facts:
            self.stated = max(own, self.thread.turn.started_at, *(i.at for i in self.thread.turn.items), key=instant)
            self.received = self.stated
        self.thread.add_event(name, data, self.at, pick(self.facts, "source_agent", "target_agents"))
        self.facts = {k: v for k, v in self.facts.items() if k not in ("source_agent", "target_agents")}

    def on_source_url(self, chunk: Json) -> None:
        """A source belongs to the response of its step, outside of steps to the one before it (R25)."""
        if self.step and not self.responded:
            self.respond()
        named = pick(chunk, "sourceId", "url", "title", "mediaType", "filename")
        self.event(SOURCES[chunk["type"]], {THREAD_NAMES.get(k, k): v for k, v in named.items()})

    on_source_document = on_source_url

    # -------------------------------------------------------------------- how a turn ends

    def on_error(self, chunk: Json) -> None:
        self.use_up()
        self.thread.add_error(chunk["errorText"], self.at)

    def on_abort(self, chunk: Json) -> None:
        told = chunk.get("reason")
        reason = self.facts.get("reason") or (told if told in KNOWN_REASONS else "user_cancelled")  # R27
        self.use_up()
        self.thread.interrupt(reason, self.facts.get("interrupted_at", self.at))
        self.over = True

    def on_finish(self, chunk: Json) -> None:
        reason = chunk.get("finishReason")
        end = self.facts.get("completed_at") or self.facts.get("interrupted_at") or self.at
        if self.thread.turn.usage and not self.step and not self.responded:
            self.facts.pop("usage", None)  # of the result, which repeats those of the responses (R17)
        self.finish_response()
        self.thread.finish(reason if isinstance(reason, str) else None, end)
        self.over = True


def metadata(kind: str, chunk: Json) -> Json:
    """Return what a chunk's providerMetadata says of a part: ids, signatures, the provider."""
    said: Json = {}
    spaces = chunk.get("providerMetadata")
    for space, values in spaces.items() if isinstance(spaces, dict) else ():
        if not isinstance(values, dict):
            continue
        own = values if space == "pydantic_ai" else {}  # ids of other name spaces are not of the part
        named = values.get("provider_name") if space == "pydantic_ai" else space
        found = {
            "id": own.get("id") if kind == "text" else None,
            "thinking_id": own.get("id") if kind == "thinking" else None,
            "signature": values.get("signature") if kind == "thinking" else None,
            "provider_name": named if kind not in ("text", "tool-call") else None,
        }
        said.update({k: v for k, v in found.items() if isinstance(v, str)})
    return said


def name_of(data: str) -> str:
    """The identifier of a file by data, as Pydantic AI gives it: the beginning of a digest."""
    standard = data.translate(str.maketrans("-_", "+/")).rstrip("=")  # either alphabet, with padding or without
    try:
        held = base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except ValueError:
        held = data.encode()
    return hashlib.sha1(held, usedforsecurity=False).hexdigest()[:6]


BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")


def content_of(chunk: Json) -> Json:
    """A file by data is held, any other is named; a range says of which kind, and is not a media type (R63)."""
    url, media = chunk["url"], chunk.get("mediaType", "application/octet-stream")
    named = own_names(chunk).get("identifier")
    match = re.fullmatch(r"data:[^,]*;base64,(.*)", url, re.DOTALL)
    if match is not None and BASE64.fullmatch(match[1]) and len(match[1].rstrip("=")) % 4 != 1:
        return {"kind": "binary", "data": match[1], "media_type": media, "identifier": named or name_of(match[1])}
    family = media.partition("/")[0]
    kind = f"{family if family in FAMILIES else 'document'}-url"
    typed = {} if media.endswith("/*") else {"media_type": media}
    return {"kind": kind, "url": url, "identifier": named or url, **typed}


def own_names(chunk: Json) -> Json:
    """The id and identifier that a file has of its own."""
    told = (chunk.get("providerMetadata") or {}).get("pydantic_ai")
    return {k: told[k] for k in ("id", "identifier") if isinstance(told.get(k), str)} if isinstance(told, dict) else {}


# ================================================================================================ 5. stdio


def serve_case(case: Json) -> Json:
    """Play a whole case as a server: what it ended up with, and for each run the packets that it sent."""
    thread, streams = Thread(case), []
    for turn in case["turns"]:
        if turn["turn_type"] == "user":
            thread.add_user_turn(turn)
            continue
        run = Run(thread, turn["agent_id"], turn["started_at"], carriers=case.get("carriers", False))
        packets = [packet(run.start(turn.get("message_id")), run.at)]
        packets += [packet(run.feed(event), run.at, index) for index, event in enumerate(turn["events"])]
        cut = turn.get("interruption")
        if cut is None:
            run.interrupt("network_failure", run.at, tell=False)  # only a result ends a run well
            packets.append({"data": DONE, "at": run.at})
        elif thread.turn.end is not None or cut.get("tell") == "abort":
            packets.append(packet(run.interrupt(cut["reason"], cut["at"], tell=True), cut["at"]))
            packets[-1]["data"] += DONE
        else:
            run.interrupt(cut["reason"], cut["at"], tell=False)
        streams.append(packets)
    return {"threads": documents(thread, case["versions"]), "streams": streams}


def packet(chunks: Iterable[Json], at: str, event: int | None = None) -> Json:
    return {"data": "".join(map(frame, chunks)), "at": at, **({} if event is None else {"event": event})}


def documents(thread: Thread, versions: list[str]) -> Json:
    return {version: thread.document(version) for version in versions}


def receive_case(case: Json) -> Json:
    """Play a whole case as a client. A stream comes as packets, or has a URL to get it from."""
    client = Client(case)
    for turn in case["turns"]:
        if turn["turn_type"] == "user":
            client.thread.add_user_turn(turn)
            continue
        client.begin(turn["agent_id"], turn["begun_at"])
        reason = None
        if "url" in turn:
            reason = download(client, turn)
        for piece in turn.get("packets", ()):
            text = piece.get("data")
            client.feed(base64.b64decode(piece["data_base64"]) if text is None else text.encode(), piece["at"])
        client.close(reason or turn["end"].get("reason"), turn["end"]["at"])
    return {"threads": documents(client.thread, case["versions"])}


def resolve(reference: Json, data_base64: str) -> Json:
    """R56: give out a stored content only if it is the one that the reference names."""
    data = base64.b64decode(data_base64)
    named = with_hash_name(reference)
    if named.get("hash") not in (None, f"sha256:{hashlib.sha256(data).hexdigest()}"):
        return {"refused": "its bytes have another hash"}
    if named.get("size_bytes") not in (None, len(data)):
        return {"refused": f"it has {len(data)} bytes"}
    return {"data_base64": data_base64}


# ================================================================ What it says of a thread (contract 1.2)

VERSIONS = ["2.0.0", "0.0.3", "0.0.4"]  # in the order of their lineage (R1)
DATA = ("args", "content", "event_data")  # a null in them is the data
KNOWN_PARTS = ("text", "thinking", "tool-call", "tool-return", "retry-prompt", "user-prompt", "file")


def clear(value: Json) -> Json:
    return {name: item for name, item in value.items() if item is not None or name in DATA}


def canonical_time(text: Any) -> Any:
    """R37: in UTC, without zeros at the end of the fraction; a time without an offset is one in UTC (R47)."""
    if not isinstance(text, str) or not is_time(text):
        return text
    moment, fraction = instant(text if TIME.fullmatch(text)[3] else f"{text}Z")  # type: ignore[index]  # it is a time
    return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction and f'.{fraction}'}Z"


def canonical_times(source: Json, *names: str) -> Json:
    return {name: canonical_time(value) if name in names else value for name, value in source.items()}


def canonical_part(part: Json) -> Json:
    kind = part.get("part_kind")
    if kind not in KNOWN_PARTS:
        return part  # R7
    out = clear(part)
    content = out.get("content")
    if kind in ("user-prompt", "file") and isinstance(content, list):
        out["content"] = [clear(item) if isinstance(item, dict) else item for item in content]
    elif kind in ("user-prompt", "file") and isinstance(content, dict):
        out["content"] = clear(content)
    if content is None and (kind != "tool-return" or isinstance(out.get("content_ref"), dict)):
        out.pop("content", None)  # R6
    if isinstance(out.get("content_ref"), dict):
        out["content_ref"] = with_hash_name(clear(out["content_ref"]))
    return out


def canonical_parts(holder: Json) -> Json:
    if not isinstance(holder.get("parts"), list):
        return holder
    kept = [part for part in holder["parts"] if not str(part.get("part_kind", "")).startswith(("meta:", "data-sys-"))]
    return {**holder, "parts": [canonical_part(part) for part in kept]}


def canonical_message(message: Json) -> Json:
    out = canonical_parts(canonical_times(clear(message), "timestamp"))
    return {**out, "usage": clear(out["usage"])} if isinstance(out.get("usage"), dict) else out


def canonical_turn(turn: Json, left_out: tuple[str, ...]) -> Json:
    out = canonical_parts(canonical_times(clear(turn), "submitted_at", "started_at", "completed_at"))
    if "messages" in out:
        out["messages"] = [
            canonical_message(message)
            for message in out["messages"]
            if message["message_type"] != "system" or not message.get("event_type", "").startswith(left_out)
        ]
    if isinstance(out.get("interruption"), dict):
        out["interruption"] = canonical_times(clear(out["interruption"]), "interrupted_at")
    if isinstance(out.get("total_usage"), dict):
        out["total_usage"] = clear(out["total_usage"])
    return out


def jcs(value: Any) -> str:
    """RFC 8785: keys by their UTF-16 units, and numbers as JavaScript writes them."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{jcs(key)}:{jcs(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(jcs, value)) + "]"
    return number_text(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def number_text(number: float) -> str:
    if number == 0:
        return "0"
    negative, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    text, size = "".join(map(str, digits)), len(digits)
    point = size + int(exponent)
    if size <= point <= 21:
        told = text.ljust(point, "0")
    elif 0 < point <= 21:
        told = f"{text[:point]}.{text[point:]}"
    elif -6 < point <= 0:
        told = f"0.{'0' * -point}{text}"
    else:
        told = f"{text[0]}{text[1:] and f'.{text[1:]}'}e{point - 1:+d}"
    return f"-{told}" if negative else told


def hash_of(thread: Json) -> str:
    """R37: telemetry and metadata are left out, in 2.0.0 under their short names too (R50)."""
    left_out = ("meta:", "data-sys-", *(("sys-",) if thread["version"] == "2.0.0" else ()))
    turns = [canonical_turn(turn, left_out) for turn in thread["turns"]]
    data = jcs({"version": thread["version"], "turns": turns}).encode("utf-8", "surrogatepass")
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def migrate(thread: Json, to: str) -> Json:
    """R1: the thread in another version, one step of the lineage after the other, and what was dropped."""
    at, target = VERSIONS.index(thread["version"]), VERSIONS.index(to)
    turns = [(f"/turns/{index}", turn) for index, turn in enumerate(thread["turns"])]
    dropped = []
    while at != target:
        following = at + (1 if target > at else -1)
        if VERSIONS[at] == "0.0.4":  # R18
            dropped += [place for place, turn in turns if turn.get("completion_status") == "interrupted"]
            turns = [(place, turn) for place, turn in turns if turn.get("completion_status") != "interrupted"]
        turns = [(place, migrate_turn(turn, VERSIONS[at], VERSIONS[following])) for place, turn in turns]
        at = following
    return {"thread": {**thread, "version": to, "turns": [turn for _, turn in turns]}, "dropped": dropped}


def migrate_turn(turn: Json, at: str, to: str) -> Json:
    if turn["turn_type"] == "user":
        return turn
    names: dict[str, str] = {}
    if at == "0.0.4":
        names = NEW_NAMES
    elif to == "0.0.4":
        names = {old: new for new, old in NEW_NAMES.items()}
    messages = []
    for message in turn["messages"]:
        if message["message_type"] == "system":
            messages.append({**message, "event_type": names.get(message["event_type"], message["event_type"])})
        elif "2.0.0" in (at, to):
            messages.append({**message, "parts": [migrate_part(part, to) for part in message["parts"]]})
        else:
            messages.append(message)
    kept = {name: value for name, value in turn.items() if name != "completion_status"}
    return {**kept, "messages": messages, **({"completion_status": "complete"} if to == "0.0.4" else {})}


def migrate_part(part: Json, to: str) -> Json:
    """R6: 2.0.0 has no references, so the content of a return is the reference itself there."""
    if part["part_kind"] != "tool-return" or part.get("content_ref") is None:
        return part
    if to == "2.0.0":
        return {**part, "content": part["content_ref"]}
    same = part.get("content") == part["content_ref"]
    return {name: value for name, value in part.items() if name != "content"} if same else part


# What a part is in the messages of Pydantic AI, in which histories are given.


def in_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def is_binary(item: Any) -> bool:
    return isinstance(item, dict) and item.get("kind") == "binary" and isinstance(item.get("data"), str)


def for_model(part: Json, role: str) -> Json | None:
    named = pick(part, "tool_name", "tool_call_id")
    provider = pick(part, "provider_name") if isinstance(part.get("provider_name"), str) else {}
    match role, part["part_kind"]:
        case "response", "text":
            return pick(part, "content", "id")
        case "response", "thinking":
            known = {} if part.get("provider_name") == "unknown" else provider  # R15
            own = {} if part.get("thinking_id") is None else {"id": part["thinking_id"]}
            return {"content": part.get("content") or "", **pick(part, "signature"), **known, **own}
        case "response", "tool-call" | "builtin-tool-call":
            args = part.get("args")
            return {**named, "args": args if args is None or isinstance(args, dict) else in_text(args), **provider}
        case "response", "builtin-tool-return":
            return {**named, "content": part.get("content"), **provider}
        case "response", "file":
            return pick(part, "content", "id") if is_binary(part["content"]) else None
        case "request", "user-prompt":
            content = part["content"]
            if isinstance(content, str):
                return {"content": content}
            kept = [i for i in content if isinstance(i, str) or is_binary(i) or str(i.get("kind")).endswith("-url")]
            return {"content": kept} if kept or not content else None
        case "request", "tool-return":
            outcome = OUTCOMES.get(part["status"], "failed") if part.get("status") else "success"  # R62
            return {**named, **pick(part, "metadata"), "content": part.get("content"), "outcome": outcome}
        case "request", "retry-prompt":
            return {**named, "content": in_text(part.get("content"))}
    return None


class History:
    """The messages that the next call of a model gets: no call without its return (R46)."""

    def __init__(self, thread: Json, viewing_agent: str | None, returns: Json) -> None:
        self.agents = thread.get("agents") or {}
        self.viewing_agent = viewing_agent
        self.returns = returns
        self.messages: list[Json] = []
        self.waiting: Json | None = None  # a response with calls: it is told with all returns, or without its calls
        for turn in thread["turns"]:
            if turn["turn_type"] == "user":
                self.request(turn, turn.get("submitted_at"))
            for message in turn.get("messages") or ():
                if message["message_type"] == "response":
                    self.response(message)
                elif message["message_type"] != "system":
                    self.request(message, message.get("timestamp"))
        self.flush()

    def message(self, kind: str, parts: list[Json], at: Any) -> Json:
        return {"kind": kind, "parts": parts, **({} if at is None else {"timestamp": canonical_time(at)})}

    def parts(self, holder: Json, role: str, at: Any = None) -> list[Json]:
        time = {} if at is None else {"timestamp": canonical_time(at)}
        told = [(part["part_kind"], for_model(part, role)) for part in holder.get("parts") or ()]
        return [{"part_kind": kind, **part, **time} for kind, part in told if part is not None]

    def response(self, told: Json) -> None:
        parts = [self.named(part, told.get("agent_id")) for part in self.parts(told, "response")]
        usage = {k: v for k, v in (told.get("usage") or {}).items() if k not in ("total_tokens", "thinking_tokens")}
        if "thinking_tokens" in (told.get("usage") or {}):
            usage["output_reasoning_tokens"] = told["usage"]["thinking_tokens"]
        facts = pick(told, "model_name", "provider_name", "provider_response_id", "finish_reason")
        sent = {
            **self.message("response", parts, told.get("timestamp")),
            **facts,
            **({"usage": usage} if usage else {}),
        }
        calls = {part["tool_call_id"]: part.get("tool_name") for part in parts if part["part_kind"] == "tool-call"}
        self.flush()
        if calls:
            self.waiting = {"response": sent, "calls": calls, "answers": {}}
        elif parts:
            self.messages.append(sent)

    def named(self, part: Json, agent: Any) -> Json:
        if self.viewing_agent is None or agent == self.viewing_agent or part["part_kind"] != "text":
            return part
        name = (self.agents.get(agent) or {}).get("agent_name", agent)
        return {**part, "content": f"{{agent:{name}}}: {part.get('content') or ''}"}

    def request(self, holder: Json, at: Any) -> None:
        others = []
        here = [
            part
            for part in holder.get("parts") or ()
            if part["part_kind"] != "tool-return" or part.get("content_ref") is None or part.get("content") is not None
        ]  # R6: what is stored elsewhere is not known here
        for part in self.parts({"parts": here}, "request", at):
            call = part.get("tool_call_id") if part["part_kind"] in ("tool-return", "retry-prompt") else None
            if not call:
                others.append(part)
            elif self.waiting and call in self.waiting["calls"]:
                self.waiting["answers"][call] = {"tool_name": self.waiting["calls"][call], **part}
        if self.waiting and len(self.waiting["answers"]) == len(self.waiting["calls"]):
            self.tell_cycle(at)
        if others:
            self.flush()
            self.messages.append(self.message("request", others, at))

    def tell_cycle(self, at: Any) -> None:
        if self.waiting:
            answers = [self.waiting["answers"][call] for call in self.waiting["calls"]]
            self.messages += [self.waiting["response"], self.message("request", answers, at)]
            self.waiting = None

    def flush(self) -> None:
        if not self.waiting:
            return
        response, answers = self.waiting["response"], self.waiting["answers"]
        missing = {call: name for call, name in self.waiting["calls"].items() if call not in answers}
        if missing.keys() <= self.returns.keys():
            for call, name in missing.items():
                content = self.returns[call]
                answers[call] = {
                    "part_kind": "tool-return",
                    "tool_name": name,
                    "tool_call_id": call,
                    "content": content,
                }
            self.tell_cycle(response.get("timestamp"))
            return
        rest = [part for part in response["parts"] if part["part_kind"] != "tool-call"]
        if rest:
            self.messages.append({**response, "parts": rest})
        self.waiting = None


def history_of(asked: Json) -> list[Json]:
    told = History(asked["thread"], asked.get("viewing_agent"), asked.get("returns") or {}).messages
    if asked.get("system_prompt") is None:
        return told
    prompt = {"part_kind": "system-prompt", "content": asked["system_prompt"]}
    return [{"kind": "request", "parts": [prompt]}, *told]


def answer_question(name: str, asked: Json) -> Json:
    match name:
        case "hash":
            return {"hash": hash_of(asked["thread"])}
        case "migrate":
            return migrate(asked["thread"], asked["to"])
        case _:
            return {"messages": history_of(asked)}


def answer_line(request: Json) -> Json:
    match request["op"]:
        case "start":
            return {"capabilities": CAPABILITIES}
        case "serve":
            return {"served": serve_case(request["case"])}
        case "receive":
            return {"received": receive_case(request["case"])}
        case "adopt":  # R32: after a loss the server's threads are the client's
            return {"received": {"threads": request["threads"]}}
        case "resolve":
            return {"resolved": resolve(request["content_ref"], request["data_base64"])}
        case "hash":
            return {"hashed": answer_question("hash", request)}
        case "migrate":
            return {"migrated": answer_question("migrate", request)}
        case "history":
            return {"history": answer_question("history", request)}
        case "stop":
            return {"stopped": True}
        case other:
            return {"error": {"message": f"there is no op {other!r}"}}


def stdio() -> None:
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            answer = answer_line(request)
        except Exception as error:  # noqa: BLE001  # the harness is told, and the next case may be better
            answer = {"error": {"message": f"{type(error).__name__}: {error}"}}
        sys.stdout.buffer.write(compact({"id": request["id"], **answer}).encode() + b"\n")
        sys.stdout.buffer.flush()
        if request["op"] == "stop":
            return


# ================================================================================================ 6. HTTP


class LiveRun:
    """A run that happens now. It is played in a thread of its own, and any number of connections follow its frames."""

    def __init__(self, thread: Thread, request: Json) -> None:
        script = request["run"]
        self.request = request
        self.run = Run(thread, script["agent_id"], script["started_at"], carriers=request.get("carriers", False))
        self.frames: list[bytes] = []  # each with its number as id, counted from 1; marks hang on the frame before
        self.news = threading.Condition()
        self.stop: tuple[str, bool] | None = None  # why the run has to stop, and whether the client is told
        self.over = False

    def play(self) -> None:
        """Play the script, hold if it says so, and end the stream."""
        script, hold = self.request["run"], self.request.get("hold")
        self.send(self.run.start(script.get("message_id")), mark=0)
        for count, event in enumerate(script["events"], 1):
            if self.stop is None and event.get("event_kind") == "stall":
                self.wait(event.get("seconds", 0) * self.request.get("time_scale", 0))
            if self.stop is not None:
                break
            self.send(self.run.feed(event), mark=count)
        if hold is not None and self.stop is None and self.run.thread.turn.end is None:
            self.wait(None)
        cut = script.get("interruption")
        with self.news:
            at = hold["at"] if hold is not None else self.run.at
            chunks: list[Json] = []
            tell = True
            if self.run.thread.turn.end is None:
                reason = "network_failure"  # only a result ends a run well
                if self.stop is not None:
                    reason, tell = self.stop
                elif cut is not None:
                    reason, at, tell = cut["reason"], cut["at"], cut.get("tell") == "abort"
                chunks = self.run.interrupt(reason, at, tell=tell and (self.stop is not None or cut is not None))
            self.frames += [frame(chunk).encode() for chunk in chunks] + ([DONE.encode()] if tell else [])
            self.over = True
            self.news.notify_all()

    def send(self, chunks: list[Json], *, mark: int) -> None:
        with self.news:
            self.frames += [frame(chunk).encode() for chunk in chunks]
            if self.request.get("marks"):
                self.frames.append(f": tp {mark}\n\n".encode())
            self.news.notify_all()

    def wait(self, seconds: float | None) -> None:
        """Nothing happens for so long, or until something ends the run; beyond the limit it is a timeout (R27)."""
        limit = self.request.get("limits", {}).get("stream_seconds")
        runs_out = limit is not None and (seconds is None or limit < seconds)
        with self.news:
            self.news.wait_for(lambda: self.stop is not None, limit if runs_out else seconds)
            if runs_out and self.stop is None:
                self.stop = ("timeout", True)

    def cancel(self, reason: str, *, tell: bool) -> bool:
        """Stop the run; return whether there was one to stop, once the thread shows it."""
        with self.news:
            going = not self.over and self.stop is None and self.run.thread.turn.end is None
            if going:
                self.stop = (reason, tell)
                self.news.notify_all()
            self.news.wait_for(lambda: self.over, 10)
            return going

    def follow(self, after: int, silence: float | None) -> Iterator[bytes]:
        """Yield each frame after one with its id, b"" whenever it is time to look whether the client is there."""
        sent = quiet = 0.0
        for place in range(1 << 62):
            with self.news:
                while place >= len(self.frames) and not self.over:
                    if self.news.wait(PATIENCE):
                        continue
                    quiet += PATIENCE
                    if silence is not None and quiet >= silence:
                        quiet = 0.0
                        yield b": alive\n\n"
                    yield b""
                if place >= len(self.frames):
                    return
                data = self.frames[place]
            quiet = 0.0
            sent = place + 1
            if sent > after:
                yield data if data.startswith(b":") else b"id: %d\n%s" % (sent, data)


PATIENCE = 0.02  # seconds between two looks whether a client is still there


class Store:
    """All threads of this process, and the latest run of each."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.threads: dict[str, Thread] = {}
        self.runs: dict[str, LiveRun] = {}

    def start(self, name: str, request: Json) -> LiveRun | None:
        """Start a run; None if one goes on already."""
        with self.lock:
            before = self.runs.get(name)
            if before is not None and not before.over:
                return None
            header = {"thread_id": name, "created_at": request["created_at"], "agents": request["agents"]}
            thread = self.threads.setdefault(name, Thread(header))
            thread.header["agents"] = {**thread.header["agents"], **request["agents"]}
            for turn in request.get("user", ()):
                thread.add_user_turn(turn)
            live = self.runs[name] = LiveRun(thread, request)
        threading.Thread(target=live.play, daemon=True).start()
        return live

    def forget(self, name: str) -> None:
        with self.lock:
            live = self.runs.pop(name, None)
            self.threads.pop(name, None)
        if live is not None:
            live.cancel("user_cancelled", tell=True)


class Handler(BaseHTTPRequestHandler):
    """conformance/control.openapi.yaml, request by request."""

    protocol_version = "HTTP/1.1"
    store: Store

    def do_GET(self) -> None:
        self.route("GET")

    def do_POST(self) -> None:
        self.route("POST")

    def do_DELETE(self) -> None:
        self.route("DELETE")

    def route(self, method: str) -> None:
        url = urllib.parse.urlsplit(self.path)
        path = [urllib.parse.unquote(piece) for piece in url.path.strip("/").split("/")]
        try:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            request = json.loads(body) if method == "POST" else {}
            match method, path:
                case "GET", ["capabilities"]:
                    self.reply(200, CAPABILITIES)
                case "POST", ["threads", name, "runs"]:
                    self.start_run(name, request)
                case "POST", ["threads", name, "user-turns"]:
                    self.user_turn(name, request)
                case "POST", ["threads", name, "cancel"]:
                    self.cancel(name, request["reason"])
                case "GET", ["threads", name, "stream"]:
                    self.resume(name)
                case "GET", ["threads", name]:
                    self.get_thread(name, urllib.parse.parse_qs(url.query).get("version", ["0.0.4"])[0])
                case "DELETE", ["threads", name]:
                    self.store.forget(name)
                    self.reply(204)
                case "POST", ["receive"]:
                    self.reply(200, receive_case(request))
                case "POST", ["adopt"]:
                    self.reply(200, {"threads": request["threads"]})
                case "POST", ["resolve"]:
                    self.reply(200, resolve(request["content_ref"], request["data_base64"]))
                case "POST", ["hash" | "migrate" | "history" as question]:
                    self.reply(200, answer_question(question, request))
                case _:
                    self.problem(404, f"there is nothing at {method} {url.path}")
        except (KeyError, TypeError, ValueError) as error:
            self.problem(400, f"{type(error).__name__}: {error}")
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    # -------------------------------------------------------------------- requests

    def start_run(self, name: str, request: Json) -> None:
        live = self.store.start(name, request)
        if live is None:
            self.problem(409, f"a run of thread {name} goes on")
            return
        if not self.stream(live, 0) and request.get("on_disconnect", "stop") == "stop":
            live.cancel("network_failure", tell=False)

    def resume(self, name: str) -> None:
        live = self.store.runs.get(name)
        last = self.headers.get("last-event-id") or "0"
        after = int(last) if last.isdecimal() else 0
        if name not in self.store.threads:
            self.problem(404, f"there is no thread {name}")
        elif live is None or (live.over and after >= len(live.frames)):
            self.reply(204)
        else:
            self.stream(live, after)

    def user_turn(self, name: str, turn: Json) -> None:
        thread = self.store.threads.get(name)
        if thread is None:
            self.problem(404, f"there is no thread {name}")
        else:
            thread.add_user_turn(turn)
            self.reply(204)

    def cancel(self, name: str, reason: str) -> None:
        live = self.store.runs.get(name)
        if name not in self.store.threads:
            self.problem(404, f"there is no thread {name}")
        else:
            self.reply(200, {"cancelled": live is not None and live.cancel(reason, tell=True)})

    def get_thread(self, name: str, version: str) -> None:
        thread = self.store.threads.get(name)
        if thread is None:
            self.problem(404, f"there is no thread {name}")
        elif version not in CAPABILITIES["versions"]:
            self.problem(400, f"there is no version {version}")
        else:
            self.reply(200, thread.document(version))

    # -------------------------------------------------------------------- answers

    def stream(self, live: LiveRun, after: int) -> bool:
        """Send frames as they come, until the run is over; return whether the client stayed."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("cache-control", "no-cache")
        self.send_header("x-vercel-ai-ui-message-stream", "v1")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for data in live.follow(after, live.request.get("limits", {}).get("heartbeat_seconds")):
                if data:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                elif self.gone():
                    raise ConnectionResetError
            self.wfile.write(b"0\r\n\r\n")
        except (ConnectionError, TimeoutError):
            self.close_connection = True
            return False
        return True

    def gone(self) -> bool:
        """Whether the client has closed its side: then there is an end to read, and no data."""
        try:
            seen: bytes = self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        return not seen

    def reply(self, status: int, document: Json | None = None) -> None:
        body = b"" if document is None else compact(document).encode()
        self.send_response(status)
        if document is not None:
            self.send_header("content-type", "application/json")
        if status != 204:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def problem(self, status: int, message: str) -> None:
        self.reply(status, {"error": {"message": message}})

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Reconnected(SseReader):
    """Reads a connection of a stream of which others have delivered the events with these ids (R31)."""

    def __init__(self, before: Iterable[str]) -> None:
        super().__init__()
        self._id = ""
        self._before = frozenset(before)
        self.ids = dict.fromkeys(before)  # of the events that are whole; the last one is where to go on from

    def _take(self, line: str) -> Iterator[tuple[str, str]]:
        name, _, value = line.partition(":")
        if name == "id" and "\0" not in value:
            self._id = value.removeprefix(" ")
        events = list(super()._take(line))
        if not line and self._id:
            if self._id in self._before:  # what is delivered twice counts once
                events = []
            self.ids[self._id] = None
            self._id = ""
        yield from events


def download(client: Client, turn: Json) -> str | None:
    """GET a stream and feed it to the client; reconnect where it left off. Return the reason that was observed."""
    limit = turn.get("limits", {}).get("stream_seconds")
    url = urllib.parse.urlsplit(turn["url"])
    place = f"{url.path}?{url.query}" if url.query else url.path
    reason = None
    ids: Json = {}
    while True:
        client.sse = reader = Reconnected(ids)  # half an event does not survive its connection
        last, ids = next(reversed(ids), ""), reader.ids
        connection = http.client.HTTPConnection(url.hostname or "127.0.0.1", url.port, timeout=limit or 60)
        try:
            connection.request("GET", place, headers={"last-event-id": last} if last else {})
            response = connection.getresponse()
            while response.status == 200 and (data := response.read1(65536)):
                if "tp stop" in client.feed(data, turn["begun_at"]):
                    return "user_cancelled"  # the user pressed stop
        except TimeoutError:
            return "timeout"
        except (OSError, http.client.HTTPException):
            reason = "network_failure"
        finally:
            connection.close()
        if client.over or last == next(reversed(ids), ""):
            return reason  # all is said, or nothing new came


class Server(ThreadingHTTPServer):
    """Many connections at once, some of which break: that is what a harness is for."""

    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that has gone."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def serve_http(host: str, port: int) -> None:
    handler = type("BoundHandler", (Handler,), {"store": Store()})
    with Server((host, port), handler) as server:
        sys.stdout.write(f"listening on http://{host}:{server.server_address[1]}\n")
        sys.stdout.flush()
        server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description="A small ThreadProtocol server and client.")
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--stdio", action="store_true", help="one JSON object a line, in and out")
    way.add_argument("--http", metavar="HOST:PORT", help="the control contract over HTTP; port 0 takes a free one")
    args = parser.parse_args()
    if args.stdio:
        stdio()
        return
    host, _, port = args.http.rpartition(":")
    try:
        serve_http(host, int(port))
    except KeyboardInterrupt:
        sys.stdout.write("stopped\n")


if __name__ == "__main__":
    main()
