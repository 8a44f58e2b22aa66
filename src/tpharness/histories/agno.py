"""The session of an Agno agent with a database, as it is when a run is stopped.

In: a journal. Out: the runs of the session with their messages, of which the next run sends those that were completed.

Driven with agno 3.1.10, `add_history_to_context=True` (`tests/histories/agno/oracle_agno.py` does it again): of a run
that was left or cancelled the database has the status `cancelled`, the question, and each step of which all tools have
returned, also the calls of a step whose tools had not; of one whose model has failed the status `error` and the same.
What had been streamed of an answer stands in the message of the last response of the run, if that had no words of its
own, or in a message of its own, if there is none; else it is lost. But **none of it is sent again**: a run that was not
completed is skipped, its question and what its tools have done as well, and of the others the last three are sent.

All of that is of `arun()`: a stream of `run()` that is closed, as by a web server whose client has left, is not stored
at all (`agno-forgets-a-turn-that-was-left`).

Not held, as it was not played: thinking, tools and files of a provider, files of the user, words of the user inside
of a run, tools that fail, and results without content; arguments that are not an object, which its loop answers itself;
nor what the loop never does: asking the model again before each call has its result, or after an answer without calls.
Requests are written for Chat Completions, whose ids of calls it writes anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tpharness.histories.list_history import ListHistory
from tpharness.histories.projections import ApiName, CallContent, ResultContent, TurnContent, canonical_text, writer_for
from tpharness.histories.steps import LoopStep, asked_texts, is_answered, steps_of, unsupported
from tpharness.journal import AgentTurn, Interrupted, Journal, Part, Return, UserTurn

__all__ = ["AGNO", "AgnoHistory"]

Message = dict[str, Any]

_RUNS_SENT = 3
"""How many runs the next request has unless `num_history_runs` says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgnoHistory(ListHistory):
    """The runs of a session."""

    name: str = "agno"

    def store(self, journal: Journal) -> list[dict[str, Any]]:
        """Return the runs."""
        runs: list[dict[str, Any]] = []
        asked: list[str] = []
        for turn in journal.turns():
            if isinstance(turn, UserTurn):
                asked += asked_texts(turn, self.name)
            elif not asked:
                raise unsupported(self.name, "a run has a question")
            else:
                runs += self._run(turn, asked)
                asked = []
        return runs

    def _run(self, turn: AgentTurn, asked: Sequence[str]) -> Iterator[dict[str, Any]]:
        steps = steps_of(turn, self.name)
        messages = [{"role": "user", "content": "\n".join(asked)}]
        messages += [message for step in steps for message in self._step(step)]
        status = "completed"
        if not is_answered(steps):
            if not isinstance(turn.end, Interrupted):
                if turn.end is not None:
                    raise unsupported(self.name, "a run that ends with open calls was not played")
                return  # it runs: nothing of it is stored
            status = "cancelled" if turn.end.reason == "user_cancelled" else "error"
        if status == "cancelled":
            _keep_words(messages, "".join(map(_words, steps)))
        usage = any(step.response.facts.get("usage") for step in steps if step.response.finished)
        yield {"status": status, "messages": messages, "metrics": usage}

    def _step(self, step: LoopStep) -> Iterator[Message]:
        response = step.response
        parts = [part for part in response.parts if part.complete and response.finished]
        if any(part.kind not in ("text", "tool-call") for part in parts):
            raise unsupported(self.name, "thinking, and tools and files of a provider, were not played")
        if not response.finished:
            return
        calls = [self._call(part) for part in parts if part.kind == "tool-call"]
        yield {"role": "assistant", "content": _words(step) or None, **({"tool_calls": calls} if calls else {})}
        results = {call_id: self._result(entry) for call_id, entry in step.returns.items()}
        if step.done:
            yield from (results[call_id] for call_id in step.calls)

    def _call(self, part: Part) -> Message:
        raw = part.raw if part.raw is not None else canonical_text(part.fields.get("args") or {})
        if not _is_object(raw):
            raise unsupported(self.name, "its loop answers a call itself whose arguments are not an object")
        called = {"name": str(part.fields.get("tool_name") or ""), "arguments": raw}
        return {"id": part.call_id, "type": "function", "function": called}

    def _result(self, entry: Return) -> Message:
        if entry.kind != "tool-return" or entry.fields.get("status") != "success":
            raise unsupported(self.name, "tools that fail were not played")
        content = entry.fields.get("content")
        if content is None:
            why = "a result without content, or with one that is stored elsewhere, was not played"
            raise unsupported(self.name, why)
        text = content if isinstance(content, str) else json.dumps(content)
        return {"role": "tool", "tool_call_id": entry.call_id, "content": text}

    def replay(self, document: Any) -> list[Mapping[str, Any]]:
        """Return each message, as a page shows it that reads the session."""
        return [message for run in document for message in run["messages"]]

    def model_input(self, document: Any, provider: ApiName, *, next_user: str | None = None) -> Any:
        """Return what the next run sends over an API; UsageError for one that is not written."""
        sent = [run for run in document if run["status"] == "completed"][-_RUNS_SENT:]
        more = [] if next_user is None else [{"role": "user", "content": next_user}]
        return writer_for(provider, _WRITERS, self.name)(
            [message for run in sent for message in run["messages"]] + more
        )

    def turn_contents(self, document: Any) -> list[TurnContent]:
        """Return what is kept of each run."""
        return [_turn_content(run) for run in document]


