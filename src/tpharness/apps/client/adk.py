"""Google ADK's `api_server`: a page that makes a session, and posts each message to `/run_sse`.

The server keeps the history. Its events come without names and without an end: what it says last has no call and is
not partial. A session as it is stored is what a page shows that is loaded anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tpharness.apps.client.around import AppHttp
from tpharness.apps.client.foreign import Screen, dict_of, load_event, objects_in, require_new_message
from tpharness.apps.client.own_code import StreamRefusedError
from tpharness.apps.client.profile import Chat, Trigger, text_of
from tpharness.apps.client.routes import Fetched

__all__ = ["AdkPage", "AdkStream"]

Json = dict[str, Any]
Chunks = Iterator[Json]
_OK = range(200, 300)
_USER = "user"
_REASONS = {"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "content-filter"}


class AdkRefusedError(StreamRefusedError):
    """A page cannot read on from this event; the text says why."""


class AdkPage:
    """A page of ADK's server; leaving is its only stop."""

    keeps_history = False
    chat_path = "/run_sse"
    paths: Mapping[str, str] = {"thread": "GET /apps/{app}/users/{user}/sessions/{id}"}

    def __init__(self) -> None:
        self._app = ""

    def body(self, chat: Chat, trigger: Trigger) -> Mapping[str, Any]:
        """Return a run with the new message."""
        require_new_message(chat, trigger)
        message = {"role": "user", "parts": [{"text": text_of(chat.last)}]}
        return {"appName": self._app, "userId": _USER, "sessionId": chat.id, "streaming": True, "newMessage": message}

    def translator(self) -> AdkStream:
        """Read one answer."""
        return AdkStream()

    def address_names(self, chat: Chat) -> Mapping[str, str]:  # noqa: ARG002  # the same for each
        """Return what the addresses may name beside the chat."""
        return {"app": self._app, "user": _USER}

    async def begin(self, chat: Chat, http: AppHttp) -> Fetched | None:
        """Make the session, under the server's id, for the application of the table, or the first of the server."""
        self._app = str(http.fields.get("appName") or self._app)
        if not self._app:
            listed = await http.ask("GET", "/list-apps")
            if listed.status not in _OK or not isinstance(listed.value, list) or not listed.value:
                return listed
            self._app = str(listed.value[0])
        made = await http.ask("POST", f"/apps/{self._app}/users/{_USER}/sessions", {})
        session_id = made.value.get("id") if isinstance(made.value, dict) else None
        if made.status not in _OK or not isinstance(session_id, str):
            return made
        chat.id = session_id
        return None

    async def end(self, chat: Chat, http: AppHttp, reader: AdkStream) -> Iterable[Json]:  # noqa: ARG002  # nothing to ask
        """Return what the end comes to: the last event has said whether the run is over."""
        return list(reader.end())

    def messages_of(self, value: Any) -> list[Json] | None:
        """Return the messages on a page that is loaded anew, of a session; None for anything else."""
        events = dict_of(value).get("events")
        return None if events is None else _screen(objects_in(events))


class AdkStream:
    """One answer. The texts of partial events are deltas; the event behind them has all of it once more."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._open = ""
        self._calls: set[str] = set()
        self._known: set[str] = set()
        self._begun = self._failed = self._is_over = False
        self._reason = ""

    def feed(self, data: bytes) -> Chunks:
        """Yield the chunks that an event comes to."""
        event = dict_of(load_event(data, AdkRefusedError))
        if not self._begun:
            self._begun = True
            yield {"type": "start", **({"messageId": event["invocationId"]} if event.get("invocationId") else {})}
        parts = _parts(event)
        is_partial = event.get("partial") is True
        for part in parts:
            yield from self._part(part, str(event.get("id")), is_partial=is_partial)
        self._reason = str(event.get("finishReason") or self._reason)
        said = event.get("errorMessage") or event.get("errorCode") or event.get("error")
        code = event.get("errorCode")  # any reason but STOP is one, too
        ended = code is not None and code == event.get("finishReason")
        if said is not None and not ended and not self._failed:
            self._failed = True
            yield {"type": "error", "errorText": str(said)}
        used = any("functionCall" in part or "functionResponse" in part for part in parts)
        self._is_over = not is_partial and not used

    def end(self) -> Chunks:
        """Yield the chunks that end the answer; none where the run was not over."""
        if self._is_over and not self._failed:
            yield from self._end_step()
            yield {"type": "finish", **({"finishReason": _REASONS.get(self._reason, "other")} if self._reason else {})}

    def _part(self, part: Json, event_id: str, *, is_partial: bool) -> Chunks:
        if isinstance(part.get("text"), str) and part.get("thought") is not True:
            shown, text = self._texts.get(event_id, ""), part["text"]
            new = text if is_partial else text.removeprefix(shown) if text.startswith(shown) else ""
            if new:
                yield from self._step(event_id)
                if event_id not in self._texts:
                    yield {"type": "text-start", "id": event_id}
                self._texts[event_id] = shown + new
                yield {"type": "text-delta", "id": event_id, "delta": new}
        call = dict_of(part.get("functionCall"))
        if call.get("id") and call.get("name"):
            yield from self._step(event_id)
            known = {"toolCallId": call["id"], "toolName": call["name"]}
            if call["id"] not in self._calls:
                self._calls.add(call["id"])
                yield {"type": "tool-input-start", **known}
            if not is_partial and call["id"] not in self._known:
                self._known.add(call["id"])
                yield {"type": "tool-input-available", **known, "input": call.get("args") or {}}
        answer = dict_of(part.get("functionResponse"))
        if answer.get("id") in self._known:
            yield {"type": "tool-output-available", "toolCallId": answer["id"], "output": answer.get("response")}

    def _step(self, event_id: str) -> Chunks:
        if self._open != event_id:
            yield from self._end_step()
            self._open = event_id
            yield {"type": "start-step"}

    def _end_step(self) -> Chunks:
        if self._open in self._texts:
            yield {"type": "text-end", "id": self._open}
        if self._open:
            yield {"type": "finish-step"}
        self._open = ""


def _screen(events: Iterable[Json]) -> list[Json]:
    screen = Screen()
    for event in events:
        if event.get("author") == "user":
            screen.say_user(event.get("id"), "".join(str(part.get("text", "")) for part in _parts(event)))
            continue
        screen.begin_step(event.get("invocationId"))
        for part in _parts(event):
            call, answer = dict_of(part.get("functionCall")), dict_of(part.get("functionResponse"))
            if part.get("text") and part.get("thought") is not True:
                screen.say(part["text"])
            if call.get("id"):
                screen.call(call["id"], call.get("name"), call.get("args") or {})
            screen.answer(answer.get("id"), {"state": "output-available", "output": answer.get("response")})
    return screen.messages


def _parts(event: Json) -> list[Json]:
    return objects_in(dict_of(event.get("content")).get("parts"))
