"""Small conversations whose events come in odd orders and forms: what implementations read in different ways.

In: a source of choices. Out: a `GeneratedProgram`. Unlike those of `programs`, the events need not be those of a
correct server: a result may come late or twice, a part may end with another content, a prompt may repeat. Whoever plays
them has to make the same of them all the same (R36), which is what a comparison of targets asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tpharness.explore.generate.programs import AGENTS, THREAD_ID, GeneratedProgram, moment
from tpharness.explore.generate.source import Source, flag, flag_on, many, one_of
from tpharness.explore.generate.values import REASONS
from tpharness.protocol.versions import ERROR_EVENT, HANDOFF_EVENT, NORMATIVE_PREFIX, SPAWN_EVENT, Version
from tpharness.scenario import AgentRun, Scenario, Turn, UserInput

__all__ = ["odd_runs"]

_TICKS_OF_TWO_HOURS = 2 * 60 * 60 * 10
_HIGH, _LOW = "\ud83d", "\ude80"
_TEXTS = ("a", "b", "", "Go on", "é")
_SPLIT = (("x", "y"), ("x", ""), (_HIGH, _LOW), (_HIGH, "z"), ("", "é"))
_PROMPTS: tuple[Any, ...] = ("Go on", ["Go on"], "Stop", "", ["Go on", "Stop"], [])
_IDS = ("c1", "c2", "c3")
_NAMES = ("look", "book")
_FINISH = ("stop", "tool_call", "length", "content_filter", "error", "tool-calls", "other", "interrupted")
_USAGE: tuple[dict[str, Any], ...] = (
    {"input_tokens": 3, "output_tokens": 2},
    {"input_tokens": 3.0, "output_tokens": 2.5},
    {"inputTokens": 3, "totalTokens": 5, "requests": 1},
    {"output_tokens": 0},
    {"details": {"a": 1}, "cost": 0.5},
)
_OLD_NAMES = next(iter(Version)).features.normative_events
_EVENTS = (
    *("data-app-note", SPAWN_EVENT, _OLD_NAMES[SPAWN_EVENT], _OLD_NAMES[HANDOFF_EVENT], _OLD_NAMES[ERROR_EVENT]),
    *(_OLD_NAMES[f"{NORMATIVE_PREFIX}thread_end"], "data-note"),
    *("note", "meta:note", "data-meta:note", "data-sys-load", "data-data-note", "data-", "data-tp-own", "source.url"),
)
_OUTCOMES = ("success", "failed", "denied", "retried", "interrupted", "odd")
_STATUSES = ("success", "error", "validation_error", "odd")
_CONTENTS: tuple[Any, ...] = ("ok", None, "", {"a": 1}, [1], 0)
_FILES: tuple[dict[str, Any], ...] = (
    {"kind": "binary", "media_type": "text/plain", "data": "YQ=="},
    {"kind": "image-url", "url": "https://example.org/a.png"},
    {"kind": "document-url", "url": "https://example.org/a", "media_type": "text/html", "identifier": "a", "x": 1},
)


def odd_runs(source: Source) -> GeneratedProgram:
    """Return a conversation of one to three runs, with up to two places to interrupt the last of them."""
    writer = _Writer(source)
    turns: list[Turn] = []
    for count in many(source, 1, 3, 3):
        if not count or flag_on(source, 4):
            content: Any = one_of(source, ("Go on", "Stop", ["Go on"]))
            said: dict[str, Any] = {"part_kind": "user-prompt", "content": content}
            if flag(source, 8):
                said["x_own"] = 1
            turns.append(UserInput(parts=(said,), submitted_at=writer.now(1)))
        turns.append(writer.run(turns[-1]))
    scenario = Scenario(
        id="compare/runs",
        description="A generated conversation.",
        clauses=("sync.truth",),
        versions=tuple(Version),
        thread_id=THREAD_ID,
        created_at="2025-01-20T10:00:00Z",
        agents=AGENTS,
        turns=tuple(turns),
    )
    events = len(writer.log)
    places = sorted(source.number(0, events) for _ in many(source, 0, 2))
    cuts = [(place, place, one_of(source, REASONS)) for place in places]
    return GeneratedProgram(scenario=scenario, cuts=tuple(cuts))


class _Writer:
    """Writes runs, one after the other in time."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._tick = 0
        self.log: list[dict[str, Any]] = []
        """The events of the run that is written, and afterwards of the last one."""
        self._open: dict[int, str] = {}
        self._last_reason: str | None = None
        self._runs = 0
        self._provider_calls = 0
        self._steps: tuple[Callable[[], None], ...] = (
            *(self._text, self._call, self._result, self._request, self._response_end) * 3,
            *(self._tool_call, self._delta, self._end, self._event) * 2,
            *(self._whole, self._hand_off, self._error, self._reset, self._queued, self._provider, self._progress),
            *(self._custom, self._silent),
        )

    def now(self, ticks: int) -> str:
        """Return the time so many ticks later; now and then it is written with another offset, or has not moved on."""
        self._tick += ticks
        if not flag(self._source, 12):
            return moment(self._tick)
        return moment(self._tick + _TICKS_OF_TWO_HOURS).removesuffix("Z") + "+02:00"

    def run(self, before: Turn) -> AgentRun:
        """Return one run, whose first request may repeat the words of the user's turn before it."""
        source = self._source
        started = self.now(1)
        self.log, self._open, self._last_reason = [], {}, None
        said: dict[str, Any] = {}
        if isinstance(before, UserInput) and flag(source, 6):
            said["parts"] = [{"part_kind": "user-prompt", "content": part["content"]} for part in before.parts]
        if said or flag_on(source, 4):
            self._emit("model_request", **said)
        if flag(source, 16):  # the filter stops the response before its first part
            self._emit("model_response_end", finish_reason="content_filter")
            self._last_reason = "content_filter"
        if self._runs and flag(source, 3):  # to a call of a run before
            self._result()
        self._runs += 1
        for _ in many(source, 1, 12, 10):
            one_of(source, self._steps)()
        if flag(source, 12):  # another agent takes over while a call is open
            self._call()
            self._hand_off()
        if flag_on(source, 8):
            said = {}
            if flag(source, 4):
                against = {"content_filter": "stop", "stop": "content_filter"}.get(self._last_reason or "")
                said["finish_reason"] = against if against and flag(source, 2) else one_of(source, _FINISH)
            if flag(source, 6):
                said["usage"] = dict(one_of(source, _USAGE))
            self._emit("agent_run_result", **said)
        return AgentRun(agent_id="assistant", started_at=started, events=tuple(self.log))

    def _emit(self, kind: str, **facts: Any) -> None:
        self.log.append({"event_kind": kind, **facts, "at": self.now(self._source.number(0, 1))})

    # ---------------------------------------------------------------- responses

    def _index(self) -> int:
        """Return an index that is free, or now and then one that is taken."""
        return self._source.number(0, 2) if flag(self._source, 12) else max(self._open, default=-1) + 1

    def _text(self) -> None:
        source = self._source
        kind, index = one_of(source, ("text", "text", "thinking")), self._index()
        first, then = one_of(source, _SPLIT) if flag(source, 6) else (one_of(source, _TEXTS), one_of(source, _TEXTS))
        self._start(index, {"part_kind": kind, "content": first, **self._named(kind)})
        self._emit("part_delta", index=index, delta={"part_delta_kind": kind, "content_delta": then})
        if flag_on(source, 4):
            self._end_of(index, kind, one_of(source, ((first + then), None, "other")))

    def _named(self, kind: str) -> dict[str, Any]:
        own = {"id": "p1"} if flag(self._source, 8) else {}
        if kind == "thinking":
            own |= {k: v for k, v in (("signature", "s"), ("provider_name", "acme")) if flag(self._source, 6)}
        return own

    def _start(self, index: int, part: Mapping[str, Any]) -> None:
        self._open[index] = part["part_kind"]
        self._emit("part_start", index=index, part=dict(part))

    def _end_of(self, index: int, kind: str, content: Any) -> None:
        part = {"part_kind": kind, **({} if content is None else {"content": content}), **self._named(kind)}
        self._emit("part_end", index=index, part=part)

    def _call(self) -> None:
        source, index = self._source, self._index()
        call = {"part_kind": "tool-call", "tool_name": one_of(source, _NAMES), "tool_call_id": one_of(source, _IDS)}
        args = one_of(source, ('{"a": 1}', {"a": 1}, "", None, "not JSON", "null"))
        self._start(index, {**call, "args": args})
        self._open[index] = "object" if isinstance(args, dict) else "tool-call"
        if flag(source, 4):
            piece = {"b": 2} if isinstance(args, dict) else one_of(source, ('{"b": 2}', ""))
            self._emit("part_delta", index=index, delta={"part_delta_kind": "tool_call", "args_delta": piece})
        if flag(source, 3):
            self._emit("part_end", index=index, part={**call, "args": one_of(source, (args, '{"c": 3}', None))})

    def _provider(self) -> None:
        source, index = self._source, self._index()
        self._provider_calls += 1
        named = {"tool_call_id": f"b{self._provider_calls}"}
        self._start(index, {"part_kind": "builtin-tool-call", "tool_name": "search", **named, "args": "{}"})
        if flag_on(source, 3):
            self._start(index + 1, {"part_kind": "builtin-tool-return", "tool_name": "search", **named, "content": 1})

    def _whole(self) -> None:
        source = self._source
        part = one_of(
            source,
            (
                {"part_kind": "file", "content": dict(one_of(source, _FILES))},
                {"part_kind": "file", "id": "f1", "content": {**one_of(source, _FILES), "identifier": "cover"}},
                {"part_kind": "custom:note", "provider_metadata": {"a": {"b": 1}}},
                {"part_kind": "custom:reasoning-file", "content": dict(_FILES[0]), "id": "f2"},
            ),
        )
        self._start(self._index(), part)

    def _delta(self) -> None:
        index = one_of(self._source, sorted(self._open) or [0])
        kind = self._open.get(index, "text")
        if kind in ("text", "thinking"):
            delta = {"part_delta_kind": kind, "content_delta": one_of(self._source, _TEXTS)}
        else:
            piece: Any = {"d": 4} if kind == "object" else one_of(self._source, (" ", "}"))
            delta = {"part_delta_kind": "tool_call", "args_delta": piece}
        self._emit("part_delta", index=index, delta=delta)

    def _end(self) -> None:
        index = one_of(self._source, sorted(self._open) or [0])
        kind = self._open.get(index, "text")
        if kind in ("text", "thinking"):
            self._end_of(index, kind, one_of(self._source, (None, "other")))

    def _response_end(self) -> None:
        source = self._source
        if not self._open:
            return  # of a response that nobody has seen
        self._open = {}
        facts: dict[str, Any] = {}
        if flag_on(source, 4):
            facts["finish_reason"] = self._last_reason = one_of(source, _FINISH)
        if flag(source, 3):
            facts["usage"] = dict(one_of(source, _USAGE))
        if flag(source, 6):
            facts["model_name"] = one_of(source, ("m1", "m2"))
        if flag(source, 6):
            facts["provider_response_id"] = "r1"
        self._emit("model_response_end", **facts)

    def _reset(self) -> None:
        self._open = {}
        self._emit("response_reset")

    # ---------------------------------------------------------------- tools

    def _tool_call(self) -> None:
        source = self._source
        args = one_of(source, ('{"a": 1}', {"a": 1}, None, '{"z": 9}'))
        part = {"tool_name": "look", "tool_call_id": one_of(source, _IDS), **({} if args is None else {"args": args})}
        self._emit("function_tool_call", part={"part_kind": "tool-call", **part})

    def _result(self) -> None:
        source = self._source
        part: dict[str, Any] = {"tool_name": "look", "tool_call_id": one_of(source, _IDS)}
        kind = one_of(source, ("tool-return", "tool-return", "retry-prompt", None))
        if kind is not None:
            part["part_kind"] = kind
        if flag_on(source, 8):
            part["content"] = one_of(source, _CONTENTS)
        if flag(source, 2):
            part["outcome"] = one_of(source, _OUTCOMES)
        if flag(source, 4):
            part["status"] = one_of(source, _STATUSES)
        if flag(source, 8):
            part["metadata"] = one_of(source, ({"a": 1}, [{"type": "data-app-x", "data": 1}], [1], []))
        if flag(source, 10):
            part["content_ref"] = {"uri": "https://example.org/1", "hash": "ab" * 32}
        self._emit("function_tool_result", part=part)

    def _progress(self) -> None:
        self._emit("tool_progress", tool_call_id=one_of(self._source, _IDS), content="half")

    # ---------------------------------------------------------------- the rest

    def _prompts(self) -> list[dict[str, Any]]:
        source = self._source
        parts = [{"part_kind": "user-prompt", "content": one_of(source, _PROMPTS)} for _ in many(source, 1, 2, 3)]
        if flag(source, 6):
            parts.insert(0, {"part_kind": "system-prompt", "content": "Be brief."})
        return parts

    def _request(self) -> None:
        source = self._source
        self._open = {}
        facts: dict[str, Any] = {"parts": self._prompts()} if flag(source, 2) else {}
        if flag(source, 4):
            facts["model_name"] = one_of(source, ("m1", "m2"))
        self._emit("model_request", **facts)

    def _queued(self) -> None:
        self._emit("enqueued_messages", messages=[{"parts": self._prompts()} for _ in many(self._source, 1, 2, 3)])

    def _event(self) -> None:
        source, name = self._source, one_of(self._source, _EVENTS)
        data: Any = {"source_id": "s1", "url": "https://example.org/a"} if name == "source.url" else None
        data = data or one_of(source, ({"a": 1}, None, 1, {"timestamp": "2025-01-20T10:00:09Z"}))
        more: dict[str, Any] = {"transient": True} if flag(source, 4) else {}
        if flag(source, 6):
            more |= {"source_agent": "assistant", "target_agents": ["helper"]}
        self._emit("system_event", event_type=name, event_data=data, **more)

    def _custom(self) -> None:
        source = self._source
        own: dict[str, Any] = one_of(
            source, ({"data": 1}, {"payload": {"a": 1}}, {"a": 1}, {"a": 1, "data": {"b": 2}}, {})
        )
        self._emit("custom", **{one_of(source, ("name", "event_name")): one_of(source, _EVENTS[:7])}, **own)

    def _hand_off(self) -> None:
        self._open = {}
        self._emit("agent_start", agent_id=one_of(self._source, ("helper", "assistant")))

    def _error(self) -> None:
        self._emit("error", error_text="It broke.")

    def _silent(self) -> None:
        self._emit(one_of(self._source, ("final_result", "deferred_tool_requests", "deferred_tool_results")))
