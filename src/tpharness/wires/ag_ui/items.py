"""What streams: texts, calls, thoughts and spans, by the table of `states`; and which messages a thread has.

In: events that chunks have been expanded to. Out: findings; what is open; the calls of a run and which have a result.
An event without a place is left out (rules 21, 23, 30, 34, 49, 56, 77).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import UNSET

from tpharness.findings import Kind
from tpharness.wires.ag_ui import records as r
from tpharness.wires.ag_ui import violations as v
from tpharness.wires.ag_ui.chunks import owner_name
from tpharness.wires.ag_ui.objects import AgUiAssistantMessage, RunAgentInput, ToolMessage, given
from tpharness.wires.ag_ui.states import FAMILIES, ITEM_ORDER, Act, Family, ItemState

__all__ = ["Items", "StreamedItem"]

Report = Callable[..., None]
"""`report(kind, message, got=…, expected=…)` adds a finding at the current event."""

_ACTS: dict[type[r.BaseEvent], tuple[str, Act]] = {
    record: (name, act)
    for name, family in FAMILIES.items()
    for record, act in ((family.start, Act.START), (family.add, Act.ADD), (family.end, Act.END))
    if record is not None
}

_MESSAGES = {"text": "a text message", "reasoning": "a reasoning message"}
_OF_ROLE = {"reasoning": "a reasoning message", "tool": "a tool message", "activity": "an activity"}


def _word(message: Any) -> str:
    """Return what a message of the input or of a snapshot is, as events would make it."""
    return _OF_ROLE.get(str(message.__struct_config__.tag), "a text message")


class StreamedItem:
    """One text, call, thought or span, as the stream has it so far."""

    __slots__ = ("by_chunk", "family", "id", "opener", "owner", "pieces", "run", "state")

    def __init__(self, family: Family, id_: str, owner: str | None, run: int) -> None:
        self.family, self.id, self.owner, self.run = family, id_, owner, run
        self.state = ItemState.ABSENT
        self.by_chunk = False
        self.opener: dict[str, Any] = {}
        self.pieces: list[str] | None = None
        """What it has said so far; kept only of what the input has too, to be compared with that (rule 17)."""

    def add(self, piece: str) -> None:
        """Take a piece of its text."""
        if self.pieces is not None:
            self.pieces.append(piece)


class Items:
    """The items of a stream over all of its runs."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._items: dict[str, dict[str, StreamedItem]] = {name: {} for name in FAMILIES}
        self._missed: set[tuple[str, str]] = set()
        self._messages: dict[str, str] = {}
        self._restated: dict[tuple[str, str], str] = {}
        self._result_ids: dict[str, str] = {}
        self.calls: dict[str, str] = {}
        """The calls that this run has started, in order, with their tools."""
        self.answered: set[str] = set()
        """The calls that have a result in this run."""
        self.known_calls: dict[str, str] = {}
        """All calls that the thread is known to have, with their tools."""
        self._run = 0
        self._tagged = False  # nothing is of a subagent before an event has named one
        self._texts, self._arguments = self._items["text"], self._items["call"]

    HANDLED = frozenset(_ACTS)

    def know_input(self, given_input: RunAgentInput) -> None:
        """Take over the messages that the client has posted."""
        for message in given_input.messages:
            self._know_message(message)
            content = given(getattr(message, "content", None))
            if _word(message) == _MESSAGES["text"] and isinstance(content, str):
                self._restated["text", message.id] = content
            if isinstance(message, AgUiAssistantMessage):
                for call in given(message.tool_calls) or ():
                    self._restated["call", call.id] = call.function.arguments
            elif isinstance(message, ToolMessage):
                self._result_ids.setdefault(message.tool_call_id, message.id)

    def know_snapshot(self, messages: list[Any]) -> None:
        """Take over a snapshot; a tool message has to have the id that its result had (rule 77)."""
        ids = {message.id for message in messages}
        for message in messages:
            if isinstance(message, ToolMessage):
                before = self._result_ids.get(message.tool_call_id, message.id)
                if before != message.id and before not in ids:
                    said = f"the snapshot names the result of {message.tool_call_id!r} {message.id!r}"
                    self._report(v.MESSAGE_RENAMED, f"{said}, which was {before!r}", got=message.id, expected=before)
                self._result_ids[message.tool_call_id] = message.id
            self._know_message(message)

    def _know_message(self, message: Any) -> None:
        self._messages[message.id] = _word(message)
        for call in given(getattr(message, "tool_calls", None)) or ():
            self.known_calls.setdefault(call.id, call.function.name)

    def begin_run(self) -> None:
        """Start a run: it has nothing open, and has not called anything."""
        self._run += 1
        self._missed.clear()
        self.calls = {}
        self.answered = set()

    def is_known(self, subtype: str, id_: str) -> bool:
        """Whether there is a message or a call with this id."""
        return id_ in (self.known_calls if subtype == "tool-call" else self._messages)

    def open_items(self) -> list[StreamedItem]:
        """Return what is open."""
        return [one for items in self._items.values() for one in items.values() if one.state is ItemState.OPEN]

    def abandon(self) -> None:
        """Close what is open: its run has ended."""
        for one in self.open_items():
            one.state = ItemState.CLOSED

    def owner_of(self, event: Any) -> str | None:
        """Return in whose lane an event is: that of its tag, else that of the item that it continues."""
        tag = getattr(event, "subagent_run_id", UNSET)
        if tag is not UNSET:
            self._tagged = True
            return str(tag)
        found = _ACTS.get(type(event)) if self._tagged else None
        if found is None or found[1] is Act.START:
            return None
        item = self._items[found[0]].get(getattr(event, event.id_field))
        return item.owner if item is not None else None

    def add(self, event: Any) -> StreamedItem | None:
        """Append a piece to what is open of the agent itself, and return that; None where more has to be judged."""
        item = self._items[_ACTS[type(event)][0]].get(getattr(event, event.id_field))
        if item is None or item.state is not ItemState.OPEN or item.owner is not None:
            return None
        item.add(event.delta)
        return item

    def take(self, event: Any, *, by_chunk: bool, ended: Sequence[str] = ()) -> bool:
        """Take an event of an item; whether it has a place. `ended` are ids whose shorthand this event has ended."""
        name, act = _ACTS[type(event)]
        id_ = getattr(event, event.id_field)
        item = self._items[name].get(id_)
        next_state = ITEM_ORDER[item.state if item is not None else ItemState.ABSENT, act]
        if isinstance(next_state, Kind):
            self._misfit(next_state, name, id_, item, by_chunk=by_chunk, ended=ended)
            return False
        tag = given(event.subagent_run_id)
        if act is Act.START:
            return self._start(event, name, id_, item, tag, by_chunk=by_chunk)
        if item is None:  # which the table does not let pass
            return False
        if tag is not None and tag != item.owner:
            said = f"the {item.family.word} {id_!r} is of {owner_name(item.owner)}, and this event of {tag!r}"
            self._report(v.OWNER_DIFFERS, said, got=tag, expected=item.owner)
            return False
        if act is Act.ADD:
            item.add(event.delta)
        else:
            item.state = next_state
            self._compare_with_history(name, item)
        return True

    def _misfit(
        self, kind: Kind, name: str, id_: str, item: StreamedItem | None, *, by_chunk: bool, ended: Sequence[str]
    ) -> None:
        word = FAMILIES[name].word
        mixed = item is not None and (
            item.by_chunk is not by_chunk if kind is v.OPENED_TWICE else id_ in ended and not by_chunk
        )
        if mixed:
            self._report(v.FORMS_MIXED, f"the {word} {id_!r} is streamed as chunks and as start, content and end")
        elif kind is v.OPENED_TWICE:
            self._report(kind, f"the {word} {id_!r} is open already")
        elif (name, id_) not in self._missed:
            was = "has been closed" if item is not None else "was not opened"
            self._report(kind, f"the {word} {id_!r} {was}")
        self._missed.add((name, id_))

    def _start(self, event: Any, name: str, id_: str, item: StreamedItem | None, tag: Any, *, by_chunk: bool) -> bool:
        opener = {field: given(getattr(event, field)) for field in FAMILIES[name].opener_fields}
        if "role" in opener:
            opener["role"] = opener["role"] or "assistant"
        if item is not None:
            if item.owner != tag and item.run == self._run:
                said = (
                    f"the {item.family.word} {id_!r} is of {owner_name(item.owner)}, and reopened by {owner_name(tag)}"
                )
                self._report(v.OWNER_DIFFERS, said, got=tag, expected=item.owner)
                return False
            if item.opener != opener or item.owner != tag:
                self._report(
                    v.REOPENED_DIFFERENTLY,
                    f"the {item.family.word} {id_!r} is opened again as another one",
                    got={**opener, "subagentRunId": tag},
                    expected={**item.opener, "subagentRunId": item.owner},
                )
        else:
            item = self._items[name][id_] = StreamedItem(FAMILIES[name], id_, tag, self._run)
            item.opener = opener
            item.pieces = [] if (name, id_) in self._restated else None
        item.run, item.owner, item.state, item.by_chunk = self._run, tag, ItemState.OPEN, by_chunk
        if name == "call":
            self.calls.setdefault(id_, event.tool_call_name)
            self.known_calls[id_] = event.tool_call_name
            self._compare_with_parent(item)
        elif name in _MESSAGES:
            self._name_message(id_, _MESSAGES[name])
        return True

    def _compare_with_parent(self, call: StreamedItem) -> None:
        parent = self._texts.get(call.opener["parent_message_id"] or "")
        if parent is not None and call.owner is not None and parent.owner != call.owner:
            said = (
                f"the tool call {call.id!r} is of {owner_name(call.owner)}, its message of {owner_name(parent.owner)}"
            )
            self._report(v.CALL_OWNER, said, got=call.owner, expected=parent.owner)

    def _compare_with_history(self, name: str, item: StreamedItem) -> None:
        """Find what is streamed again of what the client has posted (rule 17)."""
        before = self._restated.pop((name, item.id), "")
        if before and "".join(item.pieces or ()) == before:
            said = f"the {item.family.word} {item.id!r} of the input is streamed again, so that a client holds it twice"
            self._report(v.HISTORY_STREAMED, said, got=before)

    def take_result(self, event: r.ToolCallResult) -> None:
        """Take the result of a call, which is a message of its own."""
        self.answered.add(event.tool_call_id)
        before = self._messages.get(event.message_id)
        if before == "a tool message" and self._result_ids.get(event.tool_call_id) == event.message_id:
            said = f"the result {event.message_id!r} of {event.tool_call_id!r} is sent again"
            self._report(v.HISTORY_STREAMED, said)
        else:
            self._name_message(event.message_id, "a tool message", once=True)
        self._result_ids[event.tool_call_id] = event.message_id

    def _name_message(self, id_: str, word: str, *, once: bool = False) -> None:
        before = self._messages.get(id_)
        if before is not None and (once or before != word):
            self._report(v.MESSAGE_ID_REUSED, f"{word} has the id {id_!r}, which {before} has already", got=id_)
        self._messages.setdefault(id_, word)

    def know_activity(self, id_: str) -> None:
        """Take over that there is an activity."""
        self._name_message(id_, "an activity")
