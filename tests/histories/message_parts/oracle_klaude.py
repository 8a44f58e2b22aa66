"""The real klaude-code beside `message-parts`: documents through its codec, its replay and its five input builders.

Not among the tests that `pytest` collects, because the package needs Python 3.13 and libraries of its own:

    pip install . pytest klaude-code==2.43.0
    python -m pytest -c /dev/null --rootdir=. --noconftest tests/histories/message_parts/oracle_klaude.py

The release that is installed decides the variant. The documents are all that the suite can make, from each scenario at
its end and cut after each of its events, and those below, which have what no run writes. What differs has a reason in
KNOWN; a reason that nothing needs any more fails.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from klaude_code.llm.anthropic import input as anthropic
from klaude_code.llm.google import input as google
from klaude_code.llm.openai_compatible import input as chat
from klaude_code.llm.openai_responses import input as responses
from klaude_code.llm.openrouter import input as openrouter
from klaude_code.protocol import message
from klaude_code.session import codec, history
from klaude_code.session.session import Session
from tests.histories.message_parts.build import answer, call, developer, interrupt, result, retract, text, user

from tpharness.histories.message_parts import MESSAGE_PARTS
from tpharness.histories.message_parts.releases import PROGRAMS
from tpharness.histories.moments import case_moments, every_moment
from tpharness.resources import scenarios_dir
from tpharness.run.plan import base_case
from tpharness.run.select import select_scenarios
from tpharness.scenario import load_scenario

RELEASE = version("klaude-code")
(VARIANT,) = [variant for variant, program in PROGRAMS.items() if program.release == RELEASE]
HISTORY = MESSAGE_PARTS[f"message-parts/{VARIANT}"]
NEXT = "Go on."
Line = dict[str, Any]
Difference = tuple[str, Any, Any]
"""What was compared, ours and the program's."""

IMAGE = {"type": "image_url", "url": "https://e.x/a.png"}


def entry(name: str, **data: Any) -> Line:
    """Return a line."""
    return {"type": name, "data": data}


def compaction(kept: int, **data: Any) -> Line:
    """Return a compaction that keeps what is from an index on."""
    return entry("CompactionEntry", **{"summary": "S", "first_kept_index": kept, **data})


def note(**data: Any) -> Line:
    """Return a developer message."""
    return entry("DeveloperMessage", role="developer", parts=[text("note")], **data)


def came(call_id: str, *parts: Line, **data: Any) -> Line:
    """Return a result."""
    line = result(call_id, "fast" if call_id == "c1" else "slow", "success", "x", *parts)
    return {**line, "data": {**line["data"], **data}}


def said(source: str, words: str = "hi") -> Line:
    """Return a user message of a source."""
    return entry("UserMessage", role="user", parts=[text(words)], source=source)


Q, A, DONE = user("q"), answer(text("a"), stop="stop"), answer(text("b"), stop="stop")
BOTH = answer(call("c1", "fast"), call("c2", "slow"), stop="tool_use")
FORK = {"source_session_id": "s", "source_pivot_index": 1, "source_message_count": 3}
PARTIAL = entry("TaskMetadataItem", main_agent={"step_count": 1}, is_partial=True)
ENDED = entry("TaskMetadataItem", main_agent={"step_count": 1}, is_partial=False)
MARKDOWN = {"type": "markdown_doc", "file_path": "a.md", "content": "x"}
CHECKPOINT = "<system-reminder>Checkpoint 1</system-reminder>"
REWIND = {"checkpoint_id": 1, "note": "n", "rationale": "r", "reverted_from_index": 3, "original_user_message": "q"}

EMPTY = (
    *("AwaySummaryEntry", "CacheHitRateEntry", "SideQuestionEntry", "TaskFileChangeSummaryEntry", "TaskMetadataItem"),
    *("InterruptEntry", "StreamErrorItem"),
)

