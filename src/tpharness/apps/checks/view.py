"""same-view: what the user had on the screen is there after a reload.

The address `thread` may answer a list of UI messages, or an object that holds one under any name. It may show more than
the screen did, where the run went on; what was there may not be gone or changed. A ThreadProtocol document is not a
view: it leaves out what was unfinished, and is judged by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tpharness.apps.checks.contract import AppCheck
from tpharness.apps.checks.truth import is_part_of, normal
from tpharness.apps.client import Fetched, text_of
from tpharness.apps.evidence import AppEvidence, shown_calls, shown_text
from tpharness.apps.thread.document import find_thread
from tpharness.findings import Finding, Kind, Place

__all__ = ["CHECK", "messages_in", "unreadable_view"]

GONE = Kind("view-differs")
UNREADABLE = Kind("view-unreadable")
_PLACE = Place(side="the view after a reload")


def find(evidence: AppEvidence) -> Iterator[Finding]:
    """Yield what is missing in the view."""
    if evidence.view is None:
        return
    messages = messages_in(evidence.view.value)
    if messages is None:
        yield unreadable_view(evidence.view)
        return
    screen = evidence.turns[-1].screen
    said = [normal(text_of(message)) for message in screen if message.get("role") == "user"]
    shown = [normal(text_of(message)) for message in messages if message.get("role") == "user"]
    for text in said:
        if shown.count(text) != 1:
            yield GONE.at(_PLACE, got=f"{shown.count(text)} times", expected=f"the user's message once: {text}")
            return
    view = shown_text(messages)
    for message in screen:
        for part in message.get("parts", ()):
            text = str(part.get("text", ""))
            if message.get("role") == "assistant" and part.get("type") == "text" and not is_part_of(text, view):
                yield GONE.at(_PLACE, got=view, expected=text)
                return
    results = {call.call_id for call in shown_calls(messages) if call.has_result}
    for call in shown_calls(screen):
        if call.state == "output-available" and call.call_id not in results:
            yield GONE.at(_PLACE, got="no result", expected=f"the call of {call.name} with its result")
            return


def unreadable_view(view: Fetched) -> Finding:
    """Return that an answer has no messages."""
    return UNREADABLE.at(_PLACE, got=f"status {view.status}: {view.text}", expected="a list of UI messages")


def messages_in(value: Any) -> Sequence[Mapping[str, Any]] | None:
    """Return the UI messages of an answer: the value itself, or the first field of an object that is a list of them."""
    for candidate in [value, *(value.values() if isinstance(value, Mapping) else ())]:
        if isinstance(candidate, list) and all(isinstance(m, Mapping) and "role" in m for m in candidate):
            return candidate
    return None


def _is_view(evidence: AppEvidence) -> bool:
    view = evidence.view
    return view is not None and (messages_in(view.value) is not None or find_thread(view.value) is None)


CHECK = AppCheck(
    name="same-view",
    clause="app.same-view",
    kinds=(GONE, UNREADABLE),
    find=find,
    applies=_is_view,
)
