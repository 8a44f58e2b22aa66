"""The formats of stored conversations: which one a document is in, what is wrong with it, and the repaired document.

In: a JSON value. Out: a format's name, findings, a `Repaired`. What a repair makes is judged by what does not repair:
the rules of threads, the importer of the format, the rules of a model's API.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from tpharness.document_files import NO_TIME
from tpharness.errors import TpharnessError, UsageError, did_you_mean
from tpharness.finding_log import keep_first
from tpharness.findings import Finding, Level, Place
from tpharness.histories.exchange.ai_sdk_4 import are_version_4
from tpharness.histories.exchange.from_messages import thread_of_messages
from tpharness.histories.exchange.from_ui_messages import thread_of_ui_messages
from tpharness.histories.stored import problems, pydantic_ai, requests, ui_messages
from tpharness.histories.stored.plain import PLAIN
from tpharness.histories.stored.sequence import Change
from tpharness.histories.stored.threads import repair_thread
from tpharness.histories.thread_log.lines import BLUEPRINT, is_line
from tpharness.histories.thread_log.lines import NAME as LOG
from tpharness.histories.thread_log.rules import check_log
from tpharness.model_apis.check import check_payload
from tpharness.model_apis.registry import API_NAMES
from tpharness.model_apis.request import read_request
from tpharness.protocol.reading import check_as_read
from tpharness.protocol.shape import find_shape_problem

__all__ = [
    "STORED_FORMATS",
    "Repaired",
    "StoredFormat",
    "check_messages",
    "check_stored",
    "format_of",
    "messages_of",
    "repair_stored",
    "require_format",
    "why_not_imported",
]

StoredFormat: TypeAlias = str
STORED_FORMATS: tuple[StoredFormat, ...] = ("thread", "ai-sdk", "pydantic-ai", LOG, *API_NAMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """A repaired document.

    `value` is the document that was given, if nothing was wrong or if not all of it can be repaired: `left` is what is
    still wrong then, and in a repaired one what is still doubtful. `doubtful` is what may be wrong in one that is as it
    was given. `changes` are those that were made. `refused` names
    the calls and results that stand in the way: changes with nothing `done`, each with its tool and what it returned.
    """

    value: Any
    changes: tuple[Change, ...] = ()
    left: tuple[Finding, ...] = ()
    refused: tuple[Change, ...] = ()
    doubtful: tuple[Finding, ...] = ()


def format_of(value: Any) -> StoredFormat | None:
    """Return the format of a document where it is plain, None elsewhere."""
    if isinstance(value, Mapping) and ("turns" in value or "thread_id" in value):
        return "thread"
    messages = messages_of(value)
    first = next((one for one in messages if isinstance(one, Mapping)), None) if isinstance(messages, list) else None
    if isinstance(messages, list) and is_line(first) and messages[0] is first and first["type"] == BLUEPRINT:
        return LOG
    if first is not None and first.get("kind") in ("request", "response") and "parts" in first:
        return "pydantic-ai"
    if first is not None and "role" in first and (_has_typed_parts(messages) or are_version_4(messages)):
        return "ai-sdk"
    try:
        found = read_request(value).provider
    except TpharnessError:
        return None
    return next((name for name in STORED_FORMATS if name == found), None)


def _has_typed_parts(messages: list[Any]) -> bool:
    lists = [one["parts"] for one in messages if isinstance(one, Mapping) and isinstance(one.get("parts"), list)]
    return any(isinstance(part, Mapping) and "type" in part for parts in lists for part in parts)


def messages_of(value: Any) -> Any:
    """Return the list of messages in a document, such as a row of a table that has it as `messages`.

    The lines of a log are posted as `thread_protocol`.
    """
    names = ("messages", "thread_protocol") if isinstance(value, Mapping) else ()
    return next((value[name] for name in names if isinstance(value.get(name), list)), value)


def require_format(name: str) -> StoredFormat:
    """Return a format by its name. UsageError if there is none."""
    found = next((one for one in STORED_FORMATS if one == name), None)
    if found is None:
        hint = did_you_mean(name, STORED_FORMATS, f"one of {', '.join(STORED_FORMATS)}")
        raise UsageError(f"no format of conversations is called {name!r}", hint=hint)
    return found


def check_stored(
    value: Any,
    name: StoredFormat,
    *,
    model: str | None = None,
    server: str | None = None,
    observations: bool = True,
    safe: bool = False,
) -> list[Finding]:
    """Return what is wrong with a document of a format: the one judgement, of `check`, `repair` and `import`.

    `model` and `server` decide what a request may have; `observations` and `safe` are those of `check_thread`.
    """
    if name == "thread":
        return check_as_read(value, observations=observations, safe=safe)
    if name in API_NAMES:
        request = read_request(value, provider=name, model=model, server=server)
        found = check_payload(request.provider, request.payload, options=request.options)
        return found + requests.find_half_arguments(value, name)
    messages = messages_of(value)
    found = check_messages(messages, name)
    if name == LOG or _breaks_rules(found) or PLAIN[name](messages):
        return found
    return [*found, *_import_findings(messages, name)]


def check_messages(messages: Any, name: StoredFormat) -> list[Finding]:
    """Return what is wrong with messages, but for why no thread can be made of them, which an importer says itself."""
    if name == LOG:
        return check_log(messages)
    return [] if PLAIN[name](messages) else _check_messages(messages, name)


def _check_messages(messages: Any, name: StoredFormat) -> list[Finding]:
    malformed = list(keep_first(_MALFORMED[name](messages)))
    if _breaks_rules(malformed):
        return malformed
    _, changes = _REPAIRS[name](messages)
    found = [*malformed, *(change.finding() for change in changes)]
    if name == "pydantic-ai":
        found += pydantic_ai.find_out_of_order(messages)
    return list(keep_first(found))


def _breaks_rules(found: list[Finding]) -> bool:
    return any(finding.level is Level.MUST for finding in found)


def _import_findings(messages: Any, name: StoredFormat) -> list[Finding]:
    """Return why no thread can be made of messages in which nothing else is wrong."""
    try:
        _IMPORTS[name](messages, agent_id="assistant", thread_id="checked", at=NO_TIME)
    except TpharnessError as error:
        return why_not_imported(error)
    return []


def why_not_imported(error: TpharnessError) -> list[Finding]:
    """Return the findings for messages of which an importer made no thread; of a place in the thread it is said so."""
    if not error.findings:
        return [problems.MALFORMED.at(Place(pointer=""), str(error))]
    return [_in_messages(finding) for finding in error.findings]


def _in_messages(finding: Finding) -> Finding:
    pointer = finding.place.pointer or ""
    if pointer == "" or pointer[1:2].isdigit():  # places in the messages begin with the number of one
        return finding
    message = f"{finding.message}, at {pointer} of the thread that would be made"
    return replace(finding, place=Place(pointer=""), message=message)


def repair_stored(
    value: Any,
    name: StoredFormat,
    *,
    model: str | None = None,
    server: str | None = None,
    certain: bool = False,
    drop_results: bool = False,
) -> Repaired:
    """Repair a document of a format as far as it can be done mechanically; the result is valid, or what was given.

    What a tool has returned is left out only with `drop_results`, and only where it has no place. With `certain` what
    only some servers of an API refuse is mended in a request as well, and said where it cannot be mended.
    """
    judged = partial(check_stored, name=name, model=model, server=server, observations=False)
    before = judged(value)
    weakest = Level.MUST if name in API_NAMES and not certain else Level.SHOULD
    if not any(finding.level.rank <= weakest.rank for finding in before):
        return Repaired(value=value, doubtful=tuple(one for one in before if one.level is Level.SHOULD))
    if name in API_NAMES:
        options = read_request(value, provider=name, model=model, server=server).options
        made, changes = requests.repair_request(
            value, name, options=options, certain=certain, drop_results=drop_results
        )
    else:
        made, changes = _repaired(value, name, drop_results)
    after = judged(made)
    done = [change for change in changes if change.done]
    better = _breaks_rules(before) or not certain or len(after) < len(before)
    if done and better and not _breaks_rules(after):
        return Repaired(value=made, changes=tuple(done), left=tuple(after))
    if not _breaks_rules(before):
        return Repaired(value=value, left=tuple(before) if certain else (), doubtful=tuple(before))
    mended = {(change.kind.code, change.pointer) for change in done}
    wrong = [finding for finding in before if finding.level is Level.MUST]
    left = [finding for finding in wrong if (finding.code, finding.place.pointer) not in mended] or wrong
    return Repaired(value=value, left=tuple(left), refused=tuple(change for change in changes if not change.done))


def _repaired(value: Any, name: StoredFormat, drop_results: bool) -> tuple[Any, list[Change]]:
    if name == "thread":
        return (value, []) if find_shape_problem(value) is not None else repair_thread(value, drop_results=drop_results)
    messages = messages_of(value)
    if name == LOG:
        return value, []  # nothing is repaired: an import leaves out what was cut, and its program writes the log
    if any(finding.level is Level.MUST for finding in _MALFORMED[name](messages)):
        return value, []
    mended, changes = _REPAIRS[name](messages, drop_results=drop_results)
    return (mended if messages is value else {**value, "messages": mended}), changes


_MALFORMED: Mapping[str, Callable[[Any], Any]] = {
    "ai-sdk": ui_messages.find_malformed,
    "pydantic-ai": pydantic_ai.find_malformed,
}
_REPAIRS: Mapping[str, Callable[..., tuple[list[Any], list[Change]]]] = {
    "ai-sdk": ui_messages.repair_ui_messages,
    "pydantic-ai": pydantic_ai.repair_messages,
}
_IMPORTS: Mapping[str, Callable[..., Any]] = {"ai-sdk": thread_of_ui_messages, "pydantic-ai": thread_of_messages}