BY_HAND: dict[str, list[Line]] = {
    **{f"from {source}": [Q, A, said(source), DONE] for source in ("user", "bash_mode", "shell_completion")},
    **{f"from {source}": [Q, A, said(source), DONE] for source in ("task_completion", "peer_message")},
    "a source that nobody has": [said("other"), A],
    "a command of the user": [said("bash_mode", "<bash-input>ls</bash-input><bash-stdout>a b</bash-stdout>"), A],
    "a cancelled command": [
        said("bash_mode", "<bash-input>x</bash-input><bash-stdout>(command cancelled)</bash-stdout>"),
    ],
    "a compaction by index": [Q, A, user("two"), compaction(2), DONE],
    "a compaction that keeps nothing": [Q, A, compaction(9), user("n"), DONE],
    "a compaction before a result": [Q, BOTH, compaction(2), came("c1"), DONE],
    "a compaction whose tail is a result": [Q, BOTH, came("c1"), came("c2"), compaction(3), DONE],
    "a compaction by line": [Q, A, user("two"), compaction(0, first_kept_line=2), DONE],
    "two compactions": [Q, A, compaction(1), user("n"), DONE, compaction(4, summary="T")],
    "an empty compaction": [Q, A, entry("CompactionEntry"), DONE],
    "a fork's summary": [Q, A, entry("ForkSummaryEntry", summary="S", **FORK), user("n"), DONE],
    "an empty fork's summary": [Q, entry("ForkSummaryEntry", summary="S"), DONE],
    "a request of its own": [Q, entry("LLMRequestEntry", kind="compaction", request_id="r"), A],
    "a side question": [Q, A, entry("SideQuestionEntry", question="q", answer="a"), DONE],
    "a retraction": [Q, A, user("w"), interrupt(notice=False), retract("w"), user("n"), DONE],
    "a retraction by line": [Q, user("w"), user("w"), entry("RetractEntry", retracted_text="w", retracted_line=1), A],
    "a retraction of another line": [Q, A, entry("RetractEntry", retracted_text="q", retracted_line=1), DONE],
    "a rewind": [Q, developer(CHECKPOINT), A, user("n"), entry("RewindEntry", **REWIND), DONE],
    "a rewind to nowhere": [Q, A, entry("RewindEntry", **REWIND), DONE],
    "metadata of tasks": [Q, A, ENDED, user("n"), interrupt(notice=False), PARTIAL, user("o"), DONE],
    "metadata of a background task": [Q, A, entry("TaskMetadataItem", background_task_id="t"), DONE],
    "numeric times": [entry("UserMessage", role="user", parts=[text("q")], created_at=1737367200.5), A],
    "a time that is none": [entry("UserMessage", role="user", parts=[text("q")], created_at="soon"), A],
    "fields for the UI": [
        *(Q, note(ui_extra={"items": []}), BOTH, came("c1", ui_extra=MARKDOWN), DONE),
    ],
    "fields for the UI of no type": [Q, note(ui_extra={"items": [{"type": "other"}]}), A],
    "fields for the UI that are none": [Q, note(ui_extra=5), A],
    "images of two results": [Q, BOTH, came("c1", IMAGE), came("c2", IMAGE), DONE],
    "an answer without words": [Q, answer(stop="stop"), user("n"), DONE],
    "an answer that only thought": [Q, answer({"type": "thinking_text", "text": "hm"}, stop="stop"), user("n")],
    "entries for the UI": [
        *(Q, A, entry("AwaySummaryEntry", text="t"), entry("PromptSuggestionEntry", text="s")),
        *(entry("CacheHitRateEntry", cache_hit_rate=0.5, cached_tokens=1, prev_step_input_tokens=2), DONE),
    ],
    "another model": [Q, entry("FallbackModelConfigWarnEntry", from_model="a", to_model="b", reason="r"), A],
    "empty entries": [Q, *map(entry, EMPTY), A],
    "nothing": [],
}
"""What no run of a scenario writes, by what it has."""

_LATER_FIELDS = ("first_kept_line", "background_task_id")
_KNOWN: Mapping[str, tuple[bool, Callable[[str, Any, Any], bool]]] = {
    "token counts have a type in the program, which drops names that it does not know": (
        True,
        lambda what, ours, _: what in ("line TaskMetadataItem", "replay") and "thinking_tokens" in str(ours),
    ),
    "the program looks into the bytes of an image, and sends a text in place of one that is broken": (
        VARIANT == "current",
        lambda what, _, real: what.startswith("input ") and "[image unavailable: " in str(real),
    ),
    "a later release added the field, which is kept and has no effect": (
        VARIANT == "2.32",
        lambda what, ours, _: not what.startswith("input ") and any(name in str(ours) for name in _LATER_FIELDS),
    ),
}
KNOWN = {reason: is_such for reason, (applies, is_such) in _KNOWN.items() if applies}
"""What differs and stays so: the reason, and how such a difference is told."""


def documents() -> Iterator[tuple[str, list[Line]]]:
    """Yield each document once, with the name of the first place that makes it."""
    yield from BY_HAND.items()
    seen = set()
    for one in select_scenarios((), (scenarios_dir(),)):
        case = base_case(load_scenario(one.path, root=one.root))
        for moment in (*case_moments(case), *every_moment(case)):
            document = HISTORY.store(moment.after)
            words = HISTORY.dumps(document)
            if words not in seen:
                seen.add(words)
                yield moment.id, document