AGNO: Mapping[str, AgnoHistory] = {history.name: history for history in (AgnoHistory(),)}
"""The history by name."""


def _keep_words(messages: list[Message], said: str) -> None:
    """Keep all that was said in a run where a cancelled one has it: in its last answer, if that has no words."""
    answers = [message for message in messages if message["role"] == "assistant"]
    if said and not answers:
        messages.append({"role": "assistant", "content": said})
    elif said and not answers[-1]["content"]:
        answers[-1]["content"] = said


def _words(step: LoopStep) -> str:
    return "".join(str(part.fields.get("content") or "") for part in step.response.parts if part.kind == "text")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text or "{}"), dict)
    except ValueError:
        return False


def _chat(messages: Sequence[Message]) -> list[Message]:
    """Return the messages of Chat Completions: an id that does not begin as OpenAI's do is written anew."""
    ids: dict[str, str] = {}
    written = []
    for message in messages:
        for call in message.get("tool_calls", ()):
            if not call["id"].startswith("call_") or len(call["id"]) > 40:
                ids.setdefault(call["id"], f"call_{len(ids):035x}")
        calls = [{**call, "id": ids.get(call["id"], call["id"])} for call in message.get("tool_calls", ())]
        answers = {"tool_call_id": ids.get(call_id, call_id)} if (call_id := message.get("tool_call_id")) else {}
        made = {"role": message["role"], "content": message["content"] or ""}
        written.append({**made, **({"tool_calls": calls} if calls else {}), **answers})
    return written


_WRITERS: Mapping[str, Callable[[Sequence[Message]], Any]] = {"openai-chat": _chat}


def _turn_content(run: Mapping[str, Any]) -> TurnContent:
    messages = run["messages"]
    return TurnContent(
        texts=tuple(m["content"] for m in messages if m["role"] == "assistant" and m["content"]),
        calls=tuple(
            CallContent(
                call_id=call["id"], name=call["function"]["name"] or None, arguments=call["function"]["arguments"]
            )
            for message in messages
            for call in message.get("tool_calls", ())
        ),
        results=tuple(
            ResultContent(call_id=message["tool_call_id"], outcome="success", content=message["content"])
            for message in messages
            if message["role"] == "tool"
        ),
        interrupted=run["status"] != "completed",
        usage=run["metrics"],
    )
