"""A program that keeps the histories of two other designs, over stdio: what they ask for, judged by tpharness.

    tpharness run --dialect message-parts/plan --server "stdio:python examples/plain_history.py"
    tpharness run --dialect langchain/repaired --server "stdio:python examples/plain_history.py"

It needs Python 3.11 and the file beside it: `plain_python.py` folds the events of a model and its tools, and what is
here writes the history, and the request that a model gets next. It shares no code with tpharness.

1. Fold       the fold of plain_python.py, which also remembers the order in which results came
2. Plan       message-parts/plan: one entry for each message; a cut answer is kept with the stop reason `aborted`
3. LangChain  langchain/repaired: the messages of an agent; a cut answer is one more message, a cut call is text
4. stdio      one JSON object a line, in and out
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from plain_python import Call, Event, Json, Part, Request, Response, Run, Thread, Turn, compact, jcs, parsed

NAME = "plain-history"
CUT = "[Request interrupted by user for tool use]"
STOP = {"stop": "stop", "length": "length", "tool_call": "tool_use", "content_filter": "error", "error": "error"}
SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}
FAILED_CALL = ("timeout", "error", "network_failure", "safety_halt")


# ================================================================================================ 1. Fold


@dataclass
class Result:
    """The result of one tool, at the place where it came."""

    call: Part
    doc: Json
    at: str


class Log(Thread):
    """A thread that has each result where it came; `Returns` has them in the order of the calls."""

    def answer(self, call: Call, doc: Json, at: str) -> bool:
        part = dict(doc)
        taken = super().answer(call, doc, at)
        if taken:
            self.turn.items.append(Result(call.part, part, at))  # type: ignore[arg-type]  # an item of this file's own
        return taken


class Told(Run):
    """A run that also remembers which calls the model has finished, and which came as an object and not as text."""

    def on_part_end(self, event: Json) -> Iterator[Json]:
        _, part = self.blocks.get(event["index"], ("", None))
        if part is not None:
            part.doc["ended"] = True
        yield from super().on_part_end(event)

    def delta(self, index: int, delta: Json) -> Iterator[Json]:
        _, part = self.blocks.get(index, ("", None))
        if part is not None and isinstance(delta.get("args_delta"), dict):
            part.doc["object"] = True
        yield from super().delta(index, delta)

    def on_function_tool_call(self, event: Json) -> Iterator[Json]:
        call = self.thread.calls[event["part"]["tool_call_id"]]
        part, before = call.part, call.part.text
        yield from super().on_function_tool_call(event)
        if part.text is before:
            return
        if part.doc.get("args") == parsed("".join(before)):
            part.text = before  # its input was sent before: what the start of its tool says changes nothing
        elif isinstance(event["part"]["args"], dict):
            part.doc["object"] = True

    on_output_tool_call = on_function_tool_call


def arguments(part: Part) -> str:
    """Return the arguments of a call as the model wrote them; "" if there are none, or if it gave an empty object."""
    raw = "".join(part.text)
    return raw if not part.doc.get("object") else "" if raw == "{}" else json.dumps(parsed(raw), ensure_ascii=False)


def fold(turns: list[Json], agents: Json) -> Log:
    """Play the turns of a case: what has happened in the conversation, half answers too."""
    log = Log({"agents": agents})
    for turn in turns:
        if turn["turn_type"] == "user":
            log.add_user_turn(turn)
            continue
        run = Told(log, turn["agent_id"], turn["started_at"], carriers=False)
        for event in turn["events"]:
            run.feed(event)
        cut = turn.get("interruption")  # only a result ends a run well
        run.interrupt(*(("network_failure", run.at) if cut is None else (cut["reason"], cut["at"])), tell=False)
    return log


def is_cut(item: object) -> bool:
    """Whether an item is an answer that was still being written when its turn ended."""
    return isinstance(item, Response) and item.open


def unanswered(turn: Turn) -> list[Part]:
    """Return the calls of whole answers of a turn that no result came for, in their order."""
    answered = [item.call for item in turn.items if isinstance(item, Result)]
    responses = [item for item in turn.items if isinstance(item, Response) and not item.open]
    return [call for one in responses for call in one.calls() if not any(call is other for other in answered)]


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else jcs(value)


# ================================================================================================ 2. Plan


def plan(log: Log) -> list[Json]:
    """Return the objects of the lines of a history of messages and parts."""
    lines: list[Json] = []
    for turn in log.turns:
        if isinstance(turn, dict):
            lines += prompts(turn["parts"], turn["submitted_at"])
        else:
            lines += plan_turn(turn)
    return lines


def plan_turn(turn: Turn) -> list[Json]:
    lines: list[Json] = []
    last: object = None
    for item in turn.items:
        match item:
            case Response(open=False):
                lines.append(answer(item))
            case Result():
                lines.append(result(item))
            case Request():
                lines += prompts([item.part], item.at)
            case Event():
                lines += event(item)
                continue
            case Response():
                pass
            case _:
                continue
        last = item
    if turn.reason is not None and turn.end is not None:
        lines += ending(turn, last, lines)
    return lines


def answer(response: Response) -> Json:
    data = {
        "role": "assistant",
        "created_at": response.at,
        "response_id": response.facts.get("provider_response_id"),
        "parts": parts(response, calls=True),
        "usage": response.facts.get("usage"),
        "stop_reason": STOP.get(str(response.facts.get("finish_reason"))),
    }
    return line("AssistantMessage", data)


def result(item: Result) -> Json:
    text, images = content(item.doc)
    data = {
        "role": "tool",
        "created_at": item.at,
        "call_id": item.call.doc["tool_call_id"],
        "tool_name": item.call.doc["tool_name"],
        "status": "success" if item.doc.get("status") == "success" else "error",
        "output_text": text,
        "parts": images,
    }
    return line("ToolResultMessage", data)


def event(item: Event) -> Iterator[Json]:
    name, data = item.doc["event_type"], item.doc["event_data"]
    if name == "data-tp-error":
        yield line("StreamErrorItem", {"created_at": item.at, "error": data["error"]})
    elif name == "data-app-developer":
        own = data if isinstance(data, dict) else {"text": data}
        more = {k: v for k, v in own.items() if k not in ("text", "position")}
        yield line("DeveloperMessage", {"role": "developer", "created_at": item.at, "parts": text(own["text"]), **more})
    elif name == "data-app-system":
        yield line("SystemMessage", {"role": "system", "created_at": item.at, "parts": text(str(data))})


def ending(turn: Turn, last: object, lines: list[Json]) -> Iterator[Json]:
    """What an interruption adds. It also changes the last answer, where nothing followed it."""
    at, open_calls = str(turn.end), unanswered(turn)
    for call in open_calls if turn.reason in ("user_cancelled", "timeout") else ():
        name = call.doc["tool_name"]
        late = f"Tool {name} execution error: TimeoutError the run took too long"
        status, said = ("aborted", CUT) if turn.reason == "user_cancelled" else ("error", late)
        named = {"call_id": call.doc["tool_call_id"], "tool_name": name}
        data = {"role": "tool", "created_at": at, **named, "status": status, "output_text": said, "parts": []}
        yield line("ToolResultMessage", data)
    if turn.reason == "user_cancelled":
        if isinstance(last, Response) and not last.open and not open_calls:
            next(one for one in reversed(lines) if one["type"] == "AssistantMessage")["data"]["stop_reason"] = "aborted"
        elif is_cut(last) or not open_calls:
            half = parts(last, calls=False) if isinstance(last, Response) else []
            data = {"role": "assistant", "created_at": at, "parts": half, "stop_reason": "aborted"}
            yield line("AssistantMessage", data)
    elif turn.reason in FAILED_CALL and not open_calls:
        said_already = any(isinstance(item, Event) and item.doc["event_type"] == "data-tp-error" for item in turn.items)
        if not said_already and not (isinstance(last, Response) and not last.open and not last.calls()):
            yield line("StreamErrorItem", {"created_at": at, "error": turn.reason})


def prompts(asked: list[Json], at: str) -> Iterator[Json]:
    """What a user submits: one message; instructions are messages of their own."""
    said: list[Json] = []
    for part in asked:
        if part.get("part_kind") == "system-prompt":
            data = {"role": "system", "created_at": at, "parts": text(part.get("content") or "")}
            yield line("SystemMessage", data)
            continue
        held = part.get("content")
        for item in held if isinstance(held, list) else [held]:
            if isinstance(item, str):
                said += text(item)
            elif item is not None:
                said.append(image(item) or {"type": "text", "text": jcs(item)})
    if not asked or any(part.get("part_kind") != "system-prompt" for part in asked):
        yield line("UserMessage", {"role": "user", "created_at": at, "parts": said})


def parts(response: Response, *, calls: bool) -> list[Json]:
    """The parts of an answer, whole ones and, of one that was cut, half texts and thoughts too."""
    made: list[Json] = []
    model = response.facts.get("model_name")
    for part in response.parts:
        doc, kind = part.doc, part.doc["part_kind"]
        if not part.done and not response.open:
            continue
        said = doc.get("content") if part.done else "".join(part.text)
        if kind == "text" and said:
            if made and made[-1]["type"] == "text":
                made[-1]["text"] += said
            else:
                made += text(said)
        elif kind == "thinking":
            named = {"id": doc.get("thinking_id", doc.get("id")), "model_id": model}
            before = made[-1] if made and made[-1]["type"] == "thinking_text" else None
            if said and before is not None and before.get("id") == named["id"]:
                before["text"] += said
            elif said:
                made.append(plain({"type": "thinking_text", **named, "text": said}))
            if doc.get("signature") and part.done:
                form = {"signature": doc["signature"], "format": signature_format(doc.get("provider_name"))}
                made.append(plain({"type": "thinking_signature", **named, **form}))
        elif kind == "tool-call" and calls:
            raw = "".join(part.text) or "{}"
            named = {"call_id": doc["tool_call_id"], "tool_name": doc["tool_name"]}
            made.append({"type": "tool_call", **named, "arguments_json": raw})
        elif kind == "file":
            made.append(file(doc.get("content") or {}))
    return made


def content(doc: Json) -> tuple[str, list[Json]]:
    """The text and the images of a result."""
    held = doc["content_ref"] if doc.get("content_ref") is not None else doc.get("content")
    if held is None or isinstance(held, str):
        return held or "", []
    items = held if isinstance(held, list) else [held]
    images = [image(item) for item in items]
    if not any(images):
        return jcs(held), []
    texts = [as_text(item) for item, one in zip(items, images, strict=True) if one is None]
    return "\n".join(texts), [one for one in images if one is not None]


def image(item: Any) -> Json | None:
    kind = item.get("media_type") or "" if isinstance(item, dict) else ""
    if isinstance(item, dict) and item.get("kind") == "image-url":
        return {"type": "image_url", "url": item["url"]}
    if isinstance(item, dict) and item.get("kind") == "binary" and str(kind).startswith("image/"):
        return {"type": "image_url", "url": f"data:{kind};base64,{item['data']}"}
    return None


def file(held: Json) -> Json:
    """A file of the model: its bytes are stored outside of the history, by the name that their hash gives them."""
    if held.get("url"):
        return {"type": "image_url", "url": held["url"]}
    try:
        data = base64.b64decode(str(held.get("data") or ""), validate=True)
    except ValueError:
        data = str(held.get("data")).encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(data).hexdigest()
    path = f"images/{digest[:12]}{SUFFIXES.get(str(held.get('media_type')), '.bin')}"
    facts = {"mime_type": held.get("media_type"), "byte_size": len(data), "sha256": digest}
    return plain({"type": "image_file", "file_path": path, **facts})


def signature_format(provider: Any) -> str | None:
    if not isinstance(provider, str) or provider == "unknown":
        return None
    return "google" if provider.startswith("google") else provider


def text(said: str) -> list[Json]:
    return [{"type": "text", "text": said}]


def plain(doc: Json) -> Json:
    return {name: value for name, value in doc.items() if value is not None}


def line(kind: str, data: Json) -> Json:
    return {"type": kind, "data": plain(data)}


# ================================================================================================ 3. LangChain

CALL = "\nTool Call: "
HALF_CALL = "Interrupted Tool Call: "
INTERRUPTED = "\n[Tool call was interrupted – execution incomplete]"


def langchain(log: Log) -> Json:
    """Return the state of the agent: its messages, as `messages_to_dict` writes them."""
    messages: list[Json] = []
    for turn in log.turns:
        if isinstance(turn, dict):
            messages.append(human(turn["parts"]))
        else:
            langchain_turn(turn, messages)
    return {"messages": messages}


def langchain_turn(turn: Turn, messages: list[Json]) -> None:
    written: list[tuple[Part, Json]] = []
    for item in turn.items:
        if isinstance(item, Response):
            write_answer(item, messages, written)
        elif isinstance(item, Result):
            messages.append(tool(item))
        elif isinstance(item, Request):
            messages.append(human([item.part]))
    if turn.reason is None:
        return
    answered = [item.call for item in turn.items if isinstance(item, Result)]
    shortened: list[Json] = []
    for call, message in written:
        if not any(call is other for other in answered):
            for name in ("tool_calls", "invalid_tool_calls"):
                message["data"][name] = [c for c in message["data"][name] if c["id"] != call.doc["tool_call_id"]]
            if not any(message is other for other in shortened):
                message["data"]["content"] += INTERRUPTED
                shortened.append(message)


def write_answer(response: Response, messages: list[Json], written: list[tuple[Part, Json]]) -> None:
    """One message for the texts of an answer and its calls, each call also as text; a cut call is only text."""
    made = [part for part in response.parts if part.done or response.open]
    said = "".join(
        part.doc.get("content") or "" if part.done else "".join(part.text)
        for part in made
        if part.doc["part_kind"] == "text"
    )
    calls = [part for part in made if part.doc["part_kind"] == "tool-call"]
    whole = [part for part in calls if part.done or part.doc.get("ended") or part is not calls[-1]]
    if whole or said.strip() or not response.open:
        message = ai(said)
        messages.append(message)
        for part in whole:
            add_call(message["data"], part)
            written.append((part, message))
    for part in calls:
        half = arguments(part)
        if part not in whole and half.strip():
            messages.append(ai(HALF_CALL + half))


def add_call(data: Json, part: Part) -> None:
    raw = arguments(part)
    args = parsed(raw)
    data["content"] += CALL + raw
    call = {"name": part.doc["tool_name"], "args": args, "id": part.doc["tool_call_id"]}
    if isinstance(args, dict):
        data["tool_calls"].append({**call, "type": "tool_call"})
    else:
        wrong = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
        data["invalid_tool_calls"].append({**call, "args": wrong, "error": None, "type": "invalid_tool_call"})


def ai(said: str) -> Json:
    return {"type": "ai", "data": {"type": "ai", "content": said, "tool_calls": [], "invalid_tool_calls": []}}


def human(asked: list[Json]) -> Json:
    texts: list[str] = []
    for part in asked:
        held = part.get("content")
        texts += [item for item in (held if isinstance(held, list) else [held]) if isinstance(item, str)]
    return {"type": "human", "data": {"type": "human", "content": "\n".join(texts)}}


def tool(item: Result) -> Json:
    held = item.doc["content_ref"] if "content_ref" in item.doc else item.doc.get("content")
    said = held if isinstance(held, str) else json.dumps(held, ensure_ascii=False)
    status = "success" if item.doc.get("status") == "success" else "error"
    data = {"type": "tool", "content": said, "tool_call_id": item.call.doc["tool_call_id"], "status": status}
    return {"type": "tool", "data": data}


def chat(document: Json, next_user: str) -> list[Json]:
    """Return what Chat Completions is sent next."""
    sent: list[Json] = []
    for message in document["messages"]:
        kind, data = message["type"], message["data"]
        if kind == "tool":
            sent.append({"role": "tool", "tool_call_id": data["tool_call_id"], "content": data["content"]})
            continue
        entry: Json = {"role": "user" if kind == "human" else "assistant", "content": data["content"]}
        calls = [(c, json.dumps(c["args"], ensure_ascii=False)) for c in data.get("tool_calls", ())]
        calls += [(c, c["args"]) for c in data.get("invalid_tool_calls", ())]
        if calls:
            entry["tool_calls"] = [
                {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": args}}
                for call, args in calls
            ]
        sent.append(entry)
    return [*sent, {"role": "user", "content": next_user}]


# ================================================================================================ 4. stdio

KEPT: dict[str, Callable[[Log], Any]] = {"message-parts/plan": plan, "langchain/repaired": langchain}
REQUESTS: dict[str, dict[str, Callable[[Any, str], Any]]] = {"langchain/repaired": {"openai-chat": chat}}


def answer_line(request: Json) -> Json:
    match request["op"]:
        case "start":
            declared = {"contract": "1.2", "name": NAME, "roles": ["server"], "histories": list(KEPT)}
            return {"capabilities": declared}
        case "keep":
            name = request["history"]
            document = KEPT[name](fold(request["turns"], request["agents"]))
            writers = REQUESTS.get(name, {})
            asked = {api: writers[api](document, request["next_user"]) for api in request["apis"] if api in writers}
            return {"kept": {"document": document, "requests": asked}}
        case "stop":
            return {"stopped": True}
    return {"error": {"message": "it keeps histories, and no threads", "cannot_play": True}}


def main() -> None:
    for read in sys.stdin.buffer:
        request = json.loads(read)
        try:
            answered = answer_line(request)
        except Exception as error:  # noqa: BLE001  # the harness is given it, and the next case may be better
            answered = {"error": {"message": f"{type(error).__name__}: {error}"}}
        sys.stdout.buffer.write(compact({"id": request["id"], **answered}).encode() + b"\n")
        sys.stdout.buffer.flush()
        if request["op"] == "stop":
            return


if __name__ == "__main__":
    main()
