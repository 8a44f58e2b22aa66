"""Messages in an order, and ids of calls, that an API does not take: what is moved, joined or renamed, by the rule.

Ids are renamed for a call and its answer together. A new id follows from the old one, so that the same history is
repaired to the same request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tpharness.findings import Finding
from tpharness.histories.stored.request_draft import Draft, Mended
from tpharness.model_apis.openai_chat.server_history import NO_ANSWER, shorten_id
from tpharness.model_apis.shape import as_list, string

__all__ = ["MENDS"]

_SYSTEM = ("system", "developer")


def _index(draft: Draft, finding: Finding) -> int:
    return draft.index(finding.place.pointer or "") or 0


# ------------------------------------------------------------------------------------------------ order


def _join(draft: Draft, found: list[Finding]) -> Iterator[Mended]:
    """C5, B7: what is said twice in a row is said at once; a message with fields of its own stays alone."""
    for number in reversed(range(len(found))):
        index = _index(draft, found[number])
        before, entry = draft.entries[index - 1], draft.entries[index]
        if _rest(before) == _rest(entry) and not before.get("tool_calls"):
            joined = _joined(before.get("content"), entry.get("content"))
            if joined is not None:
                draft.entries[index - 1] = {**before, **entry, "content": joined}
                draft.remove(index)
                yield Mended(number=number, done="joined with the message before it")


def _rest(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in ("content", "tool_calls")}


def _joined(one: Any, other: Any) -> Any:
    if not one or not other:
        return one or other
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    lists = [[{"type": "text", "text": said}] if isinstance(said, str) else said for said in (one, other)]
    return [*lists[0], *lists[1]] if all(isinstance(said, list) for said in lists) else None


def _answer_before_user(draft: Draft, found: list[Finding]) -> Iterator[Mended]:
    """C10: as `history --server mistral` writes it; a system prompt goes to the others."""
    for number in reversed(range(len(found))):
        index = _index(draft, found[number])
        if draft.entries[index].get("role") == "user":
            draft.insert(index, {"role": "assistant", "content": NO_ANSWER}, draft.places[index])
            yield Mended(number=number, done=f"the assistant says {NO_ANSWER!r} before it")
    yield from _system_first(draft, found)


def _system_first(draft: Draft, found: list[Finding]) -> Iterator[Mended]:
    """C14: system prompts stand together at the beginning, in their order."""
    moved = 0
    for number, finding in enumerate(found):
        index = _index(draft, finding)
        if index < len(draft.entries) and draft.entries[index].get("role") == "system":
            first = next(n for n, entry in enumerate(draft.entries) if entry.get("role") not in _SYSTEM)
            draft.move(index, first)
            moved += 1
            yield Mended(number=number, done="put at the beginning")


def _system_into_its_field(draft: Draft, found: list[Finding]) -> Iterator[Mended]:
    """A22: behind what the field has."""
    if draft.body is None:
        return
    for number in reversed(range(len(found))):
        index = _index(draft, found[number])
        joined = _joined(draft.body.get("system"), draft.entries[index].get("content"))
        if joined is not None:
            draft.body = {**draft.body, "system": joined}
            draft.remove(index)
            yield Mended(number=number, done="put into the field system")


def _drop_reasoning(draft: Draft, found: list[Finding]) -> Iterator[Mended]:
    """R3, R4: reasoning that cannot be sent without what followed it, or without what it stands for."""
    for number in reversed(range(len(found))):
        index = _index(draft, found[number])
        if draft.entries[index].get("type") == "reasoning":
            said = _summary(draft.entries[index])
            draft.remove(index)
            yield Mended(number=number, done="left out", said=said)


def _summary(item: Mapping[str, Any]) -> str:
    return "\n\n".join(string(part, "text") or "" for part in as_list(item.get("summary")))


def _drop_repeated(draft: Draft, found: list[Finding]) -> Iterator[Mended]:
    """R10: an item that is there in the same words, or only stands for one that is there."""
    for number in reversed(range(len(found))):
        index = _index(draft, found[number])
        entry = draft.entries[index]
        is_reference = entry.get("type") == "item_reference" or set(entry) == {"id"}
        if is_reference or entry in draft.entries[:index]:
            draft.remove(index)
            yield Mended(number=number, done="left out")


# ------------------------------------------------------------------------------------------------ ids


def _ids(entry: Mapping[str, Any], new: Callable[[str, bool], str]) -> dict[str, Any]:
    """Return an entry of any API with other ids of its calls and answers; `new` says which, and of an answer True."""
    made = dict(entry)
    if isinstance(entry.get("call_id"), str):
        made["call_id"] = new(entry["call_id"], str(entry.get("type")).endswith("_output"))
    if isinstance(entry.get("tool_call_id"), str):
        made["tool_call_id"] = new(entry["tool_call_id"], True)
    for field, kinds in (("tool_calls", None), ("content", ("tool_use", "tool_result"))):
        if isinstance(entry.get(field), list):
            made[field] = [_of_call(one, kinds, new) for one in entry[field]]
    return made


def _of_call(one: Any, kinds: tuple[str, ...] | None, new: Callable[[str, bool], str]) -> Any:
    if not isinstance(one, Mapping):
        return one
    for kind in ("toolUse", "toolResult"):
        held = one.get(kind)
        if isinstance(held, Mapping) and isinstance(held.get("toolUseId"), str):
            return {**one, kind: {**held, "toolUseId": new(held["toolUseId"], kind == "toolResult")}}
    if kinds is not None and one.get("type") not in kinds:
        return one
    name = "tool_use_id" if one.get("type") == "tool_result" else "id"
    call_id = one.get(name)
    return {**one, name: new(call_id, name == "tool_use_id")} if isinstance(call_id, str) else one


def _shorten(draft: Draft, found: list[Finding]) -> Iterator[Mended]:
    """C11, C17, R13, A17, B11: ids of other letters, or longer ones; another answer to the same call gets the same."""
    asked = {call_id: number for number, finding in reversed([*enumerate(found)]) for call_id in _named(finding)}
    shorter: dict[str, str] = {}

    def new(call_id: str, _: bool) -> str:
        return shorten_id(call_id, shorter) if call_id in asked else call_id

    draft.entries = [_ids(entry, new) for entry in draft.entries]
    for call_id, number in asked.items():
        if call_id in shorter:
            yield Mended(number=number, done=f"the call and its answer are {shorter[call_id]} now")


def _named(finding: Finding) -> list[str]:
    got = finding.got if isinstance(finding.got, list) else [finding.got]
    return [call_id for call_id in got if isinstance(call_id, str)]


def _rename_later(draft: Draft, found: list[Finding]) -> Iterator[Mended]:
    """A13, R11: an id that an earlier call had, which has its answer; calls that are open together stay as they are."""
    answered: set[str] = set()
    now: dict[str, str] = {}
    renamed: list[str] = []
    taken: dict[str, str] = {}

    def new(call_id: str, is_answer: bool) -> str:
        if is_answer:
            answered.add(call_id)
        elif call_id in answered:
            answered.discard(call_id)
            now[call_id] = shorten_id(f"{len(renamed)}:{call_id}", taken)
            renamed.append(now[call_id])
        return now.get(call_id, call_id)

    draft.entries = [_ids(entry, new) for entry in draft.entries]
    for number, made in zip(range(len(found)), renamed, strict=False):
        yield Mended(number=number, done=f"the call and its answer are {made} now")


MENDS: Mapping[str, Callable[[Draft, list[Finding]], Iterator[Mended]]] = {
    "chat-same-role-twice": _join,
    "chat-user-after-tool": _answer_before_user,
    "chat-system-late": _system_first,
    "chat-call-id-long": _shorten,
    "chat-id-too-long": _shorten,
    "anthropic-id-malformed": _shorten,
    "bedrock-id-malformed": _shorten,
    "bedrock-same-role-twice": _join,
    "anthropic-call-id-reused": _rename_later,
    "anthropic-system-misplaced": _system_into_its_field,
    "responses-reasoning-torn": _drop_reasoning,
    "responses-not-stored": _drop_reasoning,
    "responses-item-twice": _drop_repeated,
    "responses-call-id-twice": _rename_later,
    "responses-call-id-too-long": _shorten,
}
"""What is done about the findings of a rule, by their code."""
