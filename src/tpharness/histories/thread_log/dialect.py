"""The log that chimera's clients store of a conversation, and what its next run makes of it.

In: a journal. Out: the lines of a log, `chimera/python` as the command line stores them, `chimera/typescript` as the
web client does. Both see the same stream, and keep different things of it; the server keeps nothing.

Seen of chimera at 0898c78 with a scripted model (`tests/histories/thread_log/recorded`): texts, thoughts and token
counts of a response come together at its end, and its calls behind it; so the command line keeps nothing of a response
that was cut. The web client writes a call at once, and the other lines when the stream has ended: so a call stands
before the turn that it is of. When the stream ends in an error, as it does when the user stops, what was open is
written as if it were whole; when the connection is lost, only the calls are there. It stores no words of the user and
no token counts. That a turn was cut shows in its missing `data-agent-finish` alone; the web client has an `error`
behind a turn that failed.

Choices: a call is stored when its response has ended, though its tool begins a moment later; a call that was cut in its
arguments, which the web client writes twice with `{}`, stands at the end.

Not supported: several agents, whose texts the program prefixes and whose names it guesses; a result in a later run than
its call, which it refuses; what its agent never does, such as asking the model again before each call has its result;
what was not recorded: tools and files of a provider, words of the user inside of a run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from tpharness.facts import parse_tool_args
from tpharness.histories.langchain import UnsupportedError
from tpharness.histories.projections import ApiName, CallContent, ResultContent, TurnContent, canonical_text
from tpharness.histories.thread_log.lines import BLUEPRINT, HALTED, VERSION, Line
from tpharness.histories.thread_log.transform import messages_of_log
from tpharness.journal import AgentTurn, Completed, Interrupted, Journal, Part, Prompt, Response, Return, UserTurn
from tpharness.model_apis.payloads import payload_of

__all__ = ["CHIMERA", "ChimeraHistory"]

_THREAD = str(uuid5(NAMESPACE_URL, "history"))
_NOBODY = "00000000-0000-0000-0000-000000000000"
_WORDS: Mapping[str, tuple[str, str]] = {
    "text": ("text-complete", "text"),
    "thinking": ("reasoning-complete", "thinking"),
}
_SHOWN: Mapping[str, str] = {"text-complete": "text", "start-step": "step-start"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChimeraHistory:
    """The log of one of its clients; `web` is the one that runs in a page."""

    name: str
    web: bool

    def store(self, journal: Journal) -> list[dict[str, Any]]:
        """Return the lines; of a turn that still runs, what the client has written by then."""
        writer = _WebLines() if self.web else _Lines()
        for turn in journal.turns():
            if isinstance(turn, UserTurn):
                writer.ask(turn)
            else:
                writer.answer(turn)
        return writer.lines

    def dumps(self, document: Any) -> str:
        """Return the lines as JSON Lines."""
        return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in document)

    def loads(self, text: str) -> Any:
        """Return the lines of a file."""
        return [json.loads(line) for line in text.split("\n") if line.strip()]

    def replay(self, document: Any) -> list[Mapping[str, Any]]:
        """Return the lines that the command line reads again; of the web client the messages that its page shows then.

        A page shows a turn that has finished, its texts without their words, because it looks for them under `text`.
        """
        return list(_shown(document)) if self.web else list(document[1:])

    def model_input(self, document: Any, provider: ApiName, *, next_user: str | None = None) -> Any:
        """Return the provider's payload of the messages that the next run begins with."""
        return payload_of(provider, messages_of_log(document), next_user=next_user)

    def turn_contents(self, document: Any) -> list[TurnContent]:
        """Return what is kept of each turn of the agent."""
        return [_turn_content(turn) for turn in _turns(document)]


CHIMERA: Mapping[str, ChimeraHistory] = {
    history.name: history
    for history in (
        ChimeraHistory(name="chimera/python", web=False),
        ChimeraHistory(name="chimera/typescript", web=True),
    )
}
"""The history of each client by name."""


