"""The calls of one run: the arguments with which each is complete.

In: calls whose response ends, and events that are about a call of an earlier part. Out: complete parts in the journal,
and a report of arguments that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tpharness.facts import join_text, parse_tool_args
from tpharness.journal import JournalWriter, OpenPart
from tpharness.server_events import violations as v
from tpharness.server_events.parts import call_arguments

__all__ = ["RunCalls"]


class RunCalls:
    """What is known of the calls of one run, beside the parts that they stream in."""

    def __init__(self, writer: JournalWriter) -> None:
        self._writer = writer
        self._complete: dict[str, OpenPart] = {}  # of the latest response
        self._without_args: set[str] = set()  # calls whose arguments may still come with their tool-call event (R10)

    def begin_response(self) -> None:
        """Forget the calls of the response before, as another or its request begins: their arguments are sent (R10)."""
        self._complete = {}

    def complete(self, call: OpenPart, started: Mapping[str, Any] | None) -> None:
        """Complete a call at the end of its response, with the arguments held.

        If the response ends because a tool `started`, its own call has the arguments of that event, if there are any
        (R10).
        """
        call_id, text = call.fields["tool_call_id"], join_text(call.pieces)
        whole = "args" in call.fields
        args = call.fields["args"] if whole else parse_tool_args(text) if text else {}
        call.raw = text if text and not whole else None
        if started is not None and started["tool_call_id"] == call_id and started.get("args") is not None:
            args, call.raw = call_arguments(started), _text(started["args"])
        elif not text and not whole:
            self._without_args.add(call_id)
        self._writer.close_part(call, args=args)
        self._complete[call_id] = call

    def amend(self, started: Mapping[str, Any], report: Callable[..., None]) -> None:
        """Give a call of the latest response, which has ended, the arguments of its tool-call event (R10).

        If the call has had others, they stay, and `report` is called with a kind of finding, `got` and `expected`.
        """
        call_id = started["tool_call_id"]
        call = self._complete.get(call_id)
        if call is None or started.get("args") is None:
            return
        args = call_arguments(started)
        if call_id in self._without_args and not self._writer.has_return(call_id):
            self._without_args.discard(call_id)
            call.raw = _text(started["args"])
            self._writer.amend_part(call, args=args)
        elif call.fields["args"] != args:
            report(v.ARGUMENTS_DIFFER, f"call {call_id!r}", got=args, expected=call.fields["args"])


def _text(args: Any) -> str | None:
    return args if isinstance(args, str) else None
