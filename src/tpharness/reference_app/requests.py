"""Requests → values that fit the contract; others are refused with the JSON pointer of the place.

In: a request. Out: decoded JSON that has been checked, and `RunRequest`. Later code relies on the shape.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import unquote

from starlette.requests import Request

from tpharness.findings import Level, shorten
from tpharness.protocol.parse import parse_json
from tpharness.protocol.rules import check_thread
from tpharness.reference_app.refusal import Refusal
from tpharness.reference_app.settings import Settings
from tpharness.server_events.shapes import EVENT
from tpharness.targets import forms
from tpharness.targets.contract import DEFAULT_WIRES, RunScript
from tpharness.wires.registry import WIRES

__all__ = ["RunRequest", "check_time", "parse_run_request", "read_request", "require_valid", "thread_id_from"]

_JSON = re.compile(r"\s*application/(?:[\w.+-]+\+)?json\s*(?:;.*)?", re.IGNORECASE)
_T = TypeVar("_T")
_ONE_VALUE = "the body is one JSON value in UTF-8"
_LONG_BODY = 1024 * 1024  # bytes: less is read in some 10 ms, at the worst in one second
_LONGEST = 1e7  # seconds; longer waits are practically endless, and event loops cannot represent them


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A `runRequest`: the user turns as JSON too, since they are stored unchanged. Limits are in seconds."""

    created_at: str
    agents: Mapping[str, Mapping[str, Any]]
    seed: Mapping[str, Any] | None
    user: tuple[Mapping[str, Any], ...]
    script: RunScript
    carriers: bool
    marks: bool
    wire: str
    hold_at: str | None
    stream_seconds: float | None
    heartbeat_seconds: float | None
    continues: bool | None
    time_scale: float


async def read_request(request: Request, settings: Settings, read: Callable[[Any], _T]) -> _T:
    """Parse the body as JSON and return what `read` makes of it; a long body in a thread, so that nobody waits.

    Refusal for another media type, too many bytes, invalid JSON or too deep nesting, and what `read` refuses.
    """
    said = request.headers.get("content-type", "")
    if not _JSON.fullmatch(said):
        raise Refusal(415, f"the body is {said or 'of no media type'}", hint="send Content-Type: application/json")
    data = await _body(request, settings)
    if len(data) < _LONG_BODY:
        return read(_parse(data, settings))
    return await asyncio.to_thread(lambda: read(_parse(data, settings)))


async def _body(request: Request, settings: Settings) -> bytes:
    most = settings.max_body
    said = request.headers.get("content-length", "")
    pieces: list[bytes] = []
    size = int(said) if said.isdecimal() and len(said) < 20 else 0
    if size <= most:
        size = 0
        arriving = request.stream()
        try:
            while size <= most:
                async with asyncio.timeout(settings.body_seconds):
                    piece = await anext(arriving)
                size += len(piece)
                pieces.append(piece)
        except StopAsyncIteration:
            pass
        except TimeoutError:
            why = f"the body of the request stopped for {settings.body_seconds:g} s"
            raise Refusal(408, why, hint="send it whole") from None
    if size > most:
        raise Refusal(413, f"the body has more than {most} bytes", hint="play a shorter script, or a smaller seed")
    return b"".join(pieces)


def _parse(data: bytes, settings: Settings) -> Any:
    parsed = parse_json(data, max_size=settings.max_body)
    if not parsed.ok:
        raise Refusal(400, parsed.findings[-1].line(), hint=_ONE_VALUE)
    if b"NaN" in data or b"Infinity" in data:
        json.loads(data, parse_constant=_refuse_constant)
    return parsed.value


def _refuse_constant(name: str) -> None:
    """Refuse NaN and infinities, which Python reads and which are not JSON."""
    raise Refusal(400, f"{name} is not JSON", hint=_ONE_VALUE)


def require_valid(name: str, value: Any) -> Any:
    """Return the value if it is a `name` of the contract, else raise Refusal with the place that does not fit."""
    found = forms.problems(name, value)
    if found:
        raise Refusal(422, "; ".join(found), hint=forms.shape_hint(name))
    return value


def check_time(text: Any, pointer: str) -> None:
    """Refuse a text that has the form of a time and is not one, such as February 30."""
    try:
        good = 1 < datetime.fromisoformat(text).year < 9999
    except (ValueError, TypeError):
        good = False
    if not good:
        raise Refusal(
            422, f"{pointer}: {shorten(text, 60)} is not a time", hint="write RFC 3339, such as 2025-01-20T10:00:00Z"
        )


