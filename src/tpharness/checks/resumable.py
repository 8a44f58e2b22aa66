"""Resumable: a model API accepts the history rebuilt from the thread, and the history only grows (invariant 7).

It has everything that was said, with who said it, and nothing else; counted here without the code that rebuilds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tpharness.checks.contract import Check, Evidence, Thread, search_sides, without_threads
from tpharness.findings import Finding, Kind, Place
from tpharness.protocol import history

__all__ = ["RESUMABLE"]

REWRITTEN = Kind("history-rewritten")
OTHERWISE = Kind("history-says-otherwise")

_ANSWERS = ("tool-return", "retry-prompt")


def _judge(evidence: Evidence) -> list[Finding]:
    return list(search_sides(evidence, _find_rejections))


def _find_rejections(thread: Thread) -> list[Finding]:
    messages = history.model_history(thread).messages
    findings = history.check_history(messages)
    said, sent = list(_said(thread)), list(_sent(messages))
    if said != sent:
        got, expected = next(((a, b) for a, b in zip(sent, said, strict=False) if a != b), (None, None))
        findings.append(OTHERWISE.at(Place(), got=got, expected=expected))
    turns = thread["turns"]
    if turns and turns[-1]["turn_type"] == "agent":
        before = history.model_history({**thread, "turns": turns[:-1]})
        # While calls are pending (R30) the model is not called, so nothing was sent that could be rewritten.
        if not before.pending and messages[: len(before.messages)] != before.messages:
            findings.append(REWRITTEN.at(Place(pointer=f"/turns/{len(turns) - 1}")))
    return findings


def _said(thread: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the parts of a thread except calls and their returns, each with `request` or `response`."""
    for turn in thread["turns"]:
        if turn["turn_type"] == "user":
            yield from (("request", part) for part in turn["parts"] if _is_said(part))
            continue
        for message in turn["messages"]:
            if message["message_type"] != "system":
                yield from ((message["message_type"], part) for part in message["parts"] if _is_said(part))


def _sent(messages: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    for message in messages:
        yield from ((message["kind"], part) for part in message["parts"] if _is_said(part))


def _is_said(part: Mapping[str, Any]) -> bool:
    kind = str(part.get("part_kind"))
    answer = kind in _ANSWERS and bool(part.get("tool_call_id"))
    return not (answer or kind == "tool-call" or kind.startswith("meta:"))


RESUMABLE = Check(
    name="resumable",
    title="a model API accepts the history, which only grows",
    not_applicable=without_threads,
    judge=_judge,
)
