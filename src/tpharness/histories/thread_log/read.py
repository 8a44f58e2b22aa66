"""A thread log → a thread.

In: the lines of a log. Out: a valid thread of the newest version, and what it does not have. A response is what stands
up to its `finish-step`, and the calls that come after it; a turn without its `data-agent-finish` was interrupted, and
keeps its complete cycles (R20, R21, R23, R24). The system prompt of each agent stands in the log, and is left out (R8).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tpharness.dialects import DIALECTS, ThreadHeader
from tpharness.errors import InputError, ThreadError
from tpharness.facts import event_timestamp, later_time, normalize_usage, parse_tool_args
from tpharness.findings import Level
from tpharness.histories.exchange.imported import Imported
from tpharness.histories.thread_log.lines import BLUEPRINT, HALTED, KINDS, Line, agents_of, is_line, lines_of
from tpharness.histories.thread_log.rules import check_log
from tpharness.journal import Event, JournalWriter, UserTurn
from tpharness.protocol.losses import Loss
from tpharness.protocol.rules import check_thread
from tpharness.protocol.versions import newest_version
from tpharness.readings import Readings

__all__ = ["id_of_log", "thread_of_log"]

_COUNTS: Mapping[str, str] = {"inputTokens": "input_tokens", "outputTokens": "output_tokens"}
_UNREADABLE = ("thread-log-line-malformed", "thread-log-not-a-line", "thread-log-without-blueprint")
_SAID = ("text-complete", "reasoning-complete")
_NO_TURN = "no turn of an agent is open there"


def id_of_log(value: Any) -> str | None:
    """Return the id of its thread that a log has in its first line, None for anything else."""
    first = value[0] if isinstance(value, list) and value else None
    named = first.get("threadId") if is_line(first) and first["type"] == BLUEPRINT else None
    return named if isinstance(named, str) and named else None


def thread_of_log(value: Any, *, agent_id: str, thread_id: str, at: str, safe: bool = False) -> Imported:
    """Return the thread of a log; `at` is the time of what has none, `agent_id` the agent of a turn that names none.

    `safe` is that of `check_thread`.

    InputError if the value is not a log, ThreadError if a line of it cannot be read, or breaks rules of a thread.
    """
    lines = lines_of(value)
    if lines is None or not lines:
        raise InputError("not a thread log: a list of lines was expected", hint="a JSON object on each line, .jsonl")
    wrong = tuple(found for found in check_log(lines) if found.code in _UNREADABLE)
    if wrong:
        raise ThreadError("no thread can be made of this log", findings=wrong, hint="correct these lines")
    reader = _Reader(lines, agent_id, at)
    reader.read()
    agents = {
        ident: {"agent_id": ident, "agent_name": name, "created_at": reader.began}
        for ident, name in reader.agents.items()
    }
    header = ThreadHeader(thread_id=thread_id, created_at=reader.began, agents=agents)
    thread: Any = DIALECTS[newest_version()].renderer(header, Readings()).render(reader.writer.journal())
    found = tuple(finding for finding in check_thread(thread, safe=safe) if finding.level is Level.MUST)
    if found:
        hint = "the places are those of the thread that would be made; correct the lines"
        raise ThreadError("no valid thread can be made of this log", findings=found, hint=hint)
    return Imported(thread=thread, losses=tuple(reader.losses))


@dataclass(slots=True)
class _Response:
    """A response of the turn that is open: its first line, its calls, whether its end has come."""

    pointer: str
    calls: list[str] = field(default_factory=list)
    finished: bool = False


class _Reader:
    """Writes a journal of the lines, and notes what is not in it."""

    def __init__(self, lines: Sequence[Line], agent_id: str, at: str) -> None:
        self.writer = JournalWriter()
        self.losses: list[Loss] = []
        self.began = event_timestamp(lines[0]) or at
        self.agents: dict[str, str] = {}
        self._lines = lines
        self._agent = agent_id
        self._now = self.began
        self._asked: list[str] = []
        self._responses: list[_Response] = []
        self._answered: set[str] = set()
        self._turn_at = ""
        self._error: str | None = None
        self._approvals: dict[str, Any] = {}

    def read(self) -> None:
        """Read every line."""
        for index, line in _in_place(self._lines):
            self._now = later_time(self._now, event_timestamp(line) or "")
            self._line(line, f"/{index}")
        self._interrupt()
        if self._asked:
            self._lose("", "the last words of the user", "their turn does not end")
        kinds = {line["type"] for line in self._lines}
        if "data-agent-start" in kinds and "data-user-message" not in kinds:
            self._lose("", "the words of the user", "no line has them: chimera's web client does not store them")

    def _line(self, line: Line, place: str) -> None:
        match line["type"]:
            case kind if kind == BLUEPRINT:
                self._blueprint(line, place)
            case "data-user-turn-start":
                self._interrupt()
                self._asked = []
            case "data-user-message":
                self._asked.append(line["data"]["content"])
            case "data-user-turn-end":
                if self._asked:
                    said = tuple({"part_kind": "user-prompt", "content": text} for text in self._asked)
                    self._interrupt()
                    self.writer.add_user_turn(UserTurn(at=self._now, parts=said))
                self._asked = []
            case "data-agent-start":
                self._interrupt()
                self._begin(str(line["data"]["agentId"]), str(line["data"]["agentName"]), place)
            case kind if not self.writer.running:
                if kind not in ("start-step", "finish-step"):
                    self._lose(place, _named(line), _NO_TURN)
            case _:
                self._in_turn(line, place)

    def _in_turn(self, line: Line, place: str) -> None:
        match line["type"]:
            case "data-agent-finish":
                self.writer.finish_response()
                self.writer.complete_turn(self._now)
            case "text-complete":
                self._respond(place)
                self.writer.add_part("text", {"content": line["content"]})
            case "reasoning-complete":
                self._respond(place)
                self.writer.add_part("thinking", {"content": line["content"], "provider_name": "unknown"})  # R15
            case "tool-input-available":
                self._call(line, place)
            case "tool-output-available":
                self._return(line["toolCallId"], "success", line["output"], place)
            case "tool-error":
                self._return(line["toolCallId"], "error", line["error"], place)
            case "tool-output-denied":
                reason = self._approvals.get(line["toolCallId"]) or "The tool call was denied."
                self._return(line["toolCallId"], "error", reason, place)
            case "data-tool-approval-response":
                self._approvals[line["toolCallId"]] = line.get("reason")
                self._lose(place, "an answer to an approval", "a thread has what came of it, if anything has")
            case "tool-approval-request":
                self._lose(place, "a request for an approval", "its call waits in the thread without it")
            case "finish-step":
                self._finish_step()
            case "chimera-app-usage":
                self._usage(line, place)
            case "data-app-chimera":
                self.writer.add_event(Event(name="data-app-chimera", data=line["data"], at=self._now))
            case "error":
                self._fail(line, place)
            case kind if kind not in KINDS:
                self._lose(place, kind, "it is not a kind of line that is known")

    def _blueprint(self, line: Line, place: str) -> None:
        if place != "/0":
            self._lose(place, "a second blueprint", "the first one holds")
            return
        for index, agent in enumerate(agents_of(line)):
            self.agents[agent["id"]] = str(agent.get("name") or agent["id"])
            at = f"{place}/blueprint/space/agents/{index}"
            if agent.get("basePrompt"):
                self._lose(f"{at}/basePrompt", "a system prompt", "system prompts are never stored (R8)")
            if agent.get("widgets"):
                self._lose(f"{at}/widgets", "widgets", "they are the program's")
        if line["blueprint"]["space"].get("widgets"):
            self._lose(f"{place}/blueprint/space/widgets", "widgets", "they are the program's")

    # ------------------------------------------------------------------ turns

    def _begin(self, agent: str, name: str, place: str) -> None:
        self._agent = agent
        self.agents.setdefault(agent, name)
        self.writer.begin_turn(agent, self._now)
        self._responses, self._answered, self._turn_at, self._error = [], set(), place, None

    def _interrupt(self) -> None:
        """Interrupt the turn that is open: another one begins, or the log ends, and it has not finished."""
        if not self.writer.running:
            return
        reason = "user_cancelled" if self._error in (None, HALTED) else "error"
        kept = False
        for response in self._responses:
            missing = [call for call in response.calls if call not in self._answered]
            if not response.finished:
                self._lose(response.pointer, "a response", "it was cut, and the turn was interrupted (R20)")
            elif missing:
                why = f"no output for {', '.join(missing)}, and the turn was interrupted (R21)"
                self._lose(response.pointer, "a response", why)
            kept |= response.finished and not missing
        if self._responses and self._responses[-1].finished:
            self.writer.finish_response()
        if not kept:
            self._lose(self._turn_at, "a turn", "nothing of it is a complete cycle (R24)")
        elif self._error is None:
            self._lose(self._turn_at, "why the turn was cut", "no line says it; user_cancelled is written")
        self.writer.interrupt_turn(reason, self._now)

    def _fail(self, line: Line, place: str) -> None:
        text = line.get("errorText") or line.get("message")
        self._error = self._error or str(text or "an error")
        if self._error != HALTED:
            self._lose(place, "the text of an error", "a thread says that there was one")

    # -------------------------------------------------------------- responses

    def _respond(self, place: str) -> _Response:
        """Return the response that goes on, or begin one."""
        if self._responses and not self._responses[-1].finished and self.writer.response_open:
            return self._responses[-1]
        self.writer.begin_response(self._now)
        self._responses.append(_Response(pointer=place))
        return self._responses[-1]

    def _call(self, line: Line, place: str) -> None:
        call, args = line["toolCallId"], line["input"]
        if self.writer.call_key(call) is not None:
            self._lose(place, f"the call {call}", "an earlier call has this id")
            return
        response = self._responses[-1] if self.writer.response_open else self._respond(place)
        response.calls.append(call)
        given = parse_tool_args(args) if isinstance(args, str) and args else args
        fields = {"tool_name": line["toolName"], "tool_call_id": call, "args": {} if given in ("", None) else given}
        self.writer.add_part("tool-call", fields)

    def _return(self, call: str, status: str, content: Any, place: str) -> None:
        if self.writer.call_key(call) is None:
            self._lose(place, f"the output of {call}", "no call waits for it (R14, R23)")
            return
        if self.writer.has_return(call):
            self._lose(place, f"the output of {call}", "the call has one (R14)")
            return
        self._finish()
        self._answered.add(call)
        fields = {"tool_name": self.writer.tool_name(call) or "", "tool_call_id": call, "status": status}
        self.writer.add_return(call, "tool-return", {**fields, "content": content}, self._now)

    def _finish_step(self) -> None:
        """The response has been said; its calls come after this line, and close it with the first output."""
        if self._responses:
            self._responses[-1].finished = True

    def _finish(self) -> None:
        if self.writer.response_open:
            self._responses[-1].finished = True
            self.writer.finish_response()

    def _usage(self, line: Line, place: str) -> None:
        counts = normalize_usage({name: line.get(word) for word, name in _COUNTS.items()})
        if counts and self.writer.response_open:
            self.writer.set_facts({"usage": counts})
        others = [word for word, count in line.items() if word.endswith("Tokens") and count and word not in _COUNTS]
        others = [word for word in others if word != "totalTokens"]
        if others:
            self._lose(place, ", ".join(others), "a thread has no name for these counts")

    def _lose(self, pointer: str, what: str, why: str) -> None:
        self.losses.append(Loss(pointer=pointer, what=what, why=why))


def _named(line: Line) -> str:
    """Return what a line is, with the call that it is of."""
    call, tool = line.get("toolCallId"), line.get("toolName")
    return str(line["type"]) + (f" of {call}" if call else "") + (f" ({tool})" if tool else "")


# ------------------------------------------------------------------------------------------------ order


_Numbered: TypeAlias = tuple[int, Line]


def _in_place(lines: Sequence[Line]) -> Iterator[_Numbered]:
    """Yield the lines with their numbers; a call that stands before its turn comes after the response that has it.

    The web client writes a call at once, and the other lines when they are whole. A call belongs to the response whose
    outputs have its own; without one to the last response of the turn.
    """
    early: list[_Numbered] = []
    """Calls that stand in no turn so far."""
    turn: list[_Numbered] = []
    calls: list[_Numbered] = []
    """Those that stood before the turn that is open."""
    in_turn = False
    for index, line in enumerate(lines):
        kind = line["type"]
        if kind in ("data-agent-start", "data-user-turn-start", "data-user-turn-end"):
            yield from _placed(turn, calls)
            turn, calls, in_turn = [(index, line)], [], kind == "data-agent-start"
            if in_turn:
                yield from (one for one in early if _is_earlier(one[1], line))  # of a turn that left nothing else
                calls, early = [one for one in early if not _is_earlier(one[1], line)], []
        elif kind == "tool-input-available" and not in_turn:
            early.append((index, line))
        else:
            turn.append((index, line))
            in_turn = in_turn and kind not in ("data-agent-finish", "error")
    yield from _placed(turn, calls)
    yield from early


def _is_earlier(call: Line, start: Line) -> bool:
    """Whether a call had come before a turn began, by the times of both lines."""
    called, began = event_timestamp(call), event_timestamp(start)
    return called is not None and began is not None and called != began and later_time(called, began) == began


def _placed(turn: list[_Numbered], calls: list[_Numbered]) -> Iterator[_Numbered]:
    """Yield the lines of a turn, its calls behind the responses that made them."""
    steps = [number for number, (_, line) in enumerate(turn) if line["type"] == "finish-step"]
    waiting = list(calls)
    for number, one in enumerate(turn):
        yield one
        if number in steps:
            answered = set(_answered_after(turn, number))
            placed = [call for call in waiting if number == steps[-1] or call[1]["toolCallId"] in answered]
            waiting = [call for call in waiting if call not in placed]
            yield from placed
    yield from waiting


def _answered_after(turn: list[_Numbered], number: int) -> Iterator[str]:
    """Yield the calls whose outputs come before the next response says something."""
    for _, line in turn[number + 1 :]:
        if line["type"] in _SAID or line["type"] == "finish-step":
            return
        if line["type"] == "tool-output-available":
            yield line["toolCallId"]
