"""What each agent turn of a journal produced, counted part by part.

In: a journal. Out: one `TurnContent` for each agent turn. Nothing here is shared with the code that writes histories. A
signature counts only if its thought has ended; white space alone is not a text.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpharness.histories.projections import CallContent, ResultContent, TurnContent, canonical_text
from tpharness.journal import AgentTurn, Interrupted, Journal, Part, Response, Return

__all__ = ["journal_contents"]


def journal_contents(journal: Journal) -> list[TurnContent]:
    """Return what each agent turn produced. Without `partial` parts in the journal, open parts have no text."""
    return [_turn_content(turn) for turn in journal.turns() if isinstance(turn, AgentTurn)]


def _turn_content(turn: AgentTurn) -> TurnContent:
    entries = [entry for segment in (*turn.segments, turn.tail) for entry in segment.entries]
    responses = [entry for entry in entries if isinstance(entry, Response)]
    received = [_received_parts(response) for response in responses]
    parts = [part for group in received for part in group]
    signed = [part for part in parts if part.kind == "thinking" and part.complete and part.fields.get("signature")]
    return TurnContent(
        texts=_contents(received, "text"),
        thinking=_contents(received, "thinking"),
        signatures=tuple(str(part.fields["signature"]) for part in signed),
        calls=tuple(_call(part) for part in parts if part.kind == "tool-call"),
        results=tuple(_result(entry) for entry in entries if isinstance(entry, Return)),
        interrupted=isinstance(turn.end, Interrupted),
        usage=bool(turn.usage) or any(response.facts.get("usage") for response in responses),
    )


def _received_parts(response: Response) -> Sequence[Part]:
    """Return the parts as they arrived; of a response that failed and then finished, those from before the failure."""
    return response.failed if response.finished and response.failed is not None else response.parts


def _contents(received: Sequence[Sequence[Part]], kind: str) -> tuple[str, ...]:
    contents = ("".join(str(p.fields.get("content") or "") for p in parts if p.kind == kind) for parts in received)
    return tuple(text for text in contents if text.strip())


def _call(part: Part) -> CallContent:
    args = part.fields.get("args")
    written = part.raw if part.raw is not None else canonical_text({} if args is None else args)
    return CallContent(call_id=part.call_id, name=str(part.fields.get("tool_name") or ""), arguments=written)


def _result(entry: Return) -> ResultContent:
    content = entry.fields.get("content_ref")
    content = entry.fields.get("content") if content is None else content
    success = entry.kind == "tool-return" and entry.fields.get("status") == "success"
    text = "" if content is None else canonical_text(content)
    return ResultContent(call_id=entry.call_id, outcome="success" if success else "error", content=text)