class _Lines:
    """Writes the lines of the command line."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self._agent = ""
        self._turn = 0
        self._open: set[str] = set()

    def ask(self, turn: UserTurn) -> None:
        """Write what the user says; the files with it are not stored."""
        self._begin(turn.at)
        self._add("data-user-turn-start", data={"userId": _NOBODY})
        self._add("data-user-message", data={"content": _words(turn)})
        self._add("data-user-turn-end")

    def answer(self, turn: AgentTurn) -> None:
        """Write what has come of a turn."""
        self._begin(turn.started_at)
        self._require(turn)
        self._turn += 1
        self._open = set()
        self._add("data-agent-start", data=self._named)
        for segment in (*turn.segments, turn.tail):
            for entry in segment.entries:
                match entry:
                    case Response():
                        self._respond(entry)
                    case Return():
                        self._return(entry)
                    case Prompt():
                        raise _unsupported("what the user says inside of a run was not recorded")
        self._end(turn.end)

    @property
    def _named(self) -> dict[str, str]:
        return {"agentId": self._agent, "agentName": self._agent, "messageId": self._message}

    @property
    def _message(self) -> str:
        return f"msg_{uuid5(NAMESPACE_URL, str(self._turn)).hex}"

    def _require(self, turn: AgentTurn) -> None:
        if not self._agent:
            self._agent = turn.agent_id
            agent = {"type": "inline", "id": self._agent, "name": self._agent, "description": self._agent}
            self.lines[0]["blueprint"]["space"]["agents"].append({**agent, "basePrompt": "", "widgets": []})
        if turn.agent_id != self._agent:
            raise _unsupported("with several agents it guesses who has said what")

    def _begin(self, at: str) -> None:
        if self.lines:
            return
        space = {"type": "reference", "className": "chimera_core.spaces.GenericSpace", "version": "1.0.0"}
        blueprint = {"space": {**space, "agents": [], "config": {}, "widgets": []}}
        versions = {"threadProtocolVersion": VERSION, "blueprintVersion": VERSION}
        self._add(BLUEPRINT, timestamp=at, **versions, blueprint=blueprint)

    def _add(self, kind: str, **fields: Any) -> None:
        self.lines.append({"type": kind, **fields, "threadId": _THREAD})

    def _respond(self, response: Response) -> None:
        if self._open:
            raise _unsupported("its agent asks the model again when each call has its result")
        if any(part.kind not in (*_WORDS, "tool-call") for part in response.parts):
            raise _unsupported("tools and files of a provider were not recorded")
        if not response.finished:
            self._cut(response)
            return
        self._say(response.parts)
        self._count(response)
        self._add("finish-step")
        self._add("start-step")
        for part in response.parts:
            if part.kind == "tool-call" and part.complete:
                self._call(part, response.at)
                self._open.add(str(part.call_id))

    def _say(self, parts: Sequence[Part]) -> None:
        for index, part in enumerate(parts):
            if part.kind in _WORDS and part.fields.get("content"):
                kind, word = _WORDS[part.kind]
                self._add(kind, id=f"{self._message}_{word}_{index}", content=part.fields["content"])

    def _count(self, response: Response) -> None:
        usage = response.facts.get("usage")
        if usage:
            counts = {"inputTokens": usage.get("input_tokens", 0), "outputTokens": usage.get("output_tokens", 0)}
            rest = {"cacheWriteTokens": 0, "cacheReadTokens": 0, "totalTokens": sum(counts.values())}
            self._add("chimera-app-usage", messageId=self._message, **counts, **rest)

    def _call(self, part: Part, at: str) -> None:
        del at
        args = part.raw if part.raw is not None else part.fields.get("args")
        self._add("tool-input-available", **_names(part), input={} if args in (None, "") else args)

    def _return(self, entry: Return) -> None:
        if entry.call_id not in self._open:
            raise _unsupported(f"there is no call of this run for the result of {entry.call_id!r}")
        self._open.discard(entry.call_id)
        fields = entry.fields
        content = fields["content_ref"] if fields.get("content_ref") is not None else fields.get("content")
        names = {"toolCallId": entry.call_id, "toolName": str(fields.get("tool_name") or "")}
        self._add("tool-output-available", **names, output=content, timestamp=entry.at)

    def _cut(self, response: Response) -> None:
        """Of a response that was cut nothing is kept."""

    def _end(self, end: Completed | Interrupted | None) -> None:
        if isinstance(end, Completed):
            self._add("data-agent-finish", data=self._named)


class _WebLines(_Lines):
    """Writes the lines of the web client: calls at once, the others when the stream has ended."""

    def __init__(self) -> None:
        super().__init__()
        self._held: list[dict[str, Any]] = []
        self._cut_parts: tuple[Part, ...] = ()

    def ask(self, turn: UserTurn) -> None:
        self._begin(turn.at)  # what the user says is not stored

    def answer(self, turn: AgentTurn) -> None:
        before = len(self.lines)
        self._cut_parts = ()
        super().answer(turn)
        blueprint = [line for line in self.lines[before:] if line["type"] == BLUEPRINT]
        written = [line for line in self.lines[before:] if line["type"] != BLUEPRINT]
        calls = [line for line in written if line["type"] == "tool-input-available"]
        rest = [line for line in written if line not in calls]
        lost = turn.end is None or (isinstance(turn.end, Interrupted) and turn.end.reason == "network_failure")
        self.lines[before:] = [*blueprint, *calls, *([] if lost else [*rest, *self._remains(turn)])]

    def _count(self, response: Response) -> None:
        """Token counts are not stored."""

    def _call(self, part: Part, at: str) -> None:
        args = part.fields.get("args") if part.raw is None else parse_tool_args(part.raw)
        names = {**_names(part), "agentId": self._agent}
        self._add("tool-input-available", **names, input={} if args in (None, "") else args, timestamp=at)

    def _cut(self, response: Response) -> None:
        self._cut_parts = response.parts if response.failed is None else response.failed

    def _remains(self, turn: AgentTurn) -> Iterator[dict[str, Any]]:
        """Yield what stands behind a turn that ended in an error: the error, and what was open as if it were whole."""
        if not isinstance(turn.end, Interrupted):
            return
        stopped = turn.end.reason == "user_cancelled"
        yield {"type": "error", "errorText": HALTED if stopped else turn.end.reason, "threadId": _THREAD}
        place = len(self.lines)
        self._say(self._cut_parts)
        for part in self._cut_parts:
            for _ in range(2 if part.kind == "tool-call" else 0):
                self._add("tool-input-available", **_names(part), input={}, agentId=self._agent)
        yield from self.lines[place:]
        del self.lines[place:]


def _names(part: Part) -> dict[str, str]:
    return {"toolCallId": str(part.call_id), "toolName": str(part.fields.get("tool_name") or "")}


def _words(turn: UserTurn) -> str:
    said: list[str] = []
    for part in turn.parts:
        content = part.get("content")
        items = content if isinstance(content, list | tuple) else [content]
        said += [item for item in items if isinstance(item, str)]
    return "\n".join(said)


def _unsupported(why: str) -> UnsupportedError:
    return UnsupportedError(f"chimera: {why}", hint="compare conversations without that")


# ------------------------------------------------------------------------------------------------ what is kept


def _turns(document: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield the lines of each turn of the agent, its calls first where they stand before it."""
    early: list[Line] = []
    turn: list[Line] = []
    for line in document[1:]:
        kind = line["type"]
        if kind in ("data-agent-start", "data-user-turn-start"):
            if turn:
                yield turn
            turn, early = ([*early, line], []) if kind == "data-agent-start" else ([], early)
        elif kind == "tool-input-available" and (not turn or turn[-1]["type"] in ("data-agent-finish", "error")):
            early.append(line)
        elif turn:
            turn.append(line)
    yield from (one for one in (turn, early) if one)


