"""What Python code asks for about conversations of other programs: import, export, repair.

In: JSON values. Out: records of what was made and of what is not in it. The command line has the same for files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from tpharness.checking import RepairFormat
from tpharness.document_files import NO_TIME
from tpharness.errors import UsageError, did_you_mean
from tpharness.histories.exchange.from_messages import thread_of_messages
from tpharness.histories.exchange.from_ui_messages import thread_of_ui_messages
from tpharness.histories.exchange.imported import Imported
from tpharness.histories.exchange.model_calls import FORMS, ModelCall, model_call
from tpharness.histories.stored.formats import (
    STORED_FORMATS,
    Repaired,
    format_of,
    messages_of,
    repair_stored,
    require_format,
)
from tpharness.histories.thread_log.read import id_of_log, thread_of_log

__all__ = ["READERS", "ExportFormat", "ImportFormat", "export", "import_messages", "repair"]

ImportFormat: TypeAlias = Literal["ai-sdk", "pydantic-ai", "thread-log"]
ExportFormat: TypeAlias = Literal[
    "ai-sdk", "pydantic-ai", "thread-log", "openai-chat", "openai-responses", "anthropic", "gemini", "ollama", "bedrock"
]
"""A type checker needs the names themselves; a test holds them to those of the registry."""

READERS: Mapping[str, Callable[..., Imported]] = {
    "pydantic-ai": thread_of_messages,
    "ai-sdk": thread_of_ui_messages,
    "thread-log": thread_of_log,
}
"""What makes a thread of messages, by the format."""


def import_messages(
    messages: Any,
    *,
    format: ImportFormat,  # noqa: A002  # as everybody calls it
    agent_id: str = "assistant",
    thread_id: str = "import",
    at: str = NO_TIME,
) -> Imported:
    """Make a thread of another program's messages, or of an object that has them as `messages`.

    `at` is the time of what has none; a thread log names its thread itself, unless `thread_id` does. The result has
    the thread, and its `losses`: what the thread does not have.

    InputError for what is not such messages, ThreadError if they break rules that a thread keeps, UsageError for
    another format.
    """
    read, value = READERS[_known(format, READERS)], messages_of(messages)
    named = (id_of_log(value) or thread_id) if thread_id == "import" else thread_id
    return read(value, agent_id=agent_id, thread_id=named, at=at)


def export(
    thread: Mapping[str, Any],
    *,
    format: ExportFormat,  # noqa: A002  # as everybody calls it
    agent_id: str | None = None,
    system_prompt: str | None = None,
    next_user: str | None = None,
    resolve: Callable[[Mapping[str, Any]], Any] | None = None,
) -> ModelCall:
    """Return the messages of the next model call in a format, and what is not in them.

    The options are those of `model_history`; `next_user` is what the user says next. UsageError for another format.
    """
    form = _known(format, FORMS)
    return model_call(
        thread, form, agent_id=agent_id, system_prompt=system_prompt, next_user=next_user, resolve=resolve
    )


def repair(
    document: Any,
    *,
    format: RepairFormat | None = None,  # noqa: A002  # as everybody calls it
    model: str | None = None,
    server: str | None = None,
    certain: bool = False,
    drop_results: bool = False,
) -> Repaired:
    """Repair a stored conversation as far as it can be done mechanically; what was given is not changed.

    `format` is recognised where it is plain. The `value` of the result is valid, or the document that was given, and
    `left` says what is still wrong. `model`, or `server` where another one than the API's own answers, decides what a
    request may have; with `certain` what only some servers refuse is mended in one as well. What a tool has returned is
    left out only with `drop_results`, where it has no place; else `refused` names it.

    UsageError for another format, and where it has to be named.
    """
    found = require_format(format) if format is not None else format_of(document)
    if found is None:
        raise UsageError("the format of the conversation is not plain", hint=f"format= {', '.join(STORED_FORMATS)}")
    return repair_stored(document, found, model=model, server=server, certain=certain, drop_results=drop_results)


def _known(name: str, names: Any) -> str:
    if name not in names:
        hint = did_you_mean(str(name), names, f"one of {', '.join(names)}")
        raise UsageError(f"format: nothing is called {name!r}", hint=hint)
    return name