def loaded(document: list[Line]) -> Session:
    """Return the session that the program has after reading a history's file."""
    rows = list(enumerate(codec.decode_jsonl_line(json.dumps(line)) for line in document))
    session = Session(work_dir=Path("/nowhere"))
    if hasattr(history, "scan_history"):
        scan = history.scan_history(rows)
        session.conversation_history, session._history_lines = scan.active, list(scan.active_lines)
        session._line_count = len(rows)
    else:
        session.conversation_history = history.rebuild_loaded_history([item for _, item in rows if item is not None])
    return session


def plain(value: Any) -> Any:
    """Return JSON values without what is None and without cache hints, which our side does not send."""
    if isinstance(value, Mapping):
        return {k: plain(v) for k, v in value.items() if v is not None and k != "cache_control"}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


INPUTS: Mapping[Any, Callable[[list[Any]], Any]] = {
    "openai-chat": lambda sent: chat.convert_history_to_input(sent, None, None),
    "openrouter": lambda sent: openrouter.convert_history_to_input(sent, None, None),
    "openai-responses": lambda sent: responses.convert_history_to_input(sent, None),
    "anthropic": lambda sent: {"messages": anthropic.convert_history_to_input(sent, None)},
    "gemini": lambda sent: [
        content.model_dump(mode="json", by_alias=True, exclude_none=True)
        for content in google.convert_history_to_contents(sent, None)
    ],
}


def differences(document: list[Line]) -> Iterator[Difference]:
    """Yield each difference between what ours makes of a document and what the program does."""
    ours_read = HISTORY.loads(HISTORY.dumps(document))
    items = [item for line in document if (item := codec.decode_conversation_item(line)) is not None]
    if [line["type"] for line in ours_read] != [type(item).__name__ for item in items]:
        yield "lines", [line["type"] for line in ours_read], [type(item).__name__ for item in items]
        return
    for line, item in zip(ours_read, items, strict=True):
        again = json.loads(json.dumps(codec.encode_conversation_item(item)))["data"]
        ours = {name: value for name, value in line["data"].items() if name != "created_at"}
        if not held(ours, again):
            yield f"line {line['type']}", ours, again
    shown = [short(event) for event in loaded(document).get_history_item()]
    replayed = json.loads(json.dumps(HISTORY.replay(document)))
    if len(replayed) != len(shown) or not all(map(held, map(timeless, replayed), map(timeless, shown))):
        yield "replay", replayed, shown
    session = loaded(document)
    session.conversation_history.append(message.UserMessage(parts=[message.TextPart(text=NEXT)]))
    if hasattr(session, "_history_lines"):
        session._history_lines.append(len(document))
    sent = [item for item in session.get_llm_history() if isinstance(item, message.Message)]
    for name, build in INPUTS.items():
        real = plain(json.loads(json.dumps(build(list(sent)))))
        ours = plain(HISTORY.model_input(document, name, next_user=NEXT))
        if ours != real:
            yield f"input {name}", ours, real


def held(ours: Any, real: Any) -> bool:
    """Whether all that we write is in what the program writes."""
    if isinstance(ours, Mapping):
        return isinstance(real, Mapping) and all(held(value, real.get(name)) for name, value in ours.items())
    if isinstance(ours, list):
        return isinstance(real, list) and len(ours) == len(real) and all(map(held, ours, real))
    return bool(ours == real)


def timeless(value: Any) -> Any:
    """Return JSON values without the times of entries, which the program writes otherwise."""
    if isinstance(value, Mapping):
        return {name: timeless(one) for name, one in value.items() if name != "created_at"}
    return [timeless(one) for one in value] if isinstance(value, list) else value


def short(event: Any) -> dict[str, Any]:
    """Return an event of the program with its name."""
    return {"event": type(event).__name__, **json.loads(json.dumps(event.model_dump(exclude_none=True), default=str))}


def test_every_document_means_to_the_program_what_it_means_to_us() -> None:
    """Lines that are read and dropped, what is shown, and what five APIs are sent; nothing differs without a reason."""
    counts: Counter[str] = Counter()
    used: set[str] = set()
    wrong: list[str] = []
    for place, document in documents():
        counts["documents"] += 1
        for what, ours, real in differences(document):
            reason = next((reason for reason, is_such in KNOWN.items() if is_such(what, ours, real)), None)
            if reason is None:
                counts[what] += 1
                if counts[what] <= 3:
                    wrong.append(f"{what} at {place}\n  ours {json.dumps(ours)}\n  program {json.dumps(real)}")
            else:
                used.add(reason)
    assert wrong == [], f"{dict(counts)}\n" + "\n".join(wrong)
    assert used == set(KNOWN), f"nothing differs any more because: {set(KNOWN) - used}"
    assert counts["documents"] > 3000


def test_the_installed_release_is_one_that_is_compared() -> None:
    """A newer one needs its name in `releases`, and its differences looked at."""
    assert RELEASE in {program.release for program in PROGRAMS.values()}
