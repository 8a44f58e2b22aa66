"""Ask a target what only it can say of a thread: its hash, its form in another version, the messages for its model.

In: a target that declares what it answers (contract 1.2), and the threads that the case should have. Out: what it
answered, beside what is right. Only what a clause of the scenario asks for is asked (`asks` of clauses.yaml), so that a
clause of these counts for a target that answered it itself, and not because the harness can.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from typing import Any

from tpharness.checks import ThreadAnswer
from tpharness.clauses import load_clauses
from tpharness.errors import TargetError, ThreadError
from tpharness.findings import Level
from tpharness.protocol.canonical import thread_hash
from tpharness.protocol.history import model_history
from tpharness.protocol.jcs import CanonicalError
from tpharness.protocol.migrate import convert
from tpharness.protocol.rules import check_thread
from tpharness.protocol.versions import Version, newest_version
from tpharness.targets.contract import AnsweringTarget, ClientTarget, ServerTarget, TargetOutput

__all__ = ["ask_sides", "unasked_clauses"]

_PROMPT = "Answer in one sentence."
_RETURN = "nobody knows"
_MOST_AGENTS = 3
Threads = Mapping[Version, Mapping[str, Any]]


def unasked_clauses(declared: Iterable[Collection[str]]) -> frozenset[str]:
    """Return the clauses about what one of some targets is not asked; `declared` is what each of them answers."""
    everyone = [set(one) for one in declared]
    return frozenset(
        clause.id
        for clause in load_clauses().values()
        if clause.asks and any(clause.asks not in one for one in everyone)
    )


async def ask_sides(
    questions: Collection[str], sides: Iterable[tuple[str, ServerTarget | ClientTarget, Sequence[TargetOutput | None]]]
) -> tuple[ThreadAnswer, ...]:
    """Return what the sides answer, each about the first of its outputs that has threads.

    What a target does not declare is not asked. TargetError if a target does not answer.
    """
    answers: list[ThreadAnswer] = []
    for side, target, outputs in sides:
        threads = next((output.threads for output in outputs if output is not None and output.threads), {})
        declared = {*questions} & {*target.capabilities.answers}
        if not declared or not threads:
            continue
        if not isinstance(target, AnsweringTarget):
            raise TargetError(
                f"{target.capabilities.name} declares {', '.join(sorted(declared))} and lacks answer",
                hint="see tpharness.targets.contract.AnsweringTarget, or do not declare them",
            )
        answers += [one for kind in _ASK if kind in declared async for one in _ASK[kind](target, side, threads)]
    return tuple(answers)


async def _ask_hashes(target: AnsweringTarget, side: str, threads: Threads) -> AsyncIterator[ThreadAnswer]:
    for version, thread in threads.items():
        try:
            right = thread_hash(thread)
        except CanonicalError:  # it has none (R38): the checks of threads say what is wrong
            continue
        for asked, given in (
            ("the hash of a thread", thread),
            (f"its hash with {_OTHER_WORDS} (R37)", _in_other_words(thread, version)),
        ):
            got = await target.answer("hash", {"thread": given})
            yield ThreadAnswer(
                question="hash", side=side, version=version, asked=asked, got=got.get("hash"), right=right
            )


_OTHER_WORDS = (
    "keys in another order, `parent_turn: null`, `+00:00` for `Z`, and an event of telemetry at the end of turns"
)


def _in_other_words(thread: Mapping[str, Any], version: Version) -> dict[str, Any]:
    """Return a thread with the same hash: keys in another order, nulls, another offset, telemetry, another header."""
    other = {**copy.deepcopy(dict(thread)), "updated_at": "2031-01-01T00:00:00Z"}
    for turn in other["turns"]:
        turn["parent_turn"] = None
        if str(turn.get("submitted_at", "")).endswith("Z"):
            turn["submitted_at"] = f"{turn['submitted_at'].removesuffix('Z')}+00:00"
        if turn.get("messages"):
            agent = turn.get("agent_id")
            turn["messages"].append(
                {
                    "message_type": "system",
                    "agent_id": agent,
                    "timestamp": turn["messages"][-1].get("timestamp") or other["created_at"],
                    "event_type": "data-sys-load" if version.features.namespaces else "sys-load",  # R50
                    "event_data": {"load": 0.5},
                }
            )
    turned: dict[str, Any] = _reversed(other)
    return turned


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(value)}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


async def _ask_migrations(target: AnsweringTarget, side: str, threads: Threads) -> AsyncIterator[ThreadAnswer]:
    for version, thread in threads.items():
        for to in threads:
            if to is version:
                continue
            try:
                right = convert(thread, to)
            except ThreadError:  # no thread of that version can be made of it
                continue
            got = await target.answer("migrate", {"thread": thread, "to": to.value})
            asked = f"the thread in {to.value}"
            dropped = [loss.pointer for loss in right.dropped]
            wanted = {"thread": right.thread, "dropped": dropped}
            yield ThreadAnswer(question="migrate", side=side, version=version, asked=asked, got=got, right=wanted)


async def _ask_histories(target: AnsweringTarget, side: str, threads: Threads) -> AsyncIterator[ThreadAnswer]:
    for version, thread in threads.items():
        pending = {call.tool_call_id: _RETURN for call in model_history(thread).pending}
        trials: list[tuple[str, dict[str, Any]]] = [("the messages for its model", {})]
        trials += [
            (f"the messages as {agent} sees them", {"viewing_agent": agent, "system_prompt": _PROMPT})
            for agent in [*(thread.get("agents") or {})][:_MOST_AGENTS]
        ]
        if pending:
            trials.append(("the messages with a return for each open call (R46)", {"returns": pending}))
        for asked, more in trials:
            right = model_history(
                thread,
                viewing_agent=more.get("viewing_agent"),
                system_prompt=more.get("system_prompt"),
                supply_returns=more.get("returns"),
            ).messages
            got = await target.answer("history", {"thread": thread, **more})
            answered = got.get("messages")
            yield ThreadAnswer(question="history", side=side, version=version, asked=asked, got=answered, right=right)


async def _ask_imports(target: AnsweringTarget, side: str, threads: Threads) -> AsyncIterator[ThreadAnswer]:
    """Whatever thread is made of messages, it is valid, and its own messages are the same again."""
    version = newest_version(threads)
    thread = threads[version]
    messages = model_history(thread).messages
    if not messages or messages[0]["kind"] == "response":
        return
    turns = thread["turns"]
    agent = next((turn["agent_id"] for turn in turns if turn.get("agent_id")), None) or "assistant"
    request = {"messages": messages, "thread_id": thread["thread_id"], "agent_id": agent, "at": thread["created_at"]}
    got = (await target.answer("import", request))["thread"]
    wrong = [finding for finding in check_thread(got) if finding.level is Level.MUST]
    answered: Any = f"{wrong[0]}" if wrong else model_history(got).messages
    asked = "a thread of its messages, whose messages are the same again"
    yield ThreadAnswer(question="import", side=side, version=version, asked=asked, got=answered, right=messages)


_ASK = {"hash": _ask_hashes, "migrate": _ask_migrations, "history": _ask_histories, "import": _ask_imports}
"""In the order of `tpharness.targets.contract.QUESTIONS`."""