def parse_run_request(value: Any, thread_id: str, settings: Settings) -> RunRequest:
    """Read a `runRequest` for a thread. Refusal with the place if it is invalid."""
    _check_run(value, settings)
    run, hold, limits = value["run"], value.get("hold"), value.get("limits") or {}
    check_time(value["created_at"], "/created_at")
    check_time(run["started_at"], "/run/started_at")
    if hold is not None:
        check_time(hold["at"], "/hold/at")
    if "interruption" in run:
        check_time(run["interruption"]["at"], "/run/interruption/at")
    for index, turn in enumerate(value.get("user", ())):
        check_time(turn["submitted_at"], f"/user/{index}/submitted_at")
    seed = value.get("seed")
    if seed is not None:
        _check_seed(seed, thread_id)
    there = value.get("on_disconnect")
    return RunRequest(
        created_at=value["created_at"],
        agents=value["agents"],
        seed=seed,
        user=tuple(value.get("user", ())),
        script=forms.run_from(run),
        carriers=value.get("carriers", False),
        marks=value.get("marks", False),
        wire=wire_of(value),
        hold_at=None if hold is None else hold["at"],
        stream_seconds=_seconds(limits.get("stream_seconds")),
        heartbeat_seconds=_seconds(limits.get("heartbeat_seconds")),
        continues=None if there is None else there == "continue",
        time_scale=float(value.get("time_scale", 0)),
    )


def wire_of(value: Mapping[str, Any]) -> str:
    """Return the wire that is asked for, the default one where none is named. Refusal for one that is not there."""
    wire = str(value.get("wire", DEFAULT_WIRES[0]))
    if wire not in WIRES:
        raise Refusal(422, f"/wire: {shorten(wire, 40)} is not a wire", hint=f"there are {', '.join(WIRES)}")
    return wire


def thread_id_from(request: Request) -> str:
    """Return the id in the path, which reaches the router undecoded so that it may hold a slash."""
    try:
        return unquote(request.path_params["thread_id"], errors="strict")
    except UnicodeDecodeError:
        raise Refusal(400, "the thread id in the path is not UTF-8", hint="percent-encode its UTF-8 bytes") from None


def _check_run(value: Any, settings: Settings) -> None:
    """Refuse what is not a `runRequest`.

    Schema libraries reject lone surrogates, which deltas may have (R43), and describe errors in events badly: if the
    schema does not accept the request, the table of events checks the events and the schema the rest.
    """
    run = value.get("run") if isinstance(value, dict) else None
    events = run.get("events") if isinstance(run, dict) else None
    if not isinstance(events, list):
        require_valid("runRequest", value)
    elif len(events) > settings.max_events or forms.problems("runRequest", value):
        require_valid("runRequest", {**value, "run": {**value["run"], "events": []}})
        _check_events(events, settings)


def _check_events(events: list[Any], settings: Settings) -> None:
    if len(events) > settings.max_events:
        raise Refusal(
            413,
            f"/run/events: {len(events)} events, at most {settings.max_events} are played",
            hint="play a shorter script",
        )
    for index, event in enumerate(events):
        mismatches = EVENT.mismatches(event)
        if mismatches:
            steps = "".join(f"/{step}" for step in (index, *mismatches[0].path))
            hint = "events are as Pydantic AI serialises them; `tpharness docs EVENTS` has every field"
            raise Refusal(422, f"/run/events{steps}: {mismatches[0].message()}", hint=hint)


def _check_seed(seed: Mapping[str, Any], thread_id: str) -> None:
    if seed["thread_id"] != thread_id:
        raise Refusal(
            422,
            f"/seed/thread_id: {shorten(seed['thread_id'], 60)}, and the path names {shorten(thread_id, 60)}",
            hint="the seed is the thread so far; give it the id of the thread in the path",
        )
    wrong = [f for f in check_thread(seed) if f.level is Level.MUST]
    if wrong:
        raise Refusal(
            422, f"/seed: {wrong[0].line()}", hint="`tpharness check` reports everything that is wrong with a thread"
        )


def _seconds(value: Any) -> float | None:
    return None if value is None else min(float(value), _LONGEST)