def _turn_content(turn: Sequence[Line]) -> TurnContent:
    called = {line["toolCallId"]: line for line in turn if line["type"] == "tool-input-available"}
    return TurnContent(
        texts=tuple(line["content"] for line in turn if line["type"] == "text-complete"),
        thinking=tuple(line["content"] for line in turn if line["type"] == "reasoning-complete"),
        calls=tuple(
            CallContent(call_id=call, name=line["toolName"] or None, arguments=canonical_text(line["input"]))
            for call, line in called.items()
        ),
        results=tuple(
            ResultContent(call_id=line["toolCallId"], outcome="success", content=_text(line["output"]))
            for line in turn
            if line["type"] == "tool-output-available"
        ),
        interrupted=all(line["type"] != "data-agent-finish" for line in turn),
        usage=any(line["type"] == "chimera-app-usage" for line in turn),
    )


def _text(value: Any) -> str:
    return "" if value is None else canonical_text(value)


def _shown(document: Sequence[Line]) -> Iterator[Mapping[str, Any]]:
    for turn in _turns(document):
        if turn[-1]["type"] != "data-agent-finish":
            continue
        parts: list[Mapping[str, Any]] = []
        for line in turn:
            if line["type"] in ("data-agent-start", "data-agent-finish"):
                parts.append({"type": line["type"], "data": line["data"]})
            elif line["type"] in _SHOWN:
                word = _SHOWN[line["type"]]
                parts.append({"type": word, "state": "done"} if word == "text" else {"type": word})
        yield {"role": "assistant", "parts": parts}
