"""The AI SDK's `UIMessage[]` → a thread.

In: the JSON of the messages of a chat. Out: a valid thread of the newest version, and what it does not have. Each
answer is written as the chunks that would have made it, which the reference client folds: so the rules of a stream
decide what is a response, a return or an event. An answer with a part that was still streaming was interrupted (R20).
Where nothing has to be decided, `plain_ui_messages` makes the same turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

from tpharness.dialects import DIALECTS, ThreadHeader
from tpharness.errors import ThreadError
from tpharness.findings import Finding, Level, Place
from tpharness.histories.exchange.ai_sdk_4 import Places, are_version_4, as_stored, newer_messages
from tpharness.histories.exchange.imported import Imported, make_thread, require_messages
from tpharness.histories.exchange.plain_ui_messages import plain_turns
from tpharness.journal import UserTurn
from tpharness.protocol.losses import Loss
from tpharness.protocol.versions import newest_version
from tpharness.readings import Readings
from tpharness.wires.vsp.assembler import Assembler
from tpharness.wires.vsp.chunks import chunk_from_object
from tpharness.wires.vsp.parts import steering_prompt
from tpharness.wires.vsp.records import Chunk, FinishChunk, SteeringMessageChunk

__all__ = ["state_of_call", "thread_of_ui_messages"]

_ROLES = ("user", "assistant", "system")
_AS_THEY_ARE = ("file", "source-url", "source-document", "reasoning-file", "custom")
_ON_CALLS = ("toolCallId", "providerExecuted")
_STREAMING = ("streaming", "input-streaming")
_STATES = (
    *("input-streaming", "input-available", "approval-requested", "approval-responded"),
    *("output-available", "output-error", "output-denied"),
)
_AS_ITS_FIELDS_SAY: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "output-available": ("has its output", ("output",)),
    "output-error": ("failed", ("errorText", "rawInput")),
    "input-available": ("waits for its output", ()),
}
"""What a call is kept as that has no state which is known, and with which of its fields."""


def thread_of_ui_messages(value: Any, *, agent_id: str, thread_id: str, at: str, safe: bool = False) -> Imported:
    """Return the thread of a list of messages; `at` is the time of everything in it, since the messages have none.

    `safe` says that every value in the messages is known to have a canonical form (R38).

    Messages of the AI SDK 4 are read as its newer versions would have stored them.

    InputError if it is not such a list, ThreadError if its messages break rules that a thread keeps.
    """
    places: Places = {}
    if are_version_4(value, certain=False):
        value, places = newer_messages(value)
    messages = require_messages(value, "the AI SDK's UI messages", tag="role", tags=_ROLES, part_tag="type")
    plain = plain_turns(messages, agent_id=agent_id, at=at)
    turns, until = (plain, at) if plain is not None else _folded_turns(messages, agent_id, at, places)
    agent = {"agent_id": agent_id, "agent_name": agent_id}
    thread = make_thread(turns, thread_id=thread_id, agent=agent, at=at, until=until, safe=safe and plain is not None)
    losses = (
        replace(one, pointer=as_stored(one.pointer, places)) for one in _losses(messages, plain=plain is not None)
    )
    return Imported(thread=thread, losses=tuple(losses))


def _folded_turns(
    messages: list[dict[str, Any]], agent_id: str, at: str, places: Places
) -> tuple[list[dict[str, Any]], str]:
    """Return the turns that the reference client makes of the chunks of the answers, and the time of the last one."""
    wrong: list[Finding] = []
    assembler = Assembler(agent_id=agent_id)
    for index, message in enumerate(messages):
        if message["role"] == "user":
            prompt = steering_prompt(SteeringMessageChunk(id="", parts=message["parts"]))
            assembler.add_user_turn(UserTurn(at=at, parts=(prompt,)))
        elif message["role"] == "assistant":
            wrong += _fold_answer(assembler, message["parts"], f"/{index}", at)
    if wrong:
        hint = "the places are those of the messages; correct the parts"
        found = tuple(one.with_place(pointer=as_stored(one.place.pointer or "", places)) for one in wrong)
        raise ThreadError("no stream could have made these messages", findings=found, hint=hint)
    header = ThreadHeader(thread_id="", created_at=at)
    document: Any = DIALECTS[newest_version()].renderer(header, Readings()).render(assembler.journal())
    return document["turns"], document["updated_at"]


def _losses(messages: list[dict[str, Any]], *, plain: bool) -> Iterator[Loss]:
    """Yield what the thread does not have; of `plain` answers nothing is lost but where there is none."""
    for index, message in enumerate(messages):
        pointer = f"/{index}"
        if message.get("metadata") is not None:
            yield Loss(pointer=f"{pointer}/metadata", what="metadata", why="it is the application's")
        if message["role"] == "system":
            yield Loss(pointer=pointer, what="a system prompt", why="system prompts are never stored (R8)")
        elif message["role"] == "user":
            yield from _user_losses(message["parts"], pointer)
        elif not (plain and message["parts"]):
            yield from _answer_losses(message["parts"], pointer)


def _fold_answer(assembler: Assembler, parts: list[dict[str, Any]], pointer: str, at: str) -> Iterator[Finding]:
    """Fold an answer; yield what no stream could have made, at its part, once for each part and kind."""
    found: dict[tuple[str, str | None], Finding] = {}
    assembler.begin(at)
    kept = len(assembler.findings)

    def feed(chunks: Iterable[Chunk], place: str) -> None:
        nonlocal kept
        counted = assembler.found
        assembler.feed_chunks(chunks, at)
        if assembler.found == counted:
            return
        new = assembler.findings[kept:]
        kept += len(new)
        for finding in new:
            if finding.level is Level.MUST:
                found.setdefault((finding.code, place), replace(finding, place=Place(pointer=place)))

    for number, numbered in groupby(_chunks(parts), key=itemgetter(0)):
        chunks = [chunk_from_object(chunk) for _, chunk in numbered]
        feed(chunks, pointer if number is None else f"{pointer}/parts/{number}")
    if any(part.get("state") in _STREAMING for part in parts):
        assembler.close("user_cancelled", at)
    else:
        feed([FinishChunk()], pointer)
        assembler.done(at)
        assembler.close(None, at)
    yield from found.values()


def _user_losses(parts: list[dict[str, Any]], pointer: str) -> Iterator[Loss]:
    for index, part in enumerate(parts):
        if part["type"] not in ("text", "file") or (part["type"] == "file" and not part.get("url")):
            why = "a user turn has texts, and files with their addresses or data"
            yield Loss(pointer=f"{pointer}/parts/{index}", what=part["type"], why=why)
        elif part["type"] == "text" and not isinstance(part.get("text"), str):
            yield Loss(pointer=f"{pointer}/parts/{index}", what="a text", why="what it says is not a text")


def _answer_losses(parts: list[dict[str, Any]], pointer: str) -> Iterator[Loss]:
    if not parts:
        yield Loss(pointer=f"{pointer}/parts", what="no parts", why="it is kept as a complete turn without messages")
    for index, part in enumerate(parts):
        place = f"{pointer}/parts/{index}"
        if part.get("state") in _STREAMING:
            yield Loss(
                pointer=place, what=part["type"], why="it was still streaming, and its response goes with it (R20)"
            )
        elif not _is_known(part["type"]):
            yield Loss(pointer=place, what=part["type"], why="no chunk of a stream makes such a part")
        elif _is_call(part["type"]):
            yield from _call_losses(part, place)


def _call_losses(part: Mapping[str, Any], place: str) -> Iterator[Loss]:
    """Yield what the thread does not have of a call, or not in this form."""
    state = part.get("state")
    if state not in _STATES:
        words, kept = _AS_ITS_FIELDS_SAY[state_of_call(part)]
        rest = [name for name in part if name not in ("type", "state", "input", "toolName", *kept, *_ON_CALLS)]
        has = f", without {', '.join(rest)}" if rest else ""
        said = f"{state!r} is not a state of a call" if state is not None else "it has no state"
        yield Loss(pointer=place, what=part["type"], why=f"{said}, so it is kept as one that {words}{has}")
    elif state == "output-available" and part.get("preliminary"):
        yield Loss(pointer=f"{place}/output", what="a preliminary output", why="the call is kept as one that waits")
    elif state == "output-available" and "output" not in part:
        yield Loss(pointer=place, what=part["type"], why="it has no output, so it is kept as a call that waits for it")
    elif _approved(part) is True and state == "approval-responded":
        yield Loss(pointer=f"{place}/approval", what="an approval", why="the call is kept as one that waits")
    elif _approved(part) is False and state == "approval-responded":
        why = "no answer of the server says so yet; the call is kept as one that was denied"
        yield Loss(pointer=f"{place}/state", what="a denial", why=why)
    if isinstance(part.get("input"), str):
        why = "they stay a text; a model's API is sent an object in their place"
        yield Loss(pointer=f"{place}/input", what="arguments as text", why=why)


def state_of_call(part: Mapping[str, Any]) -> str:
    """Return the state of a call, or what its other fields say where it has one that the format does not have."""
    state = part.get("state")
    if state in _STATES:
        return str(state)
    if "output" in part:
        return "output-available"
    return "output-error" if isinstance(part.get("errorText"), str) else "input-available"


def _approved(part: Mapping[str, Any]) -> Any:
    """Return what the user decided about a call, None if it is not known."""
    approval = part.get("approval")
    return approval.get("approved") if isinstance(approval, Mapping) else None


def _is_known(kind: str) -> bool:
    return kind in ("step-start", "text", "reasoning", *_AS_THEY_ARE) or kind.startswith("data-") or _is_call(kind)


def _is_call(kind: str) -> bool:
    return kind == "dynamic-tool" or kind.startswith("tool-")


_Numbered: TypeAlias = tuple[int | None, dict[str, Any]]
"""A chunk, and the number of the part that it is made of."""


def _chunks(parts: list[dict[str, Any]]) -> Iterator[_Numbered]:
    """Yield the chunks of one answer; the outputs of a step come after its response, as tools run after it (R40)."""
    yield None, {"type": "start"}
    outputs: list[_Numbered] = []
    stepping = False
    for number, part in enumerate(parts):
        kind = part["type"]
        if kind == "step-start" or not stepping:
            yield from _step_end(outputs, stepping)
            yield None, {"type": "start-step"}
            outputs, stepping = [], True
        if kind in ("text", "reasoning"):
            yield from ((number, chunk) for chunk in _text(part, f"{kind}-{number}"))
        elif _is_call(kind):
            made, answers = _call(part)
            yield from ((number, chunk) for chunk in made)
            if part.get("providerExecuted"):
                yield from ((number, chunk) for chunk in answers)
            else:
                outputs += ((number, chunk) for chunk in answers)
        elif kind.startswith("data-"):
            yield number, {name: part[name] for name in ("type", "id", "data") if part.get(name) is not None}
        elif kind in _AS_THEY_ARE:
            yield number, {name: value for name, value in part.items() if value is not None}
    if not any(part.get("state") in _STREAMING for part in parts):
        yield from _step_end(outputs, stepping)


def _step_end(outputs: list[_Numbered], stepping: bool) -> Iterator[_Numbered]:
    yield from outputs
    if stepping:
        yield None, {"type": "finish-step"}


def _text(part: Mapping[str, Any], ident: str) -> Iterator[dict[str, Any]]:
    word = part["type"]
    facts = {"providerMetadata": part["providerMetadata"]} if part.get("providerMetadata") is not None else {}
    yield {"type": f"{word}-start", "id": ident}
    if part.get("text") != "":
        yield {"type": f"{word}-delta", "id": ident, "delta": part.get("text")}
    if part.get("state") != "streaming":
        yield {"type": f"{word}-end", "id": ident, **facts}


def _call(part: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the chunks of a call, and those of its output."""
    name = part.get("toolName") if part["type"] == "dynamic-tool" else part["type"].removeprefix("tool-")
    base = {field: part[field] for field in _ON_CALLS if part.get(field) is not None}
    metadata = part.get("callProviderMetadata")
    named = {**base, "toolName": name, **({"providerMetadata": metadata} if metadata is not None else {})}
    begun = {"type": "tool-input-start", **named}
    state = state_of_call(part)
    if state == "input-streaming":
        return [begun], []
    if state == "output-error" and part.get("input") is None:
        failed = {"input": part.get("rawInput"), "errorText": part.get("errorText")}
        return [begun, {"type": "tool-input-error", **named, **failed}], []
    call = [begun, {"type": "tool-input-available", **named, "input": part.get("input")}]
    match state:
        case "output-available" if not part.get("preliminary") and "output" in part:
            return call, [{"type": "tool-output-available", **base, "output": part.get("output")}]
        case "output-error":
            return call, [{"type": "tool-output-error", **base, "errorText": part.get("errorText")}]
        case "output-denied":
            return call, list(_denied(part))
        case "approval-responded" if _approved(part) is False:  # the SDK tells its model `execution-denied`
            return call, list(_denied(part))
        case _:
            return call, []


def _denied(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    approval = part.get("approval")
    call = part.get("toolCallId")
    if isinstance(approval, Mapping) and approval.get("reason") is not None:
        ident = str(approval.get("id"))
        yield {"type": "tool-approval-request", "approvalId": ident, "toolCallId": call}
        decision = {"approved": False, "reason": approval["reason"]}
        yield {"type": "tool-approval-response", "approvalId": ident, **decision}
    yield {"type": "tool-output-denied", "toolCallId": call}
